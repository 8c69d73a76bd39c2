"""Rows for the model, cut from shards when training opens them, and the order they are read in.

A row is [CLS], then pieces of the documents in their order, a [SEP] after each document's stretch
of the row, then [PAD]::

    document 1: ▁나 는 ▁어제      document 2: ▁학교 에 ▁갔 다      rows of 7
    [CLS] ▁나 는 ▁어제 [SEP] [PAD] [PAD]      (▁학교 에 and a [SEP] have no room)
    [CLS] ▁학교 에 ▁갔 다 [SEP] [PAD]
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from komlm.data.shards import Shards
from komlm.names import pick
from komlm.randomness import Purpose, permuted, seed_of
from komlm.types import Flag

CUTS = {"eojeol": Flag.EOJEOL, "sentence": Flag.SENTENCE}
SHORTEST_ROW = 18
"""An eojeol unit of 16 pieces, the longest there is, with [CLS] and [SEP]."""


@dataclass(frozen=True, eq=False)
class Rows:
    """A batch of rows; B rows of T pieces.

    Attributes:
        input_ids: int64, *Shape:* ``(B, T)``.
        starts: uint8, *Shape:* ``(B, T)``, flags of :class:`komlm.types.Flag`; ``SPECIAL`` alone at
            [CLS], [SEP] and [PAD].
        tags: uint8, *Shape:* ``(B, T)``, tag codes; 0 at special tokens.
        numbers: int64, *Shape:* ``(B,)``, the row numbers, which key masks and draws.
        pad_id: the id of [PAD].

    Example: ``source.batch(np.arange(64)).to("cuda").input_ids.shape`` -> ``(64, 512)``.
    """

    input_ids: Tensor
    starts: Tensor
    tags: Tensor
    numbers: Tensor
    pad_id: int = 1

    @property
    def attention_mask(self) -> Tensor:
        """True where there is no padding. *Shape:* ``(B, T)``."""
        return self.input_ids != self.pad_id

    @property
    def maskable(self) -> Tensor:
        """True at pieces of text, False at special tokens. *Shape:* ``(B, T)``."""
        return (self.starts & int(Flag.SPECIAL)).logical_not()  # half the time of == 0

    def to(self, device: torch.device | str) -> Rows:
        """The same rows on another device."""
        return replace(
            self,
            input_ids=self.input_ids.to(device),
            starts=self.starts.to(device),
            tags=self.tags.to(device),
            numbers=self.numbers.to(device),
        )


class RowSource:
    """All rows of one split, planned once: greedy, every piece in exactly one row, in order.

    A row ends before an eojeol unit, so no unit is ever torn. With ``cut="sentence"`` it ends
    before a sentence; a sentence that is longer than a row begins a row and is cut at eojeols.

    Attributes:
        boundaries: *Shape:* ``(rows + 1,)``, where each row begins in the flat stream of pieces.
        fill: share of positions that hold no padding.

    Raises:
        ValueError: ``max_length`` below 18, an unknown ``cut``, or an eojeol unit that
            no row can hold.

    Example: ``RowSource(Shards.open(Path("shards"), "train"), 128, "eojeol").batch(np.arange(4))``
    -> the first four :class:`Rows`.
    """

    def __init__(self, shards: Shards, max_length: int, cut: str = "eojeol") -> None:
        if max_length < SHORTEST_ROW:
            raise ValueError(f"rows of {max_length} pieces: wanted {SHORTEST_ROW} or more")
        self.shards = shards
        self.max_length = max_length
        plan = _plan(shards, max_length, pick("cut", cut, CUTS))
        self.boundaries = plan.boundaries
        self.fill = 1 - plan.padding / (len(self) * max_length)

    def __len__(self) -> int:
        return len(self.boundaries) - 1

    def batch(self, numbers: npt.NDArray[np.int64]) -> Rows:
        """The rows with these numbers, in this order, each padded to ``max_length``.

        Raises:
            IndexError: a number that is no row.
        """
        numbers = np.asarray(numbers, dtype=np.int64)
        outside = numbers[(numbers < 0) | (numbers >= len(self))]
        if len(outside):
            raise IndexError(f"row {outside[0]}: wanted 0 to {len(self) - 1}")
        begins, ends = self.boundaries[numbers], self.boundaries[numbers + 1]
        ids, starts, tags = (
            column.gather(begins, ends)
            for column in (self.shards.input_ids, self.shards.starts, self.shards.tags)
        )
        shape = (len(numbers), self.max_length)
        special = self.shards.special_ids
        out_ids = np.full(shape, special["pad"], np.int64)
        out_starts = np.full(shape, int(Flag.SPECIAL), np.uint8)
        out_tags = np.zeros(shape, np.uint8)

        places, separators = _places(starts, ends - begins, self.max_length)
        out_ids.ravel()[places] = ids
        out_starts.ravel()[places] = starts
        out_tags.ravel()[places] = tags
        out_ids.ravel()[separators] = special["sep"]
        out_ids[:, 0] = special["cls"]
        return Rows(
            input_ids=torch.from_numpy(out_ids),
            starts=torch.from_numpy(out_starts),
            tags=torch.from_numpy(out_tags),
            numbers=torch.from_numpy(numbers.copy()),
            pad_id=special["pad"],
        )


class _Places(NamedTuple):
    """Where pieces and [SEP] stand in the flattened batch."""

    pieces: npt.NDArray[np.int64]
    separators: npt.NDArray[np.int64]


def _places(starts: npt.NDArray[np.uint8], lengths: npt.NDArray[np.int64], width: int) -> _Places:
    """Places for the pieces of rows that follow one another in ``starts``.

    Example: lengths [3, 1], width 6, a document start at each 15 of starts [15, 3, 15, 15] ->
    pieces [1, 2, 4, 7], separators [3, 5, 8]; 0 and 6 are [CLS].
    """
    firsts = np.cumsum(lengths) - lengths
    # A [SEP] goes before each document start but the one that a row begins with.
    separated = (starts & int(Flag.DOCUMENT)) != 0
    separated[firsts] = False
    before = np.cumsum(separated, dtype=np.int64)
    shifts = np.arange(len(lengths)) * width + 1 - firsts - before[firsts]
    pieces = np.arange(len(starts)) + before + np.repeat(shifts, lengths)
    ends = pieces[firsts + lengths - 1] + 1
    return _Places(pieces, np.concatenate([pieces[separated] - 1, ends]))


class _Plan(NamedTuple):
    boundaries: npt.NDArray[np.int64]
    padding: int


def _plan(shards: Shards, max_length: int, cut: Flag) -> _Plan:
    """Cut all rows: a plain loop over documents and windows, about a microsecond each."""
    whole = max_length - 1  # room in a row after [CLS]; a stretch of n pieces takes n + 1
    boundaries = array("q", [0])
    room, padding = whole, 0
    for base, ends, eojeols, wanted in _searchable(shards, cut):
        begin = 0
        for end in ends:
            while begin < end and end - begin >= room:
                # The last start at which the stretch before it, and its [SEP], have room.
                at = wanted.rfind(1, begin + 1, begin + room)
                if at < 0 and room < whole:
                    at = begin
                elif at < 0:
                    at = eojeols.rfind(1, begin + 1, begin + room)
                    if at < 0:
                        raise ValueError(_too_long(shards, base + begin, max_length))
                padding += room - (at - begin + 1) if at > begin else room
                boundaries.append(base + at)
                begin, room = at, whole
            if begin < end:
                room -= end - begin + 1
            begin = end
    boundaries.append(shards.pieces)
    return _Plan(np.frombuffer(boundaries, dtype=np.int64), padding + room)


class _Searchable(NamedTuple):
    """One chunk of the corpus: ends of its documents, and a byte a piece, 1 where a unit begins."""

    base: int
    ends: list[int]
    eojeols: bytes
    wanted: bytes


def _searchable(shards: Shards, cut: Flag) -> Iterator[_Searchable]:
    begins = shards.starts.begins
    documents = np.searchsorted(shards.offsets, begins[1:], side="right") - 1
    first = 0
    for chunk, base, last in zip(
        shards.starts.chunks, begins[:-1].tolist(), documents.tolist(), strict=True
    ):
        eojeols, wanted = (((chunk & int(flag)) != 0).tobytes() for flag in (Flag.EOJEOL, cut))
        yield _Searchable(
            base, (shards.offsets[first + 1 : last + 1] - base).tolist(), eojeols, wanted
        )
        first = last


def _too_long(shards: Shards, begin: int, max_length: int) -> str:
    document = int(np.searchsorted(shards.offsets, begin, side="right")) - 1
    return (
        f"{shards.folder}: document {document} of {shards.split} holds an eojeol unit of more than "
        f"{max_length - 2} pieces, too long for rows of {max_length}. Run `komlm prepare` again, "
        "which cuts units at 16 pieces, or set a larger rows.max_length."
    )


class Order(NamedTuple):
    """Which rows to read. *Shape* of both: that of the positions."""

    epochs: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64]


def order(positions: npt.NDArray[np.int64], rows: int, seed: int) -> Order:
    """The rows at ``positions`` of an endless run over the data, each epoch in an order of its own.

    Computed, not stored: the answer for a position depends on nothing but (seed, rows, position),
    so a resumed run skips nothing and saves nothing. A batch may run over the end of an epoch.

    Example: with 3 rows, positions ``[0, 1, 2, 3]`` -> epochs ``[0, 0, 0, 1]``, numbers such as
    ``[2, 0, 1, 1]``.
    """
    if rows < 1:
        raise ValueError(f"an order of {rows} rows: wanted 1 or more")
    positions = np.asarray(positions, dtype=np.int64)
    epochs, within = np.divmod(positions, rows)
    numbers = np.empty_like(positions)
    for epoch in np.unique(epochs).tolist():
        here = epochs == epoch
        numbers[here] = permuted(within[here], rows, seed_of(seed, epoch, Purpose.ROW_ORDER))
    return Order(epochs, numbers)
