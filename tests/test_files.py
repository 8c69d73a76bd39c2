from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from komlm.files import (
    UNFINISHED,
    folder_written_whole,
    read_json,
    sha256_of,
    sha256_of_json,
    write_json,
    written_whole,
)

VALUE = {
    "kind": "shards",
    "이름": "값 𠮷",
    "counts": {"pieces": 12, "rate": 0.25},
    "parts": [1, None],
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


class BrokenError(Exception):
    """What goes wrong in the middle of writing."""


def half_written(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("half")
    raise BrokenError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with written_whole(path) as beside:
        beside.write_text("old")
        assert not path.exists()
    with pytest.raises(BrokenError), written_whole(path) as beside:
        half_written(beside)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.json"]
    with pytest.raises(KeyboardInterrupt), written_whole(tmp_path / "b") as beside:
        raise KeyboardInterrupt  # before anything is written
    with pytest.raises(FileNotFoundError), written_whole(tmp_path / "c"):
        pass  # nothing was written
    assert names(tmp_path) == ["a.json"]


def test_a_folder_is_whole_or_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "shards"
    with pytest.raises(BrokenError), folder_written_whole(folder) as beside:
        half_written(beside / "sub" / "part")
    assert names(tmp_path / "deep") == []
    with folder_written_whole(folder) as beside:
        (beside / "part").write_text("whole")
        assert not folder.exists()
    assert names(tmp_path / "deep") == ["shards"]
    assert (folder / "part").read_text() == "whole"


def test_what_a_killed_run_left_is_cleared(tmp_path: Path) -> None:
    left = tmp_path / f"shards{UNFINISHED}"
    left.mkdir()
    (left / "half").write_text("half")
    with folder_written_whole(tmp_path / "shards") as beside:
        assert names(beside) == []
    assert names(tmp_path) == ["shards"]


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "part").write_text("mine")
    (tmp_path / "b").write_text("mine")
    (tmp_path / "c").mkdir()
    for name in "ab":
        with (
            pytest.raises(FileExistsError, match="exists already"),
            folder_written_whole(tmp_path / name),
        ):
            pytest.fail("it must say so before any work is done")
    with folder_written_whole(tmp_path / "c") as beside:
        (beside / "part").write_text("new")
    assert names(tmp_path) == ["a", "b", "c"]
    assert (tmp_path / "a" / "part").read_text() == "mine"


def test_json_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    write_json(path, VALUE)
    assert read_json(path) == VALUE
    first = path.read_bytes()
    assert "값 𠮷" in first.decode()
    write_json(path, {**read_json(path), "checksum": "of another time"})
    assert path.read_bytes() == first


@settings(max_examples=100)
@given(value=st.dictionaries(st.text().filter(lambda key: key != "checksum"), JSON, max_size=3))
def test_any_json_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, value: dict[str, Any]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    write_json(path, value)
    assert read_json(path) == value


def test_every_flipped_bit_is_found(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    write_json(path, VALUE)
    whole = path.read_bytes()
    for position in range(len(whole)):
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[position] ^= 1 << bit
            path.write_bytes(damaged)
            try:
                assert read_json(path) == VALUE, f"bit {bit} of byte {position}"
            except ValueError as error:
                assert str(path) in str(error)  # noqa: PT017


def test_every_cut_is_found(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    write_json(path, VALUE)
    whole = path.read_bytes().rstrip()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="damaged"):
            read_json(path)


@pytest.mark.parametrize("content", ["[]", "1", '{"kind": "shards"}', "null", "[" * 100])
def test_other_json_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(content)
    with pytest.raises(ValueError, match="manifest.json is damaged"):
        read_json(path)


def test_sums_go_by_content(tmp_path: Path) -> None:
    assert sha256_of_json({"a": 1, "b": 2}) == sha256_of_json({"b": 2, "a": 1})
    assert sha256_of_json({"a": 1}) != sha256_of_json({"a": "1"})
    path = tmp_path / "empty"
    path.touch()
    assert sha256_of(path) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
