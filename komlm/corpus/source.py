"""What a user calls a corpus: a name from corpora/, a TOML file, or paths and globs."""

from __future__ import annotations

import glob
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from komlm.names import unknown

_KEYS = {"title", "licence", "origin", "files", "column", "documents", "sha256"}


@dataclass(frozen=True)
class Reading:
    """How the files of a corpus are read."""

    column: str = "text"
    """Key of a JSON line or column of a Parquet file that holds the text."""
    documents: str = "line"
    """What is a document in a .txt: each `line`, `paragraph` (blank lines between) or `file`."""

    def __post_init__(self) -> None:
        known = ("line", "paragraph", "file")
        if self.documents not in known:
            raise ValueError(unknown("kind of document", self.documents, known))


@dataclass(frozen=True)
class Source:
    """Files in order and how to read them.

    Example: ``find_source("letters/*.txt")`` -> the matching files, sorted by name.
    """

    files: tuple[Path, ...]
    reading: Reading
    checksums: tuple[tuple[str, str], ...] = ()
    """File name -> SHA-256 that the corpus' TOML promises."""


def corpora_folder() -> Path:
    """The folder of corpus TOMLs: inside the installed package, or beside it in a checkout."""
    inside = Path(__file__).parent.parent / "corpora"
    return inside if inside.is_dir() else Path(__file__).parent.parent.parent / "corpora"


def known_corpora() -> list[str]:
    """Names that can stand for a corpus. Example: ``["mini"]``."""
    return sorted(path.stem for path in corpora_folder().glob("*.toml"))


def find_source(corpus: str | Sequence[str], reading: Reading | None = None) -> Source:
    """The files that ``corpus`` stands for.

    Args:
        corpus: a name from corpora/, a TOML file, a folder's path, file paths or globs.
        reading: overrides what is the default for paths (a TOML says it for itself).

    Raises:
        FileNotFoundError: nothing is there; the message says what was looked for.
        ValueError: a file of a kind that has no reader, or a broken TOML.
    """
    names = [corpus] if isinstance(corpus, str) else list(corpus)
    tomls = {name: corpora_folder() / f"{name}.toml" for name in known_corpora()}
    tomls |= {name: Path(name) for name in names if name.endswith(".toml")}
    told = [name for name in names if name in tomls]
    if told:
        if len(names) > 1:
            raise ValueError(f"{told[0]} is a whole corpus by itself: give it alone")
        source = _from_toml(tomls[told[0]])
        if reading not in (None, Reading(), source.reading):
            raise ValueError(
                f"{tomls[told[0]]} says itself how it is read ({source.reading}): leave out "
                "--column and --documents"
            )
        return source
    files = [path for name in names for path in _matching(name)]
    return _checked(Source(tuple(files), reading or Reading()))


def _matching(name: str, folder: Path = Path()) -> list[Path]:
    """The files that a path or glob means, seen from ``folder``."""
    path = folder / name
    if path.is_file():
        return [path]
    if path.is_dir():
        raise ValueError(f"{name} is a folder: say which files, such as '{name}/*.txt'")
    matches = glob.glob(name, root_dir=folder, recursive=True)
    files = [path for path in sorted(folder / match for match in matches) if path.is_file()]
    if not files:
        if folder != Path():
            raise FileNotFoundError(f"no file matches {name!r} in {folder}")
        hint = unknown("corpus", name, known_corpora())
        raise FileNotFoundError(f"no file matches {name!r}, and it names no corpus: {hint}")
    return files


def _from_toml(path: Path) -> Source:
    if not path.is_file():
        raise FileNotFoundError(f"corpus {path}: there is no such file")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not a TOML file: {error}") from error
    for key in values:
        if key not in _KEYS:
            raise ValueError(f"{path}: {unknown('key', key, _KEYS)}")
    patterns = values.get("files")
    if not isinstance(patterns, list) or not patterns or not _are_strings(patterns):
        raise ValueError(
            f'{path}: wanted files = ["name.jsonl", ...], seen from the TOML\'s folder'
        )
    told = {key: values[key] for key in ("column", "documents") if key in values}
    checksums = values.get("sha256", {})
    if not _are_strings(told.values()):
        raise ValueError(f'{path}: wanted strings, such as column = "text"; got {told}')
    if not isinstance(checksums, dict) or not _are_strings(checksums.values()):
        raise ValueError(f'{path}: wanted a table [sha256] with lines "name.jsonl" = "..."')
    files = [file for pattern in patterns for file in _matching(pattern, path.parent)]
    for name in checksums:
        if name not in {file.name for file in files}:
            raise ValueError(f"{path}: sha256 of a file that is not in files: {name}")
    try:
        reading = Reading(**told)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return _checked(Source(tuple(files), reading, tuple(sorted(checksums.items()))))


def _are_strings(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)


def _checked(source: Source) -> Source:
    from komlm.corpus import READERS
    from komlm.corpus.documents import plain_suffix

    for path in source.files:
        if plain_suffix(path) not in READERS:
            kinds = ", ".join(sorted(READERS))
            raise ValueError(f"{path}: no reader for this kind of file. Known: {kinds} (.gz, .zst)")
    return source
