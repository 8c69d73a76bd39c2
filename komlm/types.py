"""Small named types that the parts hand to one another."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from typing import NamedTuple

LEVELS = ("piece", "morpheme", "eojeol")
"""What a unit can be, from the smallest to the largest."""


class Span(NamedTuple):
    """A half-open stretch of a text in Unicode code points.

    Example: in ``"나는 갔다"`` the eojeol 갔다 is ``Span(3, 5)``.
    """

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    """One text of a corpus and where it came from.

    Example: ``Document("나는 어제 학교에 갔다.", id="letters.jsonl:12")``.
    """

    text: str
    id: str = ""


class Flag(IntFlag):
    """What begins at a piece: the bits of the ``starts`` column of a shard.

    An eojeol start is always a morpheme start, a sentence or document start always an eojeol
    start. The last three bits stand on the first piece of a morpheme unit. ``SPECIAL`` marks
    [CLS], [SEP] and [PAD] in the rows of a batch and is never written to disk.

    Example: the first piece of a document has ``MORPHEME | EOJEOL | SENTENCE | DOCUMENT`` = 15.
    """

    MORPHEME = 1
    EOJEOL = 2
    SENTENCE = 4
    DOCUMENT = 8
    FUSED_EOMI = 16
    FUSED_JOSA = 32
    STRADDLE = 64
    SPECIAL = 128
