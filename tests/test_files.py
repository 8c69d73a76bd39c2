from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from komlm import files
from komlm.files import (
    LOCK,
    UNFINISHED,
    DamagedError,
    FolderLock,
    folder_written_whole,
    read_json,
    sha256_of,
    sha256_of_json,
    write_json,
    written_whole,
)
from tests.holding import held_elsewhere

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


def test_a_damaged_file_is_told_once_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_bytes(b"\xff")
    with pytest.raises(DamagedError) as error:
        read_json(path)
    assert error.value.path == path
    assert str(error.value) == f"{path} is damaged: {error.value.reason}. Make it again."
    advised = error.value.advising("Run `komlm analyze` again.")
    assert str(advised) == f"{path} is damaged: {error.value.reason}. Run `komlm analyze` again."


def test_a_damaged_escape_is_damage(tmp_path: Path) -> None:
    """One bit makes a lone surrogate of an escaped pair, which no checksum can be made of."""
    path = tmp_path / "manifest.json"
    path.write_text('{"a": "\\ud800", "checksum": "00"}')
    with pytest.raises(DamagedError, match="checksum does not fit"):
        read_json(path)


def test_a_folder_where_a_file_belongs_is_told_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    (path / "thesis").mkdir(parents=True)
    with pytest.raises(DamagedError, match=r"manifest\.json is damaged: it is a folder"):
        read_json(path)
    with pytest.raises(IsADirectoryError, match=r"manifest\.json is a folder.*move it away"):
        write_json(path, VALUE)
    assert names(tmp_path) == ["manifest.json"]
    assert (path / "thesis").is_dir()


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


def test_a_lock_keeps_others_out_until_it_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "a"
    with held_elsewhere(folder) as holder:
        for _ in range(2):
            with pytest.raises(ValueError, match=f"another run is working on {folder}: wait"):
                FolderLock(folder)
        assert names(folder) == [LOCK]
        holder.communicate()
    assert names(folder) == []
    with FolderLock(folder):
        assert names(folder) == [LOCK]
    assert names(folder) == []


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path) as holder:
        holder.kill()
    assert names(tmp_path) == [LOCK]
    lock = FolderLock(tmp_path)
    lock.close()
    lock.close()
    assert names(tmp_path) == []


def test_a_lock_that_nobody_keeps_is_free_again(tmp_path: Path) -> None:
    FolderLock(tmp_path)
    assert names(tmp_path) == []


def test_a_lock_on_a_deleted_file_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its holder leaves between our opening of the file and our lock on it."""
    taken = []

    def flock(file: Any, how: int) -> None:
        if not taken:
            (tmp_path / LOCK).unlink()
        taken.append(file)

    monkeypatch.setattr(files.fcntl, "flock", flock)
    with FolderLock(tmp_path):
        assert len(taken) == 2
        assert taken[0].closed
        assert names(tmp_path) == [LOCK]


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP])
def test_a_file_system_without_locks_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    number: int,
) -> None:
    def flock(file: Any, how: int) -> None:
        raise OSError(number, "no locks here")

    monkeypatch.setattr(files.fcntl, "flock", flock)
    with FolderLock(tmp_path):
        assert names(tmp_path) == []
    assert "knows no locks" in capsys.readouterr().err


def test_no_lock_is_taken_where_there_is_no_fcntl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "fcntl", None)
    with FolderLock(tmp_path), FolderLock(tmp_path):
        assert names(tmp_path) == []


def test_a_folder_that_cannot_be_written_to_needs_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, mode: str) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "open", refused)
    with FolderLock(tmp_path):
        pass
