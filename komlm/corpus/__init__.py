"""From files to shards: readers, and the stages ``analyze`` and ``prepare``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from komlm.corpus import jsonl_files, parquet_files, text_files
from komlm.corpus.source import Reading, Source
from komlm.types import Document

READERS: dict[str, Callable[[Path, Reading], Iterator[Document]]] = {
    ".txt": text_files.read,
    ".jsonl": jsonl_files.read,
    ".parquet": parquet_files.read,
}
"""Suffix of a file -> its reader. A new format is one file and one line here."""


def read_documents(source: Source) -> Iterator[Document]:
    """All documents of a corpus, in order.

    Example: ``next(read_documents(find_source("mini"))).text`` -> the first article.
    """
    from komlm.corpus.documents import plain_suffix

    for path in source.files:
        yield from READERS[plain_suffix(path)](path, source.reading)
