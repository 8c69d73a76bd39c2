"""A run that goes on at step 1,000,000 does no more before its first step than one at step 100."""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from komlm.checkpoints import STATE
from komlm.config import Config
from komlm.data.rows import RowSource
from komlm.files import read_json, sha256_of, write_json
from komlm.training.loop import pretrain
from komlm.training.run_folder import metrics_sum
from tests.proof_size import is_whole
from tests.proofs.conftest import STOPPED, StopsAfter, World

NEAR, FAR = 100, 1_000_000


@pytest.fixture(scope="module")
def config(world: World) -> Config:
    """A run that is long enough to have a step 1,000,000."""
    training = replace(
        world.config.training, steps=2_000_000, log_every=1_000, evaluate_every=1_000
    )
    return replace(world.config, training=training)


@pytest.fixture(scope="module")
def begun(config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run, stopped after a few steps."""
    folder = tmp_path_factory.mktemp("far") / "begun"
    pretrain(config, folder, progress=StopsAfter(STOPPED))
    return folder


def moved(begun: Path, folder: Path, step: int) -> Path:
    """A copy of the run as if it had come to ``step``, with a line of metrics every ten steps."""
    shutil.copytree(begun, folder)
    for checkpoint in folder.glob("step-*"):
        if checkpoint.name != f"step-{STOPPED}":
            shutil.rmtree(checkpoint)
    there = (folder / f"step-{STOPPED}").rename(folder / f"step-{step}")
    with (folder / "metrics.jsonl").open("w", encoding="utf-8") as file:
        for at in range(10, step + 1, 10):
            line = {"step": at, "loss": 4.5, "learning_rate": 1e-4, "gradient_norm": 0.25}
            line |= {"hidden": 18, "tokens": 120, "seconds": at / 10, "tokens_per_s": 1200.0}
            file.write(json.dumps(line) + "\n")
            if at % 1_000 == 0 or at == NEAR:
                file.write(json.dumps({"step": at, "heldout": {"rows": 4, "loss": 4.5}}) + "\n")
    state = read_json(there / STATE)
    write_json(there / STATE, {**state, "step": step, "metrics": metrics_sum(folder)})
    return folder


class FirstStep(StopsAfter):
    """Notes when the files were loaded and when the first step was done, and stops the run.

    Attributes:
        calls: how many calls ``counted`` holds when the step is done.
    """

    def __init__(self, counted: list[int] | None = None) -> None:
        super().__init__(step=-1)
        self.loaded = self.stepped = 0.0
        self.counted = [0] if counted is None else counted
        self.calls = self.at = 0

    def on_message(self, text: str) -> None:
        if text.startswith("going on after"):
            self.loaded = time.perf_counter()

    def on_step(self, step: int, steps: int, loss: float, tokens_per_s: float) -> None:
        self.stepped, self.calls = time.perf_counter(), self.counted[0]
        self.at = self.step = step
        super().on_step(step, steps, loss, tokens_per_s)


@contextmanager
def calls() -> Iterator[list[int]]:
    """Counts the Python calls, and those into C, of all threads while the block runs."""
    count = [0]

    def note(frame: Any, event: str, argument: Any) -> None:
        count[0] += event in ("call", "c_call")

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield count
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]


def test_as_much_is_done_before_the_first_step(
    config: Config, begun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows read, and calls made by Python, from the call of the loop to the end of a step."""
    asked: list[int] = []
    batch = RowSource.batch
    monkeypatch.setattr(
        RowSource, "batch", lambda self, numbers: asked.append(len(numbers)) or batch(self, numbers)
    )
    rows, made = {}, {}
    for step in (NEAR, NEAR, FAR):  # what comes first fills caches
        run_folder = moved(begun, tmp_path / f"run-{len(rows)}-{step}", step)
        asked.clear()
        with calls() as counted:
            progress = FirstStep(counted)
            pretrain(config, run_folder, resume=True, progress=progress)
        assert progress.at == step + 1
        rows[step], made[step] = sum(asked), progress.calls
        shutil.rmtree(run_folder)
    # The step's own rows, and those that are got ready for the next one.
    assert rows[FAR] == rows[NEAR] == 2 * config.training.batch_rows
    assert made[FAR] == pytest.approx(made[NEAR], rel=0.02)


@pytest.mark.slow
def test_the_time_it_takes(config: Config, begun: Path, tmp_path: Path) -> None:
    """Printed, not asserted: seconds from the loaded files to the first step, and for it all."""
    for step in (NEAR, FAR):
        loading, stepping = [], []
        for number in range(5 if is_whole() else 1):
            run_folder = moved(begun, tmp_path / f"run-{step}-{number}", step)
            progress, begin = FirstStep(), time.perf_counter()
            pretrain(config, run_folder, resume=True, progress=progress)
            loading.append(progress.loaded - begin)
            stepping.append(progress.stepped - progress.loaded)
            assert sha256_of(run_folder / f"step-{step + 1}" / "model.safetensors")
        print(
            f"\nresumed at step {step:,}: files loaded in {statistics.median(loading):.3f} s, "
            f"first step {statistics.median(stepping):.3f} s after that"
        )
