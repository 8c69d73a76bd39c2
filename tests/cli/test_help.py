from __future__ import annotations

import os
import subprocess
import sys

import pytest

from komlm import __version__
from tests.cli.conftest import Run

VERBS = {
    (): [
        "pretrain",
        "compare",
        "fill-mask",
        "align",
        "mask",
        "analyze",
        "prepare",
        "bench",
        "tokenizer",
    ],
    ("compare",): ["--plot", "--json", "Run folders"],
    ("bench",): ["--corpus", "--tokenizer", "--json", "collator", "[default: mini]"],
    ("align",): ["--tokenizer", "--gold", "--input", "--dictionary", "--json", "[default: tok]"],
    ("mask",): ["--unit", "--ratio", "--seed", "--replace", "[default: 0.15]"],
    ("fill-mask",): ["--hide", "--unit", "--top-k", "--pieces", "joint probability"],
    ("pretrain",): ["--set", "--resume", "--output", "runs/RECIPE", "[default: mini]"],
    ("analyze",): ["--workers", "--dictionary", "--column", "--documents"],
    ("prepare",): ["--tokenizer", "--heldout", "--workers"],
    ("tokenizer",): ["train", "import"],
    ("tokenizer", "train"): ["--vocab-size", "--plain", "--type", "--at-most", "8002"],
    ("tokenizer", "import"): ["--vocab", "--output"],
}


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_help_teaches_a_verb(komlm: Run, verb: tuple[str, ...]) -> None:
    answer = komlm(*verb, "--help")
    assert (answer.code, answer.err) == (0, "")
    for word in VERBS[verb]:
        assert word in answer.out
    assert "..." not in answer.out.split("Options:")[-1].replace('{"text": "..."}', "")
    assert "<bool>" not in answer.out
    assert all(len(line) <= 80 for line in answer.out.splitlines())
    if verb != ("tokenizer",):
        assert f"\n    komlm {verb[0] if verb else 'pretrain'}" in answer.out


def test_examples_are_korean_and_keep_their_lines(komlm: Run) -> None:
    out = komlm("mask", "--help").out
    wanted = 'komlm mask "나는 어제 학교에 갔다." --tokenizer tok --unit eojeol --ratio 0.3'
    assert f"    {wanted}\n" in out
    assert "[MASK] for 80 % of the hidden units" in out


def test_without_a_verb_the_help_is_shown(komlm: Run) -> None:
    answer = komlm()
    assert answer.code == 2
    assert "Usage: komlm" in answer.out + answer.err


def test_version(komlm: Run) -> None:
    assert komlm("--version").out == f"{__version__}\n"


def test_help_imports_none_of_the_heavy_packages() -> None:
    heavy = ["torch", "transformers", "datasets", "kiwipiepy", "tokenizers", "sentencepiece"]
    heavy += ["pyarrow", "numpy", "safetensors", "tqdm"]
    code = f"""
import sys
from komlm.cli import main
for verb in {list(VERBS)!r}:
    sys.argv = ["komlm", *verb, "--help"]
    try:
        main()
    except SystemExit as left:
        assert not left.code, left.code
found = [name for name in {heavy!r} if name in sys.modules]
assert not found, found
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_reader_that_has_gone_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "komlm", "--help"],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert done.returncode == 1
    assert done.stderr == b""
