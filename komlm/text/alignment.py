"""An aligned text as objects: its pieces, its morphemes, and the units that join them.

What a unit is stands in :mod:`komlm.text.units`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from komlm.names import unknown
from komlm.text.analysis import Analysis, Analyzer, Morpheme
from komlm.text.tags import CLASS_OF_CODE, CLASSES, TAGS
from komlm.text.tokenizer import Pieces, Tokenizer
from komlm.text.units import UnitArrays, align_arrays
from komlm.types import LEVELS, Flag, Span


class Piece(NamedTuple):
    """A piece of the tokenizer; ``start`` and ``end`` leave out the space before it.

    Example: ``Piece(1204, "▁학교", 6, 8)`` in ``"나는 어제 학교에 갔다."``.
    """

    id: int
    piece: str
    start: int
    end: int


class Unit(NamedTuple):
    """A run of pieces that is hidden as a whole.

    Example: 갔다 with the pieces ▁갔 다 has the morpheme units 갔 (head 가/VV, with a fused 었/EP)
    and 다 (다/EF).
    """

    pieces: list[int]
    """Numbers of its pieces."""
    start: int
    end: int
    morphemes: list[int]
    """Numbers of the morphemes that it meets."""
    tag: str | None
    """Tag of its head, the first morpheme of its most contentful class; None without a morpheme."""
    class_name: str | None
    """Class of its head, one of komlm.text.tags.CLASSES."""


@dataclass(frozen=True)
class Alignment:
    """An analysed text and its pieces; objects are made on access.

    Example: for ``"갔다"`` with the pieces ▁갔 다, ``units("morpheme")`` -> [갔 (가/VV 었/EP)]
    [다 (다/EF)] and ``units("eojeol")`` -> [갔다].
    """

    analysis: Analysis
    encoded: Pieces
    """Ids and spans of the pieces."""
    vocabulary: Sequence[str]

    @property
    def text(self) -> str:
        """The text as given."""
        return self.analysis.text

    @property
    def morphemes(self) -> list[Morpheme]:
        """The morphemes that Kiwi found."""
        return self.analysis.morphemes

    @property
    def eojeols(self) -> list[Span]:
        """The maximal runs without white space."""
        return self.analysis.eojeols

    @property
    def pieces(self) -> list[Piece]:
        """The pieces with their spans in the text."""
        ids, starts, ends = (a.tolist() for a in self.encoded[:3])
        return [
            Piece(id_, self.vocabulary[id_], start, end)
            for id_, start, end in zip(ids, starts, ends, strict=True)
        ]

    @cached_property
    def arrays(self) -> UnitArrays:
        """Unit starts, head tags and straddles as arrays."""
        a = self.analysis
        return align_arrays(self.encoded, a.starts, a.ends, a.tags, a.eojeol_starts)

    @property
    def straddles(self) -> list[int]:
        """Numbers of the pieces that meet two morphemes which share no code point."""
        return np.flatnonzero(self.arrays.straddles).tolist()

    def unit_starts(self, level: str) -> np.ndarray:
        """Numbers of the pieces at which a unit of ``level`` begins.

        Raises:
            ValueError: an unknown level; the message names the nearest known one.
        """
        if level == "piece":
            return np.arange(len(self.encoded.ids))
        if level == "morpheme":
            return np.flatnonzero(self.arrays.starts & Flag.MORPHEME)
        if level == "eojeol":
            return np.flatnonzero(self.arrays.starts & Flag.EOJEOL)
        raise ValueError(unknown("unit", level, LEVELS))

    def units(self, level: str) -> list[Unit]:
        """The units of a level, a partition of the pieces in order.

        Args:
            level: ``"piece"``, ``"morpheme"`` or ``"eojeol"``.
        """
        first = self.unit_starts(level)
        if not len(first):
            return []
        a, bounds = self.analysis, [*first.tolist(), len(self.encoded.ids)]
        starts = self.encoded.starts[first]
        ends = np.maximum.reduceat(self.encoded.ends, first)
        # Spans are in order, so the morphemes that a unit can meet follow one another.
        low = np.searchsorted(a.ends, starts).tolist()
        high = np.searchsorted(a.starts, ends).tolist()
        return [
            self._unit(range(begin, end), start, stop, range(from_, to))
            for begin, end, start, stop, from_, to in zip(
                bounds, bounds[1:], starts.tolist(), ends.tolist(), low, high, strict=False
            )
        ]

    def _unit(self, pieces: range, start: int, end: int, near: range) -> Unit:
        spans, codes = self._morpheme_spans, self._codes
        # An unwritten morpheme (an empty span) belongs to what is written right after it; a written
        # one that ends where the unit begins does not.
        met = [n for n in near if spans[n][1] > start or spans[n][0] == start]
        written = [n for n in met if spans[n][1] > spans[n][0]]
        if not written:
            return Unit(list(pieces), start, end, met, None, None)
        code = codes[min(written, key=lambda n: (CLASS_OF_CODE[codes[n]], n))]
        return Unit(list(pieces), start, end, met, TAGS[code], CLASSES[CLASS_OF_CODE[code]])

    @cached_property
    def _morpheme_spans(self) -> list[tuple[int, int]]:
        starts, ends = self.analysis.starts.tolist(), self.analysis.ends.tolist()
        return list(zip(starts, ends, strict=True))

    @cached_property
    def _codes(self) -> list[int]:
        codes: list[int] = self.analysis.tags.tolist()
        return codes


class Aligner:
    """Aligns texts: a tokenizer and Kiwi, loaded once.

    Example: ``Aligner.load("tok")("나는 어제 학교에 갔다.").units("morpheme")``.
    """

    def __init__(self, tokenizer: Tokenizer, analyzer: Analyzer) -> None:
        self.tokenizer = tokenizer
        self.analyzer = analyzer

    @classmethod
    def load(cls, tokenizer: Path | str, dictionary: Path | None = None) -> Aligner:
        """Read a tokenizer folder and build Kiwi, with a user dictionary where one is given."""
        return cls(Tokenizer.load(tokenizer), Analyzer(dictionary))

    def __call__(self, text: str) -> Alignment:
        """Align one text.

        Raises:
            ValueError: a lone surrogate; the message names its offset.
        """
        return Alignment(self.analyzer(text), self.tokenizer.encode(text), self.tokenizer.pieces)
