"""Reader of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from komlm.corpus.documents import lines
from komlm.corpus.source import Reading
from komlm.types import Document


def read(path: Path, reading: Reading) -> Iterator[Document]:
    """A document a line: the string under the key ``reading.column``.

    Null is an empty text; blank lines are passed over.

    Raises:
        ValueError: a line that is no JSON object or has no such string; the message names the line
            and the keys that it has.

    Example: ``{"text": "나는 갔다"}`` -> ``Document("나는 갔다", "a.jsonl:1")``.
    """
    for number, line in lines(path):
        if line.strip():
            yield Document(
                text_of(line, reading.column, f"{path}, line {number}"), _id(path, number)
            )


def _id(path: Path, number: int) -> str:
    return f"{path.name}:{number}"


def text_of(line: str, column: str, place: str) -> str:
    """The string under ``column`` of one JSON line, or a ValueError that names the place."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place}: not JSON: {error}") from error
    if not isinstance(row, dict):
        raise ValueError(f'{place}: wanted a JSON object such as {{"{column}": "..."}}')
    if column not in row:
        keys = ", ".join(sorted(row)) or "none"
        raise ValueError(f"{place}: no text under '{column}'. Keys there: {keys}")
    text = row[column]
    if text is None:
        return ""
    if not isinstance(text, str):
        raise ValueError(f"{place}: '{column}' holds {json.dumps(text)[:60]}, wanted a string")
    return text
