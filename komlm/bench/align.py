"""Alignment on arrays against Kiwi's own time on the same text, one core.

Aligned is what the stage prepare aligns: analyses as they come from disk and the pieces of their
documents, whole batches at a time, up to the flags of a shard. Finding the eojeols is in it,
reading the analysis and cutting text into pieces are not. Kiwi's time is `tokenize` on the
stretches that the stage analyze hands it, with span and tag of each token read in a Python loop.
"""

from __future__ import annotations

from dataclasses import replace

from komlm.bench.material import Material
from komlm.bench.report import Figure, Report
from komlm.bench.timing import added, in_turn, one_core
from komlm.corpus.prepare import align_documents
from komlm.text.analysis import Analysis, Analyzer, chunks_for_kiwi
from komlm.text.tokenizer import Tokenizer


def measure(material: Material) -> Report:
    """Eojeols a second, and the share that alignment has of the time that Kiwi takes."""
    tokenizer = Tokenizer.load(material.tokenizer_folder)
    batches = list(material.analyses())
    budget = material.seconds / len(batches)
    with one_core():
        taken = added(
            seconds_of(analyses, tokenizer, material.analyzer, budget) for analyses in batches
        )
    eojeols = sum(len(analysis.eojeol_starts) for analyses in batches for analysis in analyses)
    figures = (
        Figure("eojeols_per_s", "komlm, eojeols/s", eojeols / taken["komlm"], at_least=200_000),
        Figure("kiwi_eojeols_per_s", "Kiwi alone, eojeols/s", eojeols / taken["kiwi"]),
        Figure(
            "share_of_kiwi",
            "komlm's time / Kiwi's time",
            taken["komlm"] / taken["kiwi"],
            "{:.2%}",
            at_most=0.05,
        ),
    )
    return Report(figures, f"{eojeols:,} eojeols of {material.name}, processor time")


def seconds_of(
    analyses: list[Analysis], tokenizer: Tokenizer, analyzer: Analyzer, budget: float
) -> dict[str, float]:
    """Seconds of ``komlm`` and of ``kiwi`` on a batch of documents."""
    encoded = tokenizer.encode_batch([analysis.text for analysis in analyses])
    chunks = [chunk for analysis in analyses for chunk in chunks_for_kiwi(analysis.text)]
    held = _Fresh(analyses)
    return in_turn(
        {
            "komlm": lambda: align_documents(held.analyses, encoded),
            "kiwi": lambda: analyzer.kiwi_alone(chunks),
        },
        budget,
        before=held.renew,
        # It would take as long as Kiwi does; a first round that is slow is not the best one.
        warm_up=False,
    )


class _Fresh:
    """Analyses that have not found their eojeols yet: each keeps them once it has."""

    def __init__(self, analyses: list[Analysis]) -> None:
        self.analyses = analyses

    def renew(self) -> None:
        self.analyses = [replace(analysis) for analysis in self.analyses]
