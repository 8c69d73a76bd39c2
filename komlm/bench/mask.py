"""Whole-morpheme masking with 80/10/10 against transformers' collators, on one core.

Both sides get the same 64 rows of 512 in memory and give ``input_ids``, ``attention_mask`` and
``labels``, all (B, T). komlm gets its rows as tensors, as `RowSource` makes them; transformers'
`DataCollatorForLanguageModeling` gets a list of dicts of ids, as its Trainer hands them from a
dataset, with the ``special_tokens_mask`` that spares it work (``whole_word_mask`` also needs the
offsets of the pieces, here such that a word is an eojeol). Dicts of lists and not of tensors: those
it turns into lists first, which takes longer. Two more figures show what the hand-over counts for:
komlm with the gathering of its rows from the shards, and the collator on a list of bare tensors,
which is its fastest way but gives no ``attention_mask``, and rows must be of one length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AutoTokenizer, DataCollatorForLanguageModeling

from komlm.bench.material import Material
from komlm.bench.report import Figure, Report
from komlm.bench.timing import in_turn, one_core
from komlm.data.rows import Rows, RowSource
from komlm.data.shards import Shards
from komlm.masking import Selection
from komlm.masking.corruption import corrupt
from komlm.types import Flag

ROWS, LENGTH = 64, 512
RATIO = 0.15


def measure(material: Material) -> Report:
    """Tokens a second of each, and how many times transformers' speed komlm has."""
    shards = material.shards
    source = RowSource(shards, LENGTH)
    numbers = np.arange(ROWS) % len(source)
    rows = source.batch(numbers)
    hide = hider(shards)
    plain, whole_word, bare = collators(shards, rows)
    competitors: dict[str, Callable[[], object]] = {
        "komlm": lambda: hide(rows),
        "plain": plain,
        "whole_word": whole_word,
        "rows_included": lambda: hide(source.batch(numbers)),
        "bare_tensors": bare,
    }
    with one_core():
        seconds = in_turn(competitors, material.seconds)
    speed = {name: rows.input_ids.numel() / taken for name, taken in seconds.items()}
    times = "{:.1f} times"
    figures = (
        Figure("tokens_per_s.komlm", "komlm, whole morphemes, tokens/s", speed["komlm"]),
        Figure("tokens_per_s.plain", "collator, tokens/s", speed["plain"]),
        Figure(
            "tokens_per_s.whole_word", "collator, whole_word_mask, tokens/s", speed["whole_word"]
        ),
        Figure("ratios.plain", "komlm / collator", _ratio(speed, "plain"), times, at_least=8),
        Figure(
            "ratios.whole_word",
            "komlm / collator, whole_word_mask",
            _ratio(speed, "whole_word"),
            times,
            at_least=25,
        ),
        Figure(
            "handed_over.komlm_from_shards",
            "komlm, rows gathered from shards too, tokens/s",
            speed["rows_included"],
        ),
        Figure(
            "handed_over.plain_bare_tensors",
            "collator on bare tensors, no attention mask, tokens/s",
            speed["bare_tensors"],
        ),
    )
    return Report(
        figures, f"{ROWS} rows of {LENGTH} from {material.name}, processor time, ratio {RATIO}"
    )


def _ratio(speed: dict[str, float], other: str) -> float:
    return speed["komlm"] / speed[other]


def hider(shards: Shards) -> Callable[[Rows], dict[str, Tensor]]:
    """komlm's side: rows -> ``input_ids``, ``attention_mask``, ``labels``. *Shape of each:* (B, T)

    Each call is another epoch, so that each draws anew, as the collators do.
    """
    special = set(shards.special_ids.values())
    ordinary = torch.tensor([i for i in range(shards.vocabulary_size) if i not in special])
    epoch = -1

    def hide(rows: Rows) -> dict[str, Tensor]:
        nonlocal epoch
        epoch += 1
        selection = Selection(RATIO, epoch=epoch)
        mask_id = shards.special_ids["mask"]
        input_ids, hidden = corrupt(rows, "morpheme", selection, mask_id, ordinary)
        return {
            "input_ids": input_ids,
            "attention_mask": rows.attention_mask,
            "labels": torch.where(hidden, rows.input_ids, -100),
        }

    return hide


def collators(shards: Shards, rows: Rows) -> tuple[Callable[[], Any], ...]:
    """transformers' side on the same rows: plain, whole words, and plain on bare tensors."""
    tokenizer = AutoTokenizer.from_pretrained(
        shards.tokenizer_folder, local_files_only=True, trust_remote_code=False
    )
    plain = DataCollatorForLanguageModeling(tokenizer, mlm_probability=RATIO)
    # Whole words are always replaced by the mask; it warns unless told so.
    whole = DataCollatorForLanguageModeling(
        tokenizer,
        mlm_probability=RATIO,
        whole_word_mask=True,
        mask_replace_prob=1.0,
        random_replace_prob=0.0,
    )
    examples = as_examples(rows)
    words = [
        {**example, "offset_mapping": offsets}
        for example, offsets in zip(examples, offsets_of_eojeols(rows), strict=True)
    ]
    bare = list(rows.input_ids)
    return (lambda: plain(examples)), (lambda: whole(words)), (lambda: plain(bare))


def as_examples(rows: Rows) -> list[dict[str, Any]]:
    """Rows as items of a dataset, lists of ints.

    Example: one row -> ``[{"input_ids": [2, 40, 3], "attention_mask": [1, 1, 1],
    "special_tokens_mask": [1, 0, 1]}]``.
    """
    columns = {
        "input_ids": rows.input_ids.tolist(),
        "attention_mask": rows.attention_mask.int().tolist(),
        "special_tokens_mask": (~rows.maskable).int().tolist(),
    }
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def offsets_of_eojeols(rows: Rows) -> list[list[tuple[int, int]]]:
    """Offsets by which transformers tells words: a gap before each eojeol, (0, 0) at specials.

    A piece counts as one character long. Example: ``[CLS] ▁학교 에 ▁갔 다 [SEP]`` ->
    ``(0, 0) (1, 2) (2, 3) (4, 5) (5, 6) (0, 0)``.
    """
    begin = ((rows.starts & int(Flag.EOJEOL)) != 0).long() * rows.maskable
    ends = (begin + rows.maskable).cumsum(1) * rows.maskable
    starts = (ends - 1).clamp(min=0)
    return [
        list(zip(row_starts, row_ends, strict=True))
        for row_starts, row_ends in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
