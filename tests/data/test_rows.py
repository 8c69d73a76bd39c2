from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from komlm.data.rows import Rows, RowSource, order
from komlm.data.shards import Shards
from komlm.types import Flag

UNK, PAD, CLS, SEP = 0, 1, 2, 3

sentence = st.lists(st.integers(1, 16), min_size=1, max_size=9)
document = st.lists(sentence, max_size=4)
corpora = st.lists(document, min_size=1, max_size=12).filter(lambda documents: any(documents))


def oracle(documents: list[list[list[int]]], max_length: int, cut: str) -> list[list[int]]:
    """Rows as lists of ids, built unit by unit."""
    rows: list[list[int]] = []
    row = [CLS]
    next_id = 5

    def place(length: int, goes_on: bool) -> None:
        """Put a unit into the row; ``goes_on``: the unit before it is of the same document."""
        nonlocal row, next_id
        unit = list(range(next_id, next_id + length))
        next_id += length
        if goes_on and row[-1] == SEP:
            row.pop()
        if len(row) + length + 1 > max_length:
            close()
        row += [*unit, SEP]

    def close() -> None:
        nonlocal row
        if len(row) > 1:
            rows.append(row if row[-1] == SEP else [*row, SEP])
        row = [CLS]

    for sentences in documents:
        goes_on = False
        for eojeols in sentences:
            whole = sum(eojeols)
            if cut == "sentence" and whole <= max_length - 2:
                place(whole, goes_on)
            else:
                if cut == "sentence":
                    close()
                for length in eojeols:
                    place(length, goes_on)
                    goes_on = True
            goes_on = True
    close()
    return rows


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(corpora, st.integers(18, 60), st.sampled_from(["eojeol", "sentence"]), st.data())
@example([[[16]], [[16]], [[1]]], 18, "eojeol", None)
@example([[[8, 7]], [[1]], [], [[16]], []], 18, "sentence", None)
@example([[[5], [16, 16, 16, 2], [3], [3]]], 24, "sentence", None)
def test_rows_equal_the_oracle(
    tmp_path_factory: pytest.TempPathFactory,
    world: Any,
    documents: list[list[list[int]]],
    max_length: int,
    cut: str,
    data: st.DataObject | None,
) -> None:
    corpus = world(documents)
    parts = data.draw(st.lists(st.integers(0, len(documents)), max_size=3)) if data else [1]
    shards = Shards.open(corpus.write(tmp_path_factory.mktemp("shards"), parts=parts))
    source = RowSource(shards, max_length, cut)
    rows = source.batch(np.arange(len(source)))

    wanted = oracle(documents, max_length, cut)
    found = [[piece for piece in row if piece != PAD] for row in rows.input_ids.tolist()]
    assert found == wanted
    assert source.fill == pytest.approx(sum(map(len, wanted)) / (len(wanted) * max_length))
    check_contract(rows, corpus, max_length, cut)


def check_contract(rows: Rows, corpus: Any, max_length: int, cut: str) -> None:
    ids, starts, real = rows.input_ids, rows.starts, rows.maskable
    assert ids.shape == starts.shape == rows.tags.shape == (len(rows.numbers), max_length)
    assert (ids.dtype, starts.dtype, rows.tags.dtype) == (torch.int64, torch.uint8, torch.uint8)
    # Without special tokens the rows are the corpus, in order.
    assert ids[real].tolist() == corpus.input_ids.tolist()
    assert starts[real].tolist() == corpus.starts.tolist()
    assert rows.tags[real].tolist() == corpus.tags.tolist()
    # Special tokens have the flag SPECIAL alone and no tag; they are the ids below 5.
    assert torch.equal(real, ids >= 5)
    assert bool((starts[~real] == int(Flag.SPECIAL)).all())
    assert bool((rows.tags[~real] == 0).all())
    assert bool((ids[:, 0] == CLS).all())
    assert int((ids == CLS).sum()) == len(ids)
    # Padding only at the end, a [SEP] before it, and no row without text.
    lengths = rows.attention_mask.sum(1)
    assert torch.equal(rows.attention_mask, torch.arange(max_length) < lengths[:, None])
    assert bool((ids[torch.arange(len(ids)), lengths - 1] == SEP).all())
    assert bool((ids[:, 1] >= 5).all())
    # A row begins at an eojeol, and a document start in the row stands after a [SEP] or [CLS].
    assert bool((starts[:, 1] & int(Flag.EOJEOL)).all())
    later = (starts[:, 1:] & int(Flag.DOCUMENT)) != 0
    assert bool((ids[:, :-1][later & real[:, 1:]] < 5).all())
    if cut == "sentence" and all(sum(s) <= max_length - 2 for d in corpus.documents for s in d):
        assert bool((starts[:, 1] & int(Flag.SENTENCE)).all())


