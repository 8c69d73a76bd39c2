"""Kiwi's morphemes against a treebank's: boundaries, forms, forms with tags.

Only eojeols whose gold morphemes have a place in the text are scored; how many are not, and why, is
counted. Nothing between two eojeols counts.

* A **boundary** is a position strictly inside an eojeol that no written morpheme runs over, in
  code points of the text. ``in words`` are those between two letters of Hangul, so that treebanks
  which write full stops as eojeols of their own can be compared with others.
* **Forms** agree as far as the two sequences of an eojeol have a longest common subsequence: what
  agrees keeps its order, each form counts once. Letters are those of a keyboard in NFC (Kiwi's ``ᆫ``
  is ``ㄴ``). A Kiwi morpheme belongs to the eojeol it begins in; an empty one at an eojeol's end to
  that eojeol.
* **Allomorphs united**: the same, with 아 여 았 였 at the beginning of an ending written 어 었 on
  both sides, as Kiwi's ``integrate_allomorph`` does.
* **Tagged**: form (allomorphs united) and tag must both agree, on the coarse classes or on the
  Sejong set (:mod:`komlm.evaluation.gold.tag_sets`), this only where gold has Sejong's tags.
* **Known boundaries**: where eojeols have no morphemes but some known boundaries (between tokens),
  the share of these that Kiwi has. There is no precision: other boundaries are not annotated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from komlm.evaluation.gold.agreement import Agreement
from komlm.evaluation.gold.eojeols import GoldEojeol, inside_of, run_over, spans_of
from komlm.evaluation.gold.letters import plain_form
from komlm.evaluation.gold.tag_sets import coarse, is_sejong, sejong
from komlm.text.analysis import Analysis, Morpheme

_UNITED = {"아": "어", "여": "어", "았": "었", "였": "었"}


@dataclass
class AnalysisScores:
    """Sums over a treebank; fields as in the module's docstring."""

    eojeols: int = 0
    """Eojeols that were scored."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Eojeols that were not, by reason."""
    boundaries: Agreement = field(default_factory=Agreement)
    boundaries_in_words: Agreement = field(default_factory=Agreement)
    forms: Agreement = field(default_factory=Agreement)
    united_forms: Agreement = field(default_factory=Agreement)
    coarse_tagged: Agreement = field(default_factory=Agreement)
    sejong_tagged: Agreement = field(default_factory=Agreement)
    known_boundaries: Agreement = field(default_factory=Agreement)
    """``found`` counts the known boundaries alone."""

    def add(self, eojeols: list[GoldEojeol], analysis: Analysis) -> None:
        """Score a sentence.

        Args:
            eojeols: the sentence's, from :func:`komlm.evaluation.gold.eojeols.eojeols_of`.
            analysis: of the same text, with forms.
        """
        text = analysis.text
        kiwi_has = ~run_over(analysis.starts, analysis.ends, len(text))
        inside = inside_of(eojeols, len(text))
        gold_has = ~run_over(*spans_of(eojeols), len(text))
        hangul = np.array([False, *map(is_hangul, text), False])
        for scores, where in (
            (self.boundaries, inside),
            (self.boundaries_in_words, inside & hangul[:-1] & hangul[1:]),
        ):
            ours, theirs = kiwi_has & where, gold_has & where
            scores.add(int(ours.sum()), int(theirs.sum()), int((ours & theirs).sum()))
        for eojeol, morphemes in zip(eojeols, _by_eojeol(eojeols, analysis), strict=True):
            if eojeol.missing:
                self.left_out[eojeol.missing] += 1
                found = int(kiwi_has[list(eojeol.known_cuts)].sum())
                self.known_boundaries.add(found, len(eojeol.known_cuts), found)
            else:
                self.eojeols += 1
                self._add_morphemes(eojeol.morphemes, morphemes)

    def _add_morphemes(self, gold: Sequence[Morpheme], found: Sequence[Morpheme]) -> None:
        _count(self.forms, [plain_form(m.form) for m in gold], [plain_form(m.form) for m in found])
        gold_forms, found_forms = [list(map(united, side)) for side in (gold, found)]
        _count(self.united_forms, gold_forms, found_forms)
        scores = [(self.coarse_tagged, coarse)]
        if all(is_sejong(m.tag) for m in gold):
            scores.append((self.sejong_tagged, sejong))
        for agreement, common in scores:
            _count(
                agreement,
                [(form, common(m.tag)) for form, m in zip(gold_forms, gold, strict=True)],
                [(form, common(m.tag)) for form, m in zip(found_forms, found, strict=True)],
            )

    def to_json(self) -> dict[str, Any]:
        """Counts and shares, for ``--json``."""
        return {
            "eojeols": self.eojeols,
            "left_out": dict(self.left_out),
            "boundaries": self.boundaries.to_json(),
            "boundaries_in_words": self.boundaries_in_words.to_json(),
            "forms": self.forms.to_json(),
            "united_forms": self.united_forms.to_json(),
            "coarse_tagged": self.coarse_tagged.to_json(),
            "sejong_tagged": self.sejong_tagged.to_json(),
            "known_boundaries": {
                "known": self.known_boundaries.gold,
                "found": self.known_boundaries.both,
                "recall": self.known_boundaries.recall,
            },
        }


def is_hangul(character: str) -> bool:
    """Whether a character is a syllable or a letter of Hangul."""
    return "가" <= character <= "힣" or "ㄱ" <= character <= "ㆎ"


def united(morpheme: Morpheme) -> str:
    """The form, an ending's vowel harmony undone.

    Example: 았/EP -> ``"었"``, 여서/EC -> ``"어서"``; 아/JKV stays.
    """
    form = plain_form(morpheme.form)
    if coarse(morpheme.tag).endswith("ending"):
        return _UNITED.get(form[:1], form[:1]) + form[1:]
    return form


def _by_eojeol(eojeols: list[GoldEojeol], analysis: Analysis) -> list[list[Morpheme]]:
    """The morphemes that begin in each eojeol, or stand empty at its end."""
    found: list[list[Morpheme]] = [[] for _ in eojeols]
    starts = np.array([eojeol.start for eojeol in eojeols], dtype=np.int64)
    owners = np.searchsorted(starts, analysis.starts, side="right") - 1
    for owner, morpheme in zip(owners.tolist(), analysis.morphemes, strict=True):
        found[max(owner, 0)].append(morpheme)
    return found


def _count(agreement: Agreement, gold: Sequence[Any], found: Sequence[Any]) -> None:
    agreement.add(len(found), len(gold), longest_common(gold, found))


def longest_common(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Length of the longest common subsequence. Example: ``("가나다", "가다라")`` -> ``2``."""
    if one == other:
        return len(one)
    row = [0] * (len(other) + 1)
    for item in one:
        diagonal = 0
        for i, candidate in enumerate(other, 1):
            longest = diagonal + 1 if item == candidate else max(row[i], row[i - 1])
            diagonal, row[i] = row[i], longest
    return row[-1]
