from __future__ import annotations

from pathlib import Path

import pytest

import komlm.text.aligner
from tests.cli.conftest import Run

CASES = {
    "an unknown unit": (["mask", "가", "--unit", "morphem"], "did you mean 'morpheme'"),
    "an unknown unit to hide": (
        ["fill-mask", "hf", "가", "--hide", "가", "--unit", "ejeol"],
        "did you mean 'eojeol'",
    ),
    "a ratio that is none": (["mask", "가", "--ratio", "1.5"], "ratio = 1.5: wanted a share"),
    "an unknown replacement": (["mask", "가", "--replace", "peice"], "did you mean 'piece'"),
    "a seed that is too large": (["mask", "가", "--seed", str(2**63)], "power of 63"),
    "an unknown input": (["align", "--input", "json"], "did you mean 'jsonl'"),
    "no tokenizer": (["align", "가", "--tokenizer", "nosuch"], "no tokenizer in nosuch"),
    "no dictionary": (["align", "가", "--dictionary", "no.txt"], "there is no such file"),
    "an unknown recipe": (["pretrain", "mni"], "did you mean 'mini'"),
    "a recipe that is not there": (["pretrain", "my.toml"], "there is no such file"),
    "an unknown key": (["pretrain", "--set", "masking.rato=1"], "did you mean 'masking.ratio'"),
    "a forgotten section": (["pretrain", "--set", "ratio=0.3"], "did you mean 'masking.ratio'"),
    "a setting without a value": (["pretrain", "--set", "masking"], "wanted key=value"),
    "a setting of another type": (
        ["pretrain", "--set", "training.steps=many"],
        "training.steps = 'many': wanted a whole number",
    ),
    "an unknown unit of a run": (
        ["pretrain", "--set", "masking.unit=word"],
        "unknown unit 'word'",
    ),
    "an unknown class": (
        ["pretrain", "--set", "masking.weights.nouns=2"],
        "did you mean 'noun'",
    ),
    "an unknown size": (["pretrain", "--set", "model.size=tin"], "did you mean 'tiny'"),
    "no shards": (["pretrain", "tiny"], "nothing to learn from"),
    "no model": (["fill-mask", "nosuch", "[MASK]"], "no model in nosuch"),
    "no corpus": (["analyze", "nosuch.txt", "-o", "a"], "no file matches"),
    "an unknown kind of document": (
        ["analyze", "mini", "-o", "a", "--documents", "lines"],
        "did you mean 'line'",
    ),
    "no tokenizer to prepare with": (
        ["prepare", "mini", "--tokenizer", "nosuch", "-o", "s"],
        "no tokenizer in nosuch",
    ),
    "a folder that exists": (["tokenizer", "train", "mini", "-o", "."], "exists already"),
    "no model to import": (
        ["tokenizer", "import", "no.model", "-o", "t"],
        "no.model: No such file or directory",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_error_is_one_sentence_on_stderr(
    komlm: Run,
    tokenizer_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    case: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tok").symlink_to(tokenizer_folder)
    arguments, wanted = CASES[case]
    answer = komlm(*arguments)
    assert wanted in answer.err
    assert answer.code == 1
    assert answer.out == ""
    assert answer.err.startswith("komlm: ")
    assert answer.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["tok"]


@pytest.mark.parametrize("verb", [["align", "가"], ["pretrain"]])
def test_an_unknown_option_is_told_without_a_trace(komlm: Run, verb: list[str]) -> None:
    answer = komlm(*verb, "--tokeniser", "tok")
    assert answer.code == 2
    assert "No such option" in answer.err
    assert "Traceback" not in answer.err


def test_what_the_user_typed_is_no_markup_and_moves_no_cursor(komlm: Run) -> None:
    for arguments in (
        ["align", "가", "--tokenizer", "[bold]x[/bold]\x1b[31m"],
        ["pretrain", "[bold]x[/bold]\x1b[31m"],
        ["fill-mask", "[bold]x[/bold]\x1b[31m", "[MASK]"],
        ["align", "가", "--input", "[bold]x[/bold]\x1b[31m"],
    ):
        answer = komlm(*arguments)
        assert answer.code == 1
        assert "[bold]x[/bold]\\x1b[31m" in answer.err
        assert "\x1b" not in answer.err


def test_an_unknown_option_keeps_its_brackets(komlm: Run) -> None:
    assert "--[bold]x[/bold]" in komlm("align", "--[bold]x[/bold]", "가").err


def test_ctrl_c_leaves_with_130_and_no_trace(
    komlm: Run, tokenizer_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(komlm_alignment(), "__call__", interrupted)
    answer = komlm("align", "가", "--tokenizer", tokenizer_folder)
    assert answer.code == 130
    assert (answer.out, answer.err.strip()) == ("", "")


def test_an_error_of_our_own_is_not_hidden(
    komlm: Run, tokenizer_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(komlm_alignment(), "__call__", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        komlm("align", "가", "--tokenizer", tokenizer_folder)


def komlm_alignment() -> type:
    return komlm.text.aligner.Aligner
