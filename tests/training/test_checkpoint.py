from __future__ import annotations

import hashlib
import json
import resource
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from komlm.checkpoints import checkpoints, last_whole
from komlm.config import Config, load_config, to_toml
from komlm.data.shards import Shards
from komlm.training import checkpoint
from komlm.training.loop import pretrain
from komlm.training.metrics import TIME_FIELDS, read_metrics
from komlm.training.run_folder import remove_unfinished
from komlm.training.state import RunState, check_fit


@pytest.fixture
def run(unbroken: Path, tmp_path: Path) -> Path:
    """A copy of a whole run, to be spoilt."""
    return Path(shutil.copytree(unbroken, tmp_path / "run"))


def names(run_folder: Path) -> list[str]:
    return [folder.name for folder in checkpoints(run_folder)]


def test_checkpoints_are_sorted_by_number(tmp_path: Path) -> None:
    for name in ("step-100", "step-20", "step-3", "step-x", "step-7.unfinished", "other-1"):
        (tmp_path / name).mkdir()
    (tmp_path / "step-5").write_text("a file")
    assert names(tmp_path) == ["step-3", "step-20", "step-100"]


def test_prune_keeps_the_newest_and_does_not_count_later_damaged_ones(tmp_path: Path) -> None:
    for step in (1, 2, 10, 11):
        (tmp_path / f"step-{step}").mkdir()
    checkpoint.prune(tmp_path, step=10, keep=0)
    assert len(names(tmp_path)) == 4
    checkpoint.prune(tmp_path, step=10, keep=2)
    assert names(tmp_path) == ["step-2", "step-10", "step-11"]
    assert len(list(tmp_path.iterdir())) == 3


def test_remove_unfinished(tmp_path: Path) -> None:
    (tmp_path / "step-1.unfinished").mkdir()
    (tmp_path / "step-1.unfinished" / "half").write_text("x")
    (tmp_path / "config.toml.unfinished").write_text("x")
    (tmp_path / "step-2").mkdir()
    remove_unfinished(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["step-2"]


def test_state_holds_no_path_and_every_file(unbroken: Path, shards_folder: Path) -> None:
    folder = unbroken / "step-12"
    state = json.loads((folder / "state/state.json").read_bytes())
    files = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert set(state["files"]) == files - {"state/state.json"}
    for file in files - {"model.safetensors", "state/optimizer.safetensors"}:
        text = (folder / file).read_text()
        assert str(shards_folder) not in text
        assert str(unbroken) not in text
    moments = load_file(folder / "state/optimizer.safetensors")
    assert "exp_avg.cls.predictions.bias" in moments
    assert "exp_avg_sq.bert.embeddings.word_embeddings.weight" in moments


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "model.safetensors").unlink(),
        lambda folder: (folder / "state" / "state.json").unlink(),
        lambda folder: shutil.rmtree(folder / "state"),
        lambda folder: (folder / "state" / "state.json").write_text("{"),
        lambda folder: _flip(folder / "model.safetensors"),
        lambda folder: _flip(folder / "tokenizer.json"),
        lambda folder: _flip(folder / "state" / "optimizer.safetensors"),
        lambda folder: _flip(folder / "state" / "state.json"),
        lambda folder: _cut(folder / "state" / "optimizer.safetensors"),
    ],
)
def test_a_damaged_checkpoint_is_skipped_and_said(run: Path, spoil) -> None:  # type: ignore[no-untyped-def]
    said: list[str] = []
    assert last_whole(run, said.append) == run / "step-12"
    spoil(run / "step-12")
    assert last_whole(run, said.append) == run / "step-8"
    assert len(said) == 1
    assert said[0].startswith(f"{run / 'step-12'} is damaged and skipped: ")


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def test_nothing_whole(run: Path, tmp_path: Path, config: Config, world) -> None:  # type: ignore[no-untyped-def]
    """A run whose checkpoints are all damaged does not begin anew over them."""
    for folder in checkpoints(run):
        _cut(folder / "model.safetensors")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    progress = world.silent()
    with pytest.raises(ValueError, match="no checkpoint of .*run is whole"):
        pretrain(config, run, resume=True, progress=progress)
    assert len(progress.messages) == 3
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    assert last_whole(tmp_path / "absent", progress.messages.append) is None


def test_metrics_are_noted_without_their_times(unbroken: Path) -> None:
    """As many lines as were there, and of all their fields but the times."""
    lines = read_metrics(unbroken / "metrics.jsonl")
    for folder in checkpoints(unbroken):
        state = json.loads((folder / "state/state.json").read_bytes())
        told = [line for line in lines if line["step"] <= state["step"]]
        untimed = [{k: v for k, v in line.items() if k not in TIME_FIELDS} for line in told]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in untimed)
        digest = hashlib.sha256(text.encode()).hexdigest()
        assert state["metrics"] == {"lines": len(told), "sha256": digest}


