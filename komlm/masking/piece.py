"""Hide single pieces, each alone, as in the first BERT.

Example: ``▁학교 에`` -> ``▁학교`` may be hidden and ``에`` seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from komlm.masking.selection import Selection
from komlm.masking.systematic import select_units
from komlm.masking.units import begins

if TYPE_CHECKING:
    from komlm.data.rows import Rows


def select(rows: Rows, settings: Selection) -> Tensor:
    """True where a piece is hidden, bool. *Shape:* (B, T)"""
    return select_units(rows, begins(rows, "piece"), settings)
