"""Rows for the tests of masking: made up, or real ones from shards of the embedded corpus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from komlm.corpus.analyze import analyze
from komlm.corpus.prepare import prepare
from komlm.corpus.source import find_source
from komlm.data.rows import Rows
from komlm.text.tags import TAGS
from komlm.types import Flag

# Shares of the eojeol lengths 1..16 with a long tail; morphemes within have a mean of 1.6 pieces.
SHARES = np.array([0.28, 0.32, 0.2, 0.1, *[0.1 / 12] * 12])


@pytest.fixture(scope="session")
def rows_of() -> Callable[..., Rows]:
    """``rows_of(starts, tags)``: rows from the flags and tags of each piece, lists of lists."""

    def build(
        starts: Sequence[Sequence[int]], tags: Sequence[Sequence[int]] | None = None, first: int = 0
    ) -> Rows:
        flags = torch.tensor(starts, dtype=torch.uint8)
        codes = torch.zeros_like(flags) if tags is None else torch.tensor(tags, dtype=torch.uint8)
        ids = torch.arange(flags.numel()).view(flags.shape) % 1000 + 5
        ids[(flags & int(Flag.SPECIAL)) != 0] = 1
        return Rows(ids, flags, codes, torch.arange(first, first + len(flags)))

    return build


@pytest.fixture(scope="session")
def realistic_rows() -> Callable[..., Rows]:
    """``realistic_rows(rows, length)``: [CLS], eojeols of 1 to 16 pieces, [SEP], padding."""

    @cache
    def build(rows: int, length: int, seed: int = 0) -> Rows:
        rng = np.random.default_rng(seed)
        lengths = rng.choice(np.arange(1, 17), size=(rows, length), p=SHARES)
        begin = np.concatenate([np.ones((rows, 1), np.int64), 1 + lengths.cumsum(1)], axis=1)
        row, unit = np.nonzero(begin < length)
        starts = np.zeros((rows, length), np.uint8)
        starts[row, begin[row, unit]] = Flag.MORPHEME | Flag.EOJEOL
        # Most eojeols fall into several morphemes; one in ten is a single one, however long.
        single = carried(rng.random((rows, length)) < 0.1, starts)
        starts[(starts == 0) & ~single & (rng.random((rows, length)) < 0.5)] = Flag.MORPHEME
        tags = carried(rng.integers(0, len(TAGS), (rows, length)), starts)
        padded = np.arange(length) >= length - 1 - rng.integers(0, 4, (rows, 1))
        padded[:, 0] = True
        starts[padded], tags[padded] = Flag.SPECIAL, 0
        ids = rng.integers(5, 8002, (rows, length))
        ids[padded] = 1
        return Rows(
            torch.from_numpy(ids),
            torch.from_numpy(starts),
            torch.from_numpy(tags.astype(np.uint8)),
            torch.arange(rows),
        )

    return build


def carried(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The value at the first piece of each unit, on each of its pieces."""
    first = np.maximum.accumulate(np.where(starts > 0, np.arange(starts.shape[1]), 0), axis=1)
    return np.take_along_axis(values, first, axis=1)


@pytest.fixture(scope="session")
def mini_shards(tokenizer_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shards of the embedded corpus."""
    folder = tmp_path_factory.mktemp("mini")
    analyze(find_source("mini"), folder / "analysis")
    prepare(folder / "analysis", tokenizer_folder, folder / "shards")
    return folder / "shards"
