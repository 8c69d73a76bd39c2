"""A batch as a model gets it: units hidden, and what stands in their places."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor

from komlm.masking import STRATEGIES, Selection, begins, replace
from komlm.names import pick

if TYPE_CHECKING:
    from komlm.data.rows import Rows


class Corrupted(NamedTuple):
    """What :func:`corrupt` makes. *Shape of each:* (B, T)"""

    input_ids: Tensor
    """int64, with the mask, a random piece or the piece itself at hidden places."""
    hidden: Tensor
    """bool."""


def corrupt(
    rows: Rows,
    unit: str,
    selection: Selection,
    mask_id: int,
    ordinary_ids: Tensor,
    by: str = "unit",
    shares: tuple[float, float] = (0.8, 0.1),
) -> Corrupted:
    """Hide units of B rows; the last four arguments are those of :func:`komlm.masking.replace`.

    Raises:
        ValueError: an unknown unit or ``by``.

    Example: ``corrupt(rows, "morpheme", Selection(0.15), 4, ordinary).hidden.float().mean()`` ->
    about 0.15.
    """
    hidden = pick("unit", unit, STRATEGIES)(rows, selection)
    keys = selection.keys(rows.numbers)
    input_ids = replace(
        rows.input_ids, hidden, begins(rows, unit), keys, mask_id, ordinary_ids, by, shares
    )
    return Corrupted(input_ids, hidden)
