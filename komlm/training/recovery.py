"""Recovery: how much of held-out text a model gets right, by level, class and tag.

At each level (piece, morpheme, eojeol) the units of that level are hidden, always 15 % of them and
always the same ones, whatever the recipe hides in training, and each hidden piece becomes [MASK].
Runs with other units, ratios or replacements are thus measured alike. Beside it stands what a model
would get that knows only how often each piece occurs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from komlm.data.rows import Rows, RowSource
from komlm.masking import STRATEGIES, Selection, begins, slots
from komlm.masking.units import unit_numbers
from komlm.objectives.mlm import IGNORED, at_slots, hidden_logits
from komlm.randomness import Purpose, seed_of
from komlm.text.tags import CLASS_OF_CODE, CLASSES, NO_CLASS, TAGS
from komlm.types import LEVELS

RATIO = 0.15
NONE = "none"
"""The class and the tag of a unit in which Kiwi found no morpheme."""

_CLASS_NAMES = (*CLASSES, NONE)
_SYMBOL = CLASSES.index("symbol")
# Each uint8 has a class, also a tag that a newer komlm has written.
_CLASS_OF_BYTE = np.full(256, NO_CLASS)
_CLASS_OF_BYTE[: len(CLASS_OF_CODE)] = CLASS_OF_CODE


@dataclass(frozen=True)
class Hidden:
    """The hidden pieces of all rows at one level, in their order, and how they were answered.

    *Shape* of each: ``(N,)``, N = hidden pieces.
    """

    units: npt.NDArray[np.int64]
    """Number of the unit that a piece belongs to; never falls."""
    codes: npt.NDArray[np.int64]
    """Tag codes."""
    labels: npt.NDArray[np.int64]
    """The pieces themselves."""
    losses: npt.NDArray[np.float64]
    """Cross entropy of the model in nat."""
    right: npt.NDArray[np.bool_]
    """Whether the model's first guess is the piece."""


@dataclass(frozen=True)
class Recovery:
    """Measures models on the same rows of held-out text.

    Args:
        source: the held-out rows.
        numbers: the rows that are read.
        counts: how often each piece occurs in the training split. *Shape:* ``(V,)``.
        batch_rows: rows that go through the model at once.

    Example::

        recovery = Recovery(source, spread(len(source), 512), train.counts(), batch_rows=64)
        recovery.measure(model, device)["eojeol"]["word"]["recovery"]       # 0.31
    """

    source: RowSource
    numbers: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    batch_rows: int

    def measure(
        self, model: Any, device: torch.device, precision: torch.dtype = torch.float32
    ) -> dict[str, Any]:
        """Loss, accuracy and recovery at each level; see :func:`score` for the fields of one.

        The level eojeol also has ``word``: eojeols without their punctuation, which would flatter;
        those of symbols alone are left out. The model is left in evaluation mode.
        """
        model.eval()
        result: dict[str, Any] = {"rows": len(self.numbers)}
        for level in LEVELS:
            parts = []
            for first in range(0, len(self.numbers), self.batch_rows):
                rows = self.source.batch(self.numbers[first : first + self.batch_rows])
                with _autocast(device, precision):
                    parts.append(answers(model, rows, level, self._mask_id, device))
            hidden = joined(parts)
            result[level] = score(hidden, self.counts)
        result["eojeol"]["word"] = recovered(without_symbols(hidden), self.counts)
        return result

    @property
    def _mask_id(self) -> int:
        return self.source.shards.special_ids["mask"]


def _autocast(device: torch.device, precision: torch.dtype) -> AbstractContextManager[Any]:
    return torch.autocast(device.type, precision, enabled=precision != torch.float32)


def spread(rows: int, most: int) -> npt.NDArray[np.int64]:
    """At most ``most`` of the row numbers, evenly spread.

    Example: ``spread(10, 4)`` -> ``[0, 2, 5, 7]``.
    """
    chosen = min(rows, most)
    return np.arange(chosen, dtype=np.int64) * rows // max(chosen, 1)


