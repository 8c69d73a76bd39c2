"""komlm against the tools that it competes with, on the machine at hand: one measurement a file.

To add a measurement, write ``komlm/bench/NAME.py`` with a function ``measure(material) -> Report``
and add one line to ``BENCHES``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

from komlm.bench import align, analyze, batch, collator, mask, prepare, step, vocabulary
from komlm.bench.material import Material
from komlm.bench.report import Report

__all__ = ["BENCHES", "Bench", "Material", "Report"]


@dataclass(frozen=True)
class Bench:
    """One measurement: how it is made, what it is in a line, and the packages that it needs.

    Example: ``BENCHES["mask"].measure(material).values["ratios"]["plain"]`` -> ``11.2``.
    """

    measure: Callable[[Material], Report]
    title: str
    needs: tuple[str, ...] = ()

    def missing(self) -> str:
        """What is to be installed first, as a sentence; empty if nothing is."""
        absent = [name for name in self.needs if find_spec(name) is None]
        if not absent:
            return ""
        return f"needs {' and '.join(absent)}: pip install 'komlm[bench]'"


BENCHES = {
    "mask": Bench(mask.measure, "whole-morpheme masking against transformers' collators"),
    "align": Bench(align.measure, "alignment of pieces with morphemes against Kiwi"),
    "batch": Bench(batch.measure, "aligning texts in two processes against one"),
    "analyze": Bench(analyze.measure, "the stage analyze against Kiwi alone"),
    "prepare": Bench(prepare.measure, "the stage prepare: speed and bytes"),
    "vocabulary": Bench(vocabulary.measure, "vocabularies on text that they have not seen"),
    "collator": Bench(collator.measure, "the collator for the Trainer against transformers' own"),
    "step": Bench(
        step.measure, "a step of training against transformers' Trainer", ("accelerate",)
    ),
}
"""Name of a measurement, as in `komlm bench NAME` -> the measurement."""
