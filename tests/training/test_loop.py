"""The loop: gradients, exact resume, stopping, errors."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from komlm.checkpoints import checkpoints
from komlm.config import Config, MaskingConfig, ModelConfig, to_toml
from komlm.data.rows import RowSource
from komlm.data.shards import Shards
from komlm.files import read_json, write_json
from komlm.training import loop
from komlm.training.batches import Batches
from komlm.training.loop import NotFiniteError, backward, pretrain, train_step
from komlm.training.metrics import TIME_FIELDS, read_metrics
from komlm.training.progress import Messages
from komlm.training.state import RunState

World = Any


def assert_same_runs(one: Path, other: Path) -> None:
    """Every byte but the time and speed fields of the metrics."""
    names = [sorted(p.relative_to(r).as_posix() for p in r.rglob("*")) for r in (one, other)]
    assert names[0] == names[1]
    for name in names[0]:
        if name != "metrics.jsonl" and (one / name).is_file():
            assert (one / name).read_bytes() == (other / name).read_bytes(), name
    assert without_times(one) == without_times(other)


def without_times(run_folder: Path) -> list[dict[str, Any]]:
    lines = read_metrics(run_folder / "metrics.jsonl")
    return [{k: v for k, v in line.items() if k not in TIME_FIELDS} for line in lines]


def test_a_run_leaves_what_it_should(unbroken: Path, config: Config) -> None:
    lines = read_metrics(unbroken / "metrics.jsonl")
    training = [line for line in lines if "loss" in line]
    assert [line["step"] for line in training] == [2, 4, 6, 8, 10, 12]
    assert [line["step"] for line in lines if "heldout" in line] == [6, 12]
    assert list(training[0]) == [
        *("step", "loss", "learning_rate", "gradient_norm", "hidden", "tokens"),
        *TIME_FIELDS,
    ]
    assert all(a["seconds"] <= b["seconds"] for a, b in zip(training, training[1:], strict=False))
    assert [f.name for f in checkpoints(unbroken)] == ["step-4", "step-8", "step-12"]


def gradients(config: Config, shards: Shards, micro_batch_rows: int, world: World) -> Any:
    state = RunState.new(world.with_training(config, micro_batch_rows=micro_batch_rows), shards)
    source = RowSource(shards, 32)
    batch = Batches(source, state.objective, state.config.training).of_step(1)
    loss = sum(backward(state, batch))
    return loss, {name: p.grad.clone() for name, p in state.model.named_parameters()}


def test_gradient_does_not_depend_on_micro_batches(
    config: Config, shards_folder: Path, world: World
) -> None:
    """16 rows at once, in fours, and one by one; hidden pieces differ in number from row to row."""
    config = replace(
        world.with_training(config, batch_rows=16), model=ModelConfig(size="mini", dropout=0.0)
    )
    shards = Shards.open(shards_folder)
    loss, whole = gradients(config, shards, 16, world)
    for micro_batch_rows in (4, 1):
        other_loss, parts = gradients(config, shards, micro_batch_rows, world)
        assert other_loss.item() == pytest.approx(loss.item(), rel=1e-6)
        for name, gradient in whole.items():
            difference = (parts[name] - gradient).norm() / gradient.norm().clamp(min=1e-3)
            assert difference < 1e-6, name


def test_gradient_is_that_of_the_mean_over_all_hidden_pieces(
    config: Config, shards_folder: Path, world: World
) -> None:
    """Against transformers' own loss on the rows of a step at once."""
    config = replace(
        world.with_training(config, micro_batch_rows=8), model=ModelConfig(size="mini", dropout=0.0)
    )
    shards = Shards.open(shards_folder)
    _, ours = gradients(config, shards, 8, world)
    state = RunState.new(config, shards)
    batch = Batches(RowSource(shards, 32), state.objective, config.training).of_step(1)
    tensors = batch.micro_batches[0].tensors
    labels = torch.full_like(tensors["input_ids"], -100)
    used = tensors["labels"] != -100
    row = torch.arange(8)[:, None].expand_as(used)[used]
    labels[row, tensors["positions"][used]] = tensors["labels"][used]
    state.model(
        tensors["input_ids"], attention_mask=tensors["attention_mask"], labels=labels
    ).loss.backward()
    for name, parameter in state.model.named_parameters():
        torch.testing.assert_close(ours[name], parameter.grad, rtol=1e-4, atol=1e-6)


