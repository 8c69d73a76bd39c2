"""The side of komlm in the measurement of a training step."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import numpy as np

from komlm.bench.timing import Watch
from komlm.config import Config, DataConfig, ModelConfig, RowsConfig, TrainingConfig
from komlm.data.rows import Rows, RowSource
from komlm.data.shards import Shards
from komlm.objectives import MaskedLanguageModel
from komlm.training.batches import Batches
from komlm.training.loop import train_step
from komlm.training.optimizer import build_optimizer, learning_rate
from komlm.training.state import RunState

ROWS, LENGTH, SIZE = 64, 128, "tiny"
STEPS, STEPS_ON_GPU = 3, 33
"""Steps of a turn; the first is not timed."""


class KomlmSide:
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


class _FirstRows(RowSource):
    """The first rows of a corpus, as if it had no others."""

    def __init__(self, shards: Shards, max_length: int) -> None:
        super().__init__(shards, max_length)
        self.boundaries = self.boundaries[: ROWS + 1]

    def all(self) -> Rows:
        """All of them, in order."""
        return self.batch(np.arange(len(self)))
