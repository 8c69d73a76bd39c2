"""The objective mlm: its batches against their rows, its loss against that of transformers."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from komlm.config import Config, MaskingConfig, ModelConfig, RowsConfig
from komlm.data.rows import Rows
from komlm.masking import begins
from komlm.objectives import OBJECTIVES, MaskedLanguageModel
from komlm.objectives.mlm import IGNORED, at_slots
from komlm.types import Flag

SPECIAL = {"unk": 0, "pad": 1, "cls": 2, "sep": 3, "mask": 4}
LENGTH, VOCABULARY = 32, 50


def config(**masking: object) -> Config:
    return Config(
        masking=MaskingConfig(**masking),  # type: ignore[arg-type]
        model=ModelConfig(size="mini", dropout=0.0),
        rows=RowsConfig(max_length=LENGTH),
    )


def objective(**masking: object) -> MaskedLanguageModel:
    return MaskedLanguageModel(config(**masking), VOCABULARY, SPECIAL)


def some_rows(count: int, seed: int = 0) -> Rows:
    """Rows of units of 1 to 3 pieces, two units an eojeol, some with padding."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, VOCABULARY, (count, LENGTH), generator=generator)
    starts = torch.zeros(count, LENGTH, dtype=torch.uint8)
    for row in range(count):
        position, number = 1, 0
        while position < LENGTH:
            starts[row, position] = int(Flag.MORPHEME | (Flag.EOJEOL if number % 2 == 0 else 0))
            position += int(torch.randint(1, 4, (), generator=generator))
            number += 1
    lengths = torch.randint(LENGTH // 2, LENGTH + 1, (count,), generator=generator)
    position = torch.arange(LENGTH)
    ids[position >= lengths[:, None]] = SPECIAL["pad"]
    ids[torch.arange(count), lengths - 1] = SPECIAL["sep"]
    ids[:, 0] = SPECIAL["cls"]
    starts[ids < 5] = int(Flag.SPECIAL)
    return Rows(ids, starts, torch.zeros_like(starts), torch.arange(count) + 7)


def epochs(rows: Rows, epoch: int = 0) -> torch.Tensor:
    return torch.full((len(rows.numbers),), epoch)


@pytest.mark.parametrize("unit", ["piece", "morpheme", "eojeol"])
def test_batch_hides_whole_units_and_keeps_what_stood_there(unit: str) -> None:
    rows = some_rows(16)
    batch = objective(unit=unit).batch(rows, epochs(rows))
    used = batch["labels"] != IGNORED
    row = torch.arange(16)[:, None].expand_as(used)[used]
    hidden = torch.zeros_like(rows.maskable)
    hidden[row, batch["positions"][used]] = True

    assert torch.equal(rows.input_ids[row, batch["positions"][used]], batch["labels"][used])
    assert hidden.any(1).all()
    assert not (hidden & ~rows.maskable).any()
    assert torch.equal(batch["input_ids"][~hidden], rows.input_ids[~hidden])
    inside = ~begins(rows, unit)[:, 1:]
    assert torch.equal(hidden[:, 1:][inside], hidden[:, :-1][inside])
    assert torch.equal(batch["attention_mask"], rows.input_ids != SPECIAL["pad"])
    replaced = batch["input_ids"][hidden]
    assert ((replaced == SPECIAL["mask"]) | (replaced >= 5)).all()


def test_rows_of_two_epochs_are_hidden_as_if_alone() -> None:
    rows, mlm = some_rows(8), objective()
    mixed = torch.tensor([3, 3, 3, 4, 4, 4, 4, 4])
    batch = mlm.batch(rows, mixed)
    third, fourth = (mlm.batch(rows, epochs(rows, epoch)) for epoch in (3, 4))
    for name, tensor in batch.items():
        assert torch.equal(tensor[:3], third[name][:3])
        assert torch.equal(tensor[3:], fourth[name][3:])
    assert not torch.equal(third["labels"], fourth["labels"])


def test_static_patterns_come_back() -> None:
    rows, mlm = some_rows(8), objective(patterns=3)
    first, other, again = (mlm.batch(rows, epochs(rows, epoch)) for epoch in (1, 2, 4))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["labels"], other["labels"])


def test_loss_is_the_sum_of_what_transformers_averages() -> None:
    rows, mlm = some_rows(8), objective()
    torch.manual_seed(0)
    model = mlm.build_model().eval()
    batch = mlm.batch(rows, epochs(rows))
    labels = torch.full_like(rows.input_ids, IGNORED)
    used = batch["labels"] != IGNORED
    row = torch.arange(8)[:, None].expand_as(used)[used]
    labels[row, batch["positions"][used]] = batch["labels"][used]

    term = mlm.loss(model, batch)["mlm"]
    mean = model(batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels).loss
    assert term.count == mlm.counts(batch)["mlm"] == int(used.sum())
    torch.testing.assert_close(term.total / term.count, mean, rtol=1e-5, atol=0)


@given(data=st.data(), rows=st.integers(1, 5), length=st.integers(1, 12))
@settings(max_examples=100, deadline=None)
def test_slots_against_a_loop(data: st.DataObject, rows: int, length: int) -> None:
    flags = st.lists(st.booleans(), min_size=rows * length, max_size=rows * length)
    hidden = torch.tensor(data.draw(flags)).view(rows, length)
    ids = torch.arange(rows * length).view(rows, length) + 100
    slots = int(hidden.sum(1).max()) + data.draw(st.integers(0, 3))
    positions, labels = at_slots(ids, hidden, slots)
    for row in range(rows):
        where = [p for p in range(length) if hidden[row, p]]
        unused = slots - len(where)
        assert positions[row].tolist() == where + [0] * unused
        assert labels[row].tolist() == [int(ids[row, p]) for p in where] + [IGNORED] * unused


def test_too_few_slots_are_an_error() -> None:
    with pytest.raises(ValueError, match="a row hides 3 pieces, and there are 2 slots"):
        at_slots(torch.ones(1, 4, dtype=torch.int64), torch.tensor([[1, 1, 1, 0]]) > 0, 2)


def test_unknown_names() -> None:
    with pytest.raises(ValueError, match="unknown unit 'morphem'; did you mean 'morpheme'"):
        objective(unit="morphem")
    with pytest.raises(ValueError, match="unknown class 'nouns'; did you mean 'noun'"):
        objective(weights={"nouns": 2.0})
    mlm = objective()
    mlm.config = replace(mlm.config, model=ModelConfig(size="tinny"))
    with pytest.raises(ValueError, match="did you mean 'tiny'"):
        mlm.build_model()
    assert set(OBJECTIVES) == {"mlm"}
