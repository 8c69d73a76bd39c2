from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

import komlm.corpus.analyze
import komlm.terminal
from komlm.config import load_config
from komlm.files import sha256_of
from komlm.text.analysis import Analyzer
from tests.cli.conftest import Run

RECIPE = """
examples = ["나는 [MASK]에 갔다."]
[data]
corpus = "letters.txt"
vocabulary_size = 80
heldout = 0.2
[model]
size = "mini"
[rows]
max_length = 32
[training]
steps = 6
batch_rows = 8
micro_batch_rows = 8
warmup_steps = 2
log_every = 2
evaluate_every = 6
evaluate_rows = 8
checkpoint_every = 3
device = "cpu"
"""
PLACES = ["학교", "시장", "바다", "도서관", "병원", "공원", "서울", "부산"]
WORDS = ["어제", "오늘", "아침에", "친구와", "혼자", "천천히"]


def world(folder: Path) -> Path:
    """A corpus of a few dozen sentences, and a recipe that learns from it."""
    lines = [f"나는 {word} {place}에 갔다." for word in WORDS for place in PLACES]
    (folder / "letters.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    recipe = folder / "letters.toml"
    recipe.write_text(RECIPE, encoding="utf-8")
    return recipe


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, analyzer: Analyzer) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(komlm.corpus.analyze, "Analyzer", lambda dictionary=None: analyzer)
    return tmp_path


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def kill_at(monkeypatch: pytest.MonkeyPatch, step: int, number: int) -> None:
    told = komlm.terminal.TrainingBar.on_step

    def on_step(
        bar: komlm.terminal.TrainingBar, at: int, steps: int, loss: float, speed: float
    ) -> None:
        told(bar, at, steps, loss, speed)
        if at == step:
            os.kill(os.getpid(), number)

    monkeypatch.setattr(komlm.terminal.TrainingBar, "on_step", on_step)


def test_a_run_from_a_corpus_to_filled_masks_and_on(
    komlm: Run, in_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world(in_folder)
    first = komlm("pretrain", "letters.toml")
    assert first.code == 0, first.err
    run = in_folder / "runs" / "letters"
    assert sorted(path.name for path in run.iterdir()) == [
        "config.toml",
        "metrics.jsonl",
        "step-3",
        "step-6",
    ]
    shards = Path("runs/letters.data/shards")
    assert load_config(run / "config.toml").data.shards == str(shards)
    assert [line["step"] for line in lines_of(run / "metrics.jsonl") if "loss" in line] == [2, 4, 6]
    assert "나는 ____에 갔다." in first.out
    assert first.out.count(" %  ") >= 3
    assert 'komlm fill-mask runs/letters "나는 어제 [MASK]에 갔다."' in first.out

    again = komlm("pretrain", "letters.toml")
    assert (again.code, again.out) == (1, "")
    assert "runs/letters exists already" in again.err
    assert "--resume" in again.err
    assert "-o" in again.err

    # The same run stopped after its second step, and taken up.
    arguments = ("pretrain", "letters.toml", "--set", f"data.shards={shards}", "-o", "other")
    for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        with monkeypatch.context() as patch:
            kill_at(patch, 2 if number == signal.SIGTERM else 5, number)
            resume = ("--resume",) if number == signal.SIGINT else ()
            stopped = komlm(*arguments, *resume)
        assert (stopped.code, stopped.out) == (code, "")
        assert "--resume goes on" in stopped.err
        assert "Traceback" not in stopped.err
    assert {path.name for path in Path("other").glob("step-*")} == {"step-2", "step-3", "step-5"}
    assert komlm(*arguments, "--resume").code == 0
    for name in ("model.safetensors", "state/optimizer.safetensors"):
        assert sha256_of(run / "step-6" / name) == sha256_of(Path("other/step-6") / name)

    # A damaged checkpoint is skipped for the last whole one, and said.
    weights = run / "step-6" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    filled = komlm("fill-mask", run, "나는 [MASK]에 갔다.", "--json")
    assert filled.code == 0
    assert "step-6 is damaged and skipped" in filled.err
    assert filled.objects[0]["masks"][0]["candidates"]
    damaged = komlm("fill-mask", run / "step-6", "나는 [MASK]에 갔다.")
    assert damaged.code == 1
    assert "model.safetensors does not have the checksum" in damaged.err

    other = komlm("pretrain", "letters.toml", "--set", "masking.ratio=0.3", "--resume")
    assert other.code == 1
    assert "masking.ratio was 0.15, now 0.3" in other.err


def test_the_stages_one_by_one(komlm: Run, in_folder: Path, tokenizer_folder: Path) -> None:
    world(in_folder)
    analyzed = komlm("analyze", "letters.txt", "-o", "analysis", "--json")
    assert analyzed.code == 0, analyzed.err
    assert analyzed.objects[0]["documents"] == len(PLACES) * len(WORDS)
    trained = komlm("tokenizer", "train", "analysis", "-o", "tok", "--vocab-size", "5000")
    assert trained.code == 1
    assert "--at-most" in trained.err
    trained = komlm("tokenizer", "train", "analysis", "-o", "tok", "--vocab-size", "80", "--json")
    assert trained.objects == [{"tokenizer": "tok", "entries": 80}]
    again = komlm("tokenizer", "train", "analysis", "-o", "tok", "--vocab-size", "80")
    assert again.code == 1
    assert "exists already" in again.err
    prepared = komlm(
        "prepare", "analysis", "--tokenizer", "tok", "-o", "shards", "--heldout", "0.2"
    )
    assert prepared.code == 0, prepared.err
    assert "straddle rate: 0.0\n" in prepared.out
    assert "shards: shards\n" in prepared.out
    none = komlm("prepare", "analysis", "--tokenizer", "tok", "-o", "s2", "--heldout", "0.000001")
    assert "--heldout" in none.err
    aligned = komlm("align", "나는 공원에 갔다.", "--tokenizer", "tok", "--json").objects[0]
    assert [unit["class"] for unit in aligned["units"]["eojeol"]] == ["noun", "noun", "predicate"]
    imported = komlm("tokenizer", "import", "tok/tokenizer.model", "-o", "tok2")
    assert imported.code == 0, imported.err
    assert imported.out.startswith("tokenizer: tok2\nentries: 80")


def test_a_corpus_that_is_not_utf8_is_named(komlm: Run, in_folder: Path) -> None:
    Path("a.txt").write_bytes("가나".encode("cp949"))
    answer = komlm("analyze", "a.txt", "-o", "analysis")
    assert answer.code == 1
    assert "a.txt, line 1: byte 0xb0" in answer.err
    assert not Path("analysis").exists() or not list(Path("analysis").glob("*.arrow"))
