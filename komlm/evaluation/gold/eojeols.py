"""A treebank's sentence as eojeols whose morphemes have a place in the text."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from komlm.evaluation.gold.letters import plain_form
from komlm.evaluation.gold.onto_surface import locate
from komlm.evaluation.gold.sentences import GoldSentence, GoldToken
from komlm.text.analysis import Morpheme

_EOJEOL = re.compile(r"\S+")

NO_MORPHEMES = "without morphemes"
"""Why an eojeol is left out: one of its tokens has none, or another number of tags than forms."""
NOT_LOCATED = "not in the text"
"""Why an eojeol is left out: its morphemes are too far from what is written."""


@dataclass(frozen=True)
class GoldEojeol:
    """A run without white space and its morphemes, in order.

    Example: 갔다 at [3,5) has 가/VV [3,4), 았/EP [3,4), 다/EF [4,5).
    """

    start: int
    end: int
    morphemes: tuple[Morpheme, ...]
    """Form, tag as annotated, span in the sentence's text. None where ``missing`` says why."""
    missing: str = ""
    """Why there are no morphemes; empty if there are."""
    known_cuts: tuple[int, ...] = ()
    """Where there are no morphemes: boundaries inside that are known all the same."""


def eojeols_of(sentence: GoldSentence) -> list[GoldEojeol]:
    """The eojeols of a sentence, in order; tokens without a space between make up one.

    Example: the tokens 갔다 and ``.`` of ``"갔다."`` -> one eojeol of four morphemes.
    """
    waiting = list(sentence.tokens)
    found = []
    for run in _EOJEOL.finditer(sentence.text):
        inside = [token for token in waiting if token.start < run.end()]
        # A token that holds a space reaches into the next eojeol too.
        waiting = [token for token in waiting if token.end > run.end()]
        found.append(_eojeol(sentence.text, run.start(), run.end(), inside))
    return found


def _eojeol(text: str, start: int, end: int, tokens: list[GoldToken]) -> GoldEojeol:
    cuts = {token.end for token in tokens}.union(*(token.cuts for token in tokens))
    known = tuple(sorted(cut for cut in cuts if start < cut < end))
    if any(token.morphemes is None or not start <= token.start < token.end <= end
           for token in tokens):  # fmt: skip
        return GoldEojeol(start, end, (), NO_MORPHEMES, known)
    morphemes: list[Morpheme] = []
    for token in tokens:
        assert token.morphemes is not None
        forms = tuple(morpheme.form for morpheme in token.morphemes)
        spans = locate(text[token.start : token.end], tuple(map(plain_form, forms)))
        if spans is None:
            return GoldEojeol(start, end, (), NOT_LOCATED, known)
        for gold, span in zip(token.morphemes, spans, strict=True):
            morphemes.append(
                Morpheme(gold.form, gold.tag, token.start + span.start, token.start + span.end)
            )
    return GoldEojeol(start, end, tuple(morphemes))


def run_over(starts: np.ndarray, ends: np.ndarray, length: int) -> np.ndarray:
    """Which positions of a text lie strictly inside one of the spans.

    Args:
        starts, ends: spans in a text of ``length`` code points. *Shape:* (spans,)

    Returns:
        *Shape:* (length + 1,) bool; position 1 stands between the first and the second character.

    Example: 추워서 with 춥 [0,2) and 어서 [1,3) -> positions 1 and 2.
    """
    written = ends > starts
    steps = np.zeros(length + 2, dtype=np.int64)
    np.add.at(steps, starts[written] + 1, 1)
    np.add.at(steps, ends[written], -1)
    return np.cumsum(steps)[: length + 1] > 0


def inside_of(eojeols: list[GoldEojeol], length: int) -> np.ndarray:
    """Which positions lie strictly inside an eojeol that has its morphemes.

    *Shape:* (length + 1,) bool
    """
    whole = [(eojeol.start, eojeol.end) for eojeol in eojeols if not eojeol.missing]
    spans = np.array(whole, dtype=np.int64).reshape(-1, 2)
    return run_over(spans[:, 0], spans[:, 1], length)


def spans_of(eojeols: list[GoldEojeol]) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ends of all morphemes, in order. *Shape of each:* (morphemes,) int64"""
    spans = [(m.start, m.end) for eojeol in eojeols for m in eojeol.morphemes]
    array = np.array(spans, dtype=np.int64).reshape(-1, 2)
    return array[:, 0], array[:, 1]
