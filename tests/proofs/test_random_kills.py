"""The real commands, killed or stopped at random moments: the same command goes on to the same
bytes. Twenty kills and ten SIGTERMs of each with ``PROOF_SIZE=whole``.

A command spends most of its time on loading libraries, where there is little to lose: so three
moments of four are counted from its first finished part or checkpoint on, and one from its start.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from komlm.checkpoints import checkpoints, damage_of, step_of
from komlm.config import Config, ModelConfig, RowsConfig, TrainingConfig, to_toml
from komlm.corpus import read_documents
from komlm.corpus.source import find_source
from komlm.training.metrics import TIME_FIELDS
from tests.corpus.disk import contents, write_jsonl
from tests.proof_size import is_whole
from tests.proofs.commands import run

pytestmark = pytest.mark.slow

KILLS, TERMS = (20, 10) if is_whole() else (2, 2)
MOMENTS = [
    *((signal.SIGKILL, number) for number in range(KILLS)),
    *((signal.SIGTERM, number) for number in range(TERMS)),
]
STOPPED = 128 + signal.SIGTERM
_COMMANDS = [("analyze", 1), ("prepare", 1), ("pretrain", 1), ("analyze", 2), ("prepare", 2)]
STEPS = 60


class Stages(NamedTuple):
    """What was made without a kill, and how long each command took."""

    folder: Path
    corpus: Path
    recipe: Path
    seconds: dict[tuple[str, int, bool], float]
    """Of each command and number of workers: from its first part on, or (False) in all."""


@pytest.fixture(scope="module")
def stages(tokenizer_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Stages:
    """The sentences of the embedded corpus, thousands of short documents in a few parts."""
    folder = tmp_path_factory.mktemp("stages")
    shutil.copytree(tokenizer_folder, folder / "tok")
    texts = [document.text for document in read_documents(find_source("mini"))]
    sentences = [s for text in texts for s in re.split(r"(?<=[.?!])\s+", text) if s]
    corpus = write_jsonl(folder / "corpus.jsonl", sentences)
    training = TrainingConfig(
        steps=STEPS,
        batch_rows=4,
        micro_batch_rows=4,
        warmup_steps=2,
        device="cpu",
        log_every=1,
        evaluate_every=10,
        evaluate_rows=4,
        checkpoint_every=4,
        keep_checkpoints=3,
    )
    config = Config(
        model=ModelConfig(size="mini"), rows=RowsConfig(max_length=32), training=training
    )
    recipe = folder / "recipe.toml"
    recipe.write_text(to_toml(config), encoding="utf-8")
    made = Stages(folder, corpus, recipe, {})
    for command, workers in _COMMANDS:
        output = folder / (command if workers == 1 else f"{command}-{workers}")
        typed = arguments(made, command, output, workers)
        ended = run(typed, folder / "log", since=clock(output, from_first=True))
        assert ended.status == 0, ended.err
        made.seconds[command, workers, False] = ended.seconds
        made.seconds[command, workers, True] = ended.worked
        if workers > 1:
            assert contents(output) == contents(folder / command)
    print(f"\nseconds of each command, undisturbed: {made.seconds}")
    return made


def clock(output: Path, from_first: bool) -> Callable[[], bool]:
    """When the seconds begin to count: with the first part or checkpoint, or at once."""

    def is_there() -> bool:
        return any(output.glob("part-*.json")) or bool(checkpoints(output))

    return is_there if from_first else lambda: True


def arguments(stages: Stages, command: str, output: Path, workers: int) -> list[object]:
    """What is typed after ``komlm``."""
    folder = stages.folder
    if command == "analyze":
        return ["analyze", stages.corpus, "-o", output, "--workers", workers]
    if command == "prepare":
        tokenizer = ["--tokenizer", folder / "tok", "--heldout", 0.1]
        return ["prepare", folder / "analyze", *tokenizer, "-o", output, "--workers", workers]
    shards = f"data.shards={folder / 'prepare'}"
    return ["pretrain", stages.recipe, "--set", shards, "-o", output, "--resume"]


class Moment(NamedTuple):
    """When a command is stopped."""

    after: float
    from_first: bool
    """Seconds are counted from the first finished part or checkpoint on."""


def moment(stages: Stages, command: str, workers: int, signal_number: int, number: int) -> Moment:
    """A seeded one, within what an undisturbed run takes."""
    dice = random.Random(f"{command} {workers} {signal_number} {number}")
    from_first = number % 4 != 3
    seconds = stages.seconds[command, workers, from_first]
    return Moment(dice.uniform(0.0, 1.0) * seconds, from_first)


@pytest.fixture(scope="module")
def tally() -> Any:
    counts: Counter[str] = Counter()
    yield counts
    print("\n" + "\n".join(f"{name}: {number}" for name, number in sorted(counts.items())))


@pytest.mark.parametrize(("signal_number", "number"), MOMENTS)
@pytest.mark.parametrize("command", ["analyze", "prepare"])
def test_a_stage(
    command: str,
    signal_number: signal.Signals,
    number: int,
    stages: Stages,
    tmp_path: Path,
    tally: Counter[str],
) -> None:
    workers = 1 + number % 2
    output, log = tmp_path / "made", tmp_path / "log"
    typed = arguments(stages, command, output, workers)
    after, from_first = moment(stages, command, workers, signal_number, number)
    ended = run(typed, log, signal_number, after, clock(output, from_first))
    assert ended.status in (128 + signal_number, 0), ended.err
    parts = [path.name for path in sorted(output.rglob("part-*.arrow"))]
    records = {path: path.stat() for path in sorted(output.glob("part-*.json"))}
    assert parts or not from_first
    where = "after its end" if ended.status == 0 else f"with {'some' if parts else 'no'} parts"
    tally[f"{command}, {signal_number.name} {where}"] += 1
    kept = {name: (output / name).stat().st_ino for path in records for name in files_of(path)}
    assert run(typed, log).status == 0, log.read_text("utf-8")
    assert contents(output) == contents(stages.folder / command)
    assert {name: (output / name).stat().st_ino for name in kept} == kept


def files_of(record: Path) -> list[str]:
    """The files that a finished part's record tells of."""
    return list(json.loads(record.read_text("utf-8"))["files"])


