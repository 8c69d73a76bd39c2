from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from komlm.config import Config, MaskingConfig, RowsConfig, TrainingConfig
from komlm.data.rows import RowSource
from komlm.data.shards import Shards, write_shard
from komlm.files import sha256_of, write_json
from komlm.masking import Selection
from komlm.masking.preview import hide
from komlm.objectives.mlm import MaskedLanguageModel
from komlm.text.aligner import Aligner
from komlm.text.analysis import Analyzer
from komlm.text.tokenizer import Tokenizer
from komlm.types import Flag
from tests.cli.conftest import Run

TEXT = "나는 어제 학교에 갔다. 친구와 함께 도서관에서 책을 읽었다."


def masked(komlm: Run, tokenizer_folder: Path, *arguments: object) -> dict[str, Any]:
    answer = komlm("mask", TEXT, "--tokenizer", tokenizer_folder, "--json", *arguments)
    assert (answer.code, answer.err) == (0, "")
    (said,) = answer.objects
    return said


@pytest.mark.parametrize("unit", ["piece", "morpheme", "eojeol"])
def test_whole_units_are_hidden(komlm: Run, tokenizer_folder: Path, unit: str) -> None:
    seen = set()
    for seed in range(5):
        said = masked(
            komlm, tokenizer_folder, "--unit", unit, "--ratio", "0.4", "--seed", str(seed)
        )
        assert list(said)[-3:] == ["hidden", "input_ids", "labels"]
        hidden = set(said["hidden"])
        ids = [piece["id"] for piece in said["pieces"]]
        assert 0 < len(hidden) < len(ids)
        for one in said["units"][unit]:
            assert len(hidden & set(one["pieces"])) in (0, len(one["pieces"]))
        for number, (id_, given, label) in enumerate(
            zip(ids, said["input_ids"], said["labels"], strict=True)
        ):
            assert label == (id_ if number in hidden else -100)
            assert number in hidden or given == id_
        seen.add(tuple(said["hidden"]))
    assert len(seen) > 1


def test_the_same_seed_hides_the_same(komlm: Run, tokenizer_folder: Path) -> None:
    assert masked(komlm, tokenizer_folder, "--seed", 3) == masked(
        komlm, tokenizer_folder, "--seed", 3
    )


def test_each_line_has_its_own_draws(komlm: Run, tokenizer_folder: Path) -> None:
    stdin = (f"{TEXT}\n" * 6).encode()
    said = komlm(
        "mask", "--tokenizer", tokenizer_folder, "--ratio", "0.3", "--json", stdin=stdin
    ).objects
    assert len({tuple(one["hidden"]) for one in said}) > 1
    assert said[0] == masked(komlm, tokenizer_folder, "--ratio", "0.3")


def test_the_text_is_shown_with_masks(komlm: Run, tokenizer_folder: Path) -> None:
    arguments = ("--tokenizer", tokenizer_folder, "--unit", "eojeol", "--ratio", "0.3")
    answer = komlm("mask", TEXT, *arguments)
    said = komlm("mask", TEXT, *arguments, "--json").objects[0]
    words = TEXT.split()
    for number, unit in enumerate(said["units"]["eojeol"]):
        if said["hidden"] and set(unit["pieces"]) <= set(said["hidden"]):
            words[number] = "[MASK]"
    assert answer.out == " ".join(words) + "\n"


def test_an_empty_text_hides_nothing(komlm: Run, tokenizer_folder: Path) -> None:
    said = komlm("mask", "", "--tokenizer", tokenizer_folder, "--json").objects[0]
    assert (said["hidden"], said["input_ids"], said["labels"]) == ([], [], [])


@pytest.mark.parametrize("unit", ["piece", "morpheme", "eojeol"])
@pytest.mark.parametrize("by", ["unit", "piece"])
def test_training_hides_the_same_in_a_row_of_the_text(
    analyzer: Analyzer, tokenizer: Tokenizer, tmp_path: Path, unit: str, by: str
) -> None:
    alignment = Aligner(tokenizer, analyzer)(TEXT)
    ids, arrays = alignment.encoded.ids, alignment.arrays
    starts = arrays.starts.copy()
    starts[0] |= Flag.SENTENCE | Flag.DOCUMENT
    parts = {}
    for split in ("train", "heldout"):
        path = tmp_path / split / "part-00000.arrow"
        path.parent.mkdir()
        write_shard(
            path, ids, starts, arrays.tags, np.array([0, len(ids)]), tokenizer.vocabulary_size
        )
        parts[f"{split}/{path.name}"] = {
            "sha256": sha256_of(path),
            "documents": 1,
            "pieces": len(ids),
        }
    manifest = {
        "kind": "shards",
        "vocabulary_size": tokenizer.vocabulary_size,
        "special_ids": tokenizer.special_ids,
        "tokenizer": {},
        "identity": "0" * 64,
        "counts": {},
        "parts": parts,
    }
    write_json(tmp_path / "manifest.json", manifest)
    (tmp_path / "tokenizer").mkdir()
    rows = RowSource(Shards.open(tmp_path, "train"), 64, "eojeol").batch(np.array([0]))
    for seed in range(8):
        config = Config(
            masking=MaskingConfig(unit=unit, ratio=0.4, replace=by),
            rows=RowsConfig(max_length=64),
            training=TrainingConfig(seed=seed),
        )
        objective = MaskedLanguageModel(config, tokenizer.vocabulary_size, tokenizer.special_ids)
        batch = objective.batch(rows, torch.tensor([0]))
        hidden = hide(
            ids,
            arrays.starts,
            arrays.tags,
            unit=unit,
            selection=Selection(ratio=0.4, seed=seed),
            by=by,
            number=0,
            special_ids=tokenizer.special_ids,
            vocabulary_size=tokenizer.vocabulary_size,
        )
        assert batch["input_ids"][0, 1 : len(ids) + 1].tolist() == hidden.input_ids
        used = batch["labels"][0] != -100
        assert (batch["positions"][0][used] - 1).tolist() == hidden.hidden
        assert batch["labels"][0][used].tolist() == [hidden.labels[n] for n in hidden.hidden]
