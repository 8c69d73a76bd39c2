"""Units of pieces against a treebank's morphemes, and what keeps them apart.

A **gold morpheme** of a scored eojeol is one of:

* ``whole``: its span is exactly one unit;
* ``cut up``: it begins and ends with units, and units begin inside it;
* ``shared``: contraction; it has a syllable in common with another (갔: 가+았), or nothing of it is
  written. No tokenizer of syllables can have it whole;
* joined: it shares no syllable, yet a unit runs over one of its ends: for a piece alone
  (**straddle**), for Kiwi's analysis alone (**analysis**: a Kiwi morpheme runs over the boundary),
  or for **both**.

What it would be if one cause were gone: ``whole_if_no_straddle`` with pieces of one character each,
``whole_if_kiwi_right`` with gold's morphemes for Kiwi's.

A **unit** that lies in one scored eojeol and meets two or more gold morphemes mixes them: by
**contraction** if no gold boundary lies inside it, else by straddle, by analysis, or by both.

A **gold boundary** inside a scored eojeol is kept, or lost in the same three ways.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from komlm.evaluation.gold.eojeols import GoldEojeol, inside_of, run_over, spans_of
from komlm.text.alignment import Alignment

STRADDLE, ANALYSIS, BOTH = "straddle", "analysis", "both"
CAUSES = (STRADDLE, ANALYSIS, BOTH)


@dataclass
class UnitScores:
    """Sums over a treebank; names as in the module's docstring."""

    pieces: int = 0
    """Pieces that lie in scored eojeols."""
    eojeols: int = 0
    morphemes: Counter[str] = field(default_factory=Counter)
    """Gold morphemes: whole, cut up, shared, straddle, analysis, both; the sum is all of them."""
    whole_if_no_straddle: int = 0
    whole_if_kiwi_right: int = 0
    units: int = 0
    """Units that lie in one scored eojeol."""
    mixing: Counter[str] = field(default_factory=Counter)
    """Units that mix gold morphemes: contraction, straddle, analysis, both."""
    boundaries: Counter[str] = field(default_factory=Counter)
    """Gold boundaries: kept, straddle, analysis, both."""

    def add(self, eojeols: list[GoldEojeol], alignment: Alignment) -> None:
        """Score a sentence.

        Args:
            eojeols: the sentence's, from :func:`komlm.evaluation.gold.eojeols.eojeols_of`.
            alignment: of the same text.
        """
        length, analysis, pieces = len(alignment.text), alignment.analysis, alignment.encoded
        scored = [eojeol for eojeol in eojeols if not eojeol.missing]
        if not len(pieces.ids) or not scored:
            return
        self.eojeols += len(scored)
        first = alignment.unit_starts("morpheme")
        unit_starts = pieces.starts[first]
        unit_ends = np.maximum.reduceat(pieces.ends, first)
        in_unit = run_over(unit_starts, unit_ends, length)
        in_piece = run_over(pieces.starts, pieces.ends, length)
        in_kiwi = run_over(analysis.starts, analysis.ends, length)
        gold_starts, gold_ends = spans_of(eojeols)
        boundary = inside_of(eojeols, length) & ~run_over(gold_starts, gold_ends, length)

        self._add_boundaries(boundary, in_unit, in_piece, in_kiwi)
        self._add_morphemes(gold_starts, gold_ends, in_unit, in_piece, in_kiwi)
        where = [(eojeol.start, eojeol.end) for eojeol in scored]
        self.pieces += int(_within(where, pieces.starts, pieces.ends).sum())
        lies = _within(where, unit_starts, unit_ends)
        self._add_units(
            (unit_starts[lies], unit_ends[lies]),
            (gold_starts, gold_ends),
            boundary,
            in_piece,
            in_kiwi,
        )

    def _add_boundaries(
        self, boundary: np.ndarray, in_unit: np.ndarray, in_piece: np.ndarray, in_kiwi: np.ndarray
    ) -> None:
        lost = np.flatnonzero(boundary & in_unit)
        self.boundaries["kept"] += int(boundary.sum()) - len(lost)
        for by_piece, by_kiwi in zip(in_piece[lost].tolist(), in_kiwi[lost].tolist(), strict=True):
            self.boundaries[_cause(by_piece, by_kiwi)] += 1

    def _add_morphemes(
        self,
        starts: np.ndarray,
        ends: np.ndarray,
        in_unit: np.ndarray,
        in_piece: np.ndarray,
        in_kiwi: np.ndarray,
    ) -> None:
        alone = stands_alone(starts, ends)
        self.morphemes["shared"] += len(starts) - int(alone.sum())
        edges = np.stack([starts[alone], ends[alone]])
        self.whole_if_no_straddle += int(_are_whole(edges, in_kiwi).sum())
        self.whole_if_kiwi_right += int((~in_piece[edges].any(axis=0)).sum())
        lost = in_unit[edges]
        joined, whole = lost.any(axis=0), _are_whole(edges, in_unit)
        self.morphemes["whole"] += int(whole.sum())
        self.morphemes["cut up"] += int((~joined & ~whole).sum())
        by_piece = (lost & in_piece[edges]).any(axis=0)[joined].tolist()
        by_kiwi = (lost & in_kiwi[edges]).any(axis=0)[joined].tolist()
        self.morphemes.update(map(_cause, by_piece, by_kiwi))

    def _add_units(
        self,
        units: tuple[np.ndarray, np.ndarray],
        gold: tuple[np.ndarray, np.ndarray],
        boundary: np.ndarray,
        in_piece: np.ndarray,
        in_kiwi: np.ndarray,
    ) -> None:
        written = gold[1] > gold[0]
        gold_starts, gold_ends = gold[0][written], gold[1][written]
        self.units += len(units[0])
        met = np.searchsorted(gold_starts, units[1]) - np.searchsorted(
            gold_ends, units[0], side="right"
        )
        for i in np.flatnonzero(met > 1).tolist():
            lost = np.flatnonzero(boundary[units[0][i] + 1 : units[1][i]]) + units[0][i] + 1
            if len(lost):
                self.mixing[_cause(bool(in_piece[lost].any()), bool(in_kiwi[lost].any()))] += 1
            else:
                self.mixing["contraction"] += 1

    def to_json(self) -> dict[str, Any]:
        """Counts, for ``--json``; what they are shares of is beside them."""
        return {
            "eojeols": self.eojeols,
            "pieces": self.pieces,
            "morphemes": {name: self.morphemes[name] for name in MORPHEMES},
            "whole_if_no_straddle": self.whole_if_no_straddle,
            "whole_if_kiwi_right": self.whole_if_kiwi_right,
            "units": self.units,
            "mixing": {name: self.mixing[name] for name in ("contraction", *CAUSES)},
            "boundaries": {name: self.boundaries[name] for name in ("kept", *CAUSES)},
        }


