"""The masking contract over many rows of real unit lengths.

The cheap half is over 20,000 rows of each length, cut from the embedded corpus. The whole is over
200,000, a minute or two for each level::

    PROOF_SIZE=whole PROOF_SHARDS=FOLDER pytest -m slow -s tests/masking/test_contract_at_size.py

PROOF_SHARDS is a folder that `komlm prepare` wrote from a corpus of millions of pieces; without it,
the rows are those of the embedded corpus, over more epochs. With ``-s`` each test prints a line of
what it measured.

A standard error here is never that of a binomial law where units of one row are counted together:
systematic sampling ties them to one another, and the count varies far less. Rows are independent,
so errors come from sums over rows; see Shares.squares and Tally.variance_by_length.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from komlm.data.shards import Shards
from komlm.masking import STRATEGIES, Selection, begins, replace
from komlm.randomness import ONE
from komlm.text.tags import CLASSES
from tests.masking.real_rows import Source, batches, source_of
from tests.masking.tally import Tally, probabilities, units_in
from tests.proof_size import is_whole

pytestmark = pytest.mark.slow

LENGTHS = (16, 32, 128, 512)
RATIO = 0.15
ROWS = 200_000 if is_whole() else 20_000
PLENTY = 130_000
"""Units of one kind from which on they are hidden equally often within 2 %: there, a standard error
of 15 % of them is 0.7 % at most."""
WEIGHTS = {"noun": 2.0, "josa": 0.5, "eomi": 0.0}


class World:
    """Sources of rows, and which of them count in the figures."""

    def __init__(self, shards: Shards) -> None:
        self.shards = shards
        self.source: Callable[[int], Source] = cache(lambda length: source_of(shards, length, ROWS))
        self.counting = cache(self._counting)

    def tally(self, length: int, unit: str, settings: Selection) -> Tally:
        """ROWS rows whose probabilities sum to 1 or more; the bounds of the others are checked."""
        source, counts = self.source(length), self.counting(length, unit, settings)
        numbers = np.arange(len(source))
        ruled = self._hide(
            numbers[~counts], min(ROWS, int((~counts).sum())), length, unit, settings
        )
        result = self._hide(numbers[counts], ROWS, length, unit, settings)
        assert max(result.excess, ruled.excess) <= 0
        return result

    def _hide(
        self, numbers: np.ndarray, wanted: int, length: int, unit: str, settings: Selection
    ) -> Tally:
        tally = Tally(unit, settings)
        for rows, epochs in batches(self.source(length), numbers, wanted, length):
            selection = Selection(settings.ratio, settings.weights, settings.seed, epochs)
            tally.add(rows, STRATEGIES[unit](rows, selection).numpy())
        return tally

    def _counting(self, length: int, unit: str, settings: Selection) -> np.ndarray:
        """Which rows hide more than one unit by rule, bool. *Shape:* (rows of the source,)"""
        source, found = self.source(length), []
        everything = np.arange(len(source))
        for rows, _ in batches(source, everything, len(source), length):
            units = units_in(rows, unit)
            p = probabilities(settings)[units.kind]
            found.append(np.bincount(units.row, p, len(rows.numbers)) >= ONE)
        return np.concatenate(found)


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest) -> World:
    folder = os.environ.get("PROOF_SHARDS") or request.getfixturevalue("mini_shards")
    return World(Shards.open(Path(folder), "train"))


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("unit", STRATEGIES)
def test_every_unit_is_hidden_equally_often(length: int, unit: str, world: World) -> None:
    tally = world.tally(length, unit, Selection(RATIO))
    shares = tally.by_length
    share = tally.hidden / tally.pieces
    error = tally.row_squares**0.5 / tally.pieces
    there = shares.units > 0
    plenty = shares.units >= PLENTY
    # The smallest variance of a kind that is there is p(1 - p), of a single unit.
    z = (shares.hidden - shares.wanted)[there] / tally.variance_by_length[there] ** 0.5
    rarer = z[~plenty[there]]
    print(
        f"\n{unit:8} T {length:3} rows {tally.rows:,} share {share:.5f} (error {error:.5f}); "
        f"{plenty.sum()} lengths of plenty, off by "
        f"{100 * np.abs(shares.off[plenty]).max(initial=0):.2f} % at most; "
        f"{len(rarer)} rarer ones, z {np.abs(rarer).max(initial=0):.1f} at most; "
        f"excess {tally.excess:.2f}"
    )
    assert abs(share - RATIO) <= (0.001 if is_whole() else 4 * error)
    assert (np.abs(shares.off[plenty]) <= 0.02).all()
    assert (np.abs(z) <= 4).all()
    # The units of a row are spread as evenly as can be: the variance is that of the design.
    for pieces in np.flatnonzero(plenty):
        assert shares.squares[pieces] == pytest.approx(tally.variance_by_length[pieces], rel=0.1)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("unit", STRATEGIES)
def test_classes_are_hidden_as_their_weights_say(length: int, unit: str, world: World) -> None:
    tally = world.tally(length, unit, Selection(RATIO, WEIGHTS))
    shares = tally.by_class
    weights = np.array([*(WEIGHTS.get(name, 1.0) for name in CLASSES), 1.0])
    assert shares.hidden[weights == 0].sum() == 0
    there = (shares.units > 0) & (weights > 0)
    plenty = there & (shares.units >= PLENTY)
    # Units of a class are no neighbours in the order of a row, so their errors are measured; where
    # they are few, one in a row, the law is binomial and the measured error too rough.
    p = shares.wanted / np.maximum(shares.units, 1)
    variance = np.where(plenty, shares.squares, np.maximum(shares.squares, shares.wanted * (1 - p)))
    z = (shares.hidden - shares.wanted)[there] / variance[there] ** 0.5
    relative = (shares.hidden / np.maximum(shares.units, 1) / np.maximum(weights, 1e-9))[plenty]
    print(
        f"\n{unit:8} T {length:3} rows {tally.rows:,} "
        f"{plenty.sum()} classes of plenty, shares / weights from {relative.min(initial=1):.5f} to "
        f"{relative.max(initial=0):.5f}; z of all {there.sum()} {np.abs(z).max():.1f} at most"
    )
    assert (np.abs(z) <= 4).all()
    if is_whole():
        assert relative.max() <= 1.02 * relative.min()


@pytest.mark.parametrize("by", ["unit", "piece"])
@pytest.mark.parametrize("length", LENGTHS)
def test_eighty_ten_ten(length: int, by: str, world: World) -> None:
    """The draws of units, or pieces, are independent: errors are those of a binomial law."""
    special = world.shards.special_ids
    ordinary_ids = np.setdiff1d(np.arange(world.shards.vocabulary_size), [*special.values()])
    ordinary = np.isin(np.arange(world.shards.vocabulary_size), ordinary_ids)
    draws = masked = kept = 0
    expected_kept = 0.0
    source = world.source(length)
    for rows, epochs in batches(source, np.arange(len(source)), ROWS, length):
        selection = Selection(RATIO, epoch=epochs)
        hidden = STRATEGIES["morpheme"](rows, selection)
        corrupted = replace(
            rows.input_ids,
            hidden,
            begins(rows, "morpheme"),
            selection.keys(rows.numbers),
            special["mask"],
            torch.from_numpy(ordinary_ids),
            by,
        ).numpy()
        hidden, ids = hidden.numpy(), rows.input_ids.numpy()
        is_mask, same = corrupted == special["mask"], corrupted == ids
        assert same[~hidden].all()
        assert ordinary[corrupted[hidden & ~is_mask & ~same]].all(), "a random piece is special"
        if by == "piece":
            draws, masked = draws + int(hidden.sum()), masked + int((hidden & is_mask).sum())
            kept += int((hidden & same).sum())
            expected_kept += 0.1 * int(hidden.sum()) / len(ordinary_ids)
        else:
            units = units_in(rows, "morpheme")
            lengths = units.length[units.sums(hidden) > 0]
            in_mask = units.sums(hidden & is_mask)
            assert ((in_mask == 0) | (in_mask == units.length)).all(), "a unit masked in part"
            draws, masked = draws + len(lengths), masked + int((in_mask > 0).sum())
            kept += int(((units.sums(hidden & same)) == units.length).sum())
            # A random piece is now and then the piece itself, each piece of a unit for itself.
            expected_kept += float((0.1 * len(ordinary_ids) ** -lengths.astype(float)).sum())
    expected_kept += 0.1 * draws
    for name, count, share in (("mask", masked, 0.8), ("kept", kept, expected_kept / draws)):
        error = (share * (1 - share) / draws) ** 0.5
        print(
            f"\nT {length:3} by {by:5} {draws:,} draws: {name} {count / draws:.5f}, "
            f"wanted {share:.5f}, z {(count / draws - share) / error:.1f}"
        )
        assert abs(count / draws - share) <= 4 * error
