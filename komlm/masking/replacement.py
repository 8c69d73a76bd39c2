"""What stands at hidden positions: the mask, a random piece, or the piece itself (80/10/10).

Source: BERT (Devlin et al., 2019). Legend of shapes: B rows, T pieces in a row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from komlm.masking.units import unit_numbers
from komlm.names import unknown
from komlm.randomness import FRACTION_BITS, ONE, Purpose, draw

BY = ("unit", "piece")
"""For what 80/10/10 is drawn."""


def replace(
    input_ids: Tensor,
    hidden: Tensor,
    begins: Tensor,
    keys: Tensor,
    mask_id: int,
    ordinary_ids: Tensor,
    by: str = "unit",
    shares: tuple[float, float] = (0.8, 0.1),
) -> Tensor:
    """Put the mask (80 %), a random piece (10 %) or nothing new (10 %) at hidden positions.

    Args:
        input_ids: the pieces, int64, (B, T); left as they are.
        hidden: True where a piece is hidden, bool, (B, T).
        begins: where units begin, bool, (B, T), from :func:`komlm.masking.units.begins`.
        keys: of the rows, int64, (B,), from :meth:`Selection.keys`.
        mask_id: the id of [MASK].
        ordinary_ids: the ids that may stand in for a piece, int64, (N,): all but the special ones.
        by: draw once for a whole ``unit`` (random pieces still differ) or for each ``piece``.
        shares: of the mask and of random pieces; what is left to 1 stays as it is.

    Returns:
        int64. *Shape:* (B, T)

    Raises:
        ValueError: an unknown ``by``, no ordinary ids, or shares that are none.

    Example: ids ``2 40 41 9 3``, hidden ``0 1 1 0 0``, one unit -> mostly ``2 4 4 9 3``.
    """
    if by not in BY:
        raise ValueError(unknown("kind of replacement", by, BY))
    if not len(ordinary_ids):
        raise ValueError("ordinary_ids is empty: wanted the ids of all pieces but the special ones")
    mask_below, random_below = thresholds(shares)
    corrupted = input_ids.clone(memory_format=torch.contiguous_format)
    units = unit_numbers(begins) if by == "unit" else None
    arrays = _quickest(corrupted, hidden, units, keys, ordinary_ids)
    _put(*arrays, mask_id=mask_id, mask_below=mask_below, random_below=random_below)
    return corrupted


def thresholds(shares: tuple[float, float]) -> tuple[int, int]:
    """Below which draws a mask, and below which a random piece, takes a place.

    Raises:
        ValueError: shares below 0, or above 1 in all.

    Example: ``thresholds((0.8, 0.1))`` -> eight and nine tenths of ``randomness.ONE``.
    """
    mask, random = shares
    if not (mask >= 0 and random >= 0 and mask + random <= 1 + 1e-9):
        raise ValueError(
            f"mask_replace_prob = {mask!r} and random_replace_prob = {random!r}: wanted shares of "
            "0 or more that come to 1 at most"
        )
    return int(ONE * mask), int(ONE * (mask + random))


def _put(
    ids: Any,
    hidden: Any,
    units: Any,
    keys: Any,
    ordinary_ids: Any,
    *,
    mask_id: int,
    mask_below: int,
    random_below: int,
) -> None:
    """Change ``ids`` in place. All are arrays, or all tensors: the arithmetic is the same.

    Args:
        units: number of the unit of each piece, (B, T), or None to draw for each piece.
    """
    length = ids.shape[1]
    ids, hidden = ids.reshape(-1), hidden.reshape(-1)

    def drawn(at: Any, numbers: Any, purpose: Purpose) -> Any:
        number = at % length if numbers is None else numbers.reshape(-1)[at]
        return draw(keys[at // length], number, purpose)

    # A seventh of all positions: the draws are for these only.
    where = np.flatnonzero(hidden) if isinstance(hidden, np.ndarray) else hidden.nonzero().view(-1)
    fate = drawn(where, units, Purpose.REPLACE) >> (63 - FRACTION_BITS)
    ids[where[fate < mask_below]] = mask_id
    other = where[(fate >= mask_below) & (fate < random_below)]
    choice = drawn(other, None, Purpose.RANDOM_PIECE) % len(ordinary_ids)
    ids[other] = ordinary_ids[choice]


def _quickest(*tensors: Tensor | None) -> list[Any]:
    """On the CPU, the same memory as numpy arrays, which are quicker than torch where all is small.

    For 64 rows of 512 it takes half the time; where the tensors are elsewhere, they stay as they
    are.
    """
    return [x.numpy() if x is not None and x.device.type == "cpu" else x for x in tensors]
