"""Everything that a step of training reads and changes, in one object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from transformers import AutoTokenizer

from komlm.config import Config
from komlm.data.shards import Shards
from komlm.models import check_sizes
from komlm.names import pick
from komlm.objectives import OBJECTIVES
from komlm.randomness import Purpose, seed_of
from komlm.training.optimizer import build_optimizer


@dataclass
class RunState:
    """A run at one of its steps.

    Attributes:
        step: updates done so far.
        device: where the model lies.
        precision: float32, or bfloat16 where the forward pass runs under autocast.

    Example: ``RunState.new(config, shards).step`` -> ``0``.
    """

    config: Config
    shards: Shards
    objective: Any
    model: Any
    optimizer: torch.optim.Optimizer
    device: torch.device
    precision: torch.dtype
    step: int = 0

    @classmethod
    def new(cls, config: Config, shards: Shards) -> RunState:
        """The state before the first step; its weights follow from the seed.

        Raises:
            ValueError: an unknown objective, unit or size; no such device; tokenizer, shards, model
                and rows that do not fit together.
        """
        training = config.training
        objective = pick("objective", config.objective, OBJECTIVES)(
            config, shards.vocabulary_size, shards.special_ids
        )
        device = _device(training.device)
        torch.manual_seed(seed_of(Purpose.INITIAL_WEIGHTS, training.seed))
        model = objective.build_model().to(device)
        check_fit(model, shards, config.rows.max_length)
        return cls(
            config=config,
            shards=shards,
            objective=objective,
            model=model,
            optimizer=build_optimizer(model, training),
            device=device,
            precision=_precision(training.precision, device),
        )


def check_fit(model: Any, shards: Shards, max_length: int) -> None:
    """Tokenizer, shards and model must have one vocabulary, and the model enough positions.

    Raises:
        ValueError: they do not fit; the message names both sizes.
    """
    tokenizer = AutoTokenizer.from_pretrained(
        shards.tokenizer_folder, local_files_only=True, trust_remote_code=False
    )
    if len(tokenizer) != shards.vocabulary_size:
        raise ValueError(
            f"{shards.tokenizer_folder} holds a tokenizer of {len(tokenizer)} entries, and the "
            f"shards beside it were made with one of {shards.vocabulary_size}. Run `komlm prepare` "
            "again."
        )
    check_sizes(model, shards.vocabulary_size)
    positions = model.config.max_position_embeddings
    if max_length > positions:
        raise ValueError(
            f"rows.max_length = {max_length}, and the model has {positions} positions: "
            f"wanted {positions} or fewer"
        )


def _device(name: str) -> torch.device:
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError("training.device = 'cuda': torch sees no GPU here; wanted cpu or auto")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def _precision(name: str, device: torch.device) -> torch.dtype:
    if name == "auto":
        # On CPUs bf16 under autocast is the slower one.
        fast = device.type == "cuda" and torch.cuda.is_bf16_supported()
        return torch.bfloat16 if fast else torch.float32
    return torch.bfloat16 if name == "bf16" else torch.float32
