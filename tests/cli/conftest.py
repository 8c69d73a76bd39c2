"""Running the command line in this process, on one Kiwi and a small model."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM

from komlm.cli import main
from komlm.text.analysis import Analyzer
from komlm.text.tokenizer import Tokenizer


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Models this small are slower on two threads, much so where other programs run."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@dataclass(frozen=True)
class Answer:
    """What a run of the command line left."""

    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The lines of stdout as JSON."""
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Answer]


@pytest.fixture(autouse=True)
def one_kiwi(monkeypatch: pytest.MonkeyPatch, analyzer: Analyzer) -> None:
    """Kiwi takes seconds to build: without a dictionary all verbs get the same one."""

    def shared_analyzer(dictionary: Path | None = None) -> Analyzer:
        return Analyzer(dictionary) if dictionary else analyzer

    for module in ("komlm.text.aligner", "komlm.inference.fill_mask"):
        monkeypatch.setattr(f"{module}.Analyzer", shared_analyzer)


@pytest.fixture
def komlm(monkeypatch: pytest.MonkeyPatch) -> Run:
    """``komlm("align", "가", stdin=b"...")`` -> an :class:`Answer`."""

    def run(*arguments: object, stdin: bytes = b"") -> Answer:
        streams = [io.TextIOWrapper(io.BytesIO(), encoding="ascii") for _ in range(2)]
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["komlm", *map(str, arguments)])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            patch.setattr(sys, "stdout", streams[0])
            patch.setattr(sys, "stderr", streams[1])
            patch.setenv("COLUMNS", "80")
            try:
                main()
                code = 0
            except SystemExit as left:
                code = left.code if isinstance(left.code, int) else 0
        out, err = (stream.buffer.getvalue().decode() for stream in streams)  # type: ignore[attr-defined]
        return Answer(code, out, err)

    return run


@pytest.fixture(scope="session")
def model_folder(tokenizer_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Hugging Face folder: a BERT of one layer with random weights, reading 32 positions."""
    folder = tmp_path_factory.mktemp("models") / "hf"
    shutil.copytree(tokenizer_folder, folder)
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=Tokenizer.load(folder).vocabulary_size,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        initializer_range=0.5,
        pad_token_id=1,
    )
    BertForMaskedLM(config).save_pretrained(folder)
    return folder
