from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from komlm.processes import Advance, run_in_order, run_parts


def square(task: int, advance: Advance) -> int:
    advance(task)
    # The later the task, the sooner it ends.
    time.sleep((10 - task) / 100)
    return task * task


def fail_at_three(task: int, advance: Advance) -> int:
    if task == 3:
        raise KeyError(f"task {task}")
    advance(1)
    return task


def die_at_three(task: int, advance: Advance) -> int:
    if task == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return task


def wait_or_fail(task: Path, advance: Advance) -> None:
    """The task named `fail` fails once the other works; the other would work for a minute."""
    other = task.with_name("working")
    if task.name == "fail":
        while not other.exists():
            time.sleep(0.01)
        raise OSError(28, "No space left on device")
    task.write_text("", encoding="utf-8")
    try:
        for _ in range(6000):
            time.sleep(0.01)
            advance(1)
    finally:
        task.with_name("left").write_text("", encoding="utf-8")


@pytest.mark.parametrize("workers", [1, 2])
def test_every_task_is_done_once_and_counted(workers: int) -> None:
    amounts: list[int] = []
    results = list(run_parts(square, range(10), workers, amounts.append))
    assert sorted(results) == [n * n for n in range(10)]
    assert sum(amounts) == sum(range(10))


@pytest.mark.parametrize("workers", [1, 2])
def test_tasks_are_read_a_few_ahead(workers: int) -> None:
    read = done = 0

    def tasks() -> Iterator[int]:
        nonlocal read
        for task in range(20):
            read += 1
            assert read <= done + 2 * workers + 2
            yield task % 10

    for _ in run_parts(square, tasks(), workers, lambda amount: None):
        done += 1
    assert (read, done) == (20, 20)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_keeps_its_type_and_message(workers: int) -> None:
    results: list[int] = []
    found = run_parts(fail_at_three, range(10), workers, lambda amount: None)
    with pytest.raises(KeyError, match="task 3"):
        results.extend(found)
    assert set(results) <= {0, 1, 2, 4, 5, 6}
    assert workers > 1 or results == [0, 1, 2]


def test_a_killed_worker_is_told_with_advice() -> None:
    with pytest.raises(ChildProcessError, match="run the same command again, with fewer --workers"):
        list(run_parts(die_at_three, range(10), 2, lambda amount: None))


def test_after_an_error_the_others_leave_their_parts(tmp_path: Path) -> None:
    tasks = [tmp_path / "working", tmp_path / "fail"]
    with pytest.raises(OSError, match="No space left"):
        list(run_parts(wait_or_fail, tasks, 2, lambda amount: None))
    # The pool is closed: whoever was at work has left, by its own `finally`.
    assert (tmp_path / "left").exists()


@pytest.mark.parametrize("workers", [0, -1])
def test_too_few_workers(workers: int) -> None:
    with pytest.raises(ValueError, match=f"--workers {workers}: wanted 1 or more"):
        list(run_parts(square, range(3), workers, lambda amount: None))


def test_no_tasks() -> None:
    assert list(run_parts(square, [], 2, lambda amount: None)) == []


def make_tool(folder: Path, name: str) -> str:
    (folder / f"made-{os.getpid()}").write_text("", encoding="utf-8")
    return name


def no_tool() -> str:
    raise FileNotFoundError("no such tool")


def with_tool(tool: str, task: int) -> str:
    if task == 13:
        raise ValueError(f"task {task}")
    if task == 99:
        os.kill(os.getpid(), signal.SIGKILL)
    # The later the task, the sooner it ends.
    time.sleep(max(0, 12 - task) / 100)
    return f"{tool} {task}"


def test_in_order_with_a_tool_of_each_process(tmp_path: Path) -> None:
    found = run_in_order(with_tool, range(12), 2, partial(make_tool, tmp_path, "saw"))
    assert list(found) == [f"saw {n}" for n in range(12)]
    assert len(list(tmp_path.iterdir())) <= 2


def test_in_order_an_error_stands_where_the_result_would(tmp_path: Path) -> None:
    make = partial(make_tool, tmp_path, "saw")
    done: list[str] = []
    with pytest.raises(ValueError, match="task 13"):
        done.extend(run_in_order(with_tool, range(20), 2, make))
    assert done == [f"saw {n}" for n in range(13)]
    with pytest.raises(FileNotFoundError, match="no such tool"):
        list(run_in_order(with_tool, range(3), 2, no_tool))


def test_in_order_tasks_are_read_as_results_are_taken(tmp_path: Path) -> None:
    read = 0

    def endless() -> Iterator[int]:
        nonlocal read
        while True:
            read += 1
            yield 20

    found = run_in_order(with_tool, endless(), 2, partial(make_tool, tmp_path, "saw"))
    for taken in range(30):
        assert next(found) == "saw 20"
        assert read <= taken + 8
    found.close()


def test_in_order_a_killed_worker_is_told(tmp_path: Path) -> None:
    with pytest.raises(ChildProcessError, match="ended before its work.*__main__"):
        list(run_in_order(with_tool, [99, 20, 20], 2, partial(make_tool, tmp_path, "saw")))
