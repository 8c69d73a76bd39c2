"""What stands at hidden positions: the mask, a random piece, or the piece itself (80/10/10).

Source: BERT (Devlin et al., 2019). Legend of shapes: B rows, T pieces in a row.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from komlm.masking.units import unit_numbers
from komlm.names import unknown
from komlm.randomness import FRACTION_BITS, ONE, Purpose, draw

_MASK_BELOW = ONE * 8 // 10
_RANDOM_BELOW = ONE * 9 // 10
_BY = ("unit", "piece")


def replace(
    input_ids: Tensor,
    hidden: Tensor,
    begins: Tensor,
    keys: Tensor,
    mask_id: int,
    ordinary_ids: Tensor,
    by: str = "unit",
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

    Returns:
        int64. *Shape:* (B, T)

    Raises:
        ValueError: an unknown ``by``, or no ordinary ids.

    Example: ids ``2 40 41 9 3``, hidden ``0 1 1 0 0``, one unit -> mostly ``2 4 4 9 3``.
    """
    if by not in _BY:
        raise ValueError(unknown("kind of replacement", by, _BY))
    if not len(ordinary_ids):
        raise ValueError("ordinary_ids is empty: wanted the ids of all pieces but the special ones")
    where = _flat_positions(hidden)  # a seventh of all positions: the draws are for these only
    row = where // input_ids.shape[1]
    column = where - row * input_ids.shape[1]
    key = keys.index_select(0, row)

    drawn_for = column if by == "piece" else _at(unit_numbers(begins), where)
    fate = draw(key, drawn_for, Purpose.REPLACE) >> (63 - FRACTION_BITS)
    choice = draw(key, column, Purpose.RANDOM_PIECE) % len(ordinary_ids)
    piece = torch.where(fate < _RANDOM_BELOW, _at(ordinary_ids, choice), _at(input_ids, where))
    piece.masked_fill_(fate < _MASK_BELOW, mask_id)
    corrupted = input_ids.flatten().scatter(0, where, piece)
    return corrupted.view(input_ids.shape)


def _at(values: Tensor, positions: Tensor) -> Tensor:
    return values.reshape(-1).index_select(0, positions)


def _flat_positions(hidden: Tensor) -> Tensor:
    # numpy finds them eight times faster on the CPU than torch.
    if hidden.device.type == "cpu":
        return torch.from_numpy(np.flatnonzero(hidden.numpy()))
    return hidden.reshape(-1).nonzero().view(-1)
