from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from komlm.checkpoints import STATE, checkpoints, damage_of, find_model, last_whole, step_of
from komlm.files import sha256_of, write_json


def checkpoint(folder: Path, step: int | None = None) -> Path:
    (folder / "state").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "state" / "optimizer.safetensors").write_bytes(b"moments")
    files = {
        path.relative_to(folder).as_posix(): sha256_of(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    write_json(folder / STATE, {"step": step or step_of(folder), "files": files})
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    for step in (9, 10, 100):
        checkpoint(tmp_path / "run" / f"step-{step}")
    (tmp_path / "run" / "metrics.jsonl").touch()
    return tmp_path / "run"


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("step-100", 100),
        ("step-0", 0),
        ("step-", None),
        ("step--1", None),
        ("step-1.unfinished", None),
        ("step-١", None),
        ("steps-1", None),
        ("1", None),
    ],
)
def test_step_of(name: str, step: int | None) -> None:
    assert step_of(Path("run") / name) == step


def test_checkpoints_go_by_number_and_others_are_no_checkpoints(run: Path) -> None:
    (run / "step-200.unfinished").mkdir()
    (run / "step-300").touch()
    assert [folder.name for folder in checkpoints(run)] == ["step-9", "step-10", "step-100"]
    assert checkpoints(run / "nosuch") == []


DAMAGES = {
    "a file cut short": lambda f: (f / "model.safetensors").write_bytes(b"weight"),
    "a flipped bit": lambda f: (f / "model.safetensors").write_bytes(b"veights"),
    "a missing file": lambda f: (f / "state" / "optimizer.safetensors").unlink(),
    "a missing state": lambda f: (f / STATE).unlink(),
    "an edited state": lambda f: (f / STATE).write_text('{"step": 100}'),
    "a state that is no JSON": lambda f: (f / STATE).write_bytes(b"\xff"),
    "a state without files": lambda f: write_json(f / STATE, {"step": 100}),
    "another step": lambda f: write_json(f / STATE, {"step": 90, "files": {}}),
    "a folder for a file": lambda f: (
        (f / "model.safetensors").unlink(),
        (f / "model.safetensors").mkdir(),
    ),
    "a file for a folder": lambda f: (shutil.rmtree(f / "state"), (f / "state").touch()),
    "no state": lambda f: shutil.rmtree(f / "state"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_skipped_and_said(run: Path, damage: str) -> None:
    told: list[str] = []
    assert last_whole(run, told.append) == run / "step-100"
    assert damage_of(run / "step-100") == ""
    DAMAGES[damage](run / "step-100")
    assert damage_of(run / "step-100")
    assert last_whole(run, told.append) == run / "step-10"
    assert find_model(run, told.append) == run / "step-10"
    assert len(told) == 2
    assert told[0] == told[1]
    assert told[0].startswith(f"{run / 'step-100'} is damaged and skipped: ")
    if damage != "no state":  # then it is a Hugging Face folder, made for others
        with pytest.raises(ValueError, match="step-100 is damaged: .*[^.]. Use another"):
            find_model(run / "step-100", told.append)


def test_a_run_whose_checkpoints_are_all_damaged_is_refused(run: Path) -> None:
    """Neither does a run begin anew in their place, nor is there a model."""
    told: list[str] = []
    for folder in checkpoints(run):
        (folder / "model.safetensors").unlink()
    for look in (last_whole, find_model):
        told.clear()
        with pytest.raises(
            ValueError, match="no checkpoint of .*run is whole: restore one of"
        ) as e:
            look(run, told.append)
        assert "step-9, step-10, step-100 from a copy" in str(e.value)
        assert len(told) == 3
        assert "model.safetensors is missing" in told[0]


def test_a_run_without_a_checkpoint_has_no_model(run: Path) -> None:
    for folder in checkpoints(run):
        shutil.rmtree(folder)
    assert last_whole(run, print) is None
    with pytest.raises(FileNotFoundError, match="no model in .*run"):
        find_model(run, print)


def test_a_damaged_state_is_told_once(run: Path) -> None:
    (run / "step-100" / STATE).write_bytes(b"{")
    damage = damage_of(run / "step-100")
    assert damage.startswith("state/state.json is damaged, it is no JSON (")
    assert str(run) not in damage
    assert damage.count("damaged") == 1


def test_a_checkpoint_under_another_name_is_a_model(run: Path, tmp_path: Path) -> None:
    told: list[str] = []
    named = shutil.copytree(run / "step-100", tmp_path / "mine")
    assert find_model(named, told.append) == named
    (named / "model.safetensors").write_bytes(b"")
    with pytest.raises(ValueError, match="mine is damaged"):
        find_model(named, told.append)
    assert told == []


def test_a_folder_of_others_is_taken_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="komlm pretrain"):
        find_model(tmp_path, print)
    with pytest.raises(FileNotFoundError, match="no model in"):
        find_model(tmp_path / "klue" / "bert-base", print)
    (tmp_path / "config.json").write_text("{}")
    assert find_model(tmp_path, print) == tmp_path
