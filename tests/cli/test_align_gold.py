"""`komlm align --gold` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from komlm.text.analysis import Analyzer
from tests.cli.conftest import Run
from tests.evaluation.gold_files import CONLLU, KLUE_DP, WITHOUT_MORPHEMES


@pytest.fixture(autouse=True)
def the_same_kiwi(monkeypatch: pytest.MonkeyPatch, analyzer: Analyzer) -> None:
    monkeypatch.setattr("komlm.text.analysis.Analyzer", lambda dictionary: analyzer)


@pytest.fixture
def treebanks(tmp_path: Path) -> list[Path]:
    files = {"a.conllu": CONLLU, "klue.tsv": KLUE_DP, "pud.conllu": WITHOUT_MORPHEMES}
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    return [tmp_path / name for name in files]


def test_a_table_by_treebank_and_tokenizer(
    komlm: Run, treebanks: list[Path], tokenizer_folder: Path, model_folder: Path
) -> None:
    answer = komlm(
        "align", "--gold", *treebanks, "--tokenizer", tokenizer_folder, "--tokenizer", model_folder
    )
    assert answer.code == 0
    assert "sentences" in answer.err  # the bar, and nothing else
    rows = [line.split()[:2] for line in answer.out.splitlines()]
    # Once for Kiwi, once a tokenizer in each of the two tables of units.
    for name in ("a.conllu", "klue.tsv"):
        assert [row[1] for row in rows if row[:1] == [name]][1:] == ["mini", "hf"] * 2
    assert sum(row[:1] == ["pud.conllu"] for row in rows) == 1


def test_without_a_tokenizer_kiwi_alone_is_scored(komlm: Run, treebanks: list[Path]) -> None:
    answer = komlm("align", *treebanks, "--gold")
    assert answer.code == 0
    assert "tokenizer" not in answer.out
    assert answer.out.count("klue.tsv") == 1


def test_a_treebank_that_cannot_be_scored_is_named(komlm: Run, tmp_path: Path) -> None:
    """Two morphemes with one tag, in every eojeol."""
    path = tmp_path / "bad.tsv"
    path.write_text("1\t나는\t나 는\tNP\t2\tNP\n2\t간다\t가 ㄴ다\tVV\t0\tVP\n", encoding="utf-8")
    answer = komlm("align", "--gold", path)
    wanted = "bad.tsv: nothing in it could be scored; left out: 2 eojeols without morphemes\n"
    assert (answer.code, answer.out) == (0, wanted)


def test_the_json_is_an_object_a_treebank(
    komlm: Run, treebanks: list[Path], tokenizer_folder: Path
) -> None:
    said = komlm("align", "--gold", *treebanks, "--tokenizer", tokenizer_folder, "--json").objects
    assert [one["treebank"] for one in said] == ["a.conllu", "klue.tsv", "pud.conllu"]
    for one in said:
        assert list(one) == ["treebank", "sentences", "analysis", "units"]
        boundaries = one["analysis"]["boundaries"]
        assert boundaries["both"] <= min(boundaries["found"], boundaries["gold"])
        units = one["units"]["mini"]
        assert sum(units["boundaries"].values()) == boundaries["gold"]
        assert sum(units["morphemes"].values()) == one["analysis"]["forms"]["gold"]
    assert json.dumps(said)  # no NaN


def test_treebanks_of_one_name_are_told_apart(komlm: Run, tmp_path: Path) -> None:
    files = [tmp_path / folder / "dev.tsv" for folder in ("one", "two")]
    for file in files:
        file.parent.mkdir()
        file.write_text(KLUE_DP, encoding="utf-8")
    said = komlm("align", "--gold", *files, "--json").objects
    assert [one["treebank"] for one in said] == ["one/dev.tsv", "two/dev.tsv"]


def test_what_is_wrong_is_said_in_one_line(
    komlm: Run, treebanks: list[Path], tokenizer_folder: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.conllu"
    broken.write_text("1\t나\t나\n", encoding="utf-8")
    wrong = {
        "line 1: wanted the ten columns": ["--gold", treebanks[0], broken],
        "there is no such file": ["--gold", tmp_path / "no.tsv"],
        "did you mean '.tsv'": ["--gold", tmp_path / "no.csv"],
        "--gold wants treebank files": ["--gold"],
        "no tokenizer in": ["--gold", treebanks[0], "--tokenizer", tmp_path / "none"],
        "2 texts: wanted one": ["나는", "간다", "--tokenizer", tokenizer_folder],
        "2 tokenizers: wanted one": ["나", "--tokenizer", "a", "--tokenizer", "b"],
    }
    for said, arguments in wrong.items():
        answer = komlm("align", *arguments)
        assert (answer.code, answer.out) == (1, "")
        assert said in answer.err
        assert answer.err.count("\n") == 1
