from __future__ import annotations

import pytest

from komlm.bench.report import Figure, Report


@pytest.mark.parametrize(
    ("value", "bound", "verdict"),
    [
        (8.0, {"at_least": 8}, "ok"),
        (7.99, {"at_least": 8}, "MISSED"),
        (0.05, {"at_most": 0.05}, "ok"),
        (0.051, {"at_most": 0.05}, "MISSED"),
        (1.0, {}, ""),
        (None, {"at_least": 8}, ""),
    ],
)
def test_a_figure_is_judged_by_what_is_wanted(
    value: float | None, bound: dict[str, float], verdict: str
) -> None:
    assert Figure("key", "label", value, "{:.2f}", **bound).verdict == verdict


def test_json_is_nested_by_the_dots_and_keeps_the_order() -> None:
    figures = (
        Figure("ratios.plain", "a", 11.23456789),
        Figure("speed", "b", 2.0),
        Figure("ratios.whole_word", "c", None, why="not here"),
    )
    wanted = {"ratios": {"plain": 11.2346, "whole_word": None}, "speed": 2.0}
    assert Report(figures, "").values == wanted
    assert list(Report(figures, "").values) == ["ratios", "speed"]


def test_a_table_has_a_row_a_figure() -> None:
    figures = (
        Figure("speed", "komlm", 1234567.0, at_least=2e6),
        Figure("workers", "two", None, why="one core here"),
    )
    assert Report(figures, "").rows == [
        ("", "figure", "wanted", ""),
        ("komlm", "1,234,567", ">= 2,000,000", "MISSED"),
        ("two", "one core here", "", ""),
    ]


def test_a_table_with_columns_has_a_row_a_label() -> None:
    figures = [
        Figure(f"{key}.{column}", label, value, "{:.0f}")
        for key, label in (("bpe", "BPE"), ("plain_bpe", "plain BPE"))
        for column, value in (("pieces_an_eojeol", 2.0), ("unknown", 1.0))
    ]
    report = Report(figures, "", ("pieces_an_eojeol", "unknown"))
    assert report.rows == [
        ("", "pieces an eojeol", "unknown"),
        ("BPE", "2", "1"),
        ("plain BPE", "2", "1"),
    ]
