"""Writing files whole or not at all, and telling two files apart by their bytes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

UNFINISHED = ".unfinished"
"""Suffix of what is being written; whatever bears it can be deleted."""


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


def read_json(path: Path) -> dict[str, Any]:
    """Read what :func:`write_json` wrote.

    Raises:
        ValueError: the file is not JSON, or its checksum does not fit: it was damaged or edited.
    """
    try:
        value = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}. Make it again.") from error
    if not isinstance(value, dict):
        raise ValueError(f"{path} is damaged: wanted a JSON object. Make it again.")
    checksum = value.pop("checksum", None)
    if checksum != sha256_of_json(value):
        raise ValueError(
            f"{path} is damaged or was edited: its checksum does not fit. Make it again."
        )
    return value
