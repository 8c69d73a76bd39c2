"""Scores against treebanks as text for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from komlm.evaluation.gold.agreement import Agreement
from komlm.evaluation.gold.scores import TreebankScores
from komlm.evaluation.gold.unit_scores import CAUSES, MORPHEMES, UnitScores
from komlm.tables import figures, percent

_ANALYSIS = """\
Kiwi's morphemes against gold, in percent. Boundaries inside eojeols: precision (P), recall (R), F1;
in words: F1 of those between two letters of Hangul. Forms: F1 of what agrees in order; united:
with 아 았 여 였 taken for 어 었; coarse and Sejong: united forms with tags of that set."""

_KNOWN = """\
Of eojeols without morphemes, boundaries between tokens alone are known. Share that Kiwi has:"""

_MORPHEMES = """\
Pieces an eojeol, and gold morphemes against units, in percent of all gold morphemes. Whole: exactly
one unit. Shared: contraction, a syllable in common with another. Joined with a neighbour: by a
piece (straddle), by Kiwi (analysis), by both. Last: whole without straddles; with Kiwi right."""

_UNITS = """\
Units that mix gold morphemes, by cause, in percent of all units; and gold boundaries inside
eojeols that units lose, in percent of all such boundaries."""


def table(scores: Sequence[TreebankScores]) -> str:
    """Analysis by treebank; then, with tokenizers, units by treebank and tokenizer."""
    scored = [score for score in scores if score.analysis.eojeols]
    known = [score for score in scores if score.analysis.known_boundaries.gold]
    parts = [
        f"{score.name}: nothing in it could be scored; left out: {_left_out(score)}"
        for score in scores
        if score not in scored and score not in known
    ]
    if scored:
        parts += [_ANALYSIS, figures([_ANALYSIS_HEADER, *map(_analysis, scored)])]
    if known:
        parts += [_KNOWN, figures([["treebank", "known", "found"], *map(_known, known)])]
    rows = [
        (score.name, tokenizer, units)
        for score in scored
        for tokenizer, units in score.units.items()
    ]
    if rows:
        parts += [_MORPHEMES, figures([_MORPHEMES_HEADER, *(_morphemes(*row) for row in rows)])]
        parts += [_UNITS, figures([_UNITS_HEADER, *(_units(*row) for row in rows)])]
    return "\n\n".join(parts)


def _left_out(score: TreebankScores) -> str:
    counts = score.analysis.left_out
    return ", ".join(f"{count:,} eojeols {why}" for why, count in counts.items()) or "no eojeol"


_ANALYSIS_HEADER = [
    "treebank", "eojeols", "left out", "P", "R", "F1", "in words", "forms", "united",
    "coarse", "Sejong",
]  # fmt: skip


def _analysis(score: TreebankScores) -> list[str]:
    analysis = score.analysis
    return [
        score.name,
        f"{analysis.eojeols:,}",
        f"{analysis.left_out.total():,}",
        _figure(analysis.boundaries.precision),
        _figure(analysis.boundaries.recall),
        *(
            _figure(agreement.f1)
            for agreement in (
                analysis.boundaries,
                analysis.boundaries_in_words,
                analysis.forms,
                analysis.united_forms,
                analysis.coarse_tagged,
                analysis.sejong_tagged,
            )
        ),
    ]


def _known(score: TreebankScores) -> list[str]:
    known: Agreement = score.analysis.known_boundaries
    return [score.name, f"{known.gold:,}", percent(known.recall or 0.0)]


_MORPHEMES_HEADER = [
    "treebank", "tokenizer", "pieces", "whole", "cut up", "shared",
    *CAUSES, "no straddle", "Kiwi right",
]  # fmt: skip


def _morphemes(treebank: str, tokenizer: str, units: UnitScores) -> list[str]:
    total = units.morphemes.total()
    return [
        treebank,
        tokenizer,
        f"{units.pieces / max(units.eojeols, 1):.3f}",
        *(_share(units.morphemes[name], total) for name in MORPHEMES),
        _share(units.whole_if_no_straddle, total),
        _share(units.whole_if_kiwi_right, total),
    ]


_UNITS_HEADER = [
    "treebank", "tokenizer", "units", "mixing", "contraction", *CAUSES,
    "boundaries", "lost", *CAUSES,
]  # fmt: skip


def _units(treebank: str, tokenizer: str, units: UnitScores) -> list[str]:
    boundaries = units.boundaries.total()
    return [
        treebank,
        tokenizer,
        f"{units.units:,}",
        _share(units.mixing.total(), units.units),
        *(_share(units.mixing[name], units.units) for name in ("contraction", *CAUSES)),
        f"{boundaries:,}",
        _share(boundaries - units.boundaries["kept"], boundaries),
        *(_share(units.boundaries[name], boundaries) for name in CAUSES),
    ]


def _share(count: int, total: int) -> str:
    return _figure(count / total if total else None)


def _figure(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f}"
