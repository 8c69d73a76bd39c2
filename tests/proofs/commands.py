"""The real command line in a process of its own, stopped by a signal at a given moment."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import komlm

_ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(Path(komlm.__file__).parent.parent),
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    """What a shell sees: 128 and the number of a signal that ended it."""
    err: str
    seconds: float
    """From its start to its end."""
    worked: float
    """From the moment when ``since`` held to the end."""


def run(
    arguments: Sequence[object],
    log: Path,
    signal_number: int = 0,
    after: float = 0.0,
    since: Callable[[], bool] = lambda: True,
) -> Ended:
    """Run ``komlm`` with ``arguments`` to its end, or send it a signal.

    Args:
        log: gets its stderr.
        signal_number: what is sent; 0 sends nothing.
        after: when, in seconds from the moment ``since`` holds. A clock that began with the command
            would stop most of them while they load their libraries, all the more on a busy machine.
        since: looked at every few milliseconds.

    Raises:
        AssertionError: a process that it started is still there long after it has ended.
    """
    begin = time.monotonic()
    with log.open("wb") as err:
        # A session of its own, by which its workers are found.
        process = subprocess.Popen(
            [sys.executable, "-m", "komlm", *map(str, arguments)],
            env=_ENVIRONMENT,
            stdout=subprocess.DEVNULL,
            stderr=err,
            start_new_session=True,
        )
        try:
            while not since() and process.poll() is None:
                time.sleep(0.005)
            held = time.monotonic()
            process.wait(timeout=after if signal_number else 300)
        except subprocess.TimeoutExpired:
            assert signal_number, "it does not end"
            process.send_signal(signal_number)
            process.wait(timeout=60)
        finally:
            if process.poll() is None:
                process.kill()
    end = time.monotonic()
    code = process.returncode
    _wait_until_gone(process.pid)
    told = log.read_text("utf-8", errors="replace")
    return Ended(128 - code if code < 0 else code, told, end - begin, end - held)


def _wait_until_gone(session: int) -> None:
    until = time.monotonic() + 30
    while left := _members(session):
        assert time.monotonic() < until, f"orphans: {left}"
        time.sleep(0.02)


def _members(session: int) -> list[int]:
    """The processes of a session; a dead one that nobody has waited for is none."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name stands in brackets and may hold spaces.
            state, _, _, number, *_ = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(number) == session and state != "Z":
            found.append(int(stat.parent.name))
    return found
