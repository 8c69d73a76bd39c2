"""AdamW and the learning rate, which is a function of the step alone."""

from __future__ import annotations

from typing import Any

import torch

from komlm.config import TrainingConfig


def build_optimizer(model: Any, config: TrainingConfig) -> torch.optim.AdamW:
    """AdamW in two groups: matrices decay; biases and layer norms, which have one axis, do not.

    Example: ``bert.embeddings.LayerNorm.weight`` and each ``.bias`` have weight decay 0.
    """
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": config.weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        groups,
        lr=config.learning_rate,
        betas=(0.9, config.beta2),
        fused=True,
    )


def learning_rate(step: int, config: TrainingConfig) -> float:
    """The learning rate of the update after ``step`` updates: linear up, then linear down to 0.

    Highest after ``warmup_steps``; 0 at ``steps``, which no update reaches, so that none is wasted.

    Example: steps = 10, warmup_steps = 2, highest 1.0 -> 0.5, 1.0, 1.0, 0.875, ... 0.125.
    """
    if step < config.warmup_steps:
        return config.learning_rate * (step + 1) / config.warmup_steps
    return config.learning_rate * (config.steps - step) / (config.steps - config.warmup_steps)
