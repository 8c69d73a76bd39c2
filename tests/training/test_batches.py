from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from komlm.config import Config
from komlm.data.rows import RowSource
from komlm.data.shards import Shards
from komlm.objectives import MaskedLanguageModel
from komlm.training.batches import Batches, StepBatch, counts_of_step


@pytest.fixture
def batches(config: Config, shards_folder: Path) -> Batches:
    shards = Shards.open(shards_folder, "train")
    objective = MaskedLanguageModel(config, shards.vocabulary_size, shards.special_ids)
    return Batches(RowSource(shards, 32), objective, config.training)


def whole(batch: StepBatch) -> dict[str, torch.Tensor]:
    micro = batch.micro_batches
    return {name: torch.cat([m.tensors[name] for m in micro]) for name in micro[0].tensors}


def same(one: StepBatch, other: StepBatch) -> bool:
    left, right = whole(one), whole(other)
    return all(torch.equal(left[name], right[name]) for name in left) and one.counts == other.counts


def test_ahead_gives_the_batches_of_the_steps(batches: Batches) -> None:
    ahead = list(batches.ahead(3, 8))
    assert len(ahead) == 5
    assert all(same(batch, batches.of_step(3 + i)) for i, batch in enumerate(ahead))
    assert list(batches.ahead(8, 8)) == []


def test_micro_batches_are_the_rows_of_the_step(batches: Batches, config: Config, world) -> None:  # type: ignore[no-untyped-def]
    wide = Batches(
        batches.source, batches.objective, world.with_training(config, micro_batch_rows=8).training
    )
    for step in (0, 4, 5, 1_000_000):
        four, eight = batches.of_step(step), wide.of_step(step)
        assert len(four.micro_batches) == 2
        assert len(eight.micro_batches) == 1
        assert same(four, eight)
        assert four.tokens == eight.tokens
        assert four.counts["mlm"] == int((whole(four)["labels"] != -100).sum())
        assert np.array_equal(four.numbers, eight.numbers)


def test_an_epoch_reads_every_row_once(batches: Batches) -> None:
    rows, per_step = len(batches.source), batches.config.batch_rows
    numbers = np.concatenate([batches.of_step(step).numbers for step in range(2 * rows)])
    epochs = numbers[: len(numbers) // rows * rows].reshape(-1, rows)
    assert len(epochs) == 2 * per_step
    assert all(sorted(epoch) == list(range(rows)) for epoch in epochs.tolist())
    assert not np.array_equal(epochs[0], epochs[1])


def test_an_error_in_the_thread_surfaces(batches: Batches, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: RowSource, numbers: np.ndarray) -> None:
        raise OSError("part-00000.arrow went away")

    ahead = batches.ahead(0, 5)
    next(ahead)
    monkeypatch.setattr(RowSource, "batch", broken)
    with pytest.raises(OSError, match="went away"):
        list(ahead)


def test_counts_of_step() -> None:
    assert counts_of_step([{"mlm": 3, "sop": 1}, {"mlm": 4}]) == {"mlm": 7, "sop": 1}
