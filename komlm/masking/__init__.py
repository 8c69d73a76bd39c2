"""Which pieces of a row are hidden.

A strategy is a function ``select(rows, settings) -> hidden``, bool of shape (B, T), in a file of
its own. To add one: a file here and a line in STRATEGIES.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from torch import Tensor

from komlm.masking import eojeol, morpheme, piece
from komlm.masking.replacement import replace
from komlm.masking.selection import Selection, mask_epoch, slots
from komlm.masking.units import begins

if TYPE_CHECKING:
    from komlm.data.rows import Rows

__all__ = ["STRATEGIES", "Selection", "Strategy", "begins", "mask_epoch", "replace", "slots"]

Strategy = Callable[["Rows", Selection], Tensor]

STRATEGIES: dict[str, Strategy] = {
    "piece": piece.select,
    "morpheme": morpheme.select,
    "eojeol": eojeol.select,
}
"""Name of a strategy, as in ``masking.unit`` -> the strategy."""
