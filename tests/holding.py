"""Another process that works on a folder."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import komlm

_HOLDER = """
import sys
from pathlib import Path
from komlm.files import FolderLock
with FolderLock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_elsewhere(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that holds the lock of a folder until its stdin is closed, or it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(folder)],
        cwd=Path(komlm.__file__).parent.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process
