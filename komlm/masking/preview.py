"""Hiding pieces of one text, to be looked at: the same strategies and draws as in training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from komlm.data.rows import Rows
from komlm.masking import Selection
from komlm.masking.corruption import corrupt
from komlm.types import Flag


@dataclass(frozen=True)
class Hidden:
    """What a model would be given, and what it should say.

    Example: pieces ▁나 는 ▁학교 with the last one hidden -> ``hidden=[2]``,
    ``labels=[-100, -100, 2204]``.
    """

    hidden: list[int]
    """Numbers of the hidden pieces."""
    input_ids: list[int]
    """What goes in, a piece each."""
    labels: list[int]
    """What must come out: the piece at hidden places, -100 elsewhere."""


def hide(
    ids: np.ndarray,
    starts: np.ndarray,
    tags: np.ndarray,
    *,
    unit: str,
    selection: Selection,
    by: str = "unit",
    number: int = 0,
    special_ids: Mapping[str, int],
    vocabulary_size: int,
) -> Hidden:
    """Hide units of one text as training would in a row of this text alone.

    Args:
        ids, starts, tags: of the text's pieces. *Shape:* (pieces,)
        unit: a name in STRATEGIES.
        selection: ratio, weights, seed and epoch.
        by: 80/10/10 is drawn by ``"unit"`` or by ``"piece"``.
        number: of the row; another row has other draws.

    Raises:
        ValueError: an unknown unit or ``by``.
    """
    # [CLS] and [SEP] as in training: the draws go by the numbers of units and places in a row.
    rows = Rows(
        input_ids=_between(special_ids["cls"], ids, special_ids["sep"]).long(),
        starts=_between(int(Flag.SPECIAL), starts, int(Flag.SPECIAL)),
        tags=_between(0, tags, 0),
        numbers=torch.tensor([number]),
        pad_id=special_ids["pad"],
    )
    special = set(special_ids.values())
    ordinary = torch.tensor([i for i in range(vocabulary_size) if i not in special])
    corrupted, hidden = corrupt(rows, unit, selection, special_ids["mask"], ordinary, by)
    labels = torch.where(hidden, rows.input_ids, -100)
    return Hidden(
        hidden=hidden[0, 1:-1].nonzero().flatten().tolist(),
        input_ids=corrupted[0, 1:-1].tolist(),
        labels=labels[0, 1:-1].tolist(),
    )


def _between(first: int, values: np.ndarray, last: int) -> torch.Tensor:
    """One row of the values and one more at each end. *Shape:* (1, values + 2)"""
    return torch.from_numpy(np.concatenate([[first], values, [last]]).astype(values.dtype))[None]