@torch.inference_mode()
def answers(model: Any, rows: Rows, level: str, mask_id: int, device: torch.device) -> Hidden:
    """Hide units of a level in B rows and ask the model for them."""
    length = rows.input_ids.shape[1]
    selection = Selection(RATIO, {}, seed_of(Purpose.HELDOUT), 0)
    hidden = STRATEGIES[level](rows, selection)
    positions, labels = at_slots(rows.input_ids, hidden, slots(RATIO, {}, length))
    batch = {
        "input_ids": rows.input_ids.masked_fill(hidden, mask_id),
        "attention_mask": rows.attention_mask,
        "positions": positions,
        "labels": labels,
    }
    batch = {name: tensor.to(device) for name, tensor in batch.items()}
    labels_N, logits_NV = hidden_logits(model, batch)
    used = labels_N != IGNORED
    labels_N, logits_NV = labels_N[used], logits_NV[used].float()
    losses = functional.cross_entropy(logits_NV, labels_N, reduction="none")
    units = unit_numbers(begins(rows, level)) + torch.arange(len(hidden))[:, None] * length
    return Hidden(
        units=units[hidden].numpy(),
        codes=rows.tags[hidden].long().numpy(),
        labels=labels_N.cpu().numpy(),
        losses=losses.double().cpu().numpy(),
        right=(logits_NV.argmax(1) == labels_N).cpu().numpy(),
    )


def joined(parts: Sequence[Hidden]) -> Hidden:
    """The pieces of several batches; their units are numbered one after the other."""
    shifts = np.cumsum([0] + [int(part.units.max(initial=-1)) + 1 for part in parts])
    units = [part.units + shift for part, shift in zip(parts, shifts, strict=False)]
    return Hidden(
        np.concatenate(units),
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("codes", "labels", "losses", "right")
        ),
    )


def score(hidden: Hidden, counts: npt.NDArray[np.int64]) -> dict[str, Any]:
    """What the answers are worth, beside the unigram model of ``counts`` (one added to each).

    Returns:
        ``pieces``, ``loss`` (nat a piece), ``accuracy`` (share of pieces) and the fields of
        :func:`recovered`. ``baseline`` holds loss, accuracy and recovery of the unigram model,
        which always guesses the most frequent piece.

    Example: 학교 right and 에 wrong in the eojeol 학교에 -> accuracy 0.5, recovery 0.0.
    """
    losses = np.log(counts.sum() + len(counts)) - np.log(counts + 1.0)
    units = recovered(hidden, counts)
    return {
        "pieces": len(hidden.labels),
        "loss": _mean(hidden.losses),
        "accuracy": _mean(hidden.right),
        **units,
        "baseline": {
            "loss": _mean(losses[hidden.labels]),
            "accuracy": _mean(hidden.labels == counts.argmax()),
            "recovery": units["baseline"],
        },
    }


def without_symbols(hidden: Hidden) -> Hidden:
    """The hidden pieces but those of class symbol: eojeols without their punctuation."""
    kept = _CLASS_OF_BYTE[hidden.codes] != _SYMBOL
    return Hidden(
        hidden.units[kept],
        hidden.codes[kept],
        hidden.labels[kept],
        hidden.losses[kept],
        hidden.right[kept],
    )


def recovered(hidden: Hidden, counts: npt.NDArray[np.int64]) -> dict[str, Any]:
    """Share of units of which every piece is right.

    Returns:
        ``units``, ``recovery``, ``baseline`` (of always the most frequent piece), and the same
        three for each name in ``classes`` and ``tags``, which are those of the unit's head: its
        first piece of the most contentful class.
    """
    pieces = len(hidden.units)
    if not pieces:
        return {"units": 0, "recovery": 0.0, "baseline": 0.0, "classes": {}, "tags": {}}
    firsts = np.flatnonzero(np.diff(hidden.units, prepend=-1))
    right = np.logical_and.reduceat(hidden.right, firsts)
    baseline = np.logical_and.reduceat(hidden.labels == counts.argmax(), firsts)
    rank = _CLASS_OF_BYTE[hidden.codes] * pieces + np.arange(pieces)
    codes = hidden.codes[np.minimum.reduceat(rank, firsts) % pieces]
    classes = _CLASS_OF_BYTE[codes]
    return {
        "units": len(firsts),
        "recovery": _mean(right),
        "baseline": _mean(baseline),
        "classes": _by_name(classes, dict(enumerate(_CLASS_NAMES)), right, baseline),
        "tags": _by_name(codes, {c: tag or NONE for c, tag in enumerate(TAGS)}, right, baseline),
    }


def _by_name(
    groups: npt.NDArray[Any],
    names: Mapping[int, str],
    right: npt.NDArray[np.bool_],
    baseline: npt.NDArray[np.bool_],
) -> dict[str, dict[str, float]]:
    return {
        names.get(group, str(group)): {
            "units": int((groups == group).sum()),
            "recovery": _mean(right[groups == group]),
            "baseline": _mean(baseline[groups == group]),
        }
        for group in np.unique(groups).tolist()
    }


def _mean(values: npt.NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else 0.0