MORPHEMES = ("whole", "cut up", "shared", *CAUSES)
"""What a gold morpheme can be."""


def stands_alone(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Which morphemes are written and share no character with another.

    Args:
        starts, ends: spans that never decrease. *Shape of each:* (morphemes,)

    Returns:
        *Shape:* (morphemes,) bool

    Example: 갔다 with 가 [0,1) 았 [0,1) 다 [1,2) -> only 다.
    """
    alone = ends > starts
    written = np.flatnonzero(alone)
    # In order, so a morpheme that meets any other meets its neighbour.
    meets_next = starts[written[1:]] < ends[written[:-1]]
    alone[written[:-1][meets_next]] = False
    alone[written[1:][meets_next]] = False
    return alone


def _are_whole(edges: np.ndarray, run_over: np.ndarray) -> np.ndarray:
    """Which spans are run over at neither end and everywhere inside.

    Args:
        edges: starts and ends. *Shape:* (2, spans)
        run_over: of each position. *Shape:* (length + 1,) bool

    Returns:
        *Shape:* (spans,) bool
    """
    free = np.cumsum(~run_over)
    nothing_free_inside = free[edges[1] - 1] == free[edges[0]]
    return ~run_over[edges].any(axis=0) & nothing_free_inside


def _cause(by_piece: bool, by_kiwi: bool) -> str:
    """Why a unit runs over a gold boundary, or over several.

    Neither a piece nor a morpheme where the pieces leave a character out: that is the pieces'.
    """
    if not by_kiwi:
        return STRADDLE
    return BOTH if by_piece else ANALYSIS


def _within(where: list[tuple[int, int]], starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Which spans lie in one of the eojeols. *Shape:* (spans,) bool"""
    bounds = np.array(where, dtype=np.int64)
    owner = np.searchsorted(bounds[:, 0], starts, side="right") - 1
    return (owner >= 0) & (ends <= bounds[np.maximum(owner, 0), 1]) & (ends > starts)
