"""The collator for transformers' Trainer against transformers' own, rows from a dataset, one core.

What a Trainer does for a batch: take 64 rows from the dataset, and hand them to the collator. Both
sides hold the same rows: komlm as `Aligner.map` leaves them, transformers' collator (pieces, no
whole words) as `datasets` leaves what a tokenizer gives, with the ``special_tokens_mask`` that
spares it work. Both give ``input_ids``, ``attention_mask`` and ``labels``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from datasets import Dataset
from transformers import AutoTokenizer, DataCollatorForLanguageModeling

from komlm.bench.material import Material
from komlm.bench.report import Figure, Report
from komlm.bench.timing import in_turn, one_core
from komlm.collator import UnitMaskingCollator
from komlm.text.aligner import Aligner
from komlm.types import Flag

ROWS, LENGTH = 64, 512
RATIO = 0.15
CHARACTERS = 300_000
"""Kiwi need not read more of a corpus than some batches take."""


def measure(material: Material) -> Report:
    """Tokens a second of each, and how many times transformers' speed komlm has."""
    rows = rows_of(material)
    batches = [range(n, n + ROWS) for n in range(0, len(rows) - ROWS + 1, ROWS)]
    theirs = DataCollatorForLanguageModeling(
        AutoTokenizer.from_pretrained(
            material.tokenizer_folder, local_files_only=True, trust_remote_code=False
        ),
        mlm_probability=RATIO,
    )
    collators: dict[str, Callable[[], object]] = {
        "komlm": over_all(batches, rows, komlm_collator(material)),
        "plain": over_all(batches, as_tokenized(rows), theirs),
    }
    with one_core():
        seconds = in_turn(collators, material.seconds)
    tokens = sum(len(row["input_ids"]) for row in rows.select(range(len(batches) * ROWS)))
    speed = {name: tokens / taken for name, taken in seconds.items()}
    figures = (
        Figure("tokens_per_s.komlm", "komlm, whole morphemes, tokens/s", speed["komlm"]),
        Figure("tokens_per_s.plain", "transformers, pieces, tokens/s", speed["plain"]),
        Figure(
            "ratios.plain",
            "komlm / transformers",
            speed["komlm"] / speed["plain"],
            "{:.2f} times",
            at_least=1,
        ),
    )
    return Report(figures, f"batches of {ROWS} rows of {material.name}, from datasets")


def rows_of(material: Material) -> Any:
    """The corpus, or the front of it, as rows of at most 512; at least a batch of them."""
    texts: list[str] = []
    held = 0
    for text in material.texts:
        texts.append(text)
        held += len(text)
        if held >= CHARACTERS:
            break
    aligner = Aligner(
        Aligner.from_pretrained(material.tokenizer_folder).tokenizer, material.analyzer
    )
    rows = aligner.map(Dataset.from_dict({"text": texts}), max_length=LENGTH)
    times = -(-ROWS // len(rows))
    return rows.select([n for _ in range(times) for n in range(len(rows))])


def as_tokenized(rows: Any) -> Any:
    """The same rows with the columns that a tokenizer of transformers gives, as lists of ints."""
    plain = rows.with_format(None)
    columns: dict[str, list[list[int]]] = {
        "input_ids": plain["input_ids"][:],
        "attention_mask": [[1] * len(ids) for ids in plain["input_ids"]],
        "special_tokens_mask": [
            [int(flags == Flag.SPECIAL) for flags in row] for row in plain["starts"]
        ],
    }
    return Dataset.from_dict(columns)


def komlm_collator(material: Material) -> UnitMaskingCollator:
    """komlm's side."""
    collator = UnitMaskingCollator(material.tokenizer_folder, mlm_probability=RATIO)
    collator.set_epoch(0)
    return collator


def over_all(
    batches: list[range], rows: Any, collate: Callable[[list[Any]], object]
) -> Callable[[], object]:
    """Take each batch from the dataset, as a DataLoader does, and collate it."""

    def run() -> None:
        for batch in batches:
            collate(rows.__getitems__(list(batch)))

    return run
