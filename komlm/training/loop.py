"""The pretraining loop, from shards to checkpoints."""

from __future__ import annotations

import math
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from komlm.checkpoints import last_whole
from komlm.config import Config
from komlm.data.rows import RowSource
from komlm.data.shards import Shards
from komlm.randomness import Purpose, seed_of
from komlm.training import checkpoint
from komlm.training.batches import Batches, StepBatch
from komlm.training.metrics import MetricsFile
from komlm.training.optimizer import learning_rate
from komlm.training.progress import Messages, Progress
from komlm.training.recovery import Recovery, spread
from komlm.training.recovery_table import summary
from komlm.training.run_folder import check_run_folder, open_run_folder
from komlm.training.state import RunState
from komlm.training.stopping import StopRequest


class NotFiniteError(ValueError):
    """A loss or a gradient is infinite or not a number; the model was not changed by it."""


@dataclass(frozen=True)
class Result:
    """How a run ended.

    Attributes:
        run_folder: holds config.toml, metrics.jsonl and the checkpoints.
        checkpoint: the last one.
        step: updates done.
        heldout: the latest measurement on held-out rows, None before the first and where no
            document is held out.
        stopped: it left before its last step; ``--resume`` goes on.
        signal: number of the signal that stopped it, or None.
    """

    run_folder: Path
    checkpoint: Path
    step: int
    heldout: dict[str, Any] | None
    stopped: bool
    signal: int | None


def pretrain(
    config: Config, run_folder: Path, resume: bool = False, progress: Progress | None = None
) -> Result:
    """Train a model on ``config.data.shards``, or go on with a run that was stopped or killed.

    A resumed run gives the same bits as one that was never stopped: whatever a step does follows
    from its number, the weights and the moments of the optimizer. (On a CPU sums depend a little
    on the number of threads, so the number must be the same; some of a GPU's sums have no order.)

    Args:
        config: the run; a resumed one may differ only in ``settings.FREE_KEYS``.
        run_folder: made by the run; may exist only with ``resume``.
        resume: go on after the last whole checkpoint, or begin where there is none.
        progress: is told of steps and messages; messages go to stderr without it.

    Raises:
        ValueError: settings that do not fit together or to the run, damaged shards, a loss that is
            not finite (:class:`NotFiniteError`).
        FileNotFoundError: no shards.
        OSError: a disk that is full; the last whole checkpoint stays.

    Example: ``pretrain(load_config(recipe, ["data.shards=shards"]), Path("run")).checkpoint`` ->
    ``run/step-100000``.
    """
    progress = progress or Messages()
    training = config.training
    check_run_folder(run_folder, config, resume)
    if not config.data.shards:
        raise ValueError("data.shards is empty: wanted a folder that `komlm prepare` wrote")
    train = Shards.open(Path(config.data.shards), "train")
    source = RowSource(train, config.rows.max_length, config.rows.cut)
    state = RunState.new(config, train)

    recovery = _recovery(config, train)

    lock = open_run_folder(run_folder, config)
    saved = last_whole(run_folder, progress.on_message)
    if saved:
        checkpoint.load(saved, state)
        checkpoint.prune(run_folder, state.step, training.keep_checkpoints)
        progress.on_message(f"going on after {saved}")

    if recovery is None:
        progress.on_message(
            f"{config.data.shards} holds no document back, so nothing is measured: "
            "`komlm prepare --heldout 0.05` holds back more"
        )
    batches = Batches(source, state.objective, training, pin=state.device.type == "cuda")
    with (
        lock,
        StopRequest(training.stop_after_minutes) as stop,
        MetricsFile(run_folder / "metrics.jsonl", state.step) as metrics,
        closing(batches.ahead(state.step, training.steps)) as ahead,
    ):
        speed = Speed(metrics.seconds)
        for batch in ahead:
            rate = learning_rate(state.step, training)
            outcome = train_step(state, batch, rate)
            speed.add(batch.tokens)
            last = state.step == training.steps
            progress.on_step(state.step, training.steps, outcome.loss, speed.tokens_per_s)

            if last or state.step % training.log_every == 0:
                metrics.write(
                    {
                        "step": state.step,
                        "loss": outcome.loss,
                        "learning_rate": rate,
                        "gradient_norm": outcome.gradient_norm,
                        "hidden": sum(batch.counts.values()),
                        "tokens": batch.tokens,
                        "seconds": round(speed.seconds, 3),
                        "tokens_per_s": round(speed.tokens_per_s, 1),
                    }
                )
                speed.begin_window()
            if recovery and (last or state.step % training.evaluate_every == 0):
                measured = recovery.measure(state.model, state.device, state.precision)
                metrics.write({"step": state.step, "heldout": measured})
                progress.on_message(f"step {state.step}: {summary(measured, config.masking.unit)}")
            stopping = stop.wanted and not last
            if last or stopping or state.step % training.checkpoint_every == 0:
                metrics.to_disk()
                _check_weights(state)
                saved = checkpoint.save(run_folder, state)
                checkpoint.prune(run_folder, state.step, training.keep_checkpoints)
            if stopping:
                progress.on_message(f"stopped by {stop.reason} after {saved}; --resume goes on")
                break
            speed.leave_out_pause()
        assert saved is not None
        return Result(
            run_folder=run_folder,
            checkpoint=saved,
            step=state.step,
            heldout=metrics.last_heldout(),
            stopped=state.step < training.steps,
            signal=stop.signal if state.step < training.steps else None,
        )


