"""Damage in the folder of a run, and two runs on one folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from komlm.checkpoints import STATE, checkpoints
from komlm.config import Config, MaskingConfig, load_config
from komlm.files import LOCK
from komlm.training.loop import pretrain
from komlm.training.metrics import MetricsFile, read_metrics
from komlm.training.run_folder import check_run_folder, open_run_folder
from tests.holding import held_elsewhere

World = Any


@pytest.fixture
def run(unbroken: Path, tmp_path: Path) -> Path:
    """A copy of a whole run, to be spoilt; its last checkpoint is gone."""
    copy = Path(shutil.copytree(unbroken, tmp_path / "run"))
    shutil.rmtree(copy / "step-12")
    return copy


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_text(path.read_text()[:70]),
        lambda path: path.write_bytes(b"\xff"),
        lambda path: path.unlink(),
        lambda path: edit(path, "ratio = 0.15", "ratio = 0.55"),
    ],
)
def test_checkpoints_tell_the_settings_where_config_toml_does_not(
    run: Path, config: Config, unbroken: Path, world: World, spoil: Callable[[Path], Any]
) -> None:
    spoil(run / "config.toml")
    other = replace(config, masking=MaskingConfig(ratio=0.3))
    with pytest.raises(ValueError, match=r"step-8 belongs to .*masking.ratio was 0.15, now 0.3"):
        check_run_folder(run, other, resume=True)
    assert pretrain(config, run, resume=True, progress=world.silent()).step == 12
    assert load_config(run / "config.toml") == config
    name = "step-12/model.safetensors"
    assert (run / name).read_bytes() == (unbroken / name).read_bytes()


def test_settings_that_nothing_tells_have_a_way_out(run: Path, config: Config) -> None:
    for folder in checkpoints(run):
        (folder / STATE).write_text("{")
    check_run_folder(run, config, resume=True)
    edit(run / "config.toml", "[masking]", "[masking")
    with pytest.raises(ValueError, match=r"config\.toml: not a TOML.*restore .* from a copy, or"):
        check_run_folder(run, config, resume=True)


def test_a_run_that_was_killed_before_its_first_word_begins(tmp_path: Path, config: Config) -> None:
    (tmp_path / LOCK).touch()
    check_run_folder(tmp_path, config, resume=False)
    (tmp_path / "config.toml.unfinished").touch()
    check_run_folder(tmp_path, config, resume=True)
    open_run_folder(tmp_path, config).close()
    assert [path.name for path in tmp_path.iterdir()] == ["config.toml"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{"step": 8, "loss"', '{"step": 9, "loss"'),
        ('{"step": 8, "loss"', '{"step": 8, "lgss"'),
        ('{"step": 8, "loss"', '{"step": 8 "loss"'),
        ('{"step": 4, "loss"', '{"step": 5, "loss"'),
        ('{"step": 6, "heldout"', '{"step": 6, "hfldout"'),
        ('{"step": 2, "loss"', '\n{"step": 2, "loss"'),
        ('"seconds": ', '"seconds": 0'),
        ('{"step": 10, "loss"', '{"step": 1, "loss"'),
    ],
)
def test_damaged_metrics_are_told_and_may_be_moved_away(
    run: Path, config: Config, world: World, capsys: pytest.CaptureFixture[str], old: str, new: str
) -> None:
    path = run / "metrics.jsonl"
    edit(path, old, new)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"metrics\.jsonl is damaged: its lines up to step 8"):
        pretrain(config, run, resume=True, progress=world.silent())
    assert path.read_bytes() == before
    path.rename(run.parent / "metrics.jsonl")
    assert pretrain(config, run, resume=True, progress=world.silent()).step == 12
    assert "metrics.jsonl is missing: what it told up to step 8 is lost" in capsys.readouterr().err
    assert [line["step"] for line in read_metrics(path)] == [10, 12, 12]
    assert pretrain(config, run, resume=True, progress=world.silent()).step == 12


def test_later_lines_are_made_again_whatever_they_say(
    run: Path, config: Config, unbroken: Path, world: World
) -> None:
    """Half a line and a torn one are what a lost power leaves past a checkpoint."""
    path = run / "metrics.jsonl"
    edit(path, '{"step": 10, "loss"', '{"step": 1\x00, "loss"')
    path.write_bytes(path.read_bytes()[:-20])
    pretrain(config, run, resume=True, progress=world.silent())
    steps = [line["step"] for line in read_metrics(unbroken / "metrics.jsonl")]
    assert [line["step"] for line in read_metrics(path)] == steps


def test_metrics_before_the_first_checkpoint_are_made_again(tmp_path: Path, config: Config) -> None:
    """One flipped bit makes step 2 step 0, which a run at step 0 would keep."""
    open_run_folder(tmp_path, config).close()
    (tmp_path / "metrics.jsonl").write_text('{"step": 0, "loss": 9.5, "seconds": 1.5}\n')
    with open_run_folder(tmp_path, config), MetricsFile(tmp_path / "metrics.jsonl", 0):
        assert (tmp_path / "metrics.jsonl").read_bytes() == b""


def test_a_second_run_is_kept_away(run: Path, config: Config) -> None:
    (run / "step-12.unfinished").mkdir()
    with held_elsewhere(run) as holder:
        with pytest.raises(ValueError, match="another run is working on .*run: wait"):
            open_run_folder(run, config)
        assert (run / "step-12.unfinished").exists()
        holder.kill()
    with open_run_folder(run, config):
        assert not (run / "step-12.unfinished").exists()
        assert (run / LOCK).exists()
    assert not (run / LOCK).exists()


def test_two_trainings_at_once(run: Path, config: Config, world: World) -> None:
    """The second one touches nothing; a run that has ended, well or not, keeps nobody away."""
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with held_elsewhere(run) as holder:
        with pytest.raises(ValueError, match="another run is working on .*run: wait"):
            pretrain(config, run, resume=True, progress=world.silent())
        holder.communicate()
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    seen = []

    class Looks(world.silent):  # type: ignore[misc, name-defined]
        def on_step(self, step: int, steps: int, loss: float, tokens_per_s: float) -> None:
            seen.append((run / LOCK).exists())

    pretrain(config, run, resume=True, progress=Looks())
    assert all(seen)
    assert len(seen) == 4
    assert not (run / LOCK).exists()