@pytest.mark.parametrize(("signal_number", "number"), MOMENTS)
def test_pretrain(
    signal_number: signal.Signals,
    number: int,
    stages: Stages,
    tmp_path: Path,
    tally: Counter[str],
) -> None:
    output, log = tmp_path / "run", tmp_path / "log"
    typed = arguments(stages, "pretrain", output, 1)
    after, from_first = moment(stages, "pretrain", 1, signal_number, number)
    ended = run(typed, log, signal_number, after, clock(output, from_first))
    assert ended.status in (128 + signal_number, 0), ended.err
    steps = [step_of(folder) or 0 for folder in checkpoints(output)]
    assert steps or not from_first
    assert not any(map(damage_of, checkpoints(output)))
    where = "after its end" if ended.status == 0 else f"with {'a' if steps else 'no'} checkpoint"
    tally[f"pretrain, {signal_number.name} {where}"] += 1
    if "--resume goes on" in ended.err:
        assert ended.status == STOPPED
        assert [line["step"] for line in untimed(output)][-1] == steps[-1]
    assert run(typed, log).status == 0, log.read_text("utf-8")
    assert untimed(output) == untimed(stages.folder / "pretrain")
    whole, left = bytes_of(stages.folder / "pretrain"), bytes_of(output)
    # The checkpoint that SIGTERM asked for may be among the newest, which are kept.
    assert {name: left[name] for name in whole if name in left} == {
        name: whole[name] for name in whole if name in left
    }
    asked = {f"step-{step}" for step in steps[-1:]} if signal_number == signal.SIGTERM else set()
    assert {Path(name).parts[0] for name in left.keys() - whole.keys()} <= asked
    assert len(checkpoints(output)) == len(checkpoints(stages.folder / "pretrain"))
    assert f"step-{STEPS}/state/state.json" in left


def bytes_of(run_folder: Path) -> dict[str, bytes]:
    found = contents(run_folder)
    del found["metrics.jsonl"]
    return found


def untimed(run_folder: Path) -> list[dict[str, Any]]:
    lines = (run_folder / "metrics.jsonl").read_text("utf-8").splitlines()
    return [
        {key: value for key, value in json.loads(line).items() if key not in TIME_FIELDS}
        for line in lines
    ]
