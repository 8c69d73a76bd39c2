"""Hiding pieces of one text, to be looked at: the same strategies and draws as in training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from komlm.data.rows import Rows
from komlm.masking import STRATEGIES, Selection, begins, replace
from komlm.names import pick


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
    unit: str,
    ratio: float,
    seed: int,
    number: int,
    by: str,
    special_ids: Mapping[str, int],
    vocabulary_size: int,
) -> Hidden:
    """Hide units of one text, as row ``number`` of epoch 0.

    Args:
        ids, starts, tags: of the text's pieces. *Shape:* (pieces,)
        unit: a name in STRATEGIES.
        by: 80/10/10 is drawn by ``"unit"`` or by ``"piece"``.

    Raises:
        ValueError: an unknown unit or ``by``, or a ratio that is no share.
    """
    selection = Selection(ratio=ratio, weights={}, seed=seed, epoch=0)
    select = pick("unit", unit, STRATEGIES)
    if not len(ids):
        return Hidden([], [], [])
    rows = Rows(
        input_ids=torch.from_numpy(ids.astype(np.int64))[None],
        starts=torch.from_numpy(starts.copy())[None],
        tags=torch.from_numpy(tags.copy())[None],
        numbers=torch.tensor([number]),
        pad_id=special_ids["pad"],
    )
    hidden = select(rows, selection)
    special = set(special_ids.values())
    ordinary = torch.tensor([i for i in range(vocabulary_size) if i not in special])
    corrupted = replace(
        rows.input_ids,
        hidden,
        begins(rows, unit),
        selection.keys(rows.numbers),
        special_ids["mask"],
        ordinary,
        by,
    )
    labels = torch.where(hidden, rows.input_ids, -100)
    return Hidden(hidden[0].nonzero().flatten().tolist(), corrupted[0].tolist(), labels[0].tolist())
