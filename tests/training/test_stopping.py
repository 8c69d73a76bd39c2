from __future__ import annotations

import signal
import threading

import pytest

from komlm.training.stopping import StopRequest


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_noted_and_the_former_handler_comes_back(number: signal.Signals) -> None:
    former = signal.getsignal(number)
    with StopRequest() as stop:
        assert not stop.wanted
        assert stop.reason == ""
        signal.raise_signal(number)
        assert stop.wanted
        assert stop.signal == number
        assert stop.reason == number.name
    assert signal.getsignal(number) == former


def test_a_second_interrupt_acts_at_once() -> None:
    with StopRequest() as stop:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert stop.signal == signal.SIGINT


def test_time_limit() -> None:
    with StopRequest(after_minutes=1e-9) as stop:
        assert stop.wanted
        assert stop.signal is None
        assert stop.reason == "training.stop_after_minutes"
    with StopRequest(after_minutes=60) as stop:
        assert not stop.wanted


def test_other_threads_install_no_handlers() -> None:
    seen = []

    def watch() -> None:
        with StopRequest() as stop:
            seen.append(stop.wanted)

    thread = threading.Thread(target=watch)
    thread.start()
    thread.join()
    assert seen == [False]
