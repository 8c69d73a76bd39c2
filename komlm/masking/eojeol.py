"""Hide whole eojeols: what stands between two spaces, its josa and eomi included.

Example: ``▁학 교 에`` (학교에) is hidden or seen as a whole.
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
    return select_units(rows, begins(rows, "eojeol"), settings)
