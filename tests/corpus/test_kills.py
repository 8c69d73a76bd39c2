"""Stages that are killed go on to the same bytes, wherever they were."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import komlm
from komlm.data.shards import Shards
from tests.corpus.disk import contents, write_jsonl

DRIVER = Path(__file__).with_name("drive.py")
CORPUS = [f"{n}번째 손님이 왔다. 주인은 빵을 {n}개 팔았다." for n in range(20)] + ["", "끝."]
Run = Callable[..., list[int]]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_jsonl(tmp_path_factory.mktemp("corpus") / "a.jsonl", CORPUS)


@pytest.fixture(scope="module")
def run(corpus: Path, tokenizer_folder: Path) -> Run:
    """Runs a stage to its end, or to the moment when it kills itself; returns its workers' pids."""

    def run_stage(
        stage: str, folder: Path, moment: str = "", workers: int = 1, **more: Any
    ) -> list[int]:
        told = {
            "stage": stage,
            "folder": str(folder),
            "moment": moment,
            "workers": workers,
            "corpus": str(corpus),
            "tokenizer": str(tokenizer_folder),
            **more,
        }
        done = subprocess.run(
            [sys.executable, str(DRIVER), json.dumps(told)],
            env={**os.environ, "PYTHONPATH": str(Path(komlm.__file__).parent.parent)},
            stdout=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == (-signal.SIGKILL if moment else 0)
        pids: list[int] = json.loads(done.stdout) if moment else []
        return pids

    return run_stage


@pytest.fixture(scope="module")
def unbroken(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both stages, never killed."""
    folder = tmp_path_factory.mktemp("unbroken")
    run("analyze", folder / "analysis")
    run("prepare", folder / "shards", analysis=str(folder / "analysis"))
    return folder


def assert_whole(folder: Path, unbroken: Path) -> None:
    names = contents(folder)
    assert names == contents(unbroken)
    assert not [name for name in names if name.endswith(("unfinished", "plan.json"))]
    assert not list(folder.rglob("part-*.json"))


def assert_gone(pids: list[int]) -> None:
    """Nobody is left of them. A process that nobody waited for may stay as a zombie."""
    until = time.monotonic() + 20
    while alive := [pid for pid in pids if is_alive(pid)]:
        assert time.monotonic() < until, alive
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_analyze_is_killed_at_four_moments(run: Run, unbroken: Path, tmp_path: Path) -> None:
    folder = tmp_path / "analysis"
    run("analyze", folder, "before part-00001.arrow")
    assert (folder / "part-00001.arrow.unfinished").exists()
    run("analyze", folder, "after part-00003.arrow")
    assert (folder / "plan.json").exists()
    run("analyze", folder, "before part-00005.json")
    run("analyze", folder, "after manifest.json")
    assert list(folder.glob("part-*.json"))
    run("analyze", folder)
    assert_whole(folder, unbroken / "analysis")


def test_prepare_is_killed_at_four_moments(run: Run, unbroken: Path, tmp_path: Path) -> None:
    folder, analysis = tmp_path / "shards", str(unbroken / "analysis")
    run("prepare", folder, "before tokenizer", analysis=analysis)
    run("prepare", folder, "before part-00001.arrow", analysis=analysis)
    with pytest.raises(FileNotFoundError, match="holds no whole shards"):
        Shards.open(folder)
    run("prepare", folder, "after part-00003.json", analysis=analysis)
    run("prepare", folder, "before manifest.json", analysis=analysis)
    run("prepare", folder, analysis=analysis)
    assert_whole(folder, unbroken / "shards")
    assert Shards.open(folder, verify=True).documents > 0


def test_workers_die_with_their_parent(run: Run, unbroken: Path, tmp_path: Path) -> None:
    folder = tmp_path / "analysis"
    pids = run("analyze", folder, "after part-00001.json", workers=2)
    assert len(pids) == 2
    assert_gone(pids)
    run("analyze", folder, workers=2)
    assert_whole(folder, unbroken / "analysis")


@pytest.mark.slow
def test_workers_of_prepare_die_too(run: Run, unbroken: Path, tmp_path: Path) -> None:
    folder, analysis = tmp_path / "shards", str(unbroken / "analysis")
    # Two workers end in any order; these moments come whatever was finished before.
    for moment in ("before part-00000.json", "before manifest.json", "after manifest.json"):
        assert_gone(run("prepare", folder, moment, workers=2, analysis=analysis))
    run("prepare", folder, workers=2, analysis=analysis)
    assert_whole(folder, unbroken / "shards")


@pytest.mark.slow
def test_analyze_with_kiwi(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRIVE_KIWI", "1")
    run("analyze", tmp_path / "unbroken")
    killed = tmp_path / "killed"
    assert_gone(run("analyze", killed, "before part-00000.json", workers=2))
    run("analyze", killed, "before manifest.json")
    run("analyze", killed, "after manifest.json")
    run("analyze", killed)
    assert_whole(killed, tmp_path / "unbroken")
