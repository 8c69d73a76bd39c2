"""Timing competitors in turn, so that whatever else the machine does meets them all alike."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import torch

ROUNDS = 2
"""Rounds that are timed at least, however slow the competitors are."""


def in_turn(
    competitors: Mapping[str, Callable[[], object]],
    seconds: float,
    before: Callable[[], object] = lambda: None,
    warm_up: bool = True,
) -> dict[str, float]:
    """Seconds of processor time that each competitor takes at its best.

    They run in turn, A B B A ..., each round begun by another one. The best round counts, not the
    median: whatever else a machine does can only make a round slower, and by the best of many both
    sides of a ratio come nearest to what they need by themselves. Processor time and not the clock
    on the wall, by which a long round that other programs broke into looks slower than a short one
    that ran between two of them; what is waited for, such as a disk, does not count.

    Args:
        competitors: name -> what is timed.
        seconds: rounds go on until about so many have passed; ``ROUNDS`` are timed in any case.
        before: done before each, untimed.
        warm_up: let each run once before the first round, untimed.

    Example: ``in_turn({"sum": lambda: sum(range(9)), "nothing": lambda: None}, seconds=0.1)``.
    """
    names = list(competitors)
    if warm_up:
        for name in names:
            before()
            competitors[name]()
    best = dict.fromkeys(names, float("inf"))
    end, done = time.perf_counter() + seconds, 0
    while done < ROUNDS or time.perf_counter() < end:
        first = done % len(names)
        for name in names[first:] + names[:first]:
            before()
            start = time.process_time()
            competitors[name]()
            best[name] = min(best[name], time.process_time() - start)
        done += 1
    return best


def added(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The seconds of the parts of a work, added.

    Example: ``[{"a": 1.0}, {"a": 2.5}]`` -> ``{"a": 3.5}``.
    """
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)  # a Counter adds floats as well
    return dict(total)


class Watch:
    """Takes the time of the steps of a turn.

    Example: steps that end at 0, 5, 9 s -> 4 s a step on a CPU, 4.5 on a GPU.
    """

    def __init__(self, steps: int, on_gpu: bool) -> None:
        self._steps = steps
        self._on_gpu = on_gpu
        self.times: list[float] = []

    def step_done(self) -> None:
        """A step has ended."""
        if self._on_gpu and len(self.times) in (0, self._steps - 1):
            # Not after each: a GPU may still be at a step when the next one is on its way.
            torch.cuda.synchronize()
        self.times.append(time.perf_counter())

    @property
    def seconds_a_step(self) -> float:
        """Seconds of the fastest step, or on a GPU of the mean step; the first is left out."""
        each = np.diff(self.times)
        return float(each.mean() if self._on_gpu else each.min())


@contextmanager
def one_core() -> Iterator[None]:
    """torch and tokenizers on one core while a block runs."""
    threads, told = torch.get_num_threads(), os.environ.get("TOKENIZERS_PARALLELISM")
    torch.set_num_threads(1)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        if told is None:
            del os.environ["TOKENIZERS_PARALLELISM"]
        else:
            os.environ["TOKENIZERS_PARALLELISM"] = told


def cores() -> int:
    """Processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
