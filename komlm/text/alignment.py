"""An aligned text as objects: its pieces, its morphemes, and the units that join them.

What a unit is stands in :mod:`komlm.text.units`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from komlm.names import unknown
from komlm.text.analysis import Analysis, Morpheme
from komlm.text.labels import LabelledSpan, labels_of, spans_of
from komlm.text.pieces import Pieces
from komlm.text.tags import CLASS_OF_CODE, CLASSES, TAGS
from komlm.text.units import UnitArrays, align_arrays
from komlm.types import LEVELS, Flag, Span


class Piece(NamedTuple):
    """A piece of the tokenizer; ``start`` and ``end`` leave out the space before it.

    Example: ``Piece(1204, "▁학교", 6, 8, 3)`` in ``"나는 어제 학교에 갔다."``.
    """

    id: int
    piece: str
    start: int
    end: int
    number: int
    """Its place among the pieces of the text, [CLS] not counted."""


@dataclass(frozen=True)
class Unit:
    """A run of pieces that is hidden as a whole.

    Example: 갔다 with the pieces ▁갔 다 has the morpheme units 갔 (head 가/VV, with a fused 었/EP)
    and 다 (다/EF).
    """

    alignment: Alignment = field(repr=False, compare=False)
    numbers: range
    """Numbers of its pieces."""
    start: int
    end: int
    morpheme_numbers: list[int]
    """Numbers of the morphemes that it meets."""
    tag: str | None
    """Tag of its head, the first morpheme of its most contentful class; None without a morpheme."""
    class_name: str | None
    """Class of its head, one of komlm.text.tags.CLASSES."""

    @property
    def text(self) -> str:
        """What it covers of the text."""
        return self.alignment.text[self.start : self.end]

    @property
    def pieces(self) -> list[Piece]:
        """Its pieces."""
        return self.alignment.pieces[self.numbers.start : self.numbers.stop]

    @property
    def morphemes(self) -> list[Morpheme]:
        """The morphemes that it meets; a morpheme may be met by several units."""
        return [self.alignment.morphemes[n] for n in self.morpheme_numbers]


@dataclass(frozen=True)
class Alignment:
    """An analysed text and its pieces; objects are made on access.

    All spans are half-open, in code points of the text as given. A text and its pieces meet many to
    many: a piece may hold several morphemes, a morpheme several pieces.

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

    @cached_property
    def morphemes(self) -> list[Morpheme]:
        """The morphemes that Kiwi found."""
        return self.analysis.morphemes

    @property
    def eojeols(self) -> list[Span]:
        """The maximal runs without white space."""
        return self.analysis.eojeols

    @cached_property
    def pieces(self) -> list[Piece]:
        """The pieces with their spans in the text."""
        ids, starts, ends = (a.tolist() for a in self.encoded[:3])
        return [
            Piece(id_, self.vocabulary[id_], start, end, number)
            for number, (id_, start, end) in enumerate(zip(ids, starts, ends, strict=True))
        ]

    @cached_property
    def arrays(self) -> UnitArrays:
        """Unit starts, head tags and straddles as arrays."""
        a = self.analysis
        return align_arrays(self.encoded, a.starts, a.ends, a.tags, a.eojeol_starts)

    @property
    def straddles(self) -> list[Piece]:
        """The pieces that cross a morpheme boundary: that meet two morphemes which share no code
        point. A contraction (갔 = 가 + 었) is none.

        Example: 학교에 as one piece.
        """
        return [self.pieces[n] for n in np.flatnonzero(self.arrays.straddles).tolist()]

    def pieces_of(self, span: tuple[int, int] | Span | Morpheme | Unit) -> list[Piece]:
        """The pieces that meet a stretch of the text.

        Args:
            span: (start, end), or something that has a ``start`` and an ``end``.

        An empty stretch, such as that of an unwritten 이/VCP, is met by what covers the character
        after it; a bare ▁ meets the stretch that the piece after it begins in.

        Raises:
            ValueError: a span outside the text; the message names its offsets.

        Example: ``a.pieces_of(a.morphemes[3])``, or ``a.pieces_of((6, 8))`` -> ▁학교.
        """
        start, end = self._bounds(span)
        starts, ends = self.encoded.starts, self.encoded.ends
        met = np.flatnonzero(_meets(starts, ends, start, end))
        return [self.pieces[n] for n in met.tolist()]

    def morphemes_of(self, piece: Piece | Unit | Span | tuple[int, int]) -> list[Morpheme]:
        """The morphemes that a piece, or another stretch of the text, meets.

        ``m in a.morphemes_of(p)`` exactly if ``p in a.pieces_of(m)``.

        Raises:
            ValueError: a span outside the text; the message names its offsets.

        Example: ``a.morphemes_of(a.pieces[5])`` for the piece ▁갔 -> 가/VV 었/EP.
        """
        start, end = self._bounds(piece)
        met = np.flatnonzero(_meets(self.analysis.starts, self.analysis.ends, start, end))
        return [self.morphemes[n] for n in met.tolist()]

    def _bounds(self, span: tuple[int, int] | Span | Piece | Morpheme | Unit) -> tuple[int, int]:
        if isinstance(span, (Piece, Morpheme, Unit)):
            start, end = span.start, span.end
        else:
            start, end = span
        if not 0 <= start <= end <= len(self.text):
            raise ValueError(
                f"the span [{start}, {end}) is outside the text: wanted 0 <= start <= end <= "
                f"{len(self.text)}"
            )
        return start, end

    def label_pieces(self, spans: Iterable[tuple[int, int, str]], scheme: str = "BIO") -> list[str]:
        """A label a piece, from labelled spans of characters (entities).

        A piece that an entity reaches into belongs to it, though a part of it stand outside; a bare
        ▁ goes with the piece after it.

        Args:
            spans: (start, end, label), in code points of the text, in any order.
            scheme: ``"BIO"`` (``"IOB2"`` is the same), ``"BIOES"`` or ``"IO"``.

        Returns:
            One label a piece, none for [CLS] and [SEP].

        Raises:
            ValueError: spans that are empty, outside the text or overlap, a span without a piece,
                or two entities in one piece; the message names the offsets.

        Example: of ``"나는 어제 학교에 갔다."`` cut ▁나 는 ▁어제 ▁학교 에 ▁갔 다 ., the spans
        ``[(6, 8, "LOC")]`` give O O O B-LOC O O O O.
        """
        return labels_of(self.encoded, len(self.text), spans, scheme)

    def spans_from(self, labels: Sequence[str]) -> list[LabelledSpan]:
        """The labelled spans of a label sequence: each from its first piece to its last.

        Any of the schemes is read. Where a sequence is not well formed, as a model's may be, an
        entity begins at each B- and S-, and at an I- or E- that no entity of its label stands right
        before (after O, say); it ends at each E- and S-, and where the next is another label or O.
        An entity of nothing but a bare ▁ is left out.

        ``spans_from(label_pieces(spans))`` gives the spans widened to whole pieces (with ``"IO"``,
        neighbours of one label become one).

        Raises:
            ValueError: not one label a piece (the message names both lengths), or one that is none.

        Example: O O O B-LOC O O O O -> ``[LabelledSpan(6, 8, "LOC")]``.
        """
        return spans_of(self.encoded, labels)

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

        Example: ``a.units("morpheme")[3].morphemes`` -> ``[Morpheme("학교", "NNG", 6, 8)]``.
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
            return Unit(self, pieces, start, end, met, None, None)
        code = codes[min(written, key=lambda n: (CLASS_OF_CODE[codes[n]], n))]
        class_name = CLASSES[CLASS_OF_CODE[code]]
        return Unit(self, pieces, start, end, met, TAGS[code], class_name)

    @cached_property
    def _morpheme_spans(self) -> list[tuple[int, int]]:
        starts, ends = self.analysis.starts.tolist(), self.analysis.ends.tolist()
        return list(zip(starts, ends, strict=True))

    @cached_property
    def _codes(self) -> list[int]:
        codes: list[int] = self.analysis.tags.tolist()
        return codes


def _meets(starts: np.ndarray, ends: np.ndarray, start: int, end: int) -> np.ndarray:
    """Which spans share a code point with ``[start, end)``; an empty one stands for the code point
    after it."""
    if start == end:
        return (starts <= start) & (start < ends)
    return (starts < end) & (np.maximum(ends, starts + 1) > start)
