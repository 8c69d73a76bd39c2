"""Precision, recall and F1 from counts, divided once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Agreement:
    """How many things one side has, how many the other, how many both.

    Example: ``Agreement(found=4, gold=5, both=3)`` -> precision 0.75, recall 0.6, F1 2/3.
    """

    found: int = 0
    gold: int = 0
    both: int = 0

    def add(self, found: int, gold: int, both: int) -> None:
        """Count some more."""
        self.found += found
        self.gold += gold
        self.both += both

    @property
    def precision(self) -> float | None:
        """Share of those found that gold has; None where none was found."""
        return self.both / self.found if self.found else None

    @property
    def recall(self) -> float | None:
        """Share of gold's that were found; None where gold has none."""
        return self.both / self.gold if self.gold else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall; None where neither side has any."""
        both_sides = self.found + self.gold
        return 2 * self.both / both_sides if both_sides else None

    def to_json(self) -> dict[str, float | int | None]:
        """Counts and shares, for ``--json``."""
        return {
            "found": self.found,
            "gold": self.gold,
            "both": self.both,
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
        }