def test_training_lowers_the_loss(config: Config, shards_folder: Path, world: World) -> None:
    config = world.with_training(config, steps=60, batch_rows=16, micro_batch_rows=16)
    state = RunState.new(config, Shards.open(shards_folder))
    batches = Batches(RowSource(state.shards, 32), state.objective, config.training)
    losses = [train_step(state, batch, 2e-3).loss for batch in batches.ahead(0, 60)]
    assert sum(losses[-5:]) / 5 < sum(losses[:5]) / 5 - 0.4


# Each run is forked from a process that has only imported komlm, and kills itself at a moment that
# its folder's name tells.
KILLED = """
import os, signal, sys
from pathlib import Path
import torch
from komlm.config import load_config
from komlm.training import checkpoint, loop

def die(*arguments, **named):
    os.kill(os.getpid(), signal.SIGKILL)

class DiesAfter:
    def __init__(self, step): self.step = step
    def on_step(self, step, *rest): step == self.step and die()
    def on_message(self, text): pass

def half_written(tensors, path):
    save(tensors, path)
    if path.parts[-3] == f"step-{at}.unfinished":
        path.write_bytes(path.read_bytes()[:1000])
        die()

save = checkpoint.save_file
torch.set_num_threads(1)
recipe, *folders = sys.argv[1:]
for folder in map(Path, folders):
    moment, at = folder.name.split("-")
    child = os.fork()
    if not child:
        if moment == "saving":
            checkpoint.save_file = half_written
        if moment == "pruning":
            checkpoint.prune = lambda folder, step, keep: step == int(at) and die()
        after = int(at) if moment == "step" else None
        loop.pretrain(load_config(Path(recipe)), folder, progress=DiesAfter(after))
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
"""


def killed_runs(config: Config, folder: Path, moments: list[str]) -> list[Path]:
    recipe = folder / "recipe.toml"
    recipe.write_text(to_toml(config))
    runs = [folder / moment for moment in moments]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, recipe, *runs],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return runs


@pytest.mark.slow
def test_killed_runs_go_on_to_the_same_bytes(
    config: Config, unbroken: Path, tmp_path: Path, world: World
) -> None:
    """In a step, while the first and the second checkpoint are written, and right after one.

    The case resume-rng: 12 steps, killed at 5, two epochs and a bit over 40 rows, dropout on.
    """
    assert len(RowSource(Shards.open(Path(config.data.shards)), 32)) == 40
    moments = ["step-5", "saving-4", "saving-8", "pruning-8"]
    for run_folder in killed_runs(config, tmp_path, moments):
        whole = {"step-5": 1, "saving-4": 0, "saving-8": 1, "pruning-8": 2}[run_folder.name]
        assert len(checkpoints(run_folder)) == whole
        result = pretrain(config, run_folder, resume=True, progress=world.silent())
        assert (result.step, result.stopped) == (12, False)
        assert_same_runs(run_folder, unbroken)


