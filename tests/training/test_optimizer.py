from __future__ import annotations

import pytest
import torch
from torch import nn

from komlm.config import TrainingConfig
from komlm.training.optimizer import build_optimizer, learning_rate


def rates(steps: int, warmup: int) -> list[float]:
    config = TrainingConfig(steps=steps, warmup_steps=warmup, learning_rate=1.0)
    return [learning_rate(step, config) for step in range(steps)]


def test_learning_rate_rises_and_falls_in_lines() -> None:
    expected = [0.5, 1.0, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125]
    assert rates(10, 2) == pytest.approx(expected)
    assert learning_rate(10, TrainingConfig(steps=10, warmup_steps=2)) == 0.0


@pytest.mark.parametrize(("steps", "warmup"), [(1, 0), (5, 0), (5, 5), (5, 4), (3, 9)])
def test_learning_rate_is_above_zero_at_every_update(steps: int, warmup: int) -> None:
    assert all(0 < rate <= 1 for rate in rates(steps, warmup))


def test_biases_and_norms_do_not_decay() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4))
    optimizer = build_optimizer(model, TrainingConfig(weight_decay=0.1, beta2=0.9))
    decay = {
        id(p): group["weight_decay"] for group in optimizer.param_groups for p in group["params"]
    }
    assert {name: decay[id(p)] for name, p in model.named_parameters()} == {
        "0.weight": 0.1,
        "0.bias": 0.0,
        "1.weight": 0.0,
        "1.bias": 0.0,
    }
    assert isinstance(optimizer, torch.optim.AdamW)
    assert optimizer.defaults["betas"] == (0.9, 0.9)
