"""A small world with everything that can be damaged: analysis, shards, and a run half-way."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from komlm.config import Config, DataConfig, ModelConfig, RowsConfig, TrainingConfig
from komlm.corpus import analyze as analyze_module
from komlm.corpus.analyze import analyze
from komlm.corpus.prepare import prepare
from komlm.corpus.source import Source, find_source
from komlm.inference import fill_mask
from komlm.pipeline import train_tokenizer
from komlm.processes import Advance
from komlm.text.analysis import Analyzer
from komlm.training.loop import pretrain
from tests.corpus.disk import contents, write_jsonl

TEXTS = [
    f"{place}에 갔다가 {thing}를 {number}개 샀다. 그 {thing}가 {place}에서 가장 맛있었다."
    for number, place in enumerate(("학교", "시장", "바다", "가게", "공원", "서울", "부산"), 1)
    for thing in ("사과", "포도", "모자", "의자", "커피", "피자")
]
STOPPED, STEPS = 4, 6
"""The run was stopped after its second checkpoint, and has one to go."""


class Silent:
    """Keeps what a run says."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def on_step(self, step: int, steps: int, loss: float, tokens_per_s: float) -> None:
        pass

    def on_message(self, text: str) -> None:
        self.messages.append(text)


class StopsAfter(Silent):
    """Stops a run after a step, as whoever sends it SIGTERM does."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step

    def on_step(self, step: int, steps: int, loss: float, tokens_per_s: float) -> None:
        if step == self.step:
            signal.raise_signal(signal.SIGTERM)


@dataclass(frozen=True)
class World:
    """Folders that are whole; not to be changed."""

    source: Source
    tokenizer: Path
    analysis: Path
    shards: Path
    config: Config
    unbroken: Path
    """A run that was never stopped."""
    stopped: Path
    """The same run, stopped after step 4."""


@contextmanager
def _no_bar(what: str, total: int, unit: str) -> Iterator[Advance]:
    yield lambda amount: None


@pytest.fixture(scope="package", autouse=True)
def small_parts(analyzer: Analyzer) -> Iterator[None]:
    """Parts of seven documents, one Kiwi for all, and one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(analyze_module, "DOCUMENTS_IN_A_PART", 7)
        patch.setattr(analyze_module, "_analyzer", lambda dictionary, sha256: analyzer)
        patch.setattr(fill_mask, "Analyzer", lambda dictionary=None: analyzer)
        yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="package")
def world(small_parts: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    source = find_source(str(write_jsonl(folder / "corpus.jsonl", TEXTS)))
    analyze(source, folder / "analysis")
    train_tokenizer([str(folder / "analysis")], folder / "tok", _no_bar, 90)
    prepare(folder / "analysis", folder / "tok", folder / "shards", heldout=0.3)
    training = TrainingConfig(
        steps=STEPS,
        batch_rows=4,
        micro_batch_rows=4,
        warmup_steps=2,
        device="cpu",
        log_every=1,
        evaluate_every=2,
        evaluate_rows=4,
        checkpoint_every=2,
        keep_checkpoints=0,
    )
    config = Config(
        data=DataConfig(shards=str(folder / "shards")),
        model=ModelConfig(size="mini"),
        rows=RowsConfig(max_length=32),
        training=training,
    )
    pretrain(config, folder / "unbroken", progress=Silent())
    pretrain(config, folder / "stopped", progress=StopsAfter(STOPPED))
    made = World(
        source=source,
        tokenizer=folder / "tok",
        analysis=folder / "analysis",
        shards=folder / "shards",
        config=config,
        unbroken=folder / "unbroken",
        stopped=folder / "stopped",
    )
    before = contents(folder)
    yield made
    assert contents(folder) == before
