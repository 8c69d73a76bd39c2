"""A small world for runs of seconds: synthetic shards, a tokenizer of 64 entries, tiny settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast

from komlm.config import Config, ModelConfig, RowsConfig, TrainingConfig
from komlm.data.shards import write_shard
from komlm.files import sha256_of, write_json
from komlm.text.tags import TAG_CODE
from komlm.training.loop import pretrain
from komlm.types import Flag

SPECIAL = {"unk": 0, "pad": 1, "cls": 2, "sep": 3, "mask": 4}
VOCABULARY = 64
NOUN, JOSA, STOP = (TAG_CODE[tag] for tag in ("NNG", "JKB", "SF"))


def write_tokenizer(folder: Path, size: int = VOCABULARY) -> None:
    """Words w5, w6, ... at the ids 5, 6, ..."""
    names = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]"] + [f"w{i}" for i in range(5, size)]
    tokenizer = Tokenizer(WordLevel({name: i for i, name in enumerate(names)}, "[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    ).save_pretrained(folder)


def document(generator: np.random.Generator, eojeols: int) -> dict[str, np.ndarray]:
    """Eojeols of a noun of two pieces, the second following from the first, and a josa; a full stop
    at the end of the last."""
    ids, starts, tags = [], [], []
    for number in range(eojeols):
        first = int(generator.integers(5, 30))
        ids += [first, first + 25, 60 + first % 3]
        begin = Flag.MORPHEME | Flag.EOJEOL
        starts += [begin | (Flag.SENTENCE | Flag.DOCUMENT if number == 0 else 0), 0, Flag.MORPHEME]
        tags += [NOUN, NOUN, JOSA]
    arrays = {"input_ids": [*ids, 63], "starts": [*starts, Flag.MORPHEME], "tags": [*tags, STOP]}
    return {name: np.array(values) for name, values in arrays.items()}


def write_shards(folder: Path, documents: int = 45, seed: int = 0) -> Path:
    """Documents of about a row each, 40 rows of 32 in all, and ten held-out ones."""
    generator = np.random.default_rng(seed)
    parts = {}
    for split, number in (("train", documents), ("heldout", 10)):
        made = [document(generator, int(generator.integers(7, 10))) for _ in range(number)]
        path = folder / split / "part-00000.arrow"
        path.parent.mkdir(parents=True)
        offsets = np.cumsum([0] + [len(one["input_ids"]) for one in made])
        columns = [
            np.concatenate([one[c] for one in made]) for c in ("input_ids", "starts", "tags")
        ]
        write_shard(path, *columns, offsets, VOCABULARY)
        parts[f"{split}/{path.name}"] = {
            "sha256": sha256_of(path),
            "documents": number,
            "pieces": int(offsets[-1]),
        }
    write_tokenizer(folder / "tokenizer")
    manifest: dict[str, Any] = {
        "kind": "shards",
        "vocabulary_size": VOCABULARY,
        "special_ids": SPECIAL,
        "tokenizer": {},
        "identity": f"{seed:064x}",
        "counts": {"documents": documents + 10, "pieces": 1000, "straddles": 5},
        "parts": parts,
    }
    write_json(folder / "manifest.json", manifest)
    return folder


@pytest.fixture(scope="session")
def shards_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_shards(tmp_path_factory.mktemp("world") / "shards")


@pytest.fixture(scope="session")
def config(shards_folder: Path) -> Config:
    """12 steps of 8 rows: two epochs and a bit over 40 rows, dropout on."""
    base = Config(
        model=ModelConfig(size="mini", dropout=0.1),
        rows=RowsConfig(max_length=32),
        training=TrainingConfig(
            steps=12,
            batch_rows=8,
            micro_batch_rows=4,
            learning_rate=1e-3,
            warmup_steps=2,
            device="cpu",
            log_every=2,
            evaluate_every=6,
            evaluate_rows=6,
            checkpoint_every=4,
            keep_checkpoints=0,
        ),
    )
    return replace(base, data=replace(base.data, shards=str(shards_folder)))


def with_training(config: Config, **changes: Any) -> Config:
    return replace(config, training=replace(config.training, **changes))


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Models this small are slower on two threads, much so where other programs run."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def unbroken(config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that was never stopped; not to be changed."""
    run_folder = tmp_path_factory.mktemp("runs") / "unbroken"
    pretrain(config, run_folder, progress=Silent())
    return run_folder


class Silent:
    """Keeps the messages of a run."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def on_step(self, step: int, steps: int, loss: float, tokens_per_s: float) -> None:
        pass

    def on_message(self, text: str) -> None:
        self.messages.append(text)


class Signals(Silent):
    """Sends a signal to this process after a step."""

    def __init__(self, step: int, number: int) -> None:
        super().__init__()
        self.step, self.number = step, number

    def on_step(self, step: int, steps: int, loss: float, tokens_per_s: float) -> None:
        if step == self.step:
            os.kill(os.getpid(), self.number)


class World(NamedTuple):
    """What tests need of this file; a fixture, because test modules cannot import it."""

    write_shards: Callable[..., Path]
    write_tokenizer: Callable[..., None]
    with_training: Callable[..., Config]
    silent: type[Silent]
    signals: type[Signals]
    special: dict[str, int]


@pytest.fixture(scope="session")
def world() -> World:
    return World(write_shards, write_tokenizer, with_training, Silent, Signals, SPECIAL)
