"""What a masking strategy is told: how much to hide, with which weights, and for which draw."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from torch import Tensor

from komlm.names import unknown
from komlm.randomness import row_keys
from komlm.text.tags import CLASSES

Epoch = TypeVar("Epoch", int, Tensor)


@dataclass(frozen=True, eq=False)
class Selection:
    """How a strategy chooses.

    Raises:
        ValueError: a field out of range, or a class that is not in ``komlm.text.tags.CLASSES``.

    Example: ``Selection(ratio=0.15, weights={"noun": 2.0}, seed=0, epoch=3)`` hides a unit whose
    class is noun with probability 0.3 and any other with 0.15.
    """

    ratio: float
    """Probability of a unit to be hidden, between 0 and 1."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Class of a unit -> factor on ``ratio``, 0 or more; a missing class has 1, and so has a unit
    without a class. The probability is at most 1, and rows are not normalised."""
    seed: int = 0
    """The run's seed."""
    epoch: int | Tensor = 0
    """The pass over the data: one for all rows, or int64 of shape (rows,) where a batch runs over
    the end of an epoch."""

    def __post_init__(self) -> None:
        if not 0 < self.ratio < 1:
            raise ValueError(f"ratio = {self.ratio!r}: wanted a share between 0 and 1")
        for name, weight in self.weights.items():
            if name not in CLASSES:
                raise ValueError(unknown("class", name, CLASSES))
            if not (weight >= 0 and math.isfinite(weight)):
                raise ValueError(f"weights[{name!r}] = {weight!r}: wanted 0 or more")
        if self.weights.keys() >= set(CLASSES) and not any(self.weights.values()):
            raise ValueError("weights: every class has 0, so nothing would be hidden")

    def keys(self, numbers: Tensor) -> Tensor:
        """The key of each row's draws. *Shape:* that of ``numbers``, the row numbers."""
        return row_keys(self.seed, self.epoch, numbers)


def mask_epoch(epoch: Epoch, patterns: int) -> Epoch:
    """The epoch whose mask is worn in ``epoch``: itself, or one of ``patterns`` fixed ones in turn.

    Example: ``mask_epoch(13, patterns=10)`` -> ``3``; ``mask_epoch(13, patterns=0)`` -> ``13``.
    """
    if patterns < 0:
        raise ValueError(f"patterns = {patterns}: wanted 0 (a new mask each epoch) or more")
    return epoch % patterns if patterns else epoch


def slots(ratio: float, weights: Mapping[str, float], max_length: int) -> int:
    """How many pieces of a row can be hidden, units being of 16 pieces or fewer.

    A bound for tensors of one shape: the expected number plus the longest unit, and never more
    than the row holds.

    Example: ``slots(0.15, {}, 128)`` -> ``36``; ``slots(0.15, {"noun": 2.0}, 128)`` -> ``55``.
    """
    heaviest = max([1.0, *weights.values()])
    return min(max_length, math.ceil(ratio * heaviest * max_length) + 16)