def test_resumed_run_makes_the_masks_of_the_unbroken_one(
    config: Config, shards_folder: Path, tmp_path: Path, world: World, monkeypatch: Any
) -> None:
    seen: list[dict[int, torch.Tensor]] = [{}, {}]
    made = RunState.new

    def watched(store: dict[int, torch.Tensor]) -> Callable[..., RunState]:
        def new(config: Config, shards: Shards) -> RunState:
            state = made(config, shards)
            loss = state.objective.loss

            def note(model: Any, batch: Any) -> Any:
                first = store.get(state.step, torch.zeros(0, dtype=torch.int64))
                store[state.step] = torch.cat([first, batch["input_ids"].flatten()])
                return loss(model, batch)

            state.objective.loss = note
            return state

        return new

    monkeypatch.setattr(loop.RunState, "new", watched(seen[0]))
    pretrain(config, tmp_path / "unbroken", progress=world.silent())
    monkeypatch.setattr(loop.RunState, "new", watched(seen[1]))
    pretrain(config, tmp_path / "stopped", progress=world.signals(5, signal.SIGTERM))
    pretrain(config, tmp_path / "stopped", resume=True, progress=world.silent())
    assert sorted(seen[0]) == sorted(seen[1]) == list(range(12))
    assert all(torch.equal(seen[0][step], seen[1][step]) for step in range(12))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_and_leaves(
    config: Config, unbroken: Path, tmp_path: Path, number: signal.Signals, world: World
) -> None:
    run_folder = tmp_path / "run"
    before = signal.getsignal(number)
    progress = world.signals(5, number)
    result = pretrain(config, run_folder, progress=progress)
    assert (result.step, result.stopped, result.signal) == (5, True, number)
    assert result.checkpoint == run_folder / "step-5"
    assert result.heldout is None
    assert any(f"stopped by {number.name}" in text for text in progress.messages)
    assert signal.getsignal(number) == before

    result = pretrain(config, run_folder, resume=True, progress=world.silent())
    assert (result.step, result.stopped, result.signal) == (12, False, None)
    assert result.heldout == read_metrics(run_folder / "metrics.jsonl")[-1]["heldout"]
    shutil.rmtree(run_folder / "step-5")
    assert_same_runs(run_folder, unbroken)


def test_a_signal_in_the_last_step_stops_nothing(
    config: Config, tmp_path: Path, world: World
) -> None:
    progress = world.signals(12, signal.SIGTERM)
    result = pretrain(config, tmp_path / "run", progress=progress)
    assert (result.step, result.stopped, result.signal) == (12, False, None)


def test_time_limit_saves_and_leaves_and_may_be_lifted(
    config: Config, unbroken: Path, tmp_path: Path, world: World
) -> None:
    run_folder = tmp_path / "run"
    limited = world.with_training(config, stop_after_minutes=1e-9)
    result = pretrain(limited, run_folder, progress=world.silent())
    assert (result.step, result.stopped, result.signal) == (1, True, None)
    assert pretrain(config, run_folder, resume=True, progress=world.silent()).step == 12
    name = "step-12/model.safetensors"
    assert (run_folder / name).read_bytes() == (unbroken / name).read_bytes()
    assert pretrain(config, run_folder, resume=True, progress=world.silent()).step == 12


def test_a_corpus_that_holds_nothing_back_is_trained_without_measuring(
    config: Config, shards_folder: Path, tmp_path: Path
) -> None:
    """A small corpus at 1 % may hold no document back: said, and no reason to stop."""
    shards = tmp_path / "shards"
    shutil.copytree(shards_folder, shards)
    manifest = read_json(shards / "manifest.json")
    parts = {name: part for name, part in manifest["parts"].items() if name.startswith("train/")}
    write_json(shards / "manifest.json", {**manifest, "parts": parts})
    said: list[str] = []

    class Listener(Messages):
        def on_message(self, text: str) -> None:
            said.append(text)

    changed = replace(config, data=replace(config.data, shards=str(shards)))
    result = pretrain(changed, tmp_path / "run", progress=Listener())
    assert result.heldout is None
    assert result.step == config.training.steps
    assert any("komlm prepare --heldout" in text for text in said)


def test_old_checkpoints_are_deleted(config: Config, tmp_path: Path, world: World) -> None:
    pretrain(world.with_training(config, keep_checkpoints=2), tmp_path, progress=world.silent())
    assert [folder.name for folder in checkpoints(tmp_path)] == ["step-8", "step-12"]


