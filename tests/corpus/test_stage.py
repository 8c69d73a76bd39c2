from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest

from komlm.corpus.stage import MANIFEST, PLAN, Record, StageFolder, full_disk_explained
from komlm.corpus.stage import open_manifest as opened
from komlm.files import read_json, sha256_of
from tests.corpus.disk import contents, flip_a_bit, stamps

RECIPE = {"inputs": ["aa"], "analyzer": {"kiwipiepy": "1", "dictionary": ""}, "size": 5}


def make_part(stage: StageFolder, number: int, content: str = "") -> None:
    name = f"part-{number:05d}.arrow"
    (stage.folder / name).write_text(content or f"part {number}", encoding="utf-8")
    files = {name: {"sha256": sha256_of(stage.folder / name), "documents": 1}}
    stage.finish_part(Record(number, files, {"documents": 1, "pieces": number}))


def made(folder: Path, parts: int = 3, **changes: Any) -> StageFolder:
    stage = StageFolder(folder, "analysis", {**RECIPE, **changes})
    for number in range(parts):
        if number not in stage.records:
            make_part(stage, number)
    return stage


def test_the_manifest_tells_the_recipe_and_adds_up_the_counts(tmp_path: Path) -> None:
    manifest = made(tmp_path / "a").finish(3, {"more": 1})
    assert manifest == read_json(tmp_path / "a" / MANIFEST)
    assert manifest["recipe"] == RECIPE
    assert manifest["counts"] == {"documents": 3, "pieces": 3}
    assert list(manifest["parts"]) == [f"part-0000{n}.arrow" for n in range(3)]
    assert sorted(contents(tmp_path / "a")) == [MANIFEST, *manifest["parts"]]


def test_an_unfinished_folder_goes_on(tmp_path: Path) -> None:
    made(tmp_path / "whole").finish(3, {})
    made(tmp_path / "a", parts=2)
    (tmp_path / "a" / "part-00002.arrow.unfinished").write_text("half", encoding="utf-8")
    (tmp_path / "a" / "tokenizer.unfinished").mkdir()
    with pytest.raises(ValueError, match="a is not finished: run its `MAKE` again"):
        opened(tmp_path / "a", "analysis", "MAKE")
    stage = StageFolder(tmp_path / "a", "analysis", RECIPE)
    assert sorted(stage.records) == [0, 1]
    make_part(stage, 2)
    stage.finish(3, {})
    assert contents(tmp_path / "a") == contents(tmp_path / "whole")


def test_a_finished_folder_stays_as_it_is(tmp_path: Path) -> None:
    made(tmp_path / "a").finish(3, {})
    before = stamps(tmp_path / "a")
    stage = StageFolder(tmp_path / "a", "analysis", RECIPE)
    assert sorted(stage.records) == [0, 1, 2]
    stage.finish(3, {})
    assert stamps(tmp_path / "a") == before


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"inputs": ["bb"]}, r"other inputs\)"),
        ({"analyzer": {"kiwipiepy": "1", "dictionary": "cc"}}, r"other analyzer\.dictionary\)"),
        ({"analyzer": {"kiwipiepy": "2", "dictionary": ""}, "size": 6}, r"analyzer\.kiwi.*size"),
    ],
)
def test_another_recipe_is_refused_and_said(
    tmp_path: Path, changes: dict[str, Any], told: str, finished: bool
) -> None:
    stage = made(tmp_path / "a")
    if finished:
        stage.finish(3, {})
    before = stamps(tmp_path / "a")
    with pytest.raises(ValueError, match=rf"made from something else \({told}|{told}"):
        made(tmp_path / "a", **changes)
    assert stamps(tmp_path / "a") == before


def test_another_kind_is_refused(tmp_path: Path) -> None:
    made(tmp_path / "a").finish(3, {})
    with pytest.raises(ValueError, match="a holds analysis: choose another -o"):
        StageFolder(tmp_path / "a", "shards", RECIPE)
    with pytest.raises(ValueError, match="a holds analysis, wanted shards"):
        opened(tmp_path / "a", "shards", "MAKE")


@pytest.mark.parametrize(
    "names",
    [
        ["notes.txt"],
        ["part-00000.arrow"],
        ["manifest.json"],
        ["plan.json"],
        ["manifest.json", "index.html"],
        ["manifest.json", "part-00000.arrow", "index.html"],
        ["train", "notes.unfinished", "tokenizer"],
    ],
)
def test_a_folder_of_others_is_refused_and_left_alone(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).write_text(json.dumps({"name": "a web page"}), encoding="utf-8")
    before = stamps(tmp_path)
    with pytest.raises(ValueError, match="choose another -o"):
        StageFolder(tmp_path, "analysis", RECIPE)
    assert stamps(tmp_path) == before


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match="a is a file: choose another -o"):
        StageFolder(tmp_path / "a", "analysis", RECIPE)


@pytest.mark.parametrize("at", [0, 0.1, 0.3, 0.6, 0.9, 1])
def test_a_damaged_manifest_or_plan_is_made_again(
    tmp_path: Path, at: float, capsys: pytest.CaptureFixture[str]
) -> None:
    made(tmp_path / "whole").finish(3, {})
    for name in (MANIFEST, PLAN):
        stage = made(tmp_path / name)
        if name == MANIFEST:
            stage.finish(3, {})
        flip_a_bit(tmp_path / name / name, at)
        made(tmp_path / name).finish(3, {})
        assert contents(tmp_path / name) == contents(tmp_path / "whole")
        assert f"{name}: damaged, making it again" in capsys.readouterr().err


def test_a_damaged_record_or_part_is_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(tmp_path / "whole").finish(3, {})
    made(tmp_path / "a")
    flip_a_bit(tmp_path / "a" / "part-00000.json")
    flip_a_bit(tmp_path / "a" / "part-00001.arrow")
    assert sorted(StageFolder(tmp_path / "a", "analysis", RECIPE).records) == [2]
    assert "part-00001.arrow: damaged" in capsys.readouterr().err
    made(tmp_path / "a").finish(3, {})
    (tmp_path / "a" / "part-00002.arrow").unlink()
    assert sorted(StageFolder(tmp_path / "a", "analysis", RECIPE).records) == [0, 1]
    made(tmp_path / "a").finish(3, {})
    assert contents(tmp_path / "a") == contents(tmp_path / "whole")


def test_a_record_of_another_run_is_not_taken(tmp_path: Path) -> None:
    made(tmp_path / "other", size=6)
    made(tmp_path / "a", parts=0)
    for path in (tmp_path / "other").glob("part-*"):
        (tmp_path / "a" / path.name).write_bytes(path.read_bytes())
    assert not StageFolder(tmp_path / "a", "analysis", RECIPE).records


def test_a_manifest_is_not_written_before_all_parts_are_there(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"parts \[2\]"):
        made(tmp_path / "a", parts=2).finish(3, {})
    assert not (tmp_path / "a" / MANIFEST).exists()


def test_opening_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no analysis in .*: make it with `MAKE`"):
        opened(tmp_path / "gone", "analysis", "MAKE")
    made(tmp_path / "a").finish(3, {})
    flip_a_bit(tmp_path / "a" / MANIFEST)
    with pytest.raises(ValueError, match=r"manifest\.json is damaged"):
        opened(tmp_path / "a", "analysis", "MAKE")


def test_only_a_full_disk_is_explained() -> None:
    with (
        pytest.raises(OSError, match="the disk under out is full.*make room and run the same"),
        full_disk_explained(Path("out")),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(PermissionError, match="no"), full_disk_explained(Path("out")):
        raise PermissionError(errno.EACCES, "no")
