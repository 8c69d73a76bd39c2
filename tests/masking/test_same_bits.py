"""A row's mask, and what stands at its hidden pieces, do not depend on who makes the batch.

Batches of 1, 7 and 64 rows, 1 and 4 processes that share the rows in any way, and torch's
DataLoader, on rows of the embedded corpus. ``PROOF_SIZE=whole`` takes ten times as many rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from komlm.data.shards import Shards
from komlm.masking import STRATEGIES, Selection, begins, replace
from tests.masking.real_rows import Source, source_of
from tests.proof_size import is_whole

pytestmark = pytest.mark.slow

LENGTHS = (16, 32, 128, 512)
ROWS = 5_000 if is_whole() else 500
WEIGHTS = {"noun": 2.0, "josa": 0.5}


class Work(NamedTuple):
    """Some rows to mask: all that a process is told."""

    shards: Path
    length: int
    unit: str
    by: str
    positions: np.ndarray
    """In an endless run over the rows, so that the epochs of a batch differ."""


class Masked(NamedTuple):
    """What a batch became. *Shape* of each: (rows, T)"""

    hidden: np.ndarray
    ids: np.ndarray


def mask(work: Work) -> Masked:
    """Mask the rows in one batch."""
    shards, source = opened(work.shards, work.length)
    epochs, numbers = np.divmod(work.positions, len(source))
    rows = source.batch(numbers)
    selection = Selection(0.15, WEIGHTS, seed=3, epoch=torch.from_numpy(epochs))
    hidden = STRATEGIES[work.unit](rows, selection)
    special = shards.special_ids
    ids = replace(
        rows.input_ids,
        hidden,
        begins(rows, work.unit),
        selection.keys(rows.numbers),
        special["mask"],
        torch.from_numpy(np.setdiff1d(np.arange(shards.vocabulary_size), [*special.values()])),
        work.by,
    )
    return Masked(hidden.numpy(), ids.numpy())


@cache
def opened(folder: Path, length: int) -> tuple[Shards, Source]:
    shards = Shards.open(folder, verify=False)
    return shards, source_of(shards, length, ROWS)


def assert_same(made: Iterable[Masked], parts: list[np.ndarray], wanted: Masked) -> None:
    """The parts, each at its positions, are what was wanted, bit by bit."""
    for which, got in zip(parts, made, strict=True):
        assert np.array_equal(got.hidden, wanted.hidden[which])
        assert np.array_equal(got.ids, wanted.ids[which])


@pytest.fixture(scope="module", params=[1, 4])
def processes(request: pytest.FixtureRequest) -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(request.param, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize("by", ["unit", "piece"])
@pytest.mark.parametrize("unit", STRATEGIES)
@pytest.mark.parametrize("length", LENGTHS)
def test_batches_of_any_size(length: int, unit: str, by: str, mini_shards: Path) -> None:
    work = Work(mini_shards, length, unit, by, np.arange(ROWS))
    wanted = mask(work)
    assert wanted.hidden.any(axis=1).mean() > 0.99
    for size in (1, 7, 64):
        parts = np.split(work.positions, range(size, ROWS, size))
        assert_same((mask(work._replace(positions=part)) for part in parts), parts, wanted)


@pytest.mark.parametrize("length", LENGTHS)
def test_rows_split_among_processes(
    length: int, mini_shards: Path, processes: ProcessPoolExecutor
) -> None:
    work = Work(mini_shards, length, "morpheme", "unit", np.arange(ROWS))
    wanted = mask(work)
    shuffled = np.random.default_rng(length).permutation(ROWS)
    for parts in (
        np.split(work.positions, 4),
        [work.positions[first::4] for first in range(4)],
        np.array_split(shuffled, 23),
        [shuffled[:1], shuffled[1:8], shuffled[8:]],
    ):
        made = processes.map(mask, [work._replace(positions=part) for part in parts])
        assert_same(made, parts, wanted)


@pytest.mark.filterwarnings("ignore:This DataLoader will create 4 worker processes")
@pytest.mark.parametrize("workers", [0, 1, 4])
def test_the_workers_of_a_data_loader(workers: int, mini_shards: Path) -> None:
    work = Work(mini_shards, 128, "eojeol", "piece", np.arange(ROWS))
    shuffled = np.random.default_rng(workers).permutation(ROWS)
    parts = np.split(shuffled, range(64, ROWS, 64))
    loader = DataLoader(
        [work._replace(positions=part) for part in parts],  # type: ignore[arg-type]
        batch_size=None,
        collate_fn=mask,
        num_workers=workers,
        multiprocessing_context="spawn" if workers else None,
    )
    assert_same(loader, parts, mask(work))
