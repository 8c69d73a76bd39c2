from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest

from komlm.corpus.stage import MANIFEST, MANIFEST_COPY, PLAN, Record, StageFolder, working_on
from komlm.corpus.stage import open_manifest as opened
from komlm.files import LOCK, read_json, sha256_of
from tests.corpus.disk import contents, flip_a_bit, stamps
from tests.holding import held_elsewhere

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
    assert sorted(contents(tmp_path / "a")) == [MANIFEST_COPY, MANIFEST, *manifest["parts"]]
    assert read_json(tmp_path / "a" / MANIFEST_COPY) == manifest


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


@pytest.mark.parametrize("name", [MANIFEST, MANIFEST_COPY])
@pytest.mark.parametrize("how", ["flipped", "cut", "gone"])
def test_one_damaged_manifest_costs_no_part(tmp_path: Path, name: str, how: str) -> None:
    """The other one stands; parts keep their bytes and are not even written again."""
    made(tmp_path / "a").finish(3, {})
    whole, before = contents(tmp_path / "a"), stamps(tmp_path / "a")
    path = tmp_path / "a" / name
    if how == "gone":
        path.unlink()
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:40])
    else:
        flip_a_bit(path)
    stage = StageFolder(tmp_path / "a", "analysis", RECIPE)
    assert sorted(stage.records) == [0, 1, 2]
    stage.finish(3, {})
    assert contents(tmp_path / "a") == whole
    after = stamps(tmp_path / "a")
    assert {path for path in after if after[path] != before[path]} == {name}


def test_two_damaged_manifests_make_all_again(tmp_path: Path) -> None:
    made(tmp_path / "a").finish(3, {})
    whole = contents(tmp_path / "a")
    for name in (MANIFEST, MANIFEST_COPY):
        flip_a_bit(tmp_path / "a" / name)
    assert not StageFolder(tmp_path / "a", "analysis", RECIPE).records
    made(tmp_path / "a").finish(3, {})
    assert contents(tmp_path / "a") == whole


def test_a_damaged_manifest_does_not_open_the_folder_to_another_recipe(tmp_path: Path) -> None:
    made(tmp_path / "a").finish(3, {})
    flip_a_bit(tmp_path / "a" / MANIFEST)
    before = stamps(tmp_path / "a")
    with pytest.raises(ValueError, match=r"made from something else \(other size\)"):
        made(tmp_path / "a", size=6)
    with pytest.raises(ValueError, match="a holds analysis: choose another -o"):
        StageFolder(tmp_path / "a", "shards", RECIPE)
    assert stamps(tmp_path / "a") == before


@pytest.mark.parametrize("name", [MANIFEST, MANIFEST_COPY])
def test_a_folder_in_place_of_a_manifest_is_not_deleted(tmp_path: Path, name: str) -> None:
    made(tmp_path / "a").finish(3, {})
    (tmp_path / "a" / name).unlink()
    (tmp_path / "a" / name / "thesis").mkdir(parents=True)
    with pytest.raises(ValueError, match=rf"{name} is a folder.*move it away"):
        StageFolder(tmp_path / "a", "analysis", RECIPE)
    assert (tmp_path / "a" / name / "thesis").is_dir()


def test_what_a_killed_run_left_of_its_lock_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / LOCK).touch()
    with working_on(tmp_path / "a"):
        stage = made(tmp_path / "a")
        assert (tmp_path / "a" / LOCK).exists(), "a lock that is held is no leftover"
        stage.finish(3, {})
    made(tmp_path / "whole").finish(3, {})
    assert contents(tmp_path / "a") == contents(tmp_path / "whole")


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


def test_only_a_full_disk_is_explained(tmp_path: Path) -> None:
    with (
        pytest.raises(OSError, match="the disk under .*out is full.*make room and run the same"),
        working_on(tmp_path / "out"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(PermissionError, match="no"), working_on(tmp_path / "out"):
        raise PermissionError(errno.EACCES, "no")
    assert not list((tmp_path / "out").iterdir())


def test_a_second_run_is_kept_away(tmp_path: Path) -> None:
    """Whoever holds the folder is another process; killed, it holds nothing."""
    made(tmp_path / "a", parts=1)
    before = contents(tmp_path / "a")
    with held_elsewhere(tmp_path / "a") as holder:
        with (
            pytest.raises(ValueError, match="another run is working on .*a: wait"),
            working_on(tmp_path / "a"),
        ):
            pytest.fail("two runs at once")
        holder.kill()
    assert (tmp_path / "a" / LOCK).exists()
    with working_on(tmp_path / "a"):
        pass
    assert contents(tmp_path / "a") == before
