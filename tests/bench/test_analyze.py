from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from komlm.bench import Material
from komlm.bench import analyze as bench_analyze
from komlm.bench.analyze import (
    PARTS_FOR_WORKERS,
    _slices,
    against_kiwi,
    lines_for_workers,
    measure,
    speedup_of_two,
    steady_rate,
)
from komlm.corpus.analyze import DOCUMENTS_IN_A_PART
from komlm.text.analysis import Analyzer


def test_the_report_on_one_core(material: Material, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_analyze, "cores", lambda: 1)
    report = measure(material)
    values = report.values
    assert values.keys() == {"characters_per_s", "times_kiwi", "speedup_of_2_workers"}
    speed = values["characters_per_s"]
    assert values["times_kiwi"] == pytest.approx(speed["kiwi"] / speed["komlm"], rel=1e-4)
    assert values["speedup_of_2_workers"] is None
    assert report.rows[-1][1:] == ("one core here", ">= 1.80 times", "")


def test_both_sides_go_through_the_same_text(
    material: Material, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many morphemes on Kiwi's side as the manifests of the stage count, slice by slice."""
    kiwi: list[int] = []
    alone = Analyzer.kiwi_alone
    monkeypatch.setattr(bench_analyze, "SLICE_CHARACTERS", 5_000)
    monkeypatch.setattr(
        Analyzer, "kiwi_alone", lambda self, chunks: kiwi.append(n := alone(self, chunks)) or n
    )
    before = set(material.folder.glob("*/manifest.json"))
    against_kiwi(material)
    made = set(material.folder.glob("*/manifest.json")) - before
    counted = [json.loads(path.read_text())["counts"]["morphemes"] for path in made]
    assert len(counted) >= 4
    assert sorted(kiwi) == sorted(counted)


def test_slices_are_all_of_the_text() -> None:
    texts = ["가" * n for n in (3, 8, 1, 1, 20, 2)]
    slices = _slices(texts, 10)
    assert [text for texts_of_slice in slices for text in texts_of_slice] == texts
    assert [len(one) for one in slices] == [2, 3, 1]


@pytest.mark.parametrize("texts", [["가 나\n\n다"], ["가\n" * 9_000, "나"]])
def test_workers_get_lines_enough(texts: list[str]) -> None:
    lines = lines_for_workers(texts)
    assert len(lines) >= PARTS_FOR_WORKERS * DOCUMENTS_IN_A_PART
    assert set(lines) == {line for text in texts for line in text.split("\n") if line}


def test_workers_get_no_more_than_they_need() -> None:
    lines = lines_for_workers(["가" * 999] * 5_000)
    assert len(lines) == PARTS_FOR_WORKERS * DOCUMENTS_IN_A_PART
    assert len(lines_for_workers(["가" * 20] * 10**5)) == 50_000


def test_the_rate_is_that_of_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten a second between a slow start and a slow end."""
    now = 0.0
    monkeypatch.setattr(bench_analyze.time, "perf_counter", lambda: now)

    def run(advance: Callable[[int], None]) -> None:
        nonlocal now
        for step in range(100):
            now += 0.1 if 20 <= step <= 85 else 5.0
            advance(1)

    assert steady_rate(run) == pytest.approx(10.0)


@pytest.mark.slow
def test_two_workers_on_real_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, material: Material
) -> None:
    monkeypatch.setattr(bench_analyze, "PARTS_FOR_WORKERS", 4)
    assert 0.2 < speedup_of_two(material) < 5
