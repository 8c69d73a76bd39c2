"""A folder of shards, written as `komlm prepare` writes one, without text or tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from komlm.data.shards import write_shard
from komlm.files import sha256_of, write_json

SPECIAL_IDS = {"unk": 0, "pad": 1, "cls": 2, "sep": 3, "mask": 4}

# A document of tests: sentences, each a list of the lengths of its eojeol units.
Sentences = Sequence[Sequence[int]]


class World:
    """Documents as flat arrays. Ids count up from 5: each piece is another."""

    def __init__(self, documents: Sequence[Sentences], vocabulary_size: int = 50_000) -> None:
        starts, lengths = [], []
        for document in documents:
            begin = len(starts)
            for sentence in document:
                for number, length in enumerate(sentence):
                    first = 3 if number else 7
                    starts += [first] + [n % 2 for n in range(1, length)]
            if len(starts) > begin:
                starts[begin] = 15
            lengths.append(len(starts) - begin)
        self.documents = documents
        self.vocabulary_size = vocabulary_size
        self.starts = np.array(starts, np.uint8)
        self.input_ids = 5 + np.arange(len(starts)) % (vocabulary_size - 5)
        self.tags = (np.arange(len(starts)) % 50 + 1).astype(np.uint8)
        self.offsets = np.cumsum([0, *lengths], dtype=np.int64)

    def write(self, folder: Path, parts: Sequence[int] = (), split: str = "train") -> Path:
        """Write the documents to ``folder``, a new part at each of these document numbers."""
        listed = {}
        bounds = [0, *sorted(parts), len(self.documents)]
        (folder / split).mkdir(parents=True, exist_ok=True)
        for number, (first, last) in enumerate(zip(bounds, bounds[1:], strict=False)):
            name = f"{split}/part-{number:05d}.arrow"
            begin, end = self.offsets[first], self.offsets[last]
            write_shard(
                folder / name,
                self.input_ids[begin:end],
                self.starts[begin:end],
                self.tags[begin:end],
                self.offsets[first : last + 1] - begin,
                self.vocabulary_size,
            )
            listed[name] = {
                "sha256": sha256_of(folder / name),
                "documents": last - first,
                "pieces": int(end - begin),
            }
        manifest = {
            "kind": "shards",
            "vocabulary_size": self.vocabulary_size,
            "special_ids": SPECIAL_IDS,
            "tokenizer": {},
            "identity": "0" * 64,
            "counts": {},
            "parts": listed,
        }
        write_json(folder / "manifest.json", manifest)
        return folder


@pytest.fixture(scope="session")
def world() -> type[World]:
    return World


@pytest.fixture
def shards_folder(tmp_path: Path) -> Path:
    """Three documents of 6, 1 and 4 pieces in two parts."""
    return World([[[2, 1], [3]], [[1]], [[1, 1, 2]]]).write(tmp_path / "shards", parts=[2])
