"""Each unit is hidden with just its probability: statistics with fixed seeds, 4 standard errors."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from komlm.data.rows import Rows
from komlm.masking import STRATEGIES, Selection, begins
from komlm.masking.systematic import sample
from komlm.masking.units import classes_of, units_of
from komlm.randomness import ONE, row_keys
from komlm.text.tags import CLASSES

ROWS = 20_000  # 5,000 where rows are long


def assert_share(hidden: Tensor, wanted: float) -> None:
    error = (wanted * (1 - wanted) / max(1, hidden.numel())) ** 0.5
    assert abs(float(hidden.double().mean()) - wanted) <= 4 * error


def hidden_units(rows: Rows, unit: str, settings: Selection) -> tuple[Tensor, Tensor, Tensor]:
    """Of the rows with a total of 1 or more: hidden or not, length and class of each unit."""
    units = units_of(rows, begins(rows, unit))
    pieces = STRATEGIES[unit](rows, settings).long()
    hidden = torch.zeros_like(units.lengths).scatter_add_(1, units.numbers, pieces) > 0
    exists = units.lengths > 0
    full = exists & (exists.sum(1) * round(settings.ratio * ONE) >= ONE)[:, None]
    return hidden[full], units.lengths[full], classes_of(rows, units)[full]


@pytest.mark.parametrize("length", [16, 32, 128])
@pytest.mark.parametrize("unit", ["piece", "morpheme", "eojeol"])
def test_units_of_every_length_are_hidden_equally_often(
    length: int, unit: str, realistic_rows: Callable[..., Rows]
) -> None:
    rows = realistic_rows(ROWS if length < 100 else ROWS // 4, length)
    hidden, lengths, _ = hidden_units(rows, unit, Selection(0.15, seed=length))
    assert_share(hidden, 0.15)
    for pieces in range(1, 17):
        if (lengths == pieces).any():
            assert_share(hidden[lengths == pieces], 0.15)


def test_units_are_hidden_equally_often_wherever_they_stand(
    realistic_rows: Callable[..., Rows],
) -> None:
    rows = realistic_rows(ROWS // 4, 64)
    hidden = STRATEGIES["morpheme"](rows, Selection(0.15))
    for column in range(1, 60):
        assert_share(hidden[:, column], 0.15)


def test_one_row_over_many_epochs(realistic_rows: Callable[..., Rows]) -> None:
    row = realistic_rows(1, 64, seed=5)
    epochs = 5000
    rows = Rows(
        *(x.expand(epochs, -1) for x in (row.input_ids, row.starts, row.tags)),
        row.numbers.expand(epochs),
    )
    hidden = STRATEGIES["morpheme"](rows, Selection(0.15, epoch=torch.arange(epochs)))
    for column in row.maskable[0].nonzero().view(-1).tolist():
        assert_share(hidden[:, column], 0.15)


@pytest.mark.parametrize("unit", ["piece", "morpheme", "eojeol"])
def test_weights_by_class(unit: str, realistic_rows: Callable[..., Rows]) -> None:
    weights = {"noun": 2.0, "josa": 0.5, "eomi": 0.0, "symbol": 9.0}
    rows = realistic_rows(ROWS // 4, 128)
    hidden, _, classes = hidden_units(rows, unit, Selection(0.15, weights))
    for number, name in enumerate([*CLASSES, None]):
        of_class = hidden[classes == number]
        if unit != "eojeol":
            assert of_class.numel() > 1000
        if of_class.numel():
            assert_share(of_class, min(1.0, 0.15 * weights.get(name or "", 1.0)))


@pytest.mark.parametrize("chances", [[1, 1, 1, 1], [1, 2, 3, 0], [0, 0, 5, 0], [1, 0, 0, 30]])
def test_a_short_row_hides_just_one_unit(chances: list[int]) -> None:
    p = torch.tensor(chances) * (ONE // 40)
    lengths = torch.tensor([1, 3, 3, 2]) * (p > 0)
    keys = row_keys(0, 0, torch.arange(ROWS))
    hidden = sample(lengths.expand(ROWS, -1), p.expand(ROWS, -1), keys)
    assert bool((hidden.sum(1) == 1).all())
    for unit, chance in enumerate(chances):
        assert_share(hidden[:, unit], chance / sum(chances))


def test_two_units_are_hidden_together_as_often_as_in_a_random_choice() -> None:
    # Without the hash, units of one length would be hidden seven apart.
    units, ratio = 126, 0.15
    p = torch.full((ROWS, units), round(ratio * ONE))
    hidden = sample(torch.ones_like(p), p, row_keys(0, 0, torch.arange(ROWS)))
    # 18.9 units are hidden: 18 in one row of ten, else 19; any set of so many is equally likely.
    pairs = (0.1 * 18 * 17 + 0.9 * 19 * 18) / (units * (units - 1))
    for other in (0, 9, 11, 16, 17, 23, 30, 125):
        assert_share(hidden[:, 10] & hidden[:, other], pairs)
