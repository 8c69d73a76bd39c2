"""Datasets of texts as rows: cuts, caching, other kinds of datasets."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets import Dataset, DatasetDict, load_dataset
from hypothesis import given
from hypothesis import strategies as st

from komlm.text.aligner import Aligner
from komlm.text.analysis import Analyzer
from komlm.text.tokenizer import Tokenizer
from komlm.text.training_rows import SHORTEST, RowMaker, _cuts

TEXTS = ["나는 어제 학교에 갔다.", "", "아이들이 마당에서 논다. " * 12, " \n"]


@pytest.fixture(scope="module")
def aligner(tokenizer: Tokenizer, analyzer: Analyzer) -> Aligner:
    return Aligner(tokenizer, analyzer)


@given(
    lengths=st.lists(st.integers(1, SHORTEST - 2), max_size=30),
    room=st.integers(SHORTEST - 2, 40),
)
def test_cuts_cover_all_and_tear_no_unit(lengths: list[int], room: int) -> None:
    starts = np.cumsum([0, *lengths])
    found = list(_cuts(starts[:-1], int(starts[-1]), room))
    assert [n for begin, end in found for n in range(begin, end)] == list(range(starts[-1]))
    assert all(0 < end - begin <= room for begin, end in found)
    assert {begin for begin, _ in found} <= set(starts.tolist())
    # Greedy: the next unit would not have had room.
    for begin, end in found[:-1]:
        following = starts[np.searchsorted(starts, end) + 1]
        assert following - begin > room


def json_dataset(folder: Path, texts: list[str]) -> Any:
    path = folder / "texts.jsonl"
    lines = [json.dumps({"text": text, "year": 1970}, ensure_ascii=False) for text in texts]
    if not path.exists():  # `datasets` tells files apart by the time of their last change
        path.write_text("\n".join(lines), encoding="utf-8")
    return load_dataset(
        "json", data_files=str(path), cache_dir=str(folder / "cache"), split="train"
    )


def test_the_second_time_rows_come_from_the_cache(
    aligner: Aligner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    real = RowMaker.rows

    def counted(self: RowMaker, text: str) -> Any:
        made.append(text)
        return real(self, text)

    monkeypatch.setattr(RowMaker, "rows", counted)
    first = aligner.map(json_dataset(tmp_path, TEXTS), max_length=32)
    assert made == TEXTS
    again = aligner.map(json_dataset(tmp_path, TEXTS), max_length=32)
    assert made == TEXTS
    for one, other in zip(first, again, strict=True):
        assert all((one[name] == other[name]).all() for name in one)
    # Another length, or another user dictionary, is another result.
    aligner.map(json_dataset(tmp_path, TEXTS), max_length=64)
    assert len(made) == 2 * len(TEXTS)
    words = tmp_path / "words.tsv"
    words.write_text("마당에서\tNNP\t20.0\n", encoding="utf-8")
    taught = Aligner.from_pretrained(aligner.tokenizer, dictionary=words)
    tags = taught.map(json_dataset(tmp_path, TEXTS), max_length=32)
    assert len(made) == 3 * len(TEXTS)
    assert any((a["tags"] != b["tags"]).any() for a, b in zip(first, tags, strict=True))


def test_types_and_lengths(aligner: Aligner) -> None:
    rows = aligner.map(Dataset.from_dict({"text": TEXTS}), max_length=32)
    assert rows.column_names == ["input_ids", "starts", "tags"]
    kinds = [rows.features[name].feature.dtype for name in rows.column_names]
    assert kinds == ["int32", "uint8", "uint8"]
    assert len(rows) > 2
    assert all(3 <= len(row["input_ids"]) <= 32 for row in rows)
    nothing = aligner.map(Dataset.from_dict({"text": ["", " "]}))
    assert len(nothing) == 0


def test_streams_and_dicts_of_datasets(aligner: Aligner, tmp_path: Path) -> None:
    dataset = json_dataset(tmp_path, TEXTS)
    wanted = [row["input_ids"].tolist() for row in aligner.map(dataset, max_length=32)]
    streamed = aligner.map(dataset.to_iterable_dataset(), max_length=32)
    assert [row["input_ids"].tolist() for row in streamed] == wanted
    both = aligner.map(DatasetDict({"train": dataset, "test": dataset.select([0])}), max_length=32)
    assert len(both["train"]) == len(wanted)
    assert both["test"][0]["input_ids"].tolist() == wanted[0]


def test_what_is_refused_is_named(aligner: Aligner) -> None:
    with pytest.raises(ValueError, match="no column 'texts', but text"):
        aligner.map(Dataset.from_dict({"text": TEXTS}), text_column="texts")
    with pytest.raises(ValueError, match="max_length = 17: wanted 18 or more"):
        aligner.map(Dataset.from_dict({"text": TEXTS}), max_length=17)
    with pytest.raises(ValueError, match="text 1 of a batch, column 'text': wanted a text"):
        aligner.map(Dataset.from_dict({"text": ["가", None]}))


def test_it_travels_without_kiwi(tokenizer: Tokenizer, analyzer: Analyzer) -> None:
    maker = RowMaker(tokenizer, None, 32, analyzer)
    copy = pickle.loads(pickle.dumps(maker))
    wanted, found = (next(one.rows(TEXTS[0])) for one in (maker, copy))
    assert all((wanted[name] == found[name]).all() for name in wanted)
    assert copy.fingerprint() == maker.fingerprint()
