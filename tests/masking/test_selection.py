from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from komlm.data.rows import Rows
from komlm.masking import STRATEGIES, Selection, mask_epoch, slots


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"ratio": 0.0}, "ratio = 0.0: wanted a share"),
        ({"ratio": 1.0}, "ratio = 1.0: wanted a share"),
        ({"ratio": 0.15, "weights": {"nouns": 2.0}}, "unknown class 'nouns'; did you mean 'noun'"),
        ({"ratio": 0.15, "weights": {"noun": -1.0}}, "'noun'.*wanted 0 or more"),
        ({"ratio": 0.15, "weights": {"noun": float("inf")}}, "'noun'.*wanted 0 or more"),
        ({"ratio": 0.15, "weights": {"noun": float("nan")}}, "'noun'.*wanted 0 or more"),
    ],
)
def test_fields_are_checked(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Selection(**fields)


def test_static_patterns_come_again_in_turn(realistic_rows: Callable[..., Rows]) -> None:
    assert [mask_epoch(epoch, 3) for epoch in range(5)] == [0, 1, 2, 0, 1]
    assert [mask_epoch(epoch, 0) for epoch in range(3)] == [0, 1, 2]
    assert mask_epoch(torch.tensor([9, 10, 11]), 10).tolist() == [9, 0, 1]
    with pytest.raises(ValueError, match="patterns = -1"):
        mask_epoch(3, -1)

    rows = realistic_rows(8, 64)

    def masks(epoch: int) -> torch.Tensor:
        return STRATEGIES["morpheme"](rows, Selection(0.15, epoch=mask_epoch(epoch, 10)))

    assert torch.equal(masks(3), masks(13))
    assert not torch.equal(masks(3), masks(4))


def test_slots() -> None:
    assert slots(0.15, {}, 128) == 36
    assert slots(0.15, {"noun": 2.0, "josa": 0.1}, 128) == 55
    assert slots(0.15, {"josa": 0.1}, 128) == 36  # other classes have weight 1
    assert slots(0.5, {"noun": 9.0}, 128) == 128


@pytest.mark.parametrize("ratio", [0.05, 0.15, 0.5])
@pytest.mark.parametrize("length", [18, 64, 256])
@pytest.mark.parametrize("unit", STRATEGIES)
def test_slots_are_enough(
    unit: str, length: int, ratio: float, realistic_rows: Callable[..., Rows]
) -> None:
    for weights in ({}, {"noun": 2.0}):
        hidden = STRATEGIES[unit](realistic_rows(500, length), Selection(ratio, weights))
        assert int(hidden.sum(1).max()) <= slots(ratio, weights, length)
