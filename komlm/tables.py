"""Tables for a terminal: rows of cells as columns of equal width."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence


def width(text: str) -> int:
    """Columns of a text in a terminal: Hangul takes two. Example: ``width("가a")`` -> ``3``."""
    return sum(_width_of(c) for c in text)


def _width_of(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me") or "\u1160" <= character <= "\u11ff":
        return 0  # it stands on or in the character before it, as jamo do in a decomposed syllable
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows of texts, each column as wide as its widest cell.

    Example: ``[["나는", "나"], ["a", "b"]]`` -> ``"나는  나"`` and ``"a     b"``.
    """
    return _laid_out(rows, numbers=False)


def figures(rows: Sequence[Sequence[str]]) -> str:
    """Rows of a name and figures: the first column on the left, the others on the right.

    Example: ``[["a", "10"], ["bcd", "7"]]`` -> ``"a    10"`` and ``"bcd   7"``.
    """
    return _laid_out(rows, numbers=True)


def _laid_out(rows: Sequence[Sequence[str]], numbers: bool) -> str:
    widths = [max(width(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for place, (cell, wide) in enumerate(zip(row, widths, strict=True)):
            space = " " * (wide - width(cell))
            cells.append(space + cell if numbers and place else cell + space)
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def percent(share: float) -> str:
    """A share as a percentage. Example: ``percent(0.1234)`` -> ``"12.3 %"``."""
    return f"{100 * share:.1f} %"
