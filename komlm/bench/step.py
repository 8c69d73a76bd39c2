"""A step of training against transformers' Trainer: same model, rows, precision and optimizer.

Both train a BERT of size tiny on the same 64 rows of 128, a step over all of them, on the GPU or on
all cores, with AdamW (fused), the same rates, decay and clipping, and the precision that `komlm
pretrain` would take. The model has 8,002 entries, komlm's default, where the tokenizer has fewer:
the output layer, which komlm runs at hidden pieces alone, takes time by their number.

The two train in turn; the first step of a turn is left out, so that building a Trainer does not
count. On a CPU the fastest step counts; on a GPU, where steps run into one another, the turn with
the best mean.
"""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace

import numpy as np
import torch

from komlm.bench.material import Material
from komlm.bench.report import Figure, Report
from komlm.config import Config, DataConfig, ModelConfig, RowsConfig, TrainingConfig
from komlm.data.rows import Rows, RowSource
from komlm.data.shards import Shards
from komlm.models import quiet_transformers
from komlm.objectives import MaskedLanguageModel
from komlm.training.batches import Batches
from komlm.training.loop import train_step
from komlm.training.optimizer import build_optimizer, learning_rate
from komlm.training.state import RunState

ROWS, LENGTH, SIZE = 64, 128, "tiny"
STEPS, STEPS_ON_GPU = 3, 33
"""Steps of a turn; the first is not timed."""
TURNS = 2
"""Turns that each has at least."""


def measure(material: Material) -> Report:
    """Tokens a second of each, and how many times the Trainer's speed komlm has.

    Raises:
        ImportError: accelerate is not installed.
    """
    # Here and not above: importing the Trainer takes a second that other measurements can spare.
    from komlm.bench.trainer import TrainerSide

    ours = OurSide(material.shards)
    with quiet_transformers():
        theirs = TrainerSide(ours, str(material.new_folder()))
        best = {"komlm": float("inf"), "trainer": float("inf")}
        end, turns = time.perf_counter() + material.seconds, 0
        while turns < TURNS or time.perf_counter() < end:
            best["komlm"] = min(best["komlm"], ours.turn())
            best["trainer"] = min(best["trainer"], theirs.turn())
            turns += 1
    speed = {name: ours.tokens / seconds for name, seconds in best.items()}
    figures = (
        Figure("tokens_per_s.komlm", "komlm, tokens/s", speed["komlm"]),
        Figure("tokens_per_s.trainer", "Trainer, tokens/s", speed["trainer"]),
        Figure(
            "ratios.trainer",
            "komlm / Trainer",
            speed["komlm"] / speed["trainer"],
            "{:.2f} times",
            at_least=1.2,
        ),
    )
    state = ours.state
    note = (
        f"size {SIZE}, {len(ours.rows.numbers)} rows of {LENGTH} from {material.name}, "
        f"{state.objective.vocabulary_size:,} entries, {state.device.type}, "
        f"{str(state.precision).removeprefix('torch.')}"
    )
    return Report(figures, note)


class OurSide:
    """komlm's steps, as `komlm pretrain` makes them.

    Attributes:
        rows: what every step trains on.
        tokens: pieces of a step, padding left out.
        steps: of a turn.
    """

    def __init__(self, shards: Shards) -> None:
        source = _FirstRows(shards, LENGTH)
        count = len(source)
        training = TrainingConfig(steps=10**6, batch_rows=count, micro_batch_rows=count)
        config = Config(
            model=ModelConfig(size=SIZE), rows=RowsConfig(max_length=LENGTH), training=training
        )
        self.state = _with_entries(RunState.new(config, shards), DataConfig().vocabulary_size)
        self.rows = source.all()
        self.tokens = int(self.rows.attention_mask.sum())
        self.on_gpu = self.state.device.type == "cuda"
        self.steps = STEPS_ON_GPU if self.on_gpu else STEPS
        self._batches = Batches(source, self.state.objective, training, pin=self.on_gpu)

    def turn(self) -> float:
        """Train some steps; seconds a step."""
        watch = Watch(self.steps, self.on_gpu)
        first = self.state.step
        with closing(self._batches.ahead(first, first + self.steps)) as ahead:
            for batch in ahead:
                train_step(
                    self.state, batch, learning_rate(self.state.step, self.state.config.training)
                )
                watch.step_done()
        return watch.seconds_a_step


def _with_entries(state: RunState, entries: int) -> RunState:
    """The same with a model of so many entries, if the tokenizer has fewer."""
    if state.objective.vocabulary_size >= entries:
        return state
    objective = MaskedLanguageModel(state.config, entries, state.shards.special_ids)
    model = objective.build_model().to(state.device)
    optimizer = build_optimizer(model, state.config.training)
    return replace(state, objective=objective, model=model, optimizer=optimizer)


class Watch:
    """Takes the time of the steps of a turn.

    Example: steps that end at 0, 5, 9 s -> 4 s a step on a CPU, 4.5 on a GPU.
    """

    def __init__(self, steps: int, on_gpu: bool) -> None:
        self._steps = steps
        self._on_gpu = on_gpu
        self.times: list[float] = []

    def step_done(self) -> None:
        """A step has ended."""
        if self._on_gpu and len(self.times) in (0, self._steps - 1):
            # Not after each: a GPU may still be at a step when the next one is on its way.
            torch.cuda.synchronize()
        self.times.append(time.perf_counter())

    @property
    def seconds_a_step(self) -> float:
        """Seconds of the fastest step, or on a GPU of the mean step; the first is left out."""
        each = np.diff(self.times)
        return float(each.mean() if self._on_gpu else each.min())


class _FirstRows(RowSource):
    """The first rows of a corpus, as if it had no others."""

    def __init__(self, shards: Shards, max_length: int) -> None:
        super().__init__(shards, max_length)
        self.boundaries = self.boundaries[: ROWS + 1]

    def all(self) -> Rows:
        """All of them, in order."""
        return self.batch(np.arange(len(self)))
