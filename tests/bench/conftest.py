"""A tiny corpus to measure on, with as few rounds as there can be and on the tests' Kiwi."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest
import torch

from komlm.bench import Material
from komlm.corpus import analyze as analyze_module
from komlm.corpus import read_documents
from komlm.corpus.source import find_source
from komlm.processes import Advance
from komlm.text.analysis import Analyzer

DOCUMENTS = 40


def no_bar(what: str, total: int, unit: str) -> AbstractContextManager[Advance]:
    return nullcontext(lambda amount: None)


@pytest.fixture(scope="package", autouse=True)
def one_thread() -> Iterator[None]:
    """Models this small are slower on two threads, much so where other programs run."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def tiny_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some articles of the embedded corpus, and one document that is nothing but space."""
    texts = [document.text for document in read_documents(find_source("mini"))][:DOCUMENTS]
    path = tmp_path_factory.mktemp("bench") / "tiny.jsonl"
    lines = [json.dumps({"text": text}, ensure_ascii=False) for text in [*texts, " "]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="package", autouse=True)
def one_kiwi(analyzer: Analyzer) -> Iterator[None]:
    """Kiwi takes seconds to build."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(analyze_module, "_analyzer", lambda dictionary, sha256: analyzer)
        yield


@pytest.fixture(scope="package")
def material(
    tiny_corpus: Path, tokenizer_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Material:
    """The tiny corpus; all measurements share it, as in a run of the verb."""
    folder = tmp_path_factory.mktemp("scratch")
    return Material(folder, no_bar, [str(tiny_corpus)], tokenizer=tokenizer_folder, seconds=0)
