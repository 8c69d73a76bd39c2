"""The batches of a run: which rows a step reads, hidden, in micro-batches, one step ahead.

Everything follows from the step's number. So a resumed run skips nothing, and asking for step
1,000,000 costs no more than asking for step 100.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from komlm.config import TrainingConfig
from komlm.data.rows import RowSource, order


@dataclass(frozen=True)
class MicroBatch:
    """Rows that go through the model at once.

    Attributes:
        first_position: place of its first row in the endless run over the data.
        numbers: row numbers. *Shape:* ``(micro_batch_rows,)``.
        tensors: what the objective made of the rows.
        counts: how much each term of the loss sums over.
        tokens: pieces, padding left out.
    """

    first_position: int
    numbers: np.ndarray
    tensors: Mapping[str, Tensor]
    counts: Mapping[str, int]
    tokens: int


@dataclass(frozen=True)
class StepBatch:
    """All micro-batches of one step, and what their losses are divided by.

    Example: four micro-batches with 150 hidden pieces each -> ``counts == {"mlm": 600}``.
    """

    micro_batches: Sequence[MicroBatch]
    counts: Mapping[str, int]

    @property
    def tokens(self) -> int:
        return sum(micro.tokens for micro in self.micro_batches)

    @property
    def numbers(self) -> np.ndarray:
        """Row numbers of the step. *Shape:* ``(batch_rows,)``."""
        return np.concatenate([micro.numbers for micro in self.micro_batches])


@dataclass(frozen=True)
class Batches:
    """Makes the batch of any step from its number.

    Example: ``Batches(source, objective, config.training).of_step(0).micro_batches[0].numbers``.
    """

    source: RowSource
    objective: Any
    config: TrainingConfig
    pin: bool = False

    def of_step(self, step: int) -> StepBatch:
        """The batch of the update after ``step`` updates."""
        begin = step * self.config.batch_rows
        end = begin + self.config.batch_rows
        micro_batches = [
            self._micro_batch(first, first + self.config.micro_batch_rows)
            for first in range(begin, end, self.config.micro_batch_rows)
        ]
        return StepBatch(micro_batches, counts_of_step([micro.counts for micro in micro_batches]))

    def ahead(self, first: int, last: int) -> Generator[StepBatch, None, None]:
        """The batches of the steps ``first`` to ``last - 1``, each made while the last one trains.

        One thread, one batch ahead; an error in it surfaces where its batch is asked for.
        """
        with ThreadPoolExecutor(1, thread_name_prefix="batches") as thread:
            coming = thread.submit(self.of_step, first) if first < last else None
            for step in range(first + 1, last + 1):
                assert coming is not None
                batch = coming.result()
                coming = thread.submit(self.of_step, step) if step < last else None
                yield batch

    def _micro_batch(self, begin: int, end: int) -> MicroBatch:
        positions = np.arange(begin, end, dtype=np.int64)
        epochs, numbers = order(positions, len(self.source), self.config.seed)
        rows = self.source.batch(numbers)
        tensors = self.objective.batch(rows, torch.from_numpy(epochs))
        counts = self.objective.counts(tensors)
        if self.pin:
            tensors = {name: tensor.pin_memory() for name, tensor in tensors.items()}
        return MicroBatch(begin, numbers, tensors, counts, int(rows.attention_mask.sum()))


def counts_of_step(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Add the counts of all micro-batches of a step; with several GPUs, the place for a reduction.

    Example: ``[{"mlm": 150}, {"mlm": 152}]`` -> ``{"mlm": 302}``.
    """
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(total)