def test_a_far_step_is_reached_at_once(config: Config, shards_folder: Path, world: World) -> None:
    """The batch of step 1,000,000 is made of its own rows alone: nothing is gone through."""
    config = world.with_training(config, steps=2_000_000)
    state = RunState.new(config, Shards.open(shards_folder))
    state.step = 1_000_000
    source = RowSource(state.shards, 32)
    asked = []
    monkey = source.batch
    source.batch = lambda numbers: asked.append(len(numbers)) or monkey(numbers)  # type: ignore
    batch = next(
        Batches(source, state.objective, config.training).ahead(state.step, state.step + 1)
    )
    train_step(state, batch, 1e-4)
    assert sum(asked) == 8
    assert state.step == 1_000_001


def test_a_loss_that_is_not_finite_stops_before_the_step(
    config: Config, shards_folder: Path, world: World
) -> None:
    state = RunState.new(config, Shards.open(shards_folder))
    batch = Batches(RowSource(state.shards, 32), state.objective, config.training).of_step(0)
    before = {name: tensor.clone() for name, tensor in state.model.state_dict().items()}
    loss = state.objective.loss

    def spoilt(model: Any, tensors: Any) -> Any:
        terms = loss(model, tensors)
        if torch.equal(tensors["input_ids"], batch.micro_batches[1].tensors["input_ids"]):
            terms["mlm"] = replace(terms["mlm"], total=terms["mlm"].total * float("inf"))
        return terms

    state.objective.loss = spoilt
    rows = batch.micro_batches[1].numbers.tolist()
    with pytest.raises(NotFiniteError, match=r"step 1: loss inf is not finite, in rows \[") as told:
        train_step(state, batch, 1e-3)
    assert str(rows) in str(told.value)
    assert state.step == 0
    for name, tensor in state.model.state_dict().items():
        assert torch.equal(tensor, before[name])
    assert all(parameter.grad is None for parameter in state.model.parameters())


def test_an_infinite_gradient_stops_before_the_step(config: Config, shards_folder: Path) -> None:
    state = RunState.new(config, Shards.open(shards_folder))
    batch = Batches(RowSource(state.shards, 32), state.objective, config.training).of_step(0)
    state.model.cls.predictions.bias.register_hook(lambda gradient: gradient * float("nan"))
    with pytest.raises(NotFiniteError, match="step 1: gradient norm nan is not finite, in rows"):
        train_step(state, batch, 1e-3)


def test_an_existing_run_needs_resume(config: Config, unbroken: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="exists already.*--resume.*-o"):
        pretrain(config, unbroken)
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match="is a file: wanted a folder"):
        pretrain(config, tmp_path / "file")
    with pytest.raises(ValueError, match="holds no config.toml, so it is no run"):
        pretrain(config, tmp_path, resume=True)


def test_resume_with_other_settings_names_them(config: Config, unbroken: Path) -> None:
    other = replace(config, masking=MaskingConfig(ratio=0.3, unit="eojeol"))
    with pytest.raises(
        ValueError,
        match="masking.ratio was 0.15, now 0.3; masking.unit was 'morpheme', now 'eojeol'",
    ):
        pretrain(other, unbroken, resume=True)


def test_errors_come_before_anything_is_written(
    config: Config, tmp_path: Path, world: World
) -> None:
    run_folder = tmp_path / "run"
    broken = [
        (replace(config, objective="mlmm"), "unknown objective 'mlmm'; did you mean 'mlm'"),
        (replace(config, masking=MaskingConfig(unit="eojol")), "did you mean 'eojeol'"),
        (replace(config, model=ModelConfig(size="mimi")), "did you mean 'mini'"),
        (replace(config, data=replace(config.data, shards="")), "data.shards is empty"),
        (world.with_training(config, device="cuda"), "torch sees no GPU"),
    ]
    for wrong, message in broken:
        if "GPU" in message and torch.cuda.is_available():
            continue
        with pytest.raises(ValueError, match=message):
            pretrain(wrong, run_folder)
    with pytest.raises(FileNotFoundError, match="no shards at"):
        pretrain(
            replace(config, data=replace(config.data, shards=str(tmp_path / "no"))), run_folder
        )
    assert not run_folder.exists()
