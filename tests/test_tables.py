from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from komlm.tables import columns, figures, percent, width

# What komlm.terminal.shown lets through: printable characters alone.
CELL = st.text(max_size=30).map(lambda text: "".join(c for c in text if c.isprintable()))


@pytest.mark.parametrize(
    ("text", "columns_taken"),
    [("", 0), ("a", 1), ("가", 2), ("가a", 3), ("ㅋㅋ", 4), ("ｆ", 2), ("é", 1), ("❤\ufe0f", 1)],
)
def test_width(text: str, columns_taken: int) -> None:
    assert width(text) == columns_taken


@given(text=st.text("가학뷁교에서a1 .é"))
def test_a_decomposed_text_is_as_wide_as_a_composed_one(text: str) -> None:
    assert width(unicodedata.normalize("NFD", text)) == width(text)


@given(rows=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=5))
def test_columns_stand_under_one_another(rows: list[tuple[str, str]]) -> None:
    lines = columns(rows).split("\n")
    assert len(lines) == len(rows)
    widest = max(width(first) for first, _ in rows)
    for line, (first, second) in zip(lines, rows, strict=True):
        assert line.startswith(first.rstrip())
        if second.strip():
            assert width(line) == widest + 2 + width(second.rstrip())


@given(rows=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=5))
def test_figures_end_under_one_another(rows: list[tuple[str, str]]) -> None:
    whole = max(width(first) for first, _ in rows) + 2 + max(width(last) for _, last in rows)
    for line, (first, last) in zip(figures(rows).split("\n"), rows, strict=True):
        assert line.startswith(first.rstrip())
        if last.strip():
            assert width(line) + width(last) - width(last.rstrip()) == whole


def test_a_share_is_told_in_percent() -> None:
    assert percent(0.1234) == "12.3 %"
