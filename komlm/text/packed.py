"""Analyses and pieces of many texts as a few arrays, which travel cheaply between processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from komlm.text.analysis import Analysis
from komlm.text.pieces import Pieces


class Packed(NamedTuple):
    """What :func:`pack` makes: the texts' arrays laid end to end, and how long each was.

    Example: ``pack([(analysis, pieces)]).unpacked([text])`` gives the two back.
    """

    pieces: Pieces
    pieces_each: np.ndarray
    """*Shape:* (texts,)"""
    starts: np.ndarray
    """Of the morphemes. *Shape of this and the next three:* (morphemes,)"""
    ends: np.ndarray
    tags: np.ndarray
    form_lengths: np.ndarray
    morphemes_each: np.ndarray
    """*Shape:* (texts,)"""
    forms: str
    """The dictionary forms without anything between them."""
    sentence_starts: np.ndarray
    """*Shape:* (sentences,)"""
    sentences_each: np.ndarray
    """*Shape:* (texts,)"""

    @property
    def texts(self) -> int:
        """How many texts."""
        return len(self.pieces_each)

    def unpacked(self, texts: Sequence[str]) -> Iterator[tuple[Analysis, Pieces]]:
        """The analysis and the pieces of each text.

        Args:
            texts: those that were packed, and perhaps more.
        """
        forms = self._forms()
        bounds = [
            np.append(0, np.cumsum(each)).tolist()
            for each in (self.pieces_each, self.morphemes_each, self.sentences_each)
        ]
        for n, text in zip(range(self.texts), texts, strict=False):
            piece, morpheme, sentence = (slice(ends[n], ends[n + 1]) for ends in bounds)
            analysis = Analysis(
                text=text,
                starts=self.starts[morpheme],
                ends=self.ends[morpheme],
                tags=self.tags[morpheme],
                sentence_starts=self.sentence_starts[sentence],
                forms=tuple(forms[morpheme]),
            )
            yield analysis, Pieces(*(array[piece] for array in self.pieces))

    def _forms(self) -> list[str]:
        ends = np.cumsum(self.form_lengths)
        starts = (ends - self.form_lengths).tolist()
        return [self.forms[start:end] for start, end in zip(starts, ends.tolist(), strict=True)]


def pack(aligned: Sequence[tuple[Analysis, Pieces]]) -> Packed:
    """Lay analyses (with their forms) and pieces end to end."""
    analyses = [analysis for analysis, _ in aligned]
    forms = [form for analysis in analyses for form in analysis.forms or ()]
    nothing = np.zeros(0, dtype=np.int64)

    def joined(arrays: list[np.ndarray]) -> np.ndarray:
        return np.concatenate(arrays) if arrays else nothing

    def counts(arrays: list[np.ndarray]) -> np.ndarray:
        return np.array([len(array) for array in arrays], dtype=np.int64)

    return Packed(
        pieces=Pieces(*(joined([pieces[k] for _, pieces in aligned]) for k in range(4))),
        pieces_each=counts([pieces.ids for _, pieces in aligned]),
        starts=joined([analysis.starts for analysis in analyses]),
        ends=joined([analysis.ends for analysis in analyses]),
        tags=joined([analysis.tags for analysis in analyses]),
        form_lengths=np.array([len(form) for form in forms], dtype=np.int64),
        morphemes_each=counts([analysis.starts for analysis in analyses]),
        forms="".join(forms),
        sentence_starts=joined([analysis.sentence_starts for analysis in analyses]),
        sentences_each=counts([analysis.sentence_starts for analysis in analyses]),
    )
