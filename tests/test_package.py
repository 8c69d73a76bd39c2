"""The package as a whole: what it offers, what it imports, and the tree in the README."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import komlm
from komlm.corpus import read_documents
from komlm.corpus.source import find_source, known_corpora

ROOT = Path(__file__).parent.parent


def test_the_names_of_the_package() -> None:
    assert komlm.Aligner.__module__ == "komlm.text.aligner"
    assert komlm.FillMask.__module__ == "komlm.inference.fill_mask"
    with pytest.raises(AttributeError, match="no attribute 'Alinger'"):
        _ = komlm.Alinger
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert komlm.__version__ == project["version"]


@pytest.mark.parametrize(
    ("imported", "absent"),
    [
        ("komlm", {"torch", "transformers", "kiwipiepy", "datasets", "numpy"}),
        ("komlm.text.aligner", {"torch", "transformers", "sentencepiece", "datasets"}),
        ("komlm.training.loop", {"kiwipiepy", "datasets"}),
    ],
)
def test_what_is_not_imported(imported: str, absent: set[str]) -> None:
    """A look at sys.modules in a process of its own."""
    code = f"import sys, {imported}; print(*(m for m in sys.modules if '.' not in m))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & absent


def test_the_readme_shows_every_file() -> None:
    """One line a file, so that the tree is the manual."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    tree = re.search(r"## The tree\n\n```\n(.*?)```", readme, re.DOTALL)
    assert tree is not None
    shown = set(re.findall(r"[\w.-]+\.py\b", tree[1]))
    files = {path.name for path in (ROOT / "komlm").rglob("*.py")}
    assert files - {"__init__.py", "__main__.py"} == shown


def test_every_corpus_is_read() -> None:
    """The embedded corpus is as large and as varied as the README says."""
    assert known_corpora() == ["mini"]
    documents = list(read_documents(find_source("mini")))
    assert sum(len(document.text) for document in documents) >= 80_000
    sentences = [
        sentence
        for document in documents
        for sentence in re.split(r"(?<=[.?!~ㅋㅠㅎ♡])\s+", document.text)
        if len(sentence) > 8
    ]
    assert len(sentences) >= 2_000
    assert len(set(sentences)) >= 0.99 * len(sentences)
