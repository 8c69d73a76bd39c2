"""The stage ``analyze``: documents -> what Kiwi says of them, once, for every tokenizer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from komlm.corpus import read_documents
from komlm.corpus.analysis_folder import write_part
from komlm.corpus.source import Source
from komlm.corpus.stage import Record, StageFolder, working_on
from komlm.files import sha256_of
from komlm.processes import Advance, run_parts
from komlm.text.analysis import Analysis, Analyzer, analyzer_identity
from komlm.text.normalize import check_surrogates
from komlm.types import Document

DOCUMENTS_IN_A_PART = 512
CHARACTERS_IN_A_PART = 4_000_000
"""A part ends here too, so that books need no more memory than letters do."""


class Inventory(NamedTuple):
    """What a first reading of the corpus found; it also checked every document."""

    documents: int
    characters: int
    parts: int
    recipe: dict[str, Any]


@dataclass(frozen=True)
class _Task:
    number: int
    documents: list[Document]
    folder: Path
    dictionary: Path | None
    dictionary_sha256: str


def take_inventory(source: Source, dictionary: Path | None = None) -> Inventory:
    """Read the corpus once before the hours of work, so that a bad line is found at once.

    Raises:
        ValueError: a file that cannot be read, a lone surrogate, a file that is not the one that
            the corpus' TOML names, or no text at all.
    """
    promised = dict(source.checksums)
    checksums = []
    for path in source.files:
        checksum = sha256_of(path)
        if promised.get(path.name, checksum) != checksum:
            raise ValueError(
                f"{path}: not the file that the corpus names: its SHA-256 is {checksum}, wanted "
                f"{promised[path.name]}"
            )
        checksums.append(checksum)
    documents = characters = parts = 0
    any_text = False
    for part in _parts(read_documents(source)):
        parts += 1
        documents += len(part)
        for document in part:
            try:
                check_surrogates(document.text)
            except ValueError as error:
                raise ValueError(f"{document.id}: {error}") from error
            characters += len(document.text)
            any_text = any_text or not _is_blank(document)
    if not any_text:
        raise ValueError(f"{', '.join(map(str, source.files))}: no text in it")
    recipe = {
        "inputs": checksums,
        "column": source.reading.column,
        "documents": source.reading.documents,
        "analyzer": analyzer_identity(dictionary),
        "documents_in_a_part": DOCUMENTS_IN_A_PART,
        "characters_in_a_part": CHARACTERS_IN_A_PART,
    }
    return Inventory(documents, characters, parts, recipe)


def analyze(
    source: Source,
    folder: Path,
    workers: int = 1,
    dictionary: Path | None = None,
    inventory: Inventory | None = None,
    advance: Advance = lambda amount: None,
) -> dict[str, Any]:
    """Analyse a corpus into ``folder`` and return its manifest.

    A run that was killed goes on with the parts that are missing; a second run of the same changes
    no file. Empty and space-only documents are dropped and counted.

    Args:
        inventory: from :func:`take_inventory`, if it was taken already.
        advance: told the characters that were done.

    Raises:
        ValueError: as :func:`take_inventory`, or the folder holds something else.
        OSError: the disk is full, or cannot be written to.

    Example: ``analyze(find_source("mini"), Path("analysis"))["counts"]["documents"]``.
    """
    inventory = inventory or take_inventory(source, dictionary)
    with working_on(folder):
        stage = StageFolder(folder, "analysis", inventory.recipe)
        tasks = _tasks(source, stage, dictionary, advance)
        for record in run_parts(_analyze_part, tasks, workers, advance):
            stage.finish_part(record)
        return stage.finish(inventory.parts, {})


def _parts(documents: Iterable[Document]) -> Iterator[list[Document]]:
    held: list[Document] = []
    characters = 0
    for document in documents:
        held.append(document)
        characters += len(document.text)
        if len(held) >= DOCUMENTS_IN_A_PART or characters >= CHARACTERS_IN_A_PART:
            yield held
            held, characters = [], 0
    if held:
        yield held


def _is_blank(document: Document) -> bool:
    return not document.text or document.text.isspace()


def _tasks(
    source: Source, stage: StageFolder, dictionary: Path | None, advance: Advance
) -> Iterator[_Task]:
    sha256 = stage.recipe["analyzer"]["dictionary"]
    for number, documents in enumerate(_parts(read_documents(source))):
        if number in stage.records:
            advance(sum(len(document.text) for document in documents))
        else:
            yield _Task(number, documents, stage.folder, dictionary, sha256)


@lru_cache(maxsize=1)
def _analyzer(dictionary: Path | None, sha256: str) -> Analyzer:
    """One Kiwi a process, until the dictionary's content (``sha256``) is another."""
    return Analyzer(dictionary)


def analyzer_of_process(dictionary: Path | None = None) -> Analyzer:
    """The analyzer that :func:`analyze` works with in this process; built when first asked for."""
    return _analyzer(dictionary, analyzer_identity(dictionary)["dictionary"])


_COUNTS = ("documents", "dropped_empty", "characters", "eojeols", "morphemes", "sentences")


def _analyze_part(task: _Task, advance: Advance) -> Record:
    counts = Counter(dict.fromkeys(_COUNTS, 0))
    analyzer = _analyzer(task.dictionary, task.dictionary_sha256)

    def analyses() -> Iterator[Analysis]:
        for document in task.documents:
            if _is_blank(document):
                counts["dropped_empty"] += 1
            else:
                analysis = analyzer(document.text, forms=False)
                counts["documents"] += 1
                counts["characters"] += len(document.text)
                counts["eojeols"] += len(analysis.eojeol_starts)
                counts["morphemes"] += len(analysis.tags)
                counts["sentences"] += len(analysis.sentence_starts)
                yield analysis
            advance(len(document.text))

    name = f"part-{task.number:05d}.arrow"
    write_part(task.folder / name, analyses())
    sha256 = sha256_of(task.folder / name)
    files = {name: {"sha256": sha256, "documents": counts["documents"]}}
    return Record(task.number, files, dict(sorted(counts.items())))
