"""Rows of real unit lengths, as many as a proof needs."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from komlm.data.rows import SHORTEST_ROW, Rows, RowSource
from komlm.data.shards import Shards
from komlm.types import Flag

PIECES_AT_ONCE = 2**17
"""In a batch of a proof, so that memory stays flat however many rows there are."""


class Source(Protocol):
    """Anything that gives rows by number, as :class:`komlm.data.rows.RowSource` does."""

    def __len__(self) -> int: ...

    def batch(self, numbers: np.ndarray) -> Rows: ...


def source_of(shards: Shards, length: int, most: int) -> Source:
    """Rows of ``length`` pieces; below the least that RowSource cuts, ``most`` or fewer."""
    if length >= SHORTEST_ROW:
        return RowSource(shards, length)
    return ShortRows(shards, length, most)


class ShortRows:
    """Rows too short for RowSource: [CLS], whole eojeol units, [SEP], padding.

    Greedy and in order; a unit that no row can hold is left out. Documents follow one another
    without a [SEP].
    """

    def __init__(self, shards: Shards, length: int, most: int) -> None:
        room = length - 2
        begin, end = np.zeros(1, np.int64), np.array([min(shards.pieces, most * room)])
        ids, starts, tags = (
            stream.gather(begin, end) for stream in (shards.input_ids, shards.starts, shards.tags)
        )
        firsts = np.flatnonzero(starts & int(Flag.EOJEOL))
        lengths = np.diff(firsts, append=len(starts))
        places, row, used = array("q"), -1, length  # in the flat rows; -1 where no row can hold it
        for pieces in lengths.tolist():
            if pieces > room:
                places.append(-1)
                continue
            if used + pieces > room:
                row, used = row + 1, 0
            places.append(row * length + 1 + used)
            used += pieces
        # From the first piece of a unit on, its pieces stand side by side.
        shifts = np.repeat(np.frombuffer(places, np.int64) - firsts, lengths)
        kept = np.repeat(np.frombuffer(places, np.int64) >= 0, lengths)
        at = (np.arange(len(starts)) + shifts)[kept]
        shape, special = (row + 1, length), shards.special_ids
        self.ids = np.full(shape, special["pad"], np.int64)
        self.starts = np.full(shape, int(Flag.SPECIAL), np.uint8)
        self.tags = np.zeros(shape, np.uint8)
        self.ids.ravel()[at] = ids[kept]
        self.starts.ravel()[at] = starts[kept]
        self.tags.ravel()[at] = tags[kept]
        ends = length - np.argmax(self.ids[:, ::-1] != special["pad"], axis=1)
        self.ids[np.arange(row + 1), ends] = special["sep"]
        self.ids[:, 0] = special["cls"]
        self.pad_id = special["pad"]

    def __len__(self) -> int:
        return len(self.ids)

    def batch(self, numbers: np.ndarray) -> Rows:
        """The rows with these numbers."""
        columns = (torch.from_numpy(x[numbers]) for x in (self.ids, self.starts, self.tags))
        return Rows(*columns, torch.from_numpy(numbers.copy()), self.pad_id)


class Batch(NamedTuple):
    """Some rows, and the epoch that each is read in, int64 of shape (rows,)."""

    rows: Rows
    epochs: Tensor


def batches(source: Source, numbers: np.ndarray, wanted: int, length: int) -> Iterator[Batch]:
    """The rows with these numbers, over and over, an epoch a time, until there are ``wanted``."""
    size = PIECES_AT_ONCE // length
    for begin in range(0, wanted, size):
        epochs, which = np.divmod(np.arange(begin, min(begin + size, wanted)), len(numbers))
        yield Batch(source.batch(numbers[which]), torch.from_numpy(epochs))
