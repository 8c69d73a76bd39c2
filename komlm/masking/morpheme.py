"""Hide whole morpheme units: a morpheme, or several that share a piece, as a whole.

Example: ``▁학 교 에`` -> ``▁학 교`` (학교/NNG) is hidden as a whole, apart from ``에`` (JKB).
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
    return select_units(rows, begins(rows, "morpheme"), settings)
