"""A stage's folder on disk: numbered parts, written whole, and a manifest when all are there.

While a stage works, each finished part has a record beside it (``part-00000.json``) that tells
its checksum and counts; a killed run goes on with the parts that have none. When all are there,
the records become ``manifest.json``, and a copy of it, so that one flipped bit does not cost the
hours that the parts took. Nothing on disk tells a time, a host or a path, so that equal input gives
equal bytes.
"""

from __future__ import annotations

import errno
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from komlm.files import (
    LOCK,
    UNFINISHED,
    DamagedError,
    FolderLock,
    read_json,
    sha256_of,
    sha256_of_json,
    write_json,
)

MANIFEST = "manifest.json"
MANIFEST_COPY = "manifest.copy.json"
PLAN = "plan.json"
_TELLING = (MANIFEST, MANIFEST_COPY, PLAN)
"""The files that say what a folder is, the most telling first."""
_CONTENT = {
    "analysis": r"manifest(\.copy)?\.json|plan\.json|part-\d+\.(json|arrow)",
    "shards": r"manifest(\.copy)?\.json|plan\.json|part-\d+\.json|train|heldout|tokenizer",
}
"""Names in a folder of each kind."""


@dataclass(frozen=True)
class Record:
    """What a finished part is: checksum and counts of each of its files, and counts of it all."""

    number: int
    files: dict[str, dict[str, Any]]
    """File name -> {"sha256": ..., and counts}."""
    counts: dict[str, int]

    def as_json(self, identity: str) -> dict[str, Any]:
        """The record with the identity of the stage that it belongs to."""
        return {
            "identity": identity,
            "number": self.number,
            "files": self.files,
            "counts": self.counts,
        }


class StageFolder:
    """Opens a folder to make it, to go on with it, or to find that it is whole already.

    Args:
        folder: where the parts go.
        kind: ``"analysis"`` or ``"shards"``.
        recipe: all that the result depends on; its hash is the identity of the folder.

    Raises:
        ValueError: the folder holds something else, or the same kind made from another recipe.
    """

    def __init__(self, folder: Path, kind: str, recipe: Mapping[str, Any]) -> None:
        self.folder = folder
        self.kind = kind
        self.recipe = dict(recipe)
        self.identity = sha256_of_json({"kind": kind, **self.recipe})
        self.records: dict[int, Record] = {}
        self._refuse_other_content()
        folder.mkdir(parents=True, exist_ok=True)
        self._mend()
        if not (folder / MANIFEST).exists():
            write_json(
                folder / PLAN,
                {"kind": kind, "identity": self.identity, "recipe": self.recipe},
            )
        for leftover in folder.rglob(f"*{UNFINISHED}"):
            if leftover.is_dir():
                shutil.rmtree(leftover)
            elif leftover.name != LOCK:
                leftover.unlink()
        self._find_finished()

    def _refuse_other_content(self) -> None:
        there = content_of(self.folder, self.kind)
        if there is None or there.get("identity") == self.identity:
            return
        if self._holds_work():
            different = _different(there.get("recipe", {}), self.recipe)
            raise ValueError(
                f"{self.folder} was made from something else{different}: choose another -o, or "
                "delete it first"
            )
        # A first try that failed before its first part, over a dictionary for instance.
        (self.folder / PLAN).unlink()

    def _holds_work(self) -> bool:
        finished = any((self.folder / name).exists() for name in (MANIFEST, MANIFEST_COPY))
        return finished or any(self.folder.rglob("part-*"))

    def _mend(self) -> None:
        """Drop damaged manifests and plans; the copy becomes the manifest again."""
        for name in _TELLING:
            path = self.folder / name
            if path.exists() and _read_if_whole(path) is None:
                if path.is_dir():
                    raise ValueError(f"{path} is a folder, wanted a file: move it away first")
                print(f"{path}: damaged, making it again", file=sys.stderr)
                path.unlink()
        copy = self.folder / MANIFEST_COPY
        if copy.exists() and not (self.folder / MANIFEST).exists():
            write_json(self.folder / MANIFEST, read_json(copy))

    def _find_finished(self) -> None:
        manifest = self.folder / MANIFEST
        found = _records_in(read_json(manifest)) if manifest.exists() else self._recorded()
        for record in found:
            damaged = [name for name, file in record.files.items() if self._damaged(name, file)]
            if damaged:
                print(f"{self.folder / damaged[0]}: damaged, making it again", file=sys.stderr)
            else:
                self.records[record.number] = record

    def _recorded(self) -> list[Record]:
        contents = [_read_if_whole(path) for path in sorted(self.folder.glob("part-*.json"))]
        return [
            Record(content["number"], content["files"], content["counts"])
            for content in contents
            if content and content.get("identity") == self.identity
        ]

    def _damaged(self, name: str, file: Mapping[str, Any]) -> bool:
        path = self.folder / name
        return not path.is_file() or sha256_of(path) != file["sha256"]

    def finish_part(self, record: Record) -> None:
        """Note that a part is whole."""
        self.records[record.number] = record
        write_json(self.folder / f"part-{record.number:05d}.json", record.as_json(self.identity))

    def finish(self, parts: int, extra: Mapping[str, Any]) -> dict[str, Any]:
        """Write the manifest, if it is not there already, and drop the records.

        Args:
            parts: how many parts there are.
            extra: what else the manifest says.
        """
        missing = [number for number in range(parts) if number not in self.records]
        if missing:
            raise RuntimeError(f"parts {missing} of {self.folder} were not finished")
        records = [self.records[number] for number in range(parts)]
        counts: Counter[str] = Counter()
        for record in records:
            counts.update(record.counts)
        manifest = {
            "kind": self.kind,
            "identity": self.identity,
            "recipe": self.recipe,
            **extra,
            "counts": dict(sorted(counts.items())),
            "parts": {name: file for record in records for name, file in record.files.items()},
            "counts_of_parts": [record.counts for record in records],
        }
        for name in (MANIFEST_COPY, MANIFEST):
            path = self.folder / name
            if not path.exists() or _read_if_whole(path) != manifest:
                write_json(path, manifest)
        (self.folder / PLAN).unlink(missing_ok=True)
        for record_file in self.folder.glob("part-*.json"):
            record_file.unlink()
        return manifest


