"""What a user calls a corpus: a name from corpora/, a TOML file, or paths and globs."""

from __future__ import annotations

import glob
import tomllib
from collections.abc import Sequence
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
    if len(names) == 1 and names[0] in known_corpora() and not Path(names[0]).is_file():
        return _from_toml(corpora_folder() / f"{names[0]}.toml")
    if len(names) == 1 and names[0].endswith(".toml"):
        return _from_toml(Path(names[0]))
    files = [path for name in names for path in _matching(name)]
    return _checked(Source(tuple(files), reading or Reading()))


def _matching(name: str) -> list[Path]:
    path = Path(name)
    if path.is_file():
        return [path]
    if path.is_dir():
        raise ValueError(f"{name} is a folder: say which files, such as '{name}/*.txt'")
    found = sorted(Path(match) for match in glob.glob(name, recursive=True))
    files = [path for path in found if path.is_file()]
    if not files:
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
    if not isinstance(patterns, list) or not all(isinstance(p, str) for p in patterns):
        raise ValueError(f'{path}: wanted files = ["name.jsonl", ...], seen from the TOML\'s folder')
    files = [file for pattern in patterns for file in _matching(str(path.parent / pattern))]
    reading = Reading(
        column=values.get("column", "text"), documents=values.get("documents", "line")
    )
    checksums = tuple(sorted(values.get("sha256", {}).items()))
    return _checked(Source(tuple(files), reading, checksums))


def _checked(source: Source) -> Source:
    from komlm.corpus import READERS
    from komlm.corpus.documents import plain_suffix

    for path in source.files:
        if plain_suffix(path) not in READERS:
            kinds = ", ".join(sorted(READERS))
            raise ValueError(f"{path}: no reader for this kind of file. Known: {kinds} (.gz, .zst)")
    return source
