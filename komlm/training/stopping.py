"""Leaving in good order: SIGTERM, SIGINT and a time limit end a run after the step at hand."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any


class StopRequest:
    """Watches for a reason to stop while its ``with`` block runs; old handlers come back after it.

    A second SIGINT acts as if nobody watched: whoever presses Ctrl-C twice does not wait. Outside
    the main thread, where Python allows no handlers, only the time limit counts.

    Args:
        after_minutes: stop after so long; 0 is never.

    Attributes:
        signal: number of the signal that came, or None.

    Example::

        with StopRequest(after_minutes=600) as stop:
            for batch in batches:
                train(batch)
                if stop.wanted:
                    break
    """

    def __init__(self, after_minutes: float = 0.0) -> None:
        self.signal: int | None = None
        self._end = time.monotonic() + 60 * after_minutes if after_minutes else None
        self._former: dict[int, Any] = {}

    @property
    def wanted(self) -> bool:
        return self.signal is not None or (self._end is not None and time.monotonic() >= self._end)

    @property
    def reason(self) -> str:
        """Why, in words; empty while there is none.

        Example: ``"SIGTERM"``, ``"training.stop_after_minutes"``.
        """
        if self.signal is not None:
            return signal.Signals(self.signal).name
        return "training.stop_after_minutes" if self.wanted else ""

    def __enter__(self) -> StopRequest:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._former[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._former.items():
            # None: a handler that was not set from Python; it cannot be put back.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        if number == signal.SIGINT:
            former = self._former[number]
            signal.signal(number, signal.SIG_DFL if former is None else former)
