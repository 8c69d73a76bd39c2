"""Aligning many texts with two workers against one: `Aligner.batch`.

Characters a second by the clock on the wall, in the stretch of a run from a quarter to four fifths
of its text, as in :mod:`komlm.bench.analyze`: so building Kiwi is apart. One worker runs before and
one after the two, which are compared with the mean.
"""

from __future__ import annotations

from collections.abc import Sequence

from komlm.bench.analyze import lines_for_workers, steady_rate
from komlm.bench.material import Material
from komlm.bench.report import Figure, Report
from komlm.bench.timing import cores
from komlm.processes import Advance
from komlm.text.aligner import Aligner


def measure(material: Material) -> Report:
    """What a second worker brings."""
    lines = lines_for_workers(material.texts)
    aligner = Aligner.from_pretrained(material.tokenizer_folder)
    before = rate(aligner, lines, 1)
    two = rate(aligner, lines, 2) if cores() > 1 else None
    one = (before + rate(aligner, lines, 1)) / 2 if two else before
    figures = (
        Figure("characters_per_s.one_worker", "1 worker, characters/s", one),
        Figure("characters_per_s.two_workers", "2 workers, characters/s", two, why="one core here"),
        Figure(
            "speedup_of_2_workers",
            "2 workers / 1 worker",
            two / one if two else None,
            "{:.2f} times",
            at_least=1.8,
            why="one core here",
        ),
    )
    return Report(figures, f"{sum(map(len, lines)):,} characters of {material.name}")


def rate(aligner: Aligner, lines: Sequence[str], workers: int) -> float:
    """Characters a second in the middle of a run through all lines."""

    def run(advance: Advance) -> None:
        for alignment in aligner.batch(lines, workers=workers):
            advance(len(alignment.text))

    return steady_rate(run)
