"""A data collator for transformers' Trainer that hides whole morphemes, eojeols or pieces."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Mapping, Sequence
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
import torch
from torch import Tensor
from torch.nn import functional
from transformers import AutoTokenizer, PreTrainedTokenizerFast, TrainerCallback

from komlm.data.rows import Rows
from komlm.masking import STRATEGIES, Selection
from komlm.masking.corruption import corrupt
from komlm.masking.replacement import BY, thresholds
from komlm.names import pick, unknown
from komlm.objectives.mlm import IGNORED
from komlm.randomness import mix
from komlm.text.loading import load_tokenizer
from komlm.text.specials import SPECIAL_ROLES
from komlm.text.tokenizer import Tokenizer
from komlm.text.training_rows import COLUMNS, RowMaker
from komlm.types import Flag

_STRIDE = 0x9E3779B97F4A7C15 - (1 << 64)


class UnitMaskingCollator(TrainerCallback):
    """Hides whole units; a drop-in ``data_collator`` for transformers' Trainer.

    What is hidden in a row follows from (seed, epoch, the row's own pieces): not from the batch it
    comes in, its place there, padding, workers, or where a run was resumed. So that each epoch has
    masks of its own, the collator wants to know which one it is: it is a callback too.

    Args:
        tokenizer: of any make, see :func:`komlm.text.loading.load_tokenizer`.
        unit: what is hidden as a whole: a name in ``komlm.masking.STRATEGIES``.
        mlm_probability: of a unit to be hidden. As many pieces are hidden as that comes to, but
            for the longest unit of a row at most.
        mask_replace_prob, random_replace_prob: shares of the hidden units that become [MASK] and
            random pieces; the rest stay as they are.
        replace: draw that for a whole ``unit``, or for each ``piece``.
        weights: class of a unit -> factor on ``mlm_probability``, such as ``{"noun": 2.0}``.
        max_length: pieces in a row made from raw text; the rest of a longer text is left out.
        text_column: where raw text is.
        dictionary: a user dictionary for Kiwi, for raw text.
        pad_to_multiple_of: rows are padded to the longest, up to a multiple of this.
        seed: of all draws.

    Raises:
        ValueError: an option out of range, or a tokenizer without [MASK], [PAD], [CLS] or [SEP].

    Example::

        aligner = Aligner.from_pretrained("klue/bert-base")
        collator = UnitMaskingCollator(aligner.tokenizer, unit="morpheme")
        Trainer(
            model,
            TrainingArguments("run", remove_unused_columns=False),
            train_dataset=aligner.map(dataset),
            data_collator=collator,
            callbacks=[collator],
            compute_loss_func=mean_over_step,
        ).train()
    """

    def __init__(
        self,
        tokenizer: Any,
        unit: str = "morpheme",
        mlm_probability: float = 0.15,
        *,
        mask_replace_prob: float = 0.8,
        random_replace_prob: float = 0.1,
        replace: str = "unit",
        weights: Mapping[str, float] | None = None,
        max_length: int = 512,
        text_column: str = "text",
        dictionary: Path | str | None = None,
        pad_to_multiple_of: int | None = None,
        seed: int = 0,
    ) -> None:
        if not 0 < mlm_probability < 1:
            raise ValueError(
                f"mlm_probability = {mlm_probability!r}: wanted a share between 0 and 1"
            )
        if replace not in BY:
            raise ValueError(unknown("kind of replacement", replace, BY))
        multiple = 1 if pad_to_multiple_of is None else index(pad_to_multiple_of)
        if multiple < 1:
            raise ValueError(f"pad_to_multiple_of = {multiple}: wanted 1 or more, or None")
        dictionary = Path(dictionary) if dictionary is not None else None
        if dictionary is not None and not dictionary.is_file():
            raise FileNotFoundError(f"user dictionary {dictionary}: there is no such file")
        loaded = load_tokenizer(tokenizer)
        self.specials = loaded.specials_for("hiding pieces")
        self.tokenizer = _as_in_transformers(tokenizer, loaded)
        """What a Trainer saves beside the model."""
        pick("unit", unit, STRATEGIES)  # checked now, not at the first batch
        self.unit = unit
        self.shares = (mask_replace_prob, random_replace_prob)
        thresholds(self.shares)  # they are checked now, not at the first batch
        self.replace = replace
        self.text_column = text_column
        self.pad_to_multiple_of = multiple
        self._rows = RowMaker(loaded, dictionary, max_length)
        self._selection = Selection(mlm_probability, dict(weights or {}), index(seed))
        # In shared memory, so that workers of a DataLoader that outlive an epoch see the next one.
        self._epoch = torch.zeros((), dtype=torch.int64).share_memory_()
        self._told = False
        self._first_row: int | None = None
        special = set(self.specials.values())
        self._ordinary = torch.tensor(
            [n for n, piece in enumerate(loaded.pieces) if piece and n not in special]
        )

    def set_epoch(self, epoch: int) -> None:
        """Draw new masks: those of this epoch. As a callback, the collator does so by itself."""
        self._epoch.fill_(epoch)
        self._told = True

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Told by the Trainer."""
        # `state.epoch` counts the part of an epoch that is done, and may lack a last bit.
        self.set_epoch(math.floor((state.epoch or 0) + 1e-6))

    def __call__(self, features: Sequence[Mapping[str, Any]]) -> dict[str, Tensor]:
        """Make a batch, B rows of T pieces.

        Args:
            features: a row each: the columns of :meth:`komlm.Aligner.map`, or raw text.

        Returns:
            ``input_ids`` (int64, with what stands at hidden places), ``attention_mask`` (int64) and
            ``labels`` (int64: the piece at hidden places, -100 elsewhere). *Shape of each:* (B, T)

        Raises:
            ValueError: rows without these columns; the message says what to do.
        """
        if not features:
            raise ValueError("a batch of no rows: wanted one or more")
        rows = self._padded([self._columns(feature) for feature in features])
        self._warn_of_one_epoch(rows.numbers)
        selection = dataclasses.replace(self._selection, epoch=int(self._epoch))
        input_ids, hidden = corrupt(
            rows,
            self.unit,
            selection,
            self.specials["mask"],
            self._ordinary,
            self.replace,
            self.shares,
        )
        return {
            "input_ids": input_ids,
            "attention_mask": rows.attention_mask.long(),
            "labels": rows.input_ids.masked_fill(~hidden, IGNORED),
        }

    def _columns(self, feature: Mapping[str, Any]) -> list[np.ndarray]:
        if all(name in feature for name in COLUMNS):
            return [np.asarray(feature[name]) for name in COLUMNS]
        if self.text_column in feature:
            row = next(self._rows.rows(feature[self.text_column]), None)
            if row is None:
                raise ValueError(
                    f"a text without pieces ({feature[self.text_column]!r}): leave empty texts out"
                )
            return [row[name] for name in COLUMNS]
        raise ValueError(
            f"a row with the columns {sorted(feature)}: wanted {', '.join(COLUMNS)}, which "
            f"aligner.map(dataset) makes, or {self.text_column!r}. The Trainer drops columns that "
            "the model does not take: TrainingArguments(remove_unused_columns=False) keeps them"
        )

    def _padded(self, rows: Sequence[Sequence[np.ndarray]]) -> Rows:
        lengths = np.array([len(ids) for ids, _, _ in rows])
        multiple = self.pad_to_multiple_of
        width = -(-int(lengths.max(initial=1)) // multiple) * multiple
        inside = np.arange(width) < lengths[:, None]
        padding = (self.specials["pad"], int(Flag.SPECIAL), 0)
        columns = []
        for place, kind in enumerate((np.int64, np.uint8, np.uint8)):
            column = np.full(inside.shape, padding[place], dtype=kind)
            column[inside] = np.concatenate([row[place] for row in rows])
            columns.append(column)
        input_ids, starts, tags = map(torch.from_numpy, columns)
        return Rows(input_ids, starts, tags, _numbers(columns[0], inside), self.specials["pad"])

    def _warn_of_one_epoch(self, numbers: Tensor) -> None:
        """Masks that never change are easily made, and hard to see in what comes of them.

        Told only where batches are made in the training process: a worker is gone with its epoch.
        """
        if self._told or not len(numbers) or torch.utils.data.get_worker_info() is not None:
            return
        first = int(numbers[0])
        if self._first_row is None:
            self._first_row = first
        elif self._first_row == first:
            self._told = True
            warnings.warn(
                "the collator is not told of epochs, so a row wears the same mask in each: give "
                "Trainer(callbacks=[collator]), or call collator.set_epoch(n)",
                stacklevel=3,
            )


def _as_in_transformers(source: Any, tokenizer: Tokenizer) -> Any:
    """The tokenizer as transformers has it, with all that its own configuration says."""
    if hasattr(source, "save_pretrained"):
        return source
    if tokenizer.has_folder:
        return AutoTokenizer.from_pretrained(
            tokenizer.folder, local_files_only=True, trust_remote_code=False
        )
    names = {
        key: tokenizer.pieces[tokenizer.special_ids[role]] for role, key in SPECIAL_ROLES.items()
    }
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer.from_str(tokenizer.serialized),
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **names,
    )


def _numbers(input_ids: np.ndarray, inside: np.ndarray) -> Tensor:
    """A number for each row, a hash of its pieces; padding does not count. *Shape:* (B,)"""
    places = np.arange(1, input_ids.shape[1] + 1, dtype=np.int64) * _STRIDE
    return torch.from_numpy(np.where(inside, mix(input_ids + places), 0).sum(1))


def mean_over_step(
    outputs: Any, labels: Tensor, num_items_in_batch: Tensor | int | None = None
) -> Tensor:
    """The loss of masked language modelling, for the Trainer's ``compute_loss_func``.

    The sum over a micro-batch's hidden pieces by the number of hidden pieces in the whole step, so
    that it does not matter how a step is cut into micro-batches. (BertForMaskedLM itself takes the
    mean in each micro-batch, which the Trainer then adds up: transformers issue 47688.)

    Args:
        outputs: of the model, with ``logits``. *Shape:* (B, T, V)
        labels: -100 at pieces that are not hidden. *Shape:* (B, T)
        num_items_in_batch: hidden pieces in the step; without it, those in ``labels``.

    Example: ``Trainer(..., compute_loss_func=mean_over_step)``.
    """
    logits = outputs["logits"] if isinstance(outputs, Mapping) else outputs[0]
    total = functional.cross_entropy(
        logits.flatten(0, 1).float(), labels.flatten(), ignore_index=IGNORED, reduction="sum"
    )
    if num_items_in_batch is None:
        num_items_in_batch = (labels != IGNORED).sum()
    count = torch.as_tensor(num_items_in_batch, device=total.device)
    return total / count.clamp(min=1)
