from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from komlm import bench as bench_module
from komlm.bench import BENCHES, Bench, Material, Report
from komlm.bench.report import Figure
from komlm.corpus import analyze as analyze_module
from komlm.text.analysis import Analyzer
from tests.cli.conftest import Run

CORPUS = "나는 어제 학교에 갔다.\n너는 오늘 바다를 보았다.\n"


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Measurements that only note that they were asked for, one with a package that is missing."""
    asked: list[str] = []

    def measure(name: str) -> Callable[[Material], Report]:
        def run(material: Material) -> Report:
            asked.append(f"{name} {material.name}")
            figure = Figure("speed.komlm", "komlm \x1b[31m", 12345.0, at_least=20_000)
            return Report((figure,), f"on {material.name}")

        return run

    fakes = {
        "mask": Bench(measure("mask"), "masking"),
        "align": Bench(measure("align"), "alignment"),
        "step": Bench(measure("step"), "a step", needs=("nosuchpackage",)),
    }
    monkeypatch.setattr(bench_module, "BENCHES", fakes)
    return asked


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.txt").write_text(CORPUS, encoding="utf-8")
    return tmp_path


def test_one_name_gives_one_object(komlm: Run, fakes: list[str]) -> None:
    answer = komlm("bench", "mask", "--json")
    assert (answer.code, fakes) == (0, ["mask mini"])
    assert json.loads(answer.out) == {"speed": {"komlm": 12345.0}}
    assert "cores" in answer.err
    assert "bench mask: masking" in answer.err


def test_several_names_give_an_object_a_name(komlm: Run, fakes: list[str]) -> None:
    answer = komlm("bench", "align", "mask", "--json")
    assert fakes == ["align mini", "mask mini"]
    assert list(json.loads(answer.out)) == ["align", "mask"]


def test_all_of_them_but_what_cannot_be_measured(komlm: Run, fakes: list[str]) -> None:
    answer = komlm("bench", "--json")
    assert list(json.loads(answer.out)) == ["mask", "align"]
    assert "`komlm bench step` needs nosuchpackage: pip install 'komlm[bench]'" in answer.err
    assert answer.code == 0


def test_a_missed_figure_is_marked_and_no_failure(komlm: Run, fakes: list[str], here: Path) -> None:
    answer = komlm("bench", "mask", "--corpus", "corpus.txt")
    assert answer.code == 0
    machine, _, title, note, heading, row = answer.out.splitlines()
    assert all(name in machine for name in ("cores", "Python", "torch", "transformers", "kiwi"))
    assert (title, note) == ("mask: masking", "on corpus.txt")
    assert heading.split() == ["figure", "wanted"]
    assert row.split()[-4:] == ["12,345", ">=", "20,000", "MISSED"]


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["msk"], "did you mean 'mask'"),
        (["mask", "alin"], "did you mean 'align'"),
        (["mask", "step"], "`komlm bench step` needs nosuchpackage"),
        (["mask", "--corpus", "nosuch.txt"], "no file matches"),
        (["mask", "--tokenizer", "nosuch"], "no tokenizer in nosuch"),
        (["mask", "--documents", "lines"], "did you mean 'line'"),
    ],
)
def test_an_error_is_told_before_anything_is_measured(
    komlm: Run, fakes: list[str], here: Path, arguments: list[str], wanted: str
) -> None:
    answer = komlm("bench", *arguments)
    assert wanted in answer.err
    assert (answer.code, answer.out, fakes) == (1, "", [])
    assert answer.err.count("\n") == 1
    assert [path.name for path in here.iterdir()] == ["corpus.txt"]


def test_a_real_measurement_of_a_users_corpus(
    komlm: Run,
    here: Path,
    tokenizer_folder: Path,
    analyzer: Analyzer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(analyze_module, "_analyzer", lambda dictionary, sha256: analyzer)
    monkeypatch.setattr(bench_module, "Material", partial(Material, seconds=0))
    arguments = ("--corpus", "corpus.txt", "--tokenizer", tokenizer_folder, "--json")
    answer = komlm("bench", "prepare", *arguments)
    assert answer.code == 0
    assert answer.objects[0]["bytes_a_token"]["long"] is None
    assert answer.objects[0]["eojeols_per_s"] > 0
    assert [path.name for path in here.iterdir()] == ["corpus.txt"]


def test_help_names_every_measurement(komlm: Run) -> None:
    out = komlm("bench", "--help").out
    for name in (*BENCHES, "--corpus", "--tokenizer", "--column", "--json", "[default: mini]"):
        assert name in out
    assert "\n    komlm bench mask --json" in out
    assert all(len(line) <= 80 for line in out.splitlines())
