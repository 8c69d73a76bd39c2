"""Runs beside one another, from folders as `komlm pretrain` leaves them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from komlm.cli import main
from komlm.config import Config, MaskingConfig, to_toml
from komlm.evaluation.compare import curve, differences, read_runs
from komlm.evaluation.comparison_table import table
from komlm.evaluation.curves import plot
from komlm.text.tags import TAG_CODE
from komlm.training.recovery import Hidden, recovered, score, without_symbols

COUNTS = np.array([50, 5, 5, 40])
TAGS = [TAG_CODE[tag] for tag in ("NNG", "JKB", "NNG", "SF")]


def measurement(
    right: list[bool], loss: float = 5.0, labels: tuple[int, ...] = (0, 1, 2, 3)
) -> Any:
    """Four hidden pieces; the first two are one eojeol, and each is a morpheme of its own."""
    result: dict[str, Any] = {"rows": 7}
    for level, units in (("piece", range(4)), ("morpheme", range(4)), ("eojeol", (0, 0, 1, 2))):
        hidden = Hidden(
            np.array(units), np.array(TAGS), np.array(labels), np.full(4, loss), np.array(right)
        )
        result[level] = score(hidden, COUNTS)
    result["eojeol"]["word"] = recovered(without_symbols(hidden), COUNTS)
    return result


def write_run(folder: Path, unit: str, *lines: dict[str, Any]) -> Path:
    folder.mkdir(parents=True)
    config = replace(Config(), masking=MaskingConfig(unit=unit))
    (folder / "config.toml").write_text(to_toml(config), encoding="utf-8")
    content = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "metrics.jsonl").write_text(content + '{"step": 9, "los', encoding="utf-8")
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """By piece: one piece right; by morpheme: the eojeol of two right, and lower loss later."""
    first = {"step": 4, "heldout": measurement([False] * 4, 6.0)}
    piece = {"step": 8, "heldout": measurement([True, False, False, False], 5.5)}
    morpheme = {"step": 8, "heldout": measurement([True, True, False, False], 5.25)}
    return [
        write_run(tmp_path / "by piece", "piece", first, {"step": 5, "loss": 6.1}, piece),
        write_run(tmp_path / "형태소", "morpheme", first, morpheme),
    ]


def test_what_differs_and_how_the_loss_fell(runs: list[Path]) -> None:
    piece, morpheme = read_runs(runs)
    assert [piece.name, morpheme.name] == ["by piece", "형태소"]
    assert differences([piece, morpheme]) == {"masking.unit": ["piece", "morpheme"]}
    assert curve(morpheme, "eojeol") == ([4, 8], [6.0, 5.25])


def cells(runs: list[Path], part: str, row: str) -> list[str]:
    """The figures of a row, from the part of the table that begins with ``part``."""
    (found,) = [p for p in table(read_runs(runs)).split("\n\n") if p.startswith(part)]
    lines = [re.split(r"\s{2,}", line.strip()) for line in found.split("\n")]
    (line,) = [line for line in lines if line[0] == row]
    return line[1:]


def test_the_table_has_a_column_a_run(runs: list[Path]) -> None:
    assert cells(runs, "setting", "masking.unit") == ["piece", "morpheme"]
    assert cells(runs, "setting", "last step") == ["8", "8"]
    assert cells(runs, "loss", "piece")[-2:] == ["5.500", "5.250"]
    assert cells(runs, "pieces right", "piece") == ["4", "25.0 %", "25.0 %", "50.0 %"]
    # The eojeol of two pieces is right only where both are.
    assert cells(runs, "units right", "eojeol") == ["3", "0.0 %", "0.0 %", "33.3 %"]
    assert cells(runs, "units right", "word") == ["2", "0.0 %", "0.0 %", "50.0 %"]
    assert cells(runs, "morphemes by class", "josa") == ["1", "0.0 %", "0.0 %", "100.0 %"]
    assert cells(runs, "eojeols by class", "noun") == ["2", "0.0 %", "0.0 %", "50.0 %"]
    assert cells(runs, "morphemes by tag", "NNG") == ["2", "50.0 %", "50.0 %", "50.0 %"]


def test_runs_of_one_name_keep_their_paths(tmp_path: Path) -> None:
    line = {"step": 4, "heldout": measurement([True] * 4)}
    same = [write_run(tmp_path / parent / "run", "piece", line) for parent in ("a", "b")]
    assert [run.name for run in read_runs(same)] == [str(path) for path in same]


def test_other_text_is_refused(tmp_path: Path, runs: list[Path]) -> None:
    other = {"step": 8, "heldout": measurement([True] * 4, labels=(1, 1, 2, 3))}
    there = write_run(tmp_path / "other", "eojeol", other)
    with pytest.raises(ValueError, match="by piece and other were measured on different"):
        read_runs([*runs, there])


def test_what_is_no_run_is_named(tmp_path: Path, runs: list[Path]) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere is no run"):
        read_runs([runs[0], tmp_path / "nowhere"])
    empty = write_run(tmp_path / "empty", "piece", {"step": 1, "loss": 8.0})
    with pytest.raises(ValueError, match="empty was not measured yet"):
        read_runs([runs[0], empty])
    (empty / "metrics.jsonl").write_text('{"step": 1}\n{"step"\n{"step": 3}\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"metrics\.jsonl, line 2: damaged"):
        read_runs([runs[0], empty])


def test_the_picture_shows_each_run(runs: list[Path], tmp_path: Path) -> None:
    both, one = tmp_path / "both.png", tmp_path / "one.png"
    plot(read_runs(runs[:1]), one)
    # A name that matplotlib would read as mathematics, and broken at that, or leave out.
    plot(read_runs([runs[0], runs[1].rename(tmp_path / r"_$\x$ [red]")]), both)
    assert both.read_bytes().startswith(b"\x89PNG")
    assert both.read_bytes() != one.read_bytes()
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        plot(read_runs(runs[:1]), tmp_path / "nowhere" / "curves.png")
    with pytest.raises(ValueError, match=r"ends in \.png"):
        plot(read_runs(runs[:1]), tmp_path / "curves.jpg")


@pytest.mark.filterwarnings("ignore:Glyph")  # where no Korean font is installed
def test_the_verb(
    runs: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folders = [str(run) for run in runs]
    picture = tmp_path / "curves.png"
    monkeypatch.setattr(
        "sys.argv", ["komlm", "compare", *folders, "--json", "--plot", str(picture)]
    )
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["differences"] == {"masking.unit": ["piece", "morpheme"]}
    assert answer["runs"]["형태소"]["step"] == 8
    assert answer["runs"]["형태소"]["heldout"]["piece"]["accuracy"] == 0.5
    assert picture.is_file()
    monkeypatch.setattr("sys.argv", ["komlm", "compare", folders[0]])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    assert "wanted two runs or more" in capsys.readouterr().err
