from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from komlm.corpus.parquet_files import read
from komlm.corpus.source import Reading
from tests.corpus.disk import pack

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def written(path: Path, texts: list[Any], kind: Any = None, **options: Any) -> Path:
    table = pa.table({"n": range(len(texts)), "text": pa.array(texts, kind)})
    pq.write_table(table, path, **options)
    return path


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
)
def test_rows(tmp_path: Path, kind: Any) -> None:
    path = written(tmp_path / "a.parquet", ["나는\n갔다", None, "", "나는\n갔다"], kind)
    found = [(document.text, document.id) for document in read(path, Reading())]
    assert found == [
        ("나는\n갔다", "a.parquet:0"),
        ("", "a.parquet:1"),
        ("", "a.parquet:2"),
        ("나는\n갔다", "a.parquet:3"),
    ]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.lists(TEXT, max_size=40), st.integers(1, 15), st.sampled_from(["", ".gz", ".zst"]))
def test_rows_give_back_what_was_written(
    tmp_path: Path, texts: list[str], rows_in_a_group: int, packing: str
) -> None:
    plain = written(tmp_path / "a.parquet", texts, pa.string(), row_group_size=rows_in_a_group)
    path = tmp_path / f"b.parquet{packing}"
    path.write_bytes(pack(plain.read_bytes(), packing))
    assert [document.text for document in read(path, Reading())] == texts


def test_another_column(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"body": ["가"], "text": ["나"]}), path)
    assert [document.text for document in read(path, Reading(column="body"))] == ["가"]


def test_a_missing_column_names_those_that_are_there(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", ["가"])
    with pytest.raises(ValueError, match=r"a\.parquet: no column 'body'. Columns there: n, text"):
        list(read(path, Reading(column="body")))


def test_a_column_without_strings(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", ["가"])
    with pytest.raises(ValueError, match="column 'n' holds int64, wanted strings"):
        list(read(path, Reading(column="n")))


def test_cut_short(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", [f"{n} 번째" for n in range(2000)])
    whole = path.read_bytes()
    for length in (1, 4, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"a\.parquet: cut short or damaged"):
            list(read(path, Reading()))


@pytest.mark.parametrize("packing", [".gz", ".zst"])
def test_cut_short_in_its_packing(tmp_path: Path, packing: str) -> None:
    plain = written(tmp_path / "a.parquet", [f"{n} 번째" for n in range(2000)])
    path = tmp_path / f"a.parquet{packing}"
    path.write_bytes(pack(plain.read_bytes(), packing)[:-30])
    with pytest.raises(ValueError, match=rf"a\.parquet{packing}: cut short or damaged"):
        list(read(path, Reading()))


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    wrong = pa.array([b"a", b"\xed\xa0\x80"], pa.binary()).view(pa.string())
    path = written(tmp_path / "a.parquet", wrong)
    with pytest.raises(ValueError, match=r"a\.parquet, row 1: not UTF-8"):
        list(read(path, Reading()))


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(read(tmp_path / "a.parquet", Reading()))
