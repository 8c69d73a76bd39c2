"""Masked language modelling: say what stood at the hidden pieces (BERT; Devlin et al., 2019)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from komlm.config import Config
from komlm.data.rows import Rows
from komlm.masking import STRATEGIES, Selection, mask_epoch, slots
from komlm.masking.corruption import corrupt
from komlm.models import build_mlm
from komlm.names import pick
from komlm.objectives.terms import Term

IGNORED = -100
"""The label of an unused slot, which the loss leaves out (as in transformers)."""


class MaskedLanguageModel:
    """The objective ``mlm``: B rows of T pieces, at most K of them hidden in a row.

    Args:
        config: the run; its sections masking, model, rows and the seed are read.
        vocabulary_size: entries of the tokenizer that the shards were made with.
        special_ids: ids of unk, pad, cls, sep and mask.

    Raises:
        ValueError: an unknown unit, or a class in ``masking.weights`` that does not exist.

    Example::

        objective = MaskedLanguageModel(config, shards.vocabulary_size, shards.special_ids)
        model = objective.build_model()
        batch = objective.batch(rows, epochs=torch.zeros(len(rows.numbers), dtype=torch.int64))
        term = objective.loss(model, batch)["mlm"]
        (term.total / term.count).backward()
    """

    def __init__(
        self, config: Config, vocabulary_size: int, special_ids: Mapping[str, int]
    ) -> None:
        self.config = config
        self.vocabulary_size = vocabulary_size
        self.special_ids = dict(special_ids)
        # Names of units and classes are checked before anything is built.
        pick("unit", config.masking.unit, STRATEGIES)
        self._selection(0)
        self.slots = slots(config.masking.ratio, config.masking.weights, config.rows.max_length)
        special = set(self.special_ids.values())
        self.ordinary_ids = torch.tensor([i for i in range(vocabulary_size) if i not in special])

    def build_model(self) -> Any:
        """A new model with random weights, drawn from torch's generator.

        Raises:
            ValueError: an unknown ``model.size``.
        """
        return build_mlm(
            self.config.model.size,
            vocabulary_size=self.vocabulary_size,
            max_length=self.config.rows.max_length,
            special_ids=self.special_ids,
            dropout=self.config.model.dropout,
        )

    def batch(self, rows: Rows, epochs: Tensor) -> dict[str, Tensor]:
        """Hide pieces of ``rows``; a row's mask follows from (seed, epoch, row number) alone.

        Args:
            rows: B rows.
            epochs: int64, the epoch in which each row is read. *Shape:* ``(B,)``.

        Returns:
            ``input_ids`` (int64) and ``attention_mask`` (bool), *Shape:* ``(B, T)``; ``positions``
            (int64), where the hidden pieces stand, and ``labels`` (int64), what stood there,
            *Shape:* ``(B, K)``. Unused slots have position 0 and label -100.
        """
        masking = self.config.masking
        selection = self._selection(mask_epoch(epochs, masking.patterns))
        input_ids, hidden = corrupt(
            rows,
            masking.unit,
            selection,
            self.special_ids["mask"],
            self.ordinary_ids.to(rows.input_ids.device),
            masking.replace,
        )
        positions, labels = at_slots(rows.input_ids, hidden, self.slots)
        return {
            "input_ids": input_ids,
            "attention_mask": rows.attention_mask,
            "positions": positions,
            "labels": labels,
        }

    def counts(self, batch: Mapping[str, Tensor]) -> dict[str, int]:
        """How many pieces each term of the loss sums over, known before the model runs.

        Example: 64 rows of 128 at a ratio of 0.15 -> about ``{"mlm": 1200}``.
        """
        return {"mlm": int((batch["labels"] != IGNORED).sum())}

    def loss(self, model: Any, batch: Mapping[str, Tensor]) -> dict[str, Term]:
        """The summed cross entropy at the hidden pieces; the head runs nowhere else.

        The softmax is taken in float32, whatever the model's precision.
        """
        labels_N, logits_NV = hidden_logits(model, batch)
        total = functional.cross_entropy(
            logits_NV.float(), labels_N, ignore_index=IGNORED, reduction="sum"
        )
        return {"mlm": Term(total, (labels_N != IGNORED).sum())}

    def _selection(self, epochs: int | Tensor) -> Selection:
        masking = self.config.masking
        return Selection(masking.ratio, masking.weights, self.config.training.seed, epochs)


def at_slots(input_ids: Tensor, hidden: Tensor, slots: int) -> tuple[Tensor, Tensor]:
    """Positions and labels of the hidden pieces in K slots a row, in their order.

    *Shape:* ``input_ids`` and ``hidden`` ``(B, T)``; both results ``(B, K)``.

    Raises:
        ValueError: a row hides more than ``slots`` pieces.

    Example: ids ``[[7, 8, 9]]``, the last two hidden, 3 slots -> positions ``[[1, 2, 0]]``, labels
    ``[[8, 9, -100]]``.
    """
    order = hidden.cumsum(1) - 1
    most = int(order[:, -1].max()) + 1 if hidden.numel() else 0
    if most > slots:
        raise ValueError(f"a row hides {most} pieces, and there are {slots} slots a row for them")
    positions = input_ids.new_zeros(len(input_ids), slots)
    labels = torch.full_like(positions, IGNORED)
    row, position = hidden.nonzero(as_tuple=True)
    slot = order[row, position]
    positions[row, slot] = position
    labels[row, slot] = input_ids[row, position]
    return positions, labels


def hidden_logits(model: Any, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Labels and vocabulary logits at the hidden pieces alone.

    On CPU unused slots are left out, in row order (N = hidden pieces); on a GPU shapes stay the
    same from batch to batch (N = B x K) and unused slots keep the label -100.

    *Shape:* labels ``(N,)``, logits ``(N, V)``.
    """
    states_BTH = model.bert(
        batch["input_ids"], attention_mask=batch["attention_mask"]
    ).last_hidden_state
    length, width = states_BTH.shape[1:]
    rows = torch.arange(len(states_BTH), device=states_BTH.device)[:, None]
    index_BK = rows * length + batch["positions"]
    labels_BK = batch["labels"]
    if states_BTH.device.type == "cpu":
        used = labels_BK != IGNORED
        index_N, labels_N = index_BK[used], labels_BK[used]
    else:
        index_N, labels_N = index_BK.flatten(), labels_BK.flatten()
    states_NH = states_BTH.reshape(math.prod(states_BTH.shape[:2]), width)[index_N]
    return labels_N, model.cls(states_NH)
