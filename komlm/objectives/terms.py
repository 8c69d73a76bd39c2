"""What an objective hands to the loop: sums and counts, never means."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, slots=True)
class Term:
    """One part of a loss over one micro-batch.

    The loop divides by the count of the whole step, so that one micro-batch of 16 rows and four of
    4 give the same gradient. A mean of means would not.

    Attributes:
        total: the sum of the loss over what is counted, in nat. *Shape:* ``()``.
        count: how many were summed; a tensor where asking would make a GPU wait.
        weight: factor of this term in the loss.

    Example: two pieces with 3.0 and 5.0 nat -> ``Term(tensor(8.0), 2)``.
    """

    total: Tensor
    count: int | Tensor
    weight: float = 1.0
