"""Aligned texts as rows for a model: the columns that hiding whole units needs.

A row is [CLS], pieces, [SEP]. Its columns are those of a shard (:mod:`komlm.data.shards`):
``input_ids``, ``starts`` (flags of :class:`komlm.types.Flag`) and ``tags``, of one length.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from komlm.text.alignment import Alignment
from komlm.text.analysis import Analyzer, analyzer_identity
from komlm.text.tokenizer import Tokenizer
from komlm.text.units import LONGEST_UNIT
from komlm.types import Flag

COLUMNS = ("input_ids", "starts", "tags")
SHORTEST = LONGEST_UNIT + 2
"""Room for the longest eojeol unit with [CLS] and [SEP]."""

Row = dict[str, np.ndarray]


class RowMaker:
    """Texts -> rows; Kiwi is built where it is first used, so that this can travel to a process.

    Args:
        tokenizer: with [CLS], [SEP], [PAD] and [MASK].
        dictionary: a user dictionary for Kiwi.
        max_length: pieces in a row, [CLS] and [SEP] counted.
        analyzer: for this process, if it was built already.

    Raises:
        ValueError: the tokenizer lacks a special piece, or ``max_length`` is below 18.

    Example: ``next(RowMaker(tokenizer, None, 128).rows("나는 갔다"))["input_ids"]`` -> the ids of
    [CLS] ▁나 는 ▁갔 다 [SEP].
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        dictionary: Path | None,
        max_length: int,
        analyzer: Analyzer | None = None,
    ) -> None:
        if max_length < SHORTEST:
            raise ValueError(f"max_length = {max_length}: wanted {SHORTEST} or more")
        self.specials = tokenizer.specials_for("a row of a masked language model")
        self.tokenizer = tokenizer
        self.dictionary = dictionary
        self.max_length = max_length
        self._analyzer = analyzer

    def __getstate__(self) -> dict[str, Any]:
        # Each process builds its own Kiwi: one that has worked hangs in a forked child.
        return {**self.__dict__, "_analyzer": None}

    def rows(self, text: str) -> Iterator[Row]:
        """The rows of a text: as few as hold it, each but the first beginning with an eojeol.

        A text without pieces has no row.

        Raises:
            TypeError: the text is no string.
            ValueError: it holds a lone surrogate; the message names its offset.
        """
        if not isinstance(text, str):
            raise TypeError(f"wanted a text, and got {type(text).__name__}")
        if self._analyzer is None:
            self._analyzer = Analyzer(self.dictionary)
        pieces = self.tokenizer.encode(text)
        units = Alignment(self._analyzer(text), pieces, self.tokenizer.pieces).arrays
        eojeols = np.flatnonzero(units.starts & Flag.EOJEOL)
        special = (self.specials["cls"], self.specials["sep"])
        for begin, end in _cuts(eojeols, len(pieces.ids), self.max_length - 2):
            yield {
                "input_ids": _framed(pieces.ids[begin:end], special, np.int32),
                "starts": _framed(units.starts[begin:end], (Flag.SPECIAL, Flag.SPECIAL), np.uint8),
                "tags": _framed(units.tags[begin:end], (0, 0), np.uint8),
            }

    def columns(self, batch: Mapping[str, list[Any]], column: str) -> dict[str, list[np.ndarray]]:
        """The rows of a batch of texts, as `datasets.Dataset.map` wants them.

        Raises:
            ValueError: a text that is refused; the message names its place in the batch.
        """
        made: dict[str, list[np.ndarray]] = {name: [] for name in COLUMNS}
        for place, text in enumerate(batch[column]):
            try:
                for row in self.rows(text):
                    for name in COLUMNS:
                        made[name].append(row[name])
            except (TypeError, ValueError) as error:
                raise ValueError(f"text {place} of a batch, column {column!r}: {error}") from error
        return made

    def fingerprint(self) -> str:
        """A hash of all that the rows of a text depend on.

        Example: another user dictionary, tokenizer or Kiwi gives another one.
        """
        parts = [
            self.tokenizer.serialized,
            repr(sorted(self.specials.items())),
            repr(sorted(analyzer_identity(self.dictionary).items())),
            str(self.max_length),
            "rows 1",  # to be raised when the same text comes to give other rows
        ]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def rows_of_dataset(dataset: Any, maker: RowMaker, column: str, num_proc: int | None) -> Any:
    """What :meth:`komlm.Aligner.map` gives."""
    # Imported here: whoever aligns texts need not wait for it.
    from datasets import Features, List, Value

    if isinstance(dataset, dict):
        made = {name: rows_of_dataset(d, maker, column, num_proc) for name, d in dataset.items()}
        return type(dataset)(made)
    names = dataset.column_names or []
    if names and column not in names:
        raise ValueError(f"the dataset has no column {column!r}, but {', '.join(names)}")
    kinds = zip(COLUMNS, ("int32", "uint8", "uint8"), strict=True)
    how: dict[str, Any] = {
        "batched": True,
        "fn_kwargs": {"column": column},
        "remove_columns": names or None,
        "features": Features({name: List(Value(kind)) for name, kind in kinds}),
    }
    if hasattr(dataset, "_fingerprint"):
        # Told, not found by pickling: a Kiwi with a user dictionary cannot be pickled.
        key = "\0".join((dataset._fingerprint, maker.fingerprint(), column))
        how["new_fingerprint"] = hashlib.sha256(key.encode()).hexdigest()[:32]
        how |= {"num_proc": num_proc, "desc": "align"}
    return dataset.map(maker.columns, **how).with_format("numpy")


def _cuts(eojeols: np.ndarray, count: int, room: int) -> Iterator[tuple[int, int]]:
    """Stretches of at most ``room`` pieces, cut at eojeols; a unit never has more than ``room``."""
    begin = 0
    while begin < count:
        end = count
        if count - begin > room:
            end = int(eojeols[np.searchsorted(eojeols, begin + room, side="right") - 1])
        yield begin, end
        begin = end


def _framed(values: np.ndarray, ends: tuple[int, int], kind: type) -> np.ndarray:
    return np.concatenate([[ends[0]], values, [ends[1]]]).astype(kind)
