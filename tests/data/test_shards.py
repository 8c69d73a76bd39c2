from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from komlm.data import shards as module
from komlm.data.manifest import read_manifest
from komlm.data.shards import Shards, id_type, write_shard
from komlm.data.stream import Stream
from komlm.files import read_json, write_json

STARTS = np.array([15, 1, 3, 15], np.uint8)


def write(path: Path, **changed: Any) -> None:
    arrays = {
        "input_ids": np.array([7, 8, 9, 7]),
        "starts": STARTS,
        "tags": np.array([1, 1, 2, 1]),
        "offsets": np.array([0, 3, 4]),
        "vocabulary_size": 10,
    }
    write_shard(path, **{**arrays, **changed})


def test_datasets_opens_a_shard(tmp_path: Path) -> None:
    write(tmp_path / "part.arrow")
    program = (
        "import sys, datasets; d = datasets.Dataset.from_file(sys.argv[1]); "
        "print(d[:], d.features['input_ids'].feature.dtype, d.features['tags'].feature.dtype)"
    )
    # In a process of its own: the cache folder is read from the environment on import.
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "part.arrow")],
        env={"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    wanted = {
        "input_ids": [[7, 8, 9], [7]],
        "starts": [[15, 1, 3], [15]],
        "tags": [[1, 1, 2], [1]],
    }
    assert done.stdout.strip() == f"{wanted} uint16 uint8"


def test_four_bytes_a_piece_and_at_most_two_percent_more(tmp_path: Path, world: Any) -> None:
    documents = world([[[2] * 20] * 5] * 3000)
    folder = documents.write(tmp_path)
    size = (folder / "train/part-00000.arrow").stat().st_size
    assert size <= 4 * len(documents.input_ids) * 1.02


def test_equal_arrays_give_equal_bytes(tmp_path: Path) -> None:
    write(tmp_path / "a.arrow")
    write(
        tmp_path / "b.arrow",
        input_ids=np.array([7, 8, 9, 7], np.uint16),
        tags=np.array([1, 1, 2, 1], np.int64),
    )
    assert (tmp_path / "a.arrow").read_bytes() == (tmp_path / "b.arrow").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.arrow", "b.arrow"]


def test_ids_are_as_wide_as_the_vocabulary_needs(tmp_path: Path) -> None:
    assert id_type(65_536) is np.uint16
    assert id_type(65_537) is np.uint32
    write(tmp_path / "wide.arrow", input_ids=np.array([7, 65_536, 9, 7]), vocabulary_size=65_537)
    with pa.memory_map(str(tmp_path / "wide.arrow")) as source:
        table = pa.ipc.open_stream(source).read_all()
    assert table["input_ids"].to_pylist() == [[7, 65_536, 9], [7]]


@pytest.mark.parametrize(
    ("changed", "hint"),
    [
        ({"tags": np.array([1])}, "4 ids, 4 starts and 1 tags"),
        ({"offsets": np.array([0, 3])}, "offsets must rise from 0"),
        ({"offsets": np.array([0, 5, 4])}, "offsets must rise from 0"),
        ({"input_ids": np.array([7, 8, 10, 7])}, "ids from 7 to 10; wanted 0 to 9"),
        ({"input_ids": np.array([7, 8, -1, 7])}, "ids from -1 to 8"),
        ({"starts": np.array([15, 1, 3, 3], np.uint8)}, "first piece of each document"),
        ({"starts": np.array([15, 1, 15, 15], np.uint8)}, "first piece of each document"),
        ({"starts": np.array([15, 128, 3, 15], np.uint8)}, "flags [128]"),
        ({"starts": np.array([15, 1, 2, 15], np.uint8)}, "flags [2]"),
        ({"starts": np.array([15, 1, 5, 15], np.uint8)}, "flags [5]"),
        ({"starts": np.array([15, 64, 3, 15], np.uint8)}, "flags [64]"),
    ],
)
def test_arrays_that_break_the_contract_are_refused(
    tmp_path: Path, changed: dict[str, Any], hint: str
) -> None:
    with pytest.raises(ValueError, match="not written") as error:
        write(tmp_path / "part.arrow", **changed)
    assert hint in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_part_of_no_documents_and_documents_of_no_pieces(tmp_path: Path, world: Any) -> None:
    documents = world([[], [[2]], [], [], [[1, 1]], []])
    shards = Shards.open(documents.write(tmp_path, parts=[1, 1, 3]))
    assert shards.documents == 6
    assert shards.offsets.tolist() == [0, 0, 2, 2, 2, 4, 4]
    assert shards.input_ids.gather(np.array([0]), np.array([4])).tolist() == [5, 6, 7, 8]