def _records_in(manifest: Mapping[str, Any]) -> list[Record]:
    """The records that a manifest was written from."""
    files: list[dict[str, Any]] = [{} for _ in manifest["counts_of_parts"]]
    for name, file in manifest["parts"].items():
        files[int(Path(name).stem.removeprefix("part-"))][name] = file
    return [
        Record(number, files[number], counts)
        for number, counts in enumerate(manifest["counts_of_parts"])
    ]


def _read_if_whole(path: Path) -> dict[str, Any] | None:
    try:
        return read_json(path)
    except DamagedError:
        return None


def _different(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    names = []
    for key in sorted(here if there else ()):
        old, new = there.get(key), here[key]
        if isinstance(old, dict) and isinstance(new, dict):
            names += [f"{key}.{name}" for name in sorted(new) if old.get(name) != new[name]]
        elif old != new:
            names.append(key)
    return f" (other {', '.join(names)})" if names else ""


def content_of(folder: Path, kind: str) -> dict[str, Any] | None:
    """What the folder says of itself; None if it is empty, or if it is one whose manifest or plan
    was damaged, so that all of it is to be made again.

    Raises:
        ValueError: the folder holds something else than ``kind``.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: choose another -o")
    held = {path.name for path in folder.iterdir()} if folder.exists() else set()
    held = {name for name in held if not name.endswith(UNFINISHED)}
    if not held:
        return None
    known = [name for name in _TELLING if name in held]
    for name in known:
        there = _read_if_whole(folder / name)
        if there is not None:
            if there.get("kind") != kind:
                raise ValueError(f"{folder} holds {there.get('kind')}: choose another -o")
            return there
    foreign = sorted(name for name in held if not re.fullmatch(_CONTENT[kind], name))
    if foreign or not known:
        example = (foreign or sorted(held))[0]
        raise ValueError(f"{folder} holds other files, such as {example}: choose another -o")
    if not any(folder.rglob("part-*")):
        # Many programs have a manifest.json.
        raise ValueError(
            f"{folder / known[0]} is damaged or not komlm's: choose another -o, or delete it first"
        )
    return None


@contextmanager
def working_on(folder: Path) -> Iterator[None]:
    """Hold a folder while a stage works on it, and say what to do where the disk is full.

    Raises:
        ValueError: another run is working on it.
    """
    try:
        if folder.exists() and not folder.is_dir():
            yield  # StageFolder says what is wrong with it
        else:
            with FolderLock(folder):
                yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise OSError(
            error.errno,
            f"the disk under {folder} is full. What is finished is kept: make room and run the "
            f"same command again ({error.strerror or error})",
        ) from error


def open_manifest(folder: Path, kind: str, make: str) -> dict[str, Any]:
    """The manifest of a finished folder.

    Args:
        make: the command that makes such a folder, for the message.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is damaged, of another kind, or its making was cut short.
    """
    path = folder / MANIFEST
    if not path.exists():
        if any((folder / name).is_file() for name in (MANIFEST_COPY, PLAN)):
            raise ValueError(f"{folder} is not finished: run its `{make}` again, it goes on")
        raise FileNotFoundError(f"no {kind} in {folder}: make it with `{make}`")
    try:
        manifest = read_json(path)
    except DamagedError as error:
        raise error.advising(f"Run its `{make}` again: it mends the folder") from error
    if manifest.get("kind") != kind:
        raise ValueError(f"{folder} holds {manifest.get('kind')}, wanted {kind}: `{make}`")
    return manifest
