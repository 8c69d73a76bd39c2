"""Where the units of a row begin, which unit each piece belongs to, and its class.

Legend of shapes: B rows, T pieces in a row, U units in the row that has the most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from komlm.names import pick
from komlm.text.tags import CLASS_OF_CODE, NO_CLASS
from komlm.types import Flag

if TYPE_CHECKING:
    from komlm.data.rows import Rows

_EVERY_PIECE = 0
_FLAG_OF_UNIT: dict[str, int] = {
    "piece": _EVERY_PIECE,
    "morpheme": int(Flag.MORPHEME),
    "eojeol": int(Flag.EOJEOL),
}


def begins(rows: Rows, unit: str) -> Tensor:
    """Where a unit begins: at its flag, at each special token, and after one.

    Args:
        rows: the batch.
        unit: ``piece``, ``morpheme`` or ``eojeol``.

    Returns:
        bool. *Shape:* (B, T); the first column is True.

    Raises:
        ValueError: an unknown unit; the message names the nearest known one.

    Example: ``[CLS] ▁학교 에 ▁갔 다 [SEP] [PAD]`` -> at level eojeol ``1 1 0 1 0 1 1``.
    """
    flag = pick("unit", unit, _FLAG_OF_UNIT)
    if flag == _EVERY_PIECE:
        return torch.ones_like(rows.starts, dtype=torch.bool)
    # Rows start with [CLS] and go on with a flagged piece. Where they do not, no unit may reach
    # over a special token all the same: neither the first column nor a piece after one is inside.
    starts = rows.starts.contiguous()
    flags = starts & (flag | int(Flag.SPECIAL))
    special = starts & int(Flag.SPECIAL)
    flags.view(-1)[1:] |= special.view(-1)[:-1]  # from one row into the next: the column set below
    flags[:, :1] = flag
    return flags.bool()


@dataclass(frozen=True)
class Units:
    """The partition of the pieces of each row into units, numbered from 0 in each row."""

    numbers: Tensor
    """Unit of each piece, int64. *Shape:* (B, T)"""
    lengths: Tensor
    """Maskable pieces of each unit, int64; 0 for special tokens and unused numbers.
    *Shape:* (B, U)"""


def units_of(rows: Rows, begins: Tensor) -> Units:
    """Number the units that begin at ``begins`` (bool, (B, T)) and count their pieces.

    Example: ``[CLS] ▁학교 에 ▁갔 다 [SEP] [PAD]`` by eojeol -> numbers ``0 1 1 2 2 3 4``, lengths
    ``0 2 2 0 0``.
    """
    numbers = unit_numbers(begins)
    most = int(numbers[:, -1].max()) + 1 if numbers.numel() else 0
    lengths = numbers.new_zeros(len(numbers), most)
    return Units(numbers, lengths.scatter_add_(1, numbers, rows.maskable.long()))


def unit_numbers(begins: Tensor) -> Tensor:
    """Number of the unit of each piece, from 0 in each row, int64. *Shape:* (B, T)

    Example: begins ``1 1 0 1`` -> ``0 1 1 2``.
    """
    return begins.cumsum(1).sub_(1)


def classes_of(rows: Rows, units: Units) -> Tensor:
    """The most contentful class among the pieces of each unit, int64. *Shape:* (B, U)

    A number is an index into ``komlm.text.tags.CLASSES``, or NO_CLASS.

    Example: the eojeol ``▁학교 에`` with tags NNG, JKB -> 0 (noun).
    """
    # 256 entries, so that each uint8 has a class, also a tag that a newer komlm has written.
    table = torch.full((256,), NO_CLASS, dtype=torch.int64)
    table[: len(CLASS_OF_CODE)] = torch.from_numpy(CLASS_OF_CODE.astype("int64"))
    of_piece = table.to(rows.tags.device).index_select(0, rows.tags.reshape(-1).int())
    none = torch.full_like(units.lengths, NO_CLASS)
    return none.scatter_reduce_(1, units.numbers, of_piece.view_as(rows.tags), "amin")
