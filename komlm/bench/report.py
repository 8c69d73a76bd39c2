"""What a measurement hands back: figures beside the wanted ones, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_DIGITS = 6


@dataclass(frozen=True)
class Figure:
    """One figure.

    Attributes:
        key: its place in the JSON, such as ``ratios.plain``.
        label: what the table calls it.
        value: None where it cannot be measured here, and then ``why`` says why.
        form: how the table writes it, and what is wanted of it.
        at_least, at_most: what is wanted, if anything is.

    Example: ``Figure("ratios.plain", "komlm / plain", 11.2, "{:.1f} times", at_least=8)``.
    """

    key: str
    label: str
    value: float | None
    form: str = "{:,.0f}"
    at_least: float | None = None
    at_most: float | None = None
    why: str = ""

    @property
    def wanted(self) -> str:
        """What is wanted, as text. Example: ``">= 8.0 times"``."""
        if self.at_least is not None:
            return f">= {self.form.format(self.at_least)}"
        return f"<= {self.form.format(self.at_most)}" if self.at_most is not None else ""

    @property
    def verdict(self) -> str:
        """``ok``, ``MISSED``, or nothing where nothing is wanted or could be measured."""
        if self.value is None or not self.wanted:
            return ""
        low = self.at_least is not None and self.value < self.at_least
        high = self.at_most is not None and self.value > self.at_most
        return "MISSED" if low or high else "ok"

    @property
    def shown(self) -> str:
        """The figure as text."""
        return self.why if self.value is None else self.form.format(self.value)


@dataclass(frozen=True)
class Report:
    """The figures of one measurement.

    Attributes:
        figures: in the order of the table.
        note: on what and how they were measured, a sentence.
        columns: where figures belong in columns, the last parts of their keys, in order; the rows
            are then their labels.

    Example: ``Report((Figure("ratios.plain", "komlm / plain", 11.2),), "64 rows").values`` ->
    ``{"ratios": {"plain": 11.2}}``.
    """

    figures: Sequence[Figure]
    note: str
    columns: tuple[str, ...] = ()

    @property
    def values(self) -> dict[str, Any]:
        """The figures as JSON has them, nested by the dots of their keys."""
        values: dict[str, Any] = {}
        for figure in self.figures:
            *path, last = figure.key.split(".")
            inner = values
            for name in path:
                inner = inner.setdefault(name, {})
            inner[last] = None if figure.value is None else _rounded(figure.value)
        return values

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The table, its heading first."""
        if not self.columns:
            heading = ("", "figure", "wanted", "")
            return [heading, *((f.label, f.shown, f.wanted, f.verdict) for f in self.figures)]
        rows: dict[str, dict[str, str]] = {}
        for figure in self.figures:
            rows.setdefault(figure.label, {})[figure.key.rpartition(".")[2]] = figure.shown
        names = tuple(name.replace("_", " ") for name in self.columns)
        cells = [(label, *(row[name] for name in self.columns)) for label, row in rows.items()]
        return [("", *names), *cells]


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
