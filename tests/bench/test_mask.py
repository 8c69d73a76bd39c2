from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from komlm.bench import Material
from komlm.bench.mask import (
    LENGTH,
    RATIO,
    as_examples,
    collators,
    hider,
    measure,
    offsets_of_eojeols,
)
from komlm.data.rows import Rows, RowSource
from komlm.types import Flag


@pytest.fixture(scope="module")
def rows(material: Material) -> Rows:
    source = RowSource(material.shards, LENGTH)
    return source.batch(np.arange(len(source)))


def unit_ids(rows: Rows, flag: Flag) -> Tensor:
    """A number for each unit, over all rows; special tokens are units of their own."""
    begins = ((rows.starts & int(flag)) != 0) | ~rows.maskable
    return begins.flatten().cumsum(0)


def is_whole(hidden: Tensor, units: Tensor) -> bool:
    """Whether each unit is hidden as a whole or not at all."""
    hidden = hidden.flatten()
    return not set(units[hidden].tolist()) & set(units[~hidden].tolist())


def test_the_report(material: Material) -> None:
    values = measure(material).values
    assert values["tokens_per_s"].keys() == {"komlm", "plain", "whole_word"}
    for other in ("plain", "whole_word"):
        quotient = values["tokens_per_s"]["komlm"] / values["tokens_per_s"][other]
        assert values["ratios"][other] == pytest.approx(quotient, rel=1e-4)


def test_both_sides_do_the_same_work(material: Material, rows: Rows) -> None:
    """Equal keys and shapes, the same share hidden, 80/10/10, no special token, labels where hidden
    and nothing changed elsewhere."""
    mask_id = material.shards.special_ids["mask"]
    hide = hider(material.shards)
    plain, whole_word, _ = collators(material.shards, rows)
    sides = {"komlm": lambda: hide(rows), "plain": plain, "whole word": whole_word}
    for name, side in sides.items():
        shares, masked, kept = [], [], []
        for _ in range(12):
            batch = side()
            assert set(batch) == {"input_ids", "attention_mask", "labels"}
            assert all(tensor.shape == rows.input_ids.shape for tensor in batch.values())
            assert batch["attention_mask"].bool().equal(rows.attention_mask)
            hidden = batch["labels"] != -100
            assert batch["labels"][hidden].equal(rows.input_ids[hidden])
            assert batch["input_ids"][~hidden].equal(rows.input_ids[~hidden])
            assert not hidden[~rows.maskable].any()
            shares.append(hidden.sum() / rows.maskable.sum())
            masked.append((batch["input_ids"][hidden] == mask_id).float().mean())
            kept.append((batch["input_ids"][hidden] == rows.input_ids[hidden]).float().mean())
        assert float(torch.stack(shares).mean()) == pytest.approx(RATIO, abs=0.01), name
        # transformers' whole words are always masked, as it says itself.
        always = name == "whole word"
        assert float(torch.stack(masked).mean()) == pytest.approx(1 if always else 0.8, abs=0.03)
        assert float(torch.stack(kept).mean()) == pytest.approx(0 if always else 0.1, abs=0.03)


def test_what_each_side_hides_as_a_whole(material: Material, rows: Rows) -> None:
    """komlm morphemes; the collator with whole_word_mask eojeols, by the offsets that it is given;
    the plain one neither."""
    morphemes, eojeols = unit_ids(rows, Flag.MORPHEME), unit_ids(rows, Flag.EOJEOL)
    plain, whole_word, bare = collators(material.shards, rows)
    assert is_whole(hider(material.shards)(rows)["labels"] != -100, morphemes)
    assert is_whole(whole_word()["labels"] != -100, eojeols)
    assert not is_whole(plain()["labels"] != -100, morphemes)
    assert bare()["labels"].shape == rows.input_ids.shape


def test_each_call_draws_anew(material: Material, rows: Rows) -> None:
    hide = hider(material.shards)
    assert not hide(rows)["labels"].equal(hide(rows)["labels"])


def test_rows_as_items_of_a_dataset(rows: Rows) -> None:
    examples = as_examples(rows)
    assert len(examples) == len(rows.numbers)
    for number, example in enumerate(examples):
        assert all(type(value) is int for values in example.values() for value in values)
        assert example["input_ids"] == rows.input_ids[number].tolist()
        assert example["special_tokens_mask"] == (1 - rows.maskable[number].int()).tolist()


def test_the_offsets_of_a_row() -> None:
    special, eojeol = int(Flag.SPECIAL), int(Flag.EOJEOL | Flag.MORPHEME)
    rows = Rows(
        input_ids=torch.tensor([[2, 40, 41, 42, 43, 3]]),
        starts=torch.tensor(
            [[special, eojeol, int(Flag.MORPHEME), eojeol, 0, special]], dtype=torch.uint8
        ),
        tags=torch.zeros(1, 6, dtype=torch.uint8),
        numbers=torch.tensor([0]),
    )
    assert offsets_of_eojeols(rows) == [[(0, 0), (1, 2), (2, 3), (4, 5), (5, 6), (0, 0)]]
