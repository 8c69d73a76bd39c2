"""Running the same work on many parts, in this process or in several.

What comes out depends on the tasks alone, not on the number of workers. :func:`run_parts` yields
results as they come, :func:`run_in_order` in the order of the tasks.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol, TypeVar

Tool = TypeVar("Tool")
Task = TypeVar("Task")
Result = TypeVar("Result")


class Advance(Protocol):
    """Called with how much more has been done, in whatever unit the stage counts."""

    def __call__(self, amount: int, /) -> None: ...


class Stopped(Exception):
    """In a worker process: another part failed, so nobody waits for this one any more."""


_done_by_all: Any = None
"""In a worker process: the counter that all workers share."""
_stop: Any = None
"""In a worker process: not 0 when the work is to be left."""
_make_tool: Any = None
"""In a worker process: makes what it works with."""
_tool: Any = None
"""In a worker process: what it works with, made for its first task."""


def _start_counting(done: Any, stop: Any) -> None:
    global _done_by_all, _stop
    _done_by_all, _stop = done, stop
    _start_worker()


def _start_with(make_tool: Callable[[], Any]) -> None:
    global _make_tool
    _make_tool = make_tool
    _start_worker()


def _start_worker() -> None:
    # Ctrl-C goes to all processes of a terminal; the parent tells the workers by `stop`.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The workers are the parallelism; threads inside each would only fight over the cores.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    # A worker whose parent was killed would wait for its next task for ever.
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _add(amount: int) -> None:
    if _stop.value:
        raise Stopped
    with _done_by_all.get_lock():
        _done_by_all.value += amount


def _in_worker(work: Callable[[Task, Advance], Result], task: Task) -> Result:
    return work(task, _add)


def _with_tool(work: Callable[[Any, Task], Result], task: Task) -> Result:
    global _tool
    # Here and not when the process starts, where an error would only be a broken pool.
    if _tool is None:
        _tool = _make_tool()
    return work(_tool, task)


def run_parts(
    work: Callable[[Task, Advance], Result],
    tasks: Iterable[Task],
    workers: int,
    advance: Advance,
) -> Iterator[Result]:
    """Do ``work`` for each task and yield the results as they come.

    Args:
        work: a function at the top of a module (it travels to the workers by its name).
        tasks: read a few ahead of the workers, so that memory does not grow with their number.
        workers: processes; 1 works in this one.

    Raises:
        ValueError: ``workers`` below 1.
        ChildProcessError: a worker was killed; what was finished stays.
        Whatever ``work`` raises; the other workers leave their parts at their next ``advance``.
    """
    if workers < 1:
        raise ValueError(f"--workers {workers}: wanted 1 or more")
    if workers == 1:
        for task in tasks:
            yield work(task, advance)
        return
    # Spawned, not forked: a Kiwi that has worked once hangs in a forked child.
    context = multiprocessing.get_context("spawn")
    done = context.Value("q", 0)
    # Read without the locks, which a worker that is killed may hold for ever.
    counter, stop = done.get_obj(), context.Value("b", 0, lock=False)
    seen = 0
    waiting = iter(tasks)
    with ProcessPoolExecutor(workers, context, _start_counting, (done, stop)) as pool:
        try:
            pending: set[Future[Result]] = {
                pool.submit(_in_worker, work, task)
                for task in itertools.islice(waiting, workers + 1)
            }
            while pending:
                finished, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
                amount = counter.value
                advance(amount - seen)
                seen = amount
                # The failed last, so that what the others finished is kept.
                for future in sorted(finished, key=lambda one: one.exception() is not None):
                    yield future.result()
                pending |= {
                    pool.submit(_in_worker, work, task)
                    for task in itertools.islice(waiting, len(finished))
                }
        except BrokenProcessPool as error:
            raise ChildProcessError(
                "a worker process was killed, perhaps for lack of memory. What it had finished is "
                "kept: run the same command again, with fewer --workers if it happens again"
            ) from error
        finally:
            stop.value = 1
            # Waits: a worker still at its part would be in the way of the next run.
            pool.shutdown(cancel_futures=True)


def run_in_order(
    work: Callable[[Tool, Task], Result],
    tasks: Iterable[Task],
    workers: int,
    make_tool: Callable[[], Tool],
) -> Iterator[Result]:
    """Do ``work`` for each task in several processes and yield the results in the tasks' order.

    Args:
        work: a function at the top of a module (it travels to the workers by its name).
        tasks: read a few ahead of the results, so that memory does not grow with their number.
        workers: processes.
        make_tool: called once in each process, at its first task; it travels there with all that
            it holds.

    Raises:
        ChildProcessError: a worker was killed.
        Whatever ``work`` or ``make_tool`` raises, in the place of the task's result.
    """
    context = multiprocessing.get_context("spawn")
    waiting = iter(tasks)
    with ProcessPoolExecutor(workers, context, _start_with, (make_tool,)) as pool:
        try:
            # Some more than there are workers: one that is long does not leave the others idle.
            pending = deque(
                pool.submit(_with_tool, work, task)
                for task in itertools.islice(waiting, 4 * workers)
            )
            while pending:
                yield pending.popleft().result()
                pending.extend(
                    pool.submit(_with_tool, work, task) for task in itertools.islice(waiting, 1)
                )
        except BrokenProcessPool as error:
            raise ChildProcessError(
                "a worker process ended before its work: it was killed, perhaps for lack of "
                "memory, or it could not start. A script that uses workers needs the line "
                '`if __name__ == "__main__":` before what it does'
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)