def test_one_worked_example(tmp_path: Path, world: Any) -> None:
    documents = world([[[9, 3]], [[2], [5]]])
    source = RowSource(Shards.open(documents.write(tmp_path)), 18)
    rows = source.batch(np.array([1, 0]))
    assert rows.numbers.tolist() == [1, 0]
    first = [CLS, *range(5, 17), SEP, 17, 18, SEP, PAD]
    second = [CLS, *range(19, 24), SEP, *[PAD] * 11]
    assert rows.input_ids.tolist() == [second, first]
    assert rows.starts[1].tolist() == [
        128,
        15,
        1,
        0,
        1,
        0,
        1,
        0,
        1,
        0,
        3,
        1,
        0,
        128,
        15,
        1,
        128,
        128,
    ]
    assert source.boundaries.tolist() == [0, 14, 19]


def test_a_batch_is_its_rows_whatever_its_size(tmp_path: Path, world: Any) -> None:
    documents = world([[[3, 16, 1], [7] * n] for n in range(1, 30)])
    source = RowSource(Shards.open(documents.write(tmp_path, parts=[4, 9])), 32)
    numbers = np.random.default_rng(0).permutation(len(source))
    whole = source.batch(numbers)
    for at, number in enumerate(numbers):
        alone = source.batch(np.array([number]))
        assert torch.equal(alone.input_ids[0], whole.input_ids[at])
        assert torch.equal(alone.starts[0], whole.starts[at])
        assert torch.equal(alone.tags[0], whole.tags[at])
    assert source.batch(np.array([], np.int64)).input_ids.shape == (0, 32)


def test_one_document_of_many_rows(tmp_path: Path, world: Any) -> None:
    lengths = (np.arange(60_000) * 7919 % 16 + 1).tolist()
    source = RowSource(Shards.open(world([[lengths]]).write(tmp_path)), 128)
    assert source.boundaries[-1] == sum(lengths)
    widths = np.diff(source.boundaries)
    assert widths.max() <= 126
    assert widths[:-1].min() > 126 - 16
    assert source.fill > 0.9


def test_fill_at_128_with_units_of_real_lengths(tmp_path: Path, world: Any) -> None:
    draw = np.random.default_rng(0)
    documents = [
        [(1 + draw.poisson(1.3, 12)).tolist() for _ in range(draw.integers(1, 40))]
        for _ in range(500)
    ]
    shards = Shards.open(world(documents).write(tmp_path))
    by_eojeol, by_sentence = (RowSource(shards, 128, cut).fill for cut in ("eojeol", "sentence"))
    assert by_eojeol > 0.975
    assert 0.8 < by_sentence < by_eojeol


def test_an_eojeol_unit_that_no_row_can_hold_is_named(tmp_path: Path, world: Any) -> None:
    shards = Shards.open(world([[[3]], [[2, 17, 1]]]).write(tmp_path))
    with pytest.raises(ValueError, match="document 1 of train .*more than 16 pieces.*rows of 18"):
        RowSource(shards, 18)
    assert len(RowSource(shards, 19)) == 3


def test_wrong_arguments(shards_folder: Path) -> None:
    shards = Shards.open(shards_folder)
    with pytest.raises(ValueError, match="rows of 17 pieces: wanted 18"):
        RowSource(shards, 17)
    with pytest.raises(ValueError, match="did you mean 'sentence'"):
        RowSource(shards, 18, "sentences")
    source = RowSource(shards, 18)
    for number in (-1, len(source)):
        with pytest.raises(IndexError, match=f"row {number}: wanted 0 to 0"):
            source.batch(np.array([0, number]))


def test_rows_move_between_devices(shards_folder: Path) -> None:
    rows = RowSource(Shards.open(shards_folder), 18).batch(np.array([0])).to("meta")
    assert {t.device.type for t in (rows.input_ids, rows.starts, rows.tags, rows.numbers)} == {
        "meta"
    }
    assert rows.pad_id == PAD


@settings(deadline=None)
@given(st.integers(1, 300), st.integers(0, 2**40), st.integers(0, 10**9))
def test_each_epoch_is_a_permutation(rows: int, seed: int, epoch: int) -> None:
    epochs, numbers = order(np.arange(epoch * rows, (epoch + 1) * rows), rows, seed)
    assert set(epochs.tolist()) == {epoch}
    assert sorted(numbers.tolist()) == list(range(rows))


@settings(deadline=None)
@given(st.integers(1, 50), st.integers(0, 99), st.integers(0, 60), st.integers(0, 40))
def test_order_is_stateless(rows: int, seed: int, begin: int, length: int) -> None:
    whole = order(np.arange(100), rows, seed)
    part = order(np.arange(begin, begin + length), rows, seed)
    assert part.epochs.tolist() == whole.epochs[begin : begin + length].tolist()
    assert part.numbers.tolist() == whole.numbers[begin : begin + length].tolist()


def test_epochs_and_seeds_have_orders_of_their_own() -> None:
    def numbers(epoch: int, seed: int) -> list[int]:
        return order(np.arange(epoch * 1000, (epoch + 1) * 1000), 1000, seed).numbers.tolist()

    orders = [numbers(epoch, seed) for epoch in range(4) for seed in range(3)]
    for n, one in enumerate(orders):
        for other in orders[:n]:
            # Two random permutations agree at one place on average.
            assert sum(a == b for a, b in zip(one, other, strict=True)) < 12
    assert all(one != sorted(one) for one in orders)


def test_order_of_no_rows() -> None:
    with pytest.raises(ValueError, match="order of 0 rows"):
        order(np.arange(3), 0, 0)