def test_a_run_goes_on_before_a_damaged_checkpoint_and_mends_it(
    run: Path, unbroken: Path, config: Config, world
) -> None:  # type: ignore[no-untyped-def]
    _flip(run / "step-12" / "model.safetensors")
    progress = world.silent()
    pretrain(config, run, resume=True, progress=progress)
    assert any("step-12 is damaged and skipped" in text for text in progress.messages)
    name = "step-12/model.safetensors"
    assert (run / name).read_bytes() == (unbroken / name).read_bytes()


def test_plain_transformers_loads_a_checkpoint_without_komlm(unbroken: Path) -> None:
    script = """
import sys
from transformers import AutoModelForMaskedLM, AutoTokenizer, pipeline
folder = sys.argv[1]
model = AutoModelForMaskedLM.from_pretrained(folder)
tokenizer = AutoTokenizer.from_pretrained(folder)
assert model.config.vocab_size == len(tokenizer) == 64
fill = pipeline("fill-mask", model=folder, tokenizer=folder)
assert len(fill("w5 [MASK] w60")) == 5
assert not any(name.startswith("komlm") for name in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, unbroken / "step-12"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_other_shards_are_refused(run: Path, config: Config, tmp_path: Path, world) -> None:  # type: ignore[no-untyped-def]
    other = world.write_shards(tmp_path / "other", seed=1)
    changed = replace(config, data=replace(config.data, shards=str(other)))
    with pytest.raises(ValueError, match=f"{run / 'step-12'} was trained on shards 000.*{other}"):
        pretrain(changed, run, resume=True, progress=world.silent())


def test_tokenizer_shards_and_model_must_fit(
    config: Config, shards_folder: Path, tmp_path: Path, world
) -> None:  # type: ignore[no-untyped-def]
    shards = Shards.open(shards_folder)
    state = RunState.new(config, shards)
    with pytest.raises(ValueError, match="max_length = 600, and the model has 512 positions"):
        check_fit(state.model, shards, 600)
    copy = Path(shutil.copytree(shards_folder, tmp_path / "shards"))
    world.write_tokenizer(copy / "tokenizer", size=60)
    with pytest.raises(ValueError, match="a tokenizer of 60 entries, .* with one of 64"):
        RunState.new(config, Shards.open(copy))
    small = RunState.new(config, shards)
    small.model.resize_token_embeddings(60)
    with pytest.raises(ValueError, match="60 .* 64"):
        check_fit(small.model, shards, 32)


def test_a_full_disk_leaves_the_last_whole_checkpoint(
    config: Config, unbroken: Path, tmp_path: Path, world
) -> None:  # type: ignore[no-untyped-def]
    """A limit on the size of a file stands in for the disk."""

    class Fills(world.silent):  # type: ignore[misc, name-defined]
        def on_step(self, step: int, steps: int, loss: float, tokens_per_s: float) -> None:
            if step == 7:
                resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    run_folder = tmp_path / "run"
    try:
        with pytest.raises(OSError, match=r"could not save .*step-8: .*step-4; make room"):
            pretrain(config, run_folder, progress=Fills())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert sorted(p.name for p in run_folder.iterdir()) == [
        "config.toml",
        "metrics.jsonl",
        "step-4",
    ]
    result = pretrain(config, run_folder, resume=True, progress=world.silent())
    assert result.step == 12
    name = "step-12/model.safetensors"
    assert (run_folder / name).read_bytes() == (unbroken / name).read_bytes()


def test_loading_gives_back_weights_and_moments(
    config: Config, shards_folder: Path, unbroken: Path
) -> None:
    state = RunState.new(config, Shards.open(shards_folder))
    checkpoint.load(unbroken / "step-8", state)
    assert state.step == 8
    saved = load_file(unbroken / "step-8" / checkpoint.OPTIMIZER)
    for name, tensor in checkpoint.optimizer_tensors(state.model, state.optimizer).items():
        assert torch.equal(tensor, saved[name])
    weights = load_file(unbroken / "step-8" / "model.safetensors")
    assert all(torch.equal(state.model.state_dict()[name], weights[name]) for name in weights)
    assert all(moments["step"] == 8 for moments in state.optimizer.state.values())


def test_config_of_the_run(unbroken: Path, config: Config) -> None:
    assert (unbroken / "config.toml").read_text() == to_toml(config)
    assert load_config(unbroken / "config.toml") == config