def _check_weights(state: RunState) -> None:
    """An update can spoil weights although loss and gradient were finite; none such is saved."""
    if not all(bool(p.isfinite().all()) for p in state.model.parameters()):
        raise NotFiniteError(
            f"step {state.step} left weights that are not finite, so it is not saved: set a lower "
            "training.learning_rate and begin anew, or go on from the last checkpoint"
        )


def _recovery(config: Config, train: Shards) -> Recovery | None:
    """What measures on held-out rows; None where a small corpus has held no document back."""
    if not train.has_documents("heldout"):
        return None
    heldout = Shards.open(train.folder, "heldout")
    source = RowSource(heldout, config.rows.max_length, config.rows.cut)
    return Recovery(
        source=source,
        numbers=spread(len(source), config.training.evaluate_rows),
        counts=train.counts(),
        batch_rows=config.training.micro_batch_rows,
    )


@dataclass(frozen=True)
class Outcome:
    """What a step came to: its mean loss in nat, and the norm of its gradient before clipping."""

    loss: float
    gradient_norm: float


def train_step(state: RunState, batch: StepBatch, rate: float) -> Outcome:
    """One update of the model.

    Raises:
        NotFiniteError: before anything is changed; the message names the step and its rows.
    """
    losses = backward(state, batch)
    limit = state.config.training.clip_norm or math.inf
    norm = torch.nn.utils.clip_grad_norm_(state.model.parameters(), limit)
    *each, gradient_norm = torch.stack([*losses, norm]).tolist()
    if not math.isfinite(sum(each) + gradient_norm):
        state.optimizer.zero_grad()
        raise NotFiniteError(_not_finite(state.step + 1, batch, each, gradient_norm))
    for group in state.optimizer.param_groups:
        group["lr"] = rate
    state.optimizer.step()
    state.optimizer.zero_grad()
    state.step += 1
    return Outcome(sum(each), gradient_norm)


def backward(state: RunState, batch: StepBatch) -> list[torch.Tensor]:
    """Add the gradient of a step to the parameters, one micro-batch after the other.

    Each sum is divided by the count of the whole step, so that it does not matter how the rows
    are divided into micro-batches.

    Returns:
        The share of each micro-batch in the step's loss; they add up to it.
    """
    state.model.train()
    losses = []
    for micro in batch.micro_batches:
        # Dropout is drawn anew from the step's number, so there is no generator to save.
        torch.manual_seed(
            seed_of(Purpose.DROPOUT, state.config.training.seed, state.step, micro.first_position)
        )
        tensors = {
            name: tensor.to(state.device, non_blocking=True)
            for name, tensor in micro.tensors.items()
        }
        with torch.autocast(
            state.device.type, state.precision, enabled=state.precision != torch.float32
        ):
            terms = state.objective.loss(state.model, tensors)
        loss = torch.stack(
            [term.weight * term.total / max(batch.counts[name], 1) for name, term in terms.items()]
        ).sum()
        loss.backward()
        losses.append(loss.detach())
    return losses


def _not_finite(step: int, batch: StepBatch, losses: list[float], norm: float) -> str:
    bad = [
        micro.numbers
        for micro, loss in zip(batch.micro_batches, losses, strict=True)
        if not math.isfinite(loss)
    ]
    what = f"loss {sum(losses)}" if bad else f"gradient norm {norm}"
    rows = (bad[0] if bad else batch.numbers).tolist()
    return (
        f"step {step}: {what} is not finite, in rows {rows}. The run stopped before this step; "
        "its last checkpoint is good. Try a lower training.learning_rate, a longer warm-up or "
        "training.precision = 'fp32'."
    )


class Speed:
    """Tokens a second since the last line of metrics, measurements and checkpoints left out."""

    def __init__(self, seconds_before: float) -> None:
        self._since = time.perf_counter()
        self._before = seconds_before - self._since
        self.begin_window()

    def begin_window(self) -> None:
        self._tokens, self._seconds = 0, 0.0

    def add(self, tokens: int) -> None:
        """A step is done."""
        self._seconds += time.perf_counter() - self._since
        self._tokens += tokens
        self._since = time.perf_counter()

    def leave_out_pause(self) -> None:
        """What happened since the step is no training."""
        self._since = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Since the run began, the time before a resume included."""
        return self._before + time.perf_counter()

    @property
    def tokens_per_s(self) -> float:
        return self._tokens / self._seconds if self._seconds else 0.0
