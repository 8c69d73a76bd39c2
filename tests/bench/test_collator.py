from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import AutoTokenizer, DataCollatorForLanguageModeling

from komlm.bench import Material
from komlm.bench.collator import ROWS, as_tokenized, komlm_collator, measure, over_all, rows_of


@pytest.fixture(scope="module")
def rows(material: Material) -> Any:
    return rows_of(material)


def test_the_report(material: Material) -> None:
    values = measure(material).values
    speed = values["tokens_per_s"]
    assert values["ratios"]["plain"] == pytest.approx(speed["komlm"] / speed["plain"], rel=1e-4)


def test_both_sides_collate_the_same_rows(material: Material, rows: Any) -> None:
    assert len(rows) >= ROWS
    plain = as_tokenized(rows)
    theirs = DataCollatorForLanguageModeling(
        AutoTokenizer.from_pretrained(material.tokenizer_folder)
    )
    made: list[dict[str, torch.Tensor]] = []
    for dataset, collate in ((rows, komlm_collator(material)), (plain, theirs)):
        over_all([range(ROWS)], dataset, lambda items, c=collate: made.append(c(items)))()
    ours, other = made
    assert set(ours) == set(other) == {"input_ids", "attention_mask", "labels"}
    assert ours["attention_mask"].equal(other["attention_mask"])
    whole = [torch.where(b["labels"] == -100, b["input_ids"], b["labels"]) for b in made]
    assert whole[0].equal(whole[1])
    # [UNK] is a piece of the text.
    specials = torch.tensor([n for k, n in material.shards.special_ids.items() if k != "unk"])
    for batch in made:
        share = (batch["labels"] != -100).sum() / batch["attention_mask"].sum()
        assert 0.1 < float(share) < 0.2
        assert not torch.isin(batch["labels"], specials).any()
