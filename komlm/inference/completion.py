"""The likeliest runs of pieces for a gap, by beam search from left to right.

Legend of shapes: B rows of one batch, V entries of the vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from komlm.inference.loading import positions_of
from komlm.text.tokenizer import Tokenizer

BEAM = 24
"""Beginnings of a completion that are followed up, at least."""

_HEADS = {"bert": "cls", "roberta": "lm_head", "xlm-roberta": "lm_head", "camembert": "lm_head"}
"""Kind of model -> its head, a function of the last hidden state at one place."""


@dataclass(frozen=True)
class Around:
    """The pieces to the left and to the right of a gap, without [CLS] and [SEP].

    Example: ``▁나 는 [MASK] 에 ▁갔 다`` -> left ``▁나 는``, right ``에 ▁갔 다``.
    """

    left: Sequence[int]
    right: Sequence[int]


class Completion(NamedTuple):
    """Pieces for a gap. Example: ``Completion((2204,), 0.31)``."""

    ids: tuple[int, ...]
    score: float
    """Joint probability of the pieces, given how many they are."""


class Completer:
    """Finds and scores completions of a gap.

    Example: ``Completer(model, tokenizer).best(around, pieces=2, begins_word=True, beam=24)``.
    """

    def __init__(self, model: Any, tokenizer: Tokenizer) -> None:
        self._model = model
        self._special = tokenizer.special_ids
        self._entries = tokenizer.vocabulary_size
        self.positions = positions_of(model)
        usable = torch.ones(self._entries, dtype=torch.bool)
        usable[list(self._special.values())] = False
        initial = torch.from_numpy(tokenizer.word_initial.copy())
        continuing = torch.from_numpy(tokenizer.word_continuing.copy())
        if not (initial & usable).any():
            # A vocabulary that marks no beginnings of words: any piece may stand anywhere.
            initial, continuing = usable, usable
        self.first = initial & usable
        """Which pieces may begin an eojeol, bool. *Shape:* (V,)"""
        self.later = continuing & usable
        """Which pieces may stand inside one, bool. *Shape:* (V,)"""

    def room(self, around: Around) -> int:
        """How many pieces the model can read in the gap.

        Raises:
            ValueError: not even one; the message names both numbers.
        """
        room = self.positions - len(around.left) - len(around.right) - 2
        if room < 1:
            raise ValueError(
                f"the text has {self.positions - room + 1:,} pieces and the model reads "
                f"{self.positions:,} at most: shorten it"
            )
        return room

    def best(
        self, around: Around, pieces: int, begins_word: bool, beam: int = BEAM
    ) -> list[Completion]:
        """The likeliest runs of ``pieces`` pieces, best first.

        Args:
            begins_word: the first piece must begin an eojeol; else it must not. No later one may.
            beam: beginnings that are followed up; with the whole vocabulary the search is exact.
        """
        beams: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
        for step in range(pieces):
            allowed = self.first if begins_word and step == 0 else self.later
            rows = [self._row(around, ids, pieces) for ids, _ in beams]
            logs_BV = self._log_probabilities(rows, [1 + len(around.left) + step] * len(rows))
            so_far = torch.tensor([score for _, score in beams])
            total_BV = (logs_BV + so_far[:, None]).masked_fill(~allowed, -torch.inf)
            top = total_BV.flatten().topk(min(beam, int(allowed.sum()) * len(beams)))
            beams = [
                ((*beams[flat // self._entries][0], flat % self._entries), score)
                for score, flat in zip(top.values.tolist(), top.indices.tolist(), strict=True)
            ]
            if not beams:
                return []
        return [Completion(ids, math.exp(score)) for ids, score in beams]

    def score(self, around: Around, ids: Sequence[int]) -> float:
        """Joint probability of given pieces: each from those before it, the later ones masked."""
        rows = [self._row(around, ids[:step], len(ids)) for step in range(len(ids))]
        places = [1 + len(around.left) + step for step in range(len(ids))]
        logs_BV = self._log_probabilities(rows, places)
        return math.exp(float(logs_BV[torch.arange(len(ids)), torch.tensor(ids)].sum()))

    def _row(self, around: Around, begun: Sequence[int], pieces: int) -> list[int]:
        masks = [self._special["mask"]] * (pieces - len(begun))
        return [
            self._special["cls"],
            *around.left,
            *begun,
            *masks,
            *around.right,
            self._special["sep"],
        ]

    @torch.inference_mode()
    def _log_probabilities(self, rows: list[list[int]], places: list[int]) -> Tensor:
        """Of the piece at one place of each row. *Shape:* (B, V)"""
        input_ids, row = torch.tensor(rows), torch.arange(len(rows))
        head = _HEADS.get(self._model.config.model_type)
        if head is None:
            logits_BV = self._model(input_ids=input_ids).logits[row, places]
        else:
            # Logits for all places of 24 rows of 512 are gigabytes, and one place is asked for.
            states = self._model.base_model(input_ids=input_ids).last_hidden_state
            logits_BV = getattr(self._model, head)(states[row, places])
        if not logits_BV.isfinite().all():
            raise ValueError("the model's scores are not finite: its weights are spoilt")
        return logits_BV[:, : self._entries].float().log_softmax(-1)
