"""Files written whole or not at all, by one run at a time, and told apart by their bytes."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

try:
    import fcntl
except ImportError:  # Windows: two runs at once on one folder are not noticed there
    fcntl = None  # type: ignore[assignment]

UNFINISHED = ".unfinished"
"""Suffix of what is being written; whatever bears it can be deleted, but a lock that is held."""
LOCK = f"komlm-at-work{UNFINISHED}"
"""In a folder that a run is working on. A killed run leaves it behind, and it means nothing then:
what counts is the lock on it, which the kernel takes back."""


def beside(folder: Path, suffix: str) -> Path:
    """The folder of that name with a suffix, next to it.

    Example: ``beside(Path("shards"), ".analysis")`` -> ``shards.analysis``; ``-o .`` works too.
    """
    named = folder if folder.name else folder.absolute()
    return named.with_name(named.name + suffix)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_of_json(value: Any) -> str:
    """The SHA-256 of a value written as JSON with sorted keys.

    Example: equal dictionaries have equal sums, in whatever order they were built.
    """
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _flush_to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A name beside ``path`` to write a file to; renamed to ``path`` when the block ends well.

    A reader, or a run that was killed, sees the old file or the new one and nothing between.

    Example::

        with written_whole(folder / "manifest.json") as beside:
            beside.write_text("{}")
    """
    if path.is_dir():
        raise IsADirectoryError(
            f"{path} is a folder, and a file of this name is to be written: move it away first"
        )
    beside = path.with_name(path.name + UNFINISHED)
    try:
        yield beside
        _flush_to_disk(beside)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


@contextmanager
def folder_written_whole(path: Path) -> Iterator[Path]:
    """The same for a folder: every file is on disk before the rename.

    Raises:
        FileExistsError: there is a file of this name, or a folder that is not empty.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise FileExistsError(f"{path} exists already: choose another name, or delete it first")
    beside = path.with_name(path.name + UNFINISHED)
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    try:
        yield beside
        for file in sorted(beside.rglob("*")):
            _flush_to_disk(file)
        os.replace(beside, path)
        _flush_to_disk(path.parent)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write ``value`` with a checksum of itself under the key ``checksum``."""
    content = {key: value[key] for key in value if key != "checksum"}
    content["checksum"] = sha256_of_json(content)
    with written_whole(path) as beside:
        beside.write_text(
            json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
        )


class DamagedError(ValueError):
    """A file that is not what was written.

    Attributes:
        path: the file.
        reason: what is wrong with it, such as "its checksum does not fit".
    """

    def __init__(self, path: Path, reason: str, remedy: str = "Make it again.") -> None:
        super().__init__(f"{path} is damaged: {reason}. {remedy}")
        self.path = path
        self.reason = reason

    def advising(self, remedy: str) -> DamagedError:
        """The same error with another sentence on what to do.

        Example: ``error.advising("Run `komlm analyze` again.")``.
        """
        return DamagedError(self.path, self.reason, remedy)


def read_json(path: Path) -> dict[str, Any]:
    """Read what :func:`write_json` wrote.

    Raises:
        FileNotFoundError: there is none.
        DamagedError: the file is not JSON, or its checksum does not fit: it was damaged or edited.
    """
    if path.is_dir():
        raise DamagedError(path, "it is a folder")
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise DamagedError(path, f"it is no JSON ({error})") from error
    if not isinstance(value, dict):
        raise DamagedError(path, "it holds no JSON object")
    checksum = value.pop("checksum", None)
    try:
        fits = checksum == sha256_of_json(value)
    except UnicodeEncodeError:  # an escape was damaged to a lone surrogate
        fits = False
    if not fits:
        raise DamagedError(path, "its checksum does not fit, or it was edited")
    return value


class FolderLock:
    """Keeps other processes from working on a folder, until it is closed or the process ends.

    Advisory: it binds only those who take it too. Where the file system knows no locks, that is
    said on stderr and the folder is used without one; where the folder cannot be written to,
    nobody can be in the way.

    Args:
        folder: made if it is not there.

    Raises:
        ValueError: another process is working on the folder.

    Example::

        with FolderLock(Path("shards")):
            write_parts()
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / LOCK
        self._file = self._locked()

    def _locked(self) -> BinaryIO | None:
        if fcntl is None:
            return None
        while True:
            try:
                file = self._path.open("ab")
            except OSError as error:
                if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
                    return None
                raise
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                file.close()
                if isinstance(error, BlockingIOError):
                    raise ValueError(
                        f"another run is working on {self._path.parent}: wait until it has ended, "
                        "or choose another -o"
                    ) from error
                if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
                    raise
                self._path.unlink(missing_ok=True)
                print(
                    f"{self._path.parent}: its file system knows no locks, so nothing keeps a "
                    "second run away",
                    file=sys.stderr,
                )
                return None
            if self._is_still(file):
                return file
            # Whoever held it has deleted the file since it was opened: its lock keeps nobody out.
            file.close()

    def _is_still(self, file: BinaryIO) -> bool:
        try:
            there = self._path.stat()
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(file.fileno()))

    def close(self) -> None:
        """Let others work on the folder."""
        if self._file is not None:
            # Deleted while it is held, so that nobody's lock is deleted but this one.
            self._path.unlink(missing_ok=True)
            self._file.close()
            self._file = None

    def __enter__(self) -> FolderLock:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # Not set where the constructor failed.
        if getattr(self, "_file", None) is not None:
            self.close()
