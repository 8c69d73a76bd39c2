"""What a proof counts over many batches of rows, by plain numpy and apart from komlm.masking.

Legend of shapes: B rows, T pieces in a row, N units in a batch, special tokens left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from komlm.data.rows import Rows
from komlm.masking import Selection
from komlm.randomness import ONE
from komlm.text.tags import CLASS_OF_CODE, CLASSES
from komlm.types import Flag

FLAG = {"morpheme": int(Flag.MORPHEME), "eojeol": int(Flag.EOJEOL)}
LONGEST = 16
"""Pieces of the longest unit that `komlm prepare` writes."""


@dataclass(frozen=True)
class Units:
    """The units of a batch in their order. *Shape* of each array: (N,)"""

    at: np.ndarray
    """Where a unit begins in the flattened batch, special tokens, one unit each, included."""
    text: np.ndarray
    """Which of ``at`` are units of text; all the others are of these."""
    row: np.ndarray
    length: np.ndarray
    kind: np.ndarray
    """Number of its class: that of its most contentful piece."""

    def sums(self, pieces: np.ndarray) -> np.ndarray:
        """Of each unit: how many of its pieces are True. *Shape:* (B, T) -> (N,)"""
        return np.add.reduceat(pieces.ravel(), self.at, dtype=np.int64)[self.text]


def units_in(rows: Rows, unit: str) -> Units:
    """The units of a batch, from the flags of its pieces."""
    starts = rows.starts.numpy()
    special = (starts & int(Flag.SPECIAL)) != 0
    begins = special | True if unit == "piece" else special | ((starts & FLAG[unit]) != 0)
    begins[:, 1:] |= special[:, :-1]
    begins[:, 0] = True
    at = np.flatnonzero(begins)
    text = ~special.ravel()[at]
    kinds = np.minimum.reduceat(CLASS_OF_CODE[rows.tags.numpy().ravel()], at)
    return Units(
        at=at,
        text=text,
        row=at[text] // starts.shape[1],
        length=np.diff(at, append=starts.size)[text],
        kind=kinds[text].astype(np.int64),
    )


def probabilities(settings: Selection) -> np.ndarray:
    """The probability of a unit of each class, then of none, in 2**-30ths, as in the design."""
    weights = [*(settings.weights.get(name, 1.0) for name in CLASSES), 1.0]
    return np.array([min(ONE, round(settings.ratio * w * ONE)) for w in weights], np.int64)


@dataclass
class Shares:
    """How often units of each kind were hidden. *Shape* of each array: (kinds,)"""

    kinds: int
    units: np.ndarray = field(init=False)
    hidden: np.ndarray = field(init=False)
    wanted: np.ndarray = field(init=False)
    """Sum of the probabilities."""
    squares: np.ndarray = field(init=False)
    """Sum over the rows of (hidden - wanted)^2: the variance of ``hidden``, as measured, since rows
    are independent of each other, and whatever the units of one row are to one another."""

    def __post_init__(self) -> None:
        for name in ("units", "hidden", "wanted", "squares"):
            setattr(self, name, np.zeros(self.kinds))

    def add(self, row: np.ndarray, kind: np.ndarray, p: np.ndarray, hidden: np.ndarray) -> None:
        """Count units, each in a row, of a kind, of a probability, and hidden or not."""
        cells, size = row * self.kinds + kind, (int(row.max()) + 1) * self.kinds
        by_cell = [
            np.bincount(cells, weights, size).reshape(-1, self.kinds)
            for weights in (np.ones(len(row)), hidden, p)
        ]
        self.units += by_cell[0].sum(0)
        self.hidden += by_cell[1].sum(0)
        self.wanted += by_cell[2].sum(0)
        self.squares += ((by_cell[1] - by_cell[2]) ** 2).sum(0)

    @property
    def off(self) -> np.ndarray:
        """Relative deviation of each kind from its probability."""
        with np.errstate(invalid="ignore"):
            return self.hidden / self.wanted - 1


@dataclass
class Tally:
    """Counts over batches, and the bounds that hold in each row, asserted as it goes.

    A row whose probabilities sum to less than 1 hides one unit by rule. Such rows are checked and
    do not count in the figures: whoever calls gives either those or the others.
    """

    unit: str
    settings: Selection
    rows: int = 0
    pieces: int = 0
    hidden: int = 0
    excess: float = -np.inf
    """The largest |hidden - sum of p x length| of a row, less its longest unit: never above 0."""
    by_length: Shares = field(default_factory=lambda: Shares(LONGEST + 1))
    by_class: Shares = field(default_factory=lambda: Shares(len(CLASSES) + 1))
    variance_by_length: np.ndarray = field(default_factory=lambda: np.zeros(LONGEST + 1))
    """Of the number of hidden units of each length, by the design. The units of one length are
    neighbours in the order of a row, so that of n of them floor(np) or floor(np) + 1 are hidden,
    the latter with probability f, the fraction of np: the variance is f(1 - f). The binomial
    np(1 - p) is never below it (of all laws with this mean and whole numbers, this one is the
    narrowest), and far above it in long rows, so it would prove little there. Without weights."""
    row_squares: float = 0.0
    """Sum over the rows of (hidden pieces - ratio x pieces)^2."""

    def add(self, rows: Rows, hidden: np.ndarray) -> None:
        """Count a batch; ``hidden`` is bool of shape (B, T)."""
        units, count = units_in(rows, self.unit), len(hidden)
        assert not hidden[~rows.maskable.numpy()].any(), "a special token is hidden"
        pieces = units.sums(hidden)
        assert ((pieces == 0) | (pieces == units.length)).all(), "a unit is hidden in part"
        p = probabilities(self.settings)[units.kind]
        chosen = pieces > 0
        assert not chosen[p == 0].any(), "a unit of probability 0 is hidden"

        def per_row(values: np.ndarray) -> np.ndarray:
            return np.bincount(units.row, values, count)  # exact: integers below 2**53

        total, in_row = per_row(p), per_row(chosen)
        by_rule = total < ONE
        assert (in_row[by_rule] == (total > 0)[by_rule]).all(), "a short row hides other than one"
        longest = np.zeros(count, np.int64)
        np.maximum.at(longest, units.row[p > 0], units.length[p > 0])
        off = (per_row(pieces) * ONE - per_row(p * units.length)) / ONE
        # In integers: a row may be off by its longest unit to the last bit.
        self.excess = max(self.excess, float((np.abs(off) - longest).max()))

        self.rows += count
        self.pieces += len(rows.maskable.numpy()[rows.maskable.numpy()])
        self.hidden += int(pieces.sum())
        self.row_squares += float((off**2).sum())
        self.by_length.add(units.row, units.length, p / ONE, chosen)
        self.by_class.add(units.row, units.kind, p / ONE, chosen)
        cells = units.row * (LONGEST + 1) + units.length
        expected = np.bincount(cells, p, count * (LONGEST + 1)).reshape(count, -1) / ONE
        fraction = expected % 1
        self.variance_by_length += (fraction * (1 - fraction)).sum(0)
