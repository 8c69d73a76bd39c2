"""Hidden states of pieces -> one vector for each unit."""

from __future__ import annotations

import torch
from torch import Tensor

from komlm.names import unknown
from komlm.text.alignment import Alignment

_WAYS = ("mean", "first")


def pool(
    hidden_states: Tensor, alignment: Alignment, level: str = "morpheme", how: str = "mean"
) -> Tensor:
    """A vector for each unit of a text, from the vectors of its pieces.

    Args:
        hidden_states: a vector for each piece of the text, those of [CLS] and [SEP] left out.
            *Shape:* (pieces, H)
        alignment: of the text.
        level: ``piece``, ``morpheme`` or ``eojeol``.
        how: ``mean`` of a unit's pieces, or its ``first``.

    Returns:
        *Shape:* (units, H), in the order of ``alignment.units(level)``; dtype and device as given.

    Raises:
        ValueError: another number of vectors than pieces, an unknown level or way.

    Example::

        states = model(**inputs).last_hidden_state          # (1, pieces + 2, H)
        vectors = pool(states[0, 1:-1], alignment, "eojeol")
    """
    pieces = len(alignment.encoded.ids)
    if how not in _WAYS:
        raise ValueError(unknown("way to pool", how, _WAYS))
    if hidden_states.ndim != 2 or len(hidden_states) != pieces:
        hint = ""
        if hidden_states.ndim == 2 and len(hidden_states) == pieces + 2:
            hint = "; leave out those of [CLS] and [SEP]: states[1:-1]"
        raise ValueError(
            f"hidden_states of shape {tuple(hidden_states.shape)}: wanted a vector for each of the "
            f"{pieces} pieces{hint}"
        )
    firsts = torch.from_numpy(alignment.unit_starts(level)).to(hidden_states.device)
    if how == "first":
        return hidden_states[firsts]
    bounds = torch.cat([firsts, firsts.new_tensor([pieces])])
    lengths = bounds.diff()
    unit = torch.arange(len(firsts), device=firsts.device).repeat_interleave(lengths)
    sums = hidden_states.new_zeros(len(firsts), hidden_states.shape[1])
    return sums.index_add(0, unit, hidden_states) / lengths[:, None].to(hidden_states.dtype)
