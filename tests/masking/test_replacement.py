from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from komlm.data.rows import Rows
from komlm.masking import STRATEGIES, Selection, begins, replace, replacement
from komlm.masking.units import unit_numbers

MASK = 4
ORDINARY = torch.arange(5, 8002)
SETTINGS = Selection(0.15, seed=3, epoch=1)


def corrupt(rows: Rows, unit: str = "morpheme", by: str = "unit") -> tuple[torch.Tensor, ...]:
    hidden = STRATEGIES[unit](rows, SETTINGS)
    keys = SETTINGS.keys(rows.numbers)
    ids = replace(rows.input_ids, hidden, begins(rows, unit), keys, MASK, ORDINARY, by)
    return ids, hidden


@pytest.mark.parametrize("by", ["unit", "piece"])
@pytest.mark.parametrize("unit", STRATEGIES)
def test_eighty_ten_ten(unit: str, by: str, realistic_rows: Callable[..., Rows]) -> None:
    rows = realistic_rows(1500, 64)
    before = rows.input_ids.clone()
    ids, hidden = corrupt(rows, unit, by)
    assert torch.equal(rows.input_ids, before)
    assert torch.equal(ids[~hidden], before[~hidden])
    assert int(ids[hidden].min()) >= MASK
    draws = int((hidden & begins(rows, unit)).sum()) if by == "unit" else int(hidden.sum())
    if by == "unit":
        first = hidden & begins(rows, unit)
        masked, kept = (ids == MASK)[first], (ids == before)[first]
    else:
        masked, kept = (ids == MASK)[hidden], (ids == before)[hidden]
    # A random piece is now and then the piece itself: 0.1 / 7997 more are kept.
    for share, wanted in ((masked, 0.8), (kept, 0.1 + 0.1 / len(ORDINARY))):
        error = (wanted * (1 - wanted) / draws) ** 0.5
        assert abs(float(share.double().mean()) - wanted) <= 4 * error


def test_a_unit_is_drawn_as_a_whole(realistic_rows: Callable[..., Rows]) -> None:
    rows = realistic_rows(500, 128)
    ids, hidden = corrupt(rows, "morpheme", "unit")
    units = torch.arange(500)[:, None] * 128 + unit_numbers(begins(rows, "morpheme"))
    masked = (ids == MASK) & hidden
    assert not set(units[masked].tolist()) & set(units[hidden & ~masked].tolist())
    by_piece, _ = corrupt(rows, "morpheme", "piece")
    masked = (by_piece == MASK) & hidden
    assert set(units[masked].tolist()) & set(units[hidden & ~masked].tolist())


def test_random_pieces_are_uniform_and_ordinary(realistic_rows: Callable[..., Rows]) -> None:
    rows = realistic_rows(2000, 64)
    few = torch.tensor([10_001, 10_005, 10_007, 10_020])
    hidden = rows.maskable
    ids = replace(
        rows.input_ids, hidden, begins(rows, "eojeol"), SETTINGS.keys(rows.numbers), MASK, few
    )
    stood_in = ids[hidden & (ids != MASK) & (ids != rows.input_ids)]
    assert set(stood_in.tolist()) == set(few.tolist())
    for piece in few:
        share, count = float((stood_in == piece).double().mean()), stood_in.numel()
        assert abs(share - 0.25) <= 4 * (0.25 * 0.75 / count) ** 0.5
    # Pieces of one random unit differ from each other.
    longer = (ids[:, 1:] >= 10_000) & (ids[:, :-1] >= 10_000)
    assert bool((ids[:, 1:][longer] != ids[:, :-1][longer]).any())


@given(st.integers(0, 59), st.sampled_from(["unit", "piece"]))
def test_a_row_alone_is_the_row_in_its_batch(
    realistic_rows: Callable[..., Rows], row: int, by: str
) -> None:
    rows = realistic_rows(60, 40)
    alone = Rows(
        *(x[row : row + 1] for x in (rows.input_ids, rows.starts, rows.tags, rows.numbers))
    )
    assert torch.equal(corrupt(alone, "eojeol", by)[0][0], corrupt(rows, "eojeol", by)[0][row])


def test_the_road_of_a_gpu_gives_the_same_bits(
    realistic_rows: Callable[..., Rows], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = realistic_rows(64, 128)
    ours, _ = corrupt(rows)
    by_piece, _ = corrupt(rows, by="piece")
    monkeypatch.setattr(replacement, "_quickest", lambda *tensors: tensors)
    assert torch.equal(corrupt(rows)[0], ours)
    assert torch.equal(corrupt(rows, by="piece")[0], by_piece)


def test_nothing_hidden(realistic_rows: Callable[..., Rows]) -> None:
    rows = realistic_rows(3, 20)
    none = torch.zeros_like(rows.maskable)
    keys = SETTINGS.keys(rows.numbers)
    ids = replace(rows.input_ids, none, begins(rows, "piece"), keys, MASK, ORDINARY)
    assert torch.equal(ids, rows.input_ids)


def test_errors(realistic_rows: Callable[..., Rows]) -> None:
    rows = realistic_rows(3, 20)
    with pytest.raises(ValueError, match="did you mean 'unit'"):
        corrupt(rows, "morpheme", "units")
    with pytest.raises(ValueError, match="ordinary_ids is empty"):
        replace(
            rows.input_ids,
            rows.maskable,
            begins(rows, "piece"),
            SETTINGS.keys(rows.numbers),
            MASK,
            ORDINARY[:0],
        )