def test_open_reads_all_parts_as_one_stream(shards_folder: Path) -> None:
    shards = Shards.open(shards_folder, "train")
    assert (shards.documents, shards.pieces, shards.vocabulary_size) == (3, 11, 50_000)
    assert shards.special_ids["mask"] == 4
    assert shards.identity == "0" * 64
    assert shards.tokenizer_folder == shards_folder / "tokenizer"
    assert shards.offsets.tolist() == [0, 6, 7, 11]
    everything = np.array([0]), np.array([11])
    assert shards.input_ids.gather(*everything).tolist() == list(range(5, 16))
    assert shards.starts.gather(*everything).tolist() == [15, 1, 3, 7, 1, 0, 15, 15, 3, 3, 1]
    assert shards.tags.gather(*everything).tolist() == list(range(1, 12))
    counts = shards.counts()
    assert counts.shape == (50_000,)
    assert np.flatnonzero(counts).tolist() == list(range(5, 16))


def test_pieces_are_views_of_the_mapped_file(shards_folder: Path) -> None:
    for column in (Shards.open(shards_folder).input_ids, Shards.open(shards_folder).tags):
        assert all(not chunk.flags.owndata and not chunk.flags.writeable for chunk in column.chunks)


def test_record_batches_are_bounded(
    tmp_path: Path, world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH_PIECES", 8)
    monkeypatch.setattr(module, "BATCH_DOCUMENTS", 3)
    lengths = [2, 2, 2, 2, 9, 1, 7, 1, 20, 0]
    documents = world([[[n]] if n else [] for n in lengths])
    shards = Shards.open(documents.write(tmp_path))
    assert [len(chunk) for chunk in shards.input_ids.chunks] == [6, 2, 9, 8, 1, 20, 0]
    assert shards.offsets.tolist() == documents.offsets.tolist()
    assert shards.counts().sum() == sum(lengths)


def test_counts_names_an_id_outside_the_vocabulary(shards_folder: Path) -> None:
    manifest = read_json(shards_folder / "manifest.json")
    write_json(shards_folder / "manifest.json", {**manifest, "vocabulary_size": 12})
    with pytest.raises(ValueError, match="id 15 in a vocabulary of 12"):
        Shards.open(shards_folder).counts()


def test_pickling_maps_the_files_again(shards_folder: Path) -> None:
    shards = Shards.open(shards_folder)
    data = pickle.dumps(shards)
    assert len(data) < 1000
    again = pickle.loads(data)
    assert again.manifest == shards.manifest
    assert again.offsets.tolist() == shards.offsets.tolist()


def test_what_a_killed_run_left_is_not_read(shards_folder: Path) -> None:
    (shards_folder / "train/part-00002.arrow.unfinished").write_bytes(b"half")
    (shards_folder / "train/part-00003.arrow").write_bytes(b"not listed")
    assert Shards.open(shards_folder).documents == 3


@pytest.mark.parametrize("at", [0, 1, 99, -1])
def test_a_flipped_bit_is_found(shards_folder: Path, at: int) -> None:
    part = shards_folder / "train/part-00001.arrow"
    data = bytearray(part.read_bytes())
    data[at] ^= 4
    part.write_bytes(data)
    with pytest.raises(ValueError, match=r"part-00001\.arrow is damaged.*komlm prepare"):
        Shards.open(shards_folder)


def test_a_part_cut_short_is_found_without_checksums_too(shards_folder: Path) -> None:
    part = shards_folder / "train/part-00000.arrow"
    data = part.read_bytes()
    for size in (0, 1, 100, len(data) // 2):
        part.write_bytes(data[:size])
        with pytest.raises(ValueError, match=r"part-00000\.arrow is damaged"):
            Shards.open(shards_folder, verify=False)


def test_a_part_with_fewer_documents_than_listed_is_found(shards_folder: Path) -> None:
    train = shards_folder / "train"
    shutil.copy(train / "part-00000.arrow", train / "part-00001.arrow")
    with pytest.raises(ValueError, match="2 documents and 7 pieces; the manifest lists 1 and 4"):
        Shards.open(shards_folder, verify=False)


def test_columns_of_unlike_lengths_are_found(shards_folder: Path) -> None:
    path = shards_folder / "train/part-00001.arrow"
    table = pa.table({"input_ids": [[5, 6]], "starts": [[15]], "tags": [[1, 1]]})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(ValueError, match="differ in length"):
        Shards.open(shards_folder, verify=False)


def test_a_damaged_manifest_is_found(shards_folder: Path) -> None:
    path = shards_folder / "manifest.json"
    path.write_text(path.read_text().replace("50000", "50001"))
    with pytest.raises(ValueError, match=r"manifest\.json is damaged"):
        Shards.open(shards_folder)


def test_wrong_folders_say_what_to_run(shards_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no shards at .*nowhere.*komlm prepare CORPUS"):
        Shards.open(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"manifest\.json is missing.*komlm prepare"):
        Shards.open(tmp_path / "empty")
    write_json(tmp_path / "empty/manifest.json", {"kind": "analysis"})
    with pytest.raises(ValueError, match=r"is an analysis, not shards.*komlm prepare .*empty "):
        Shards.open(tmp_path / "empty")
    write_json(tmp_path / "empty/manifest.json", {"kind": "other"})
    with pytest.raises(ValueError, match="kind = 'other'"):
        Shards.open(tmp_path / "empty")
    write_json(tmp_path / "empty/manifest.json", {"kind": "shards", "parts": {}})
    with pytest.raises(ValueError, match="lacks vocabulary_size, special_ids, identity"):
        read_manifest(tmp_path / "empty")
    with pytest.raises(ValueError, match="did you mean 'heldout'"):
        Shards.open(shards_folder, "held-out")
    (shards_folder / "train/part-00001.arrow").unlink()
    with pytest.raises(FileNotFoundError, match=r"part-00001\.arrow is missing.*komlm prepare"):
        Shards.open(shards_folder)


def test_an_empty_split_says_what_to_do(shards_folder: Path) -> None:
    with pytest.raises(ValueError, match=r"held-out split holds no text.*larger --heldout"):
        Shards.open(shards_folder, "heldout")


@settings(deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.data())
def test_gather_equals_slices_of_the_whole(lengths: list[int], data: st.DataObject) -> None:
    whole = np.arange(sum(lengths), dtype=np.uint16)
    begins = np.cumsum([0, *lengths], dtype=np.int64)
    stream = Stream([whole[a:b] for a, b in zip(begins, begins[1:], strict=False)], begins)
    bound = st.integers(0, len(whole))
    pairs = data.draw(st.lists(st.tuples(bound, bound).map(sorted), max_size=6))
    firsts, lasts = (np.array([pair[n] for pair in pairs], np.int64) for n in (0, 1))
    wanted = [piece for a, b in pairs for piece in whole[a:b].tolist()]
    gathered = stream.gather(firsts, lasts)
    assert gathered.tolist() == wanted
    assert gathered.dtype == np.uint16
    assert len(stream) == len(whole)
