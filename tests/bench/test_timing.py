from __future__ import annotations

import os
from collections.abc import Callable

import pytest
import torch

from komlm.bench import timing
from komlm.bench.timing import added, in_turn, one_core


class Clock:
    """Stands still but for what is added to it."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now

    def process_time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(timing, "time", clock)
    return clock


def test_competitors_run_in_turn_and_the_best_round_counts(clock: Clock) -> None:
    log: list[str] = []
    takes = {"a": iter([9.0, 3.0, 2.0, 4.0]), "b": iter([9.0, 5.0, 7.0, 6.0])}

    def competitor(name: str) -> Callable[[], None]:
        def run() -> None:
            log.append(name)
            clock.now += next(takes[name])

        return run

    def before() -> None:
        log.append(".")
        clock.now += 50  # not timed

    best = in_turn({"a": competitor("a"), "b": competitor("b")}, seconds=320, before=before)
    # A warm-up, then three rounds of about 110 s, each begun by the other one.
    assert "".join(log) == ".a.b" + ".a.b" + ".b.a" + ".a.b"
    assert best == {"a": 2.0, "b": 5.0}


def test_two_rounds_are_timed_however_little_time_there_is(clock: Clock) -> None:
    calls: list[int] = []
    in_turn({"a": lambda: calls.append(1)}, seconds=-1, warm_up=False)
    assert len(calls) == 2


def test_waiting_does_not_count(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    def wait() -> None:
        clock.now += 7.0

    monkeypatch.setattr(clock, "process_time", lambda: 3.0)
    assert in_turn({"a": wait}, seconds=0) == {"a": 0.0}


def test_parts_are_added() -> None:
    assert added([{"a": 1.0, "b": 0.5}, {"a": 2.0, "b": 0.25}]) == {"a": 3.0, "b": 0.75}


def fail_on_one_core() -> None:
    with one_core():
        assert torch.get_num_threads() == 1
        assert os.environ["TOKENIZERS_PARALLELISM"] == "false"
        raise ValueError("inside")


@pytest.mark.parametrize("told", [None, "true"])
def test_one_core_is_given_back(told: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if told is None:
        monkeypatch.delenv("TOKENIZERS_PARALLELISM", raising=False)
    else:
        monkeypatch.setenv("TOKENIZERS_PARALLELISM", told)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(ValueError, match="inside"):
            fail_on_one_core()
        assert torch.get_num_threads() == 2
        assert os.environ.get("TOKENIZERS_PARALLELISM") == told
    finally:
        torch.set_num_threads(before)
