"""A treebank scored: Kiwi against gold, and the units of each tokenizer against gold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from komlm.evaluation.gold.analysis_scores import AnalysisScores
from komlm.evaluation.gold.eojeols import eojeols_of
from komlm.evaluation.gold.sentences import GoldSentence
from komlm.evaluation.gold.unit_scores import UnitScores
from komlm.text.alignment import Alignment
from komlm.text.analysis import Analysis
from komlm.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class TreebankScores:
    """What a treebank says of the analysis and of each tokenizer's units.

    Example: ``scores.analysis.boundaries.f1``, ``scores.units["tok"].morphemes["whole"]``.
    """

    name: str
    sentences: int
    analysis: AnalysisScores
    units: dict[str, UnitScores]
    """Name of a tokenizer -> scores of its units."""

    def to_json(self) -> dict[str, Any]:
        """All counts and shares, for ``--json``."""
        return {
            "treebank": self.name,
            "sentences": self.sentences,
            "analysis": self.analysis.to_json(),
            "units": {name: scores.to_json() for name, scores in self.units.items()},
        }


def score_treebank(
    name: str,
    sentences: Sequence[GoldSentence],
    analyze: Callable[[str], Analysis],
    tokenizers: Mapping[str, Tokenizer],
    advance: Callable[[int], object] = lambda done: None,
) -> TreebankScores:
    """Score a treebank's sentences, each analysed alone.

    Args:
        analyze: text -> its analysis with forms, such as an ``Analyzer``.
        advance: called with the number of sentences just done.

    Example: ``score_treebank("dev", read_treebank(path), Analyzer(), {})`` scores Kiwi alone.
    """
    analysis_scores = AnalysisScores()
    units = {tokenizer: UnitScores() for tokenizer in tokenizers}
    for sentence in sentences:
        eojeols = eojeols_of(sentence)
        analysis = analyze(sentence.text)
        analysis_scores.add(eojeols, analysis)
        for key, tokenizer in tokenizers.items():
            alignment = Alignment(analysis, tokenizer.encode(sentence.text), tokenizer.pieces)
            units[key].add(eojeols, alignment)
        advance(1)
    return TreebankScores(name, len(sentences), analysis_scores, units)
