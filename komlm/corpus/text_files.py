"""Reader of plain text files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from komlm.corpus.documents import lines
from komlm.corpus.source import Reading
from komlm.types import Document


def read(path: Path, reading: Reading) -> Iterator[Document]:
    """A document a line, a paragraph (blank lines between) or a file: ``reading.documents``.

    Example: ``"가다\\n오다"`` by line -> ``Document("가다", "a.txt:1")``, ``Document("오다")``.
    """
    if reading.documents == "line":
        for number, line in lines(path):
            yield Document(line, f"{path.name}:{number}")
        return
    held: list[str] = []
    first = 1
    for number, line in lines(path):
        if reading.documents == "paragraph" and not line.strip():
            if held:
                yield Document("\n".join(held), f"{path.name}:{first}")
            held = []
            continue
        if not held:
            first = number
        held.append(line)
    if held:
        yield Document("\n".join(held), f"{path.name}:{first}")
