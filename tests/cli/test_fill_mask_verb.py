from __future__ import annotations

import shutil
from pathlib import Path

from tests.cli.conftest import Run


def test_the_json_has_the_keys_that_other_programs_rely_on(komlm: Run, model_folder: Path) -> None:
    text = "나는 [MASK] 학교에 [MASK]."
    answer = komlm("fill-mask", model_folder, text, "--json", "--top-k", "4")
    assert (answer.code, answer.err) == (0, "")
    (said,) = answer.objects
    assert list(said) == ["text", "masks"]
    assert said["text"] == text
    assert [text[mask["start"] : mask["end"]] for mask in said["masks"]] == ["[MASK]"] * 2
    for mask in said["masks"]:
        assert list(mask) == ["start", "end", "candidates"]
        assert len(mask["candidates"]) == 4
        for candidate in mask["candidates"]:
            assert list(candidate) == ["text", "score", "ids", "morphemes"]
            assert all(list(m) == ["form", "tag"] for m in candidate["morphemes"])


def test_what_is_hidden_is_told_with_its_score(komlm: Run, model_folder: Path) -> None:
    text = "나는 어제 학교에 갔다."
    arguments = ("fill-mask", model_folder, text, "--hide", "학교", "--hide", "어제")
    (said,) = komlm(*arguments, "--json").objects
    assert [mask["original"]["text"] for mask in said["masks"]] == ["어제", "학교"]
    assert said["masks"][1]["original"]["morphemes"] == [{"form": "학교", "tag": "NNG"}]
    assert 0 < said["masks"][0]["original"]["score"] < 1
    (eojeol,) = komlm(*arguments[:5], "--unit", "eojeol", "--json").objects
    assert eojeol["masks"][0]["original"]["text"] == "학교에"
    table = komlm(*arguments)
    assert "나는 어제 ____에 갔다." in table.out
    assert "학교 (was there)" in table.out


def test_texts_are_answered_in_order_and_the_refused_ones_told(
    komlm: Run, model_folder: Path
) -> None:
    lines = ["[MASK]에 갔다", "가", "\udcff", "[MASK] " * 40, "나는 [MASK]", "\x1b[31m[MASK]"]
    stdin = "\n".join(lines).encode("utf-8", "surrogateescape")
    answer = komlm("fill-mask", model_folder, "--json", "--pieces", "1", stdin=stdin)
    assert answer.code == 1
    assert [said.get("text") for said in answer.objects] == [
        lines[0],
        None,
        None,
        None,
        lines[4],
        lines[5],
    ]
    assert "put one where a word is to be filled in" in answer.objects[1]["error"]
    assert "not UTF-8" in answer.objects[2]["error"]
    assert "the model reads 32 at most" in answer.objects[3]["error"]
    table = komlm("fill-mask", model_folder, "--pieces", "1", stdin=stdin)
    assert table.code == 1
    assert table.err.count("\n") == 3
    assert "\x1b" not in table.out


def test_a_folder_of_pickles_is_refused(komlm: Run, model_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pickled"
    shutil.copytree(model_folder, folder)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    answer = komlm("fill-mask", folder, "[MASK]")
    assert (answer.code, answer.out) == (1, "")
    assert "pytorch_model.bin, a pickle" in answer.err
    assert answer.err.count("\n") == 1
