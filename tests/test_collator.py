"""The collator: its masks against the contract of masking, and real runs of the Trainer."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from torch.utils.data import DataLoader
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM, Trainer, TrainingArguments

from komlm import Aligner, UnitMaskingCollator, mean_over_step
from komlm.corpus import read_documents
from komlm.corpus.source import find_source
from komlm.text.analysis import Analyzer
from komlm.text.tokenizer import Tokenizer
from komlm.types import Flag

Batch = dict[str, torch.Tensor]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    documents = read_documents(find_source("mini"))
    return [next(documents).text[:400] for _ in range(24)]


@pytest.fixture(scope="module")
def rows(tokenizer: Tokenizer, analyzer: Analyzer, texts: list[str]) -> Dataset:
    """Rows of 64 pieces and fewer from two dozen texts."""
    return Aligner(tokenizer, analyzer).map(Dataset.from_dict({"text": texts}), max_length=64)


@pytest.fixture
def collator(tokenizer: Tokenizer) -> UnitMaskingCollator:
    return at_epoch_0(UnitMaskingCollator(tokenizer))


def at_epoch_0(collator: UnitMaskingCollator) -> UnitMaskingCollator:
    """Told of an epoch, it does not warn of the same rows coming again."""
    collator.set_epoch(0)
    return collator


def features(rows: Dataset) -> list[dict[str, Any]]:
    return [rows[n] for n in range(len(rows))]


def unpadded(batch: Batch) -> list[tuple[list[int], list[int]]]:
    """Ids and labels of each row."""
    lengths = batch["attention_mask"].sum(1).tolist()
    return [
        (batch["input_ids"][n, :length].tolist(), batch["labels"][n, :length].tolist())
        for n, length in enumerate(lengths)
    ]


def test_rows_hold_the_texts(rows: Dataset, tokenizer: Tokenizer, texts: list[str]) -> None:
    cls, sep = tokenizer.special_ids["cls"], tokenizer.special_ids["sep"]
    assert rows.column_names == ["input_ids", "starts", "tags"]
    stream: list[int] = []
    for row in features(rows):
        assert len(row["input_ids"]) == len(row["starts"]) == len(row["tags"]) <= 64
        assert [row["input_ids"][0], row["input_ids"][-1]] == [cls, sep]
        assert row["starts"][1] & Flag.EOJEOL
        stream += row["input_ids"][1:-1].tolist()
    assert stream == [n for text in texts for n in tokenizer.encode(text).ids.tolist()]


@pytest.mark.parametrize(("unit", "flag"), [("morpheme", Flag.MORPHEME), ("eojeol", Flag.EOJEOL)])
def test_whole_units_are_hidden_within_the_budget(
    rows: Dataset, tokenizer: Tokenizer, unit: str, flag: Flag
) -> None:
    collator = UnitMaskingCollator(tokenizer, unit=unit, mlm_probability=0.25)
    batch = collator(features(rows))
    special = {number for role, number in tokenizer.special_ids.items() if role != "unk"}
    ordinary = set(range(len(tokenizer.pieces))) - special
    for row, (ids, labels) in zip(features(rows), unpadded(batch), strict=True):
        hidden = np.array(labels) != -100
        assert (np.array(labels)[hidden] == row["input_ids"][hidden]).all()
        assert (np.array(ids)[~hidden] == row["input_ids"][~hidden]).all()
        assert not hidden[0]
        assert not hidden[-1]
        begins = np.append(np.flatnonzero(row["starts"][:-1] & flag), len(hidden) - 1)
        lengths = np.diff(begins)
        share = np.add.reduceat(hidden[:-1], begins[:-1]) / lengths
        assert set(share.tolist()) <= {0.0, 1.0}
        assert abs(hidden.sum() - 0.25 * (len(hidden) - 2)) <= lengths.max()
        assert set(np.array(ids)[hidden].tolist()) <= ordinary | {tokenizer.special_ids["mask"]}


def test_a_mask_depends_on_neither_batch_nor_padding(rows: Dataset, tokenizer: Tokenizer) -> None:
    collator = at_epoch_0(UnitMaskingCollator(tokenizer))
    all_at_once = unpadded(collator(features(rows)))
    wide = at_epoch_0(UnitMaskingCollator(tokenizer, pad_to_multiple_of=128))
    assert wide(features(rows))["input_ids"].shape[1] == 128
    assert unpadded(wide(features(rows))) == all_at_once
    backwards = [unpadded(collator([row]))[0] for row in reversed(features(rows))]
    assert backwards[::-1] == all_at_once


def test_raw_text_gives_what_prepared_columns_give(
    rows: Dataset, collator: UnitMaskingCollator, texts: list[str], tokenizer: Tokenizer
) -> None:
    short = [text[:40] for text in texts]
    raw = collator([{"text": text, "id": 7} for text in short])
    made = Aligner.from_pretrained(tokenizer).map(Dataset.from_dict({"text": short}))
    assert unpadded(raw) == unpadded(collator(features(made)))


@pytest.mark.parametrize("workers", [0, 2])
def test_workers_draw_the_same_masks_and_hear_of_epochs(
    rows: Dataset, tokenizer: Tokenizer, workers: int
) -> None:
    alone = UnitMaskingCollator(tokenizer)
    collator = pickle.loads(pickle.dumps(UnitMaskingCollator(tokenizer)))
    loader = DataLoader(
        rows,
        batch_size=5,
        collate_fn=collator,
        num_workers=workers,
        persistent_workers=workers > 0,
        multiprocessing_context="spawn" if workers else None,
    )
    seen = []
    for epoch in (0, 1, 0):
        collator.set_epoch(epoch)
        alone.set_epoch(epoch)
        found = [row for batch in loader for row in unpadded(batch)]
        assert found == unpadded(alone(features(rows)))
        seen.append(found)
    assert seen[0] == seen[2] != seen[1]


def test_shares_weights_and_seeds(rows: Dataset, tokenizer: Tokenizer) -> None:
    mask = tokenizer.special_ids["mask"]
    masks_only = UnitMaskingCollator(tokenizer, mask_replace_prob=1.0, random_replace_prob=0.0)
    batch = masks_only(features(rows))
    assert (batch["input_ids"][batch["labels"] != -100] == mask).all()
    kept = UnitMaskingCollator(tokenizer, mask_replace_prob=0.0, random_replace_prob=0.0)
    batch = kept(features(rows))
    hidden = batch["labels"] != -100
    assert (batch["input_ids"][hidden] == batch["labels"][hidden]).all()
    other = UnitMaskingCollator(tokenizer, seed=1)
    assert unpadded(other(features(rows))) != unpadded(
        UnitMaskingCollator(tokenizer)(features(rows))
    )
    assert UnitMaskingCollator(tokenizer, weights={"noun": 0})(features(rows))["labels"].max() > 0


def test_masks_that_never_change_are_warned_of(rows: Dataset, tokenizer: Tokenizer) -> None:
    collator = UnitMaskingCollator(tokenizer)
    collator(features(rows)[:4])
    with pytest.warns(UserWarning, match=r"callbacks=\[collator\]"):
        collator(features(rows)[:4])
    told = UnitMaskingCollator(tokenizer)
    told.set_epoch(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told(features(rows)[:4])
        told(features(rows)[:4])


def test_what_cannot_be_hidden_is_told(rows: Dataset, tokenizer: Tokenizer) -> None:
    collator = UnitMaskingCollator(tokenizer)
    with pytest.raises(ValueError, match="remove_unused_columns=False"):
        collator([{"input_ids": [2, 7, 3]}])
    with pytest.raises(ValueError, match="leave empty texts out"):
        collator([{"text": " "}])
    with pytest.raises(ValueError, match="mlm_probability = 1.5"):
        UnitMaskingCollator(tokenizer, mlm_probability=1.5)
    with pytest.raises(ValueError, match="morpheme"):
        UnitMaskingCollator(tokenizer, unit="morphem")
    with pytest.raises(ValueError, match="batch of no rows"):
        collator([])
    with pytest.raises(ValueError, match="kind of replacement"):
        UnitMaskingCollator(tokenizer, replace="word")
    with pytest.raises(ValueError, match="pad_to_multiple_of = -8"):
        UnitMaskingCollator(tokenizer, pad_to_multiple_of=-8)
    with pytest.raises(FileNotFoundError, match="user dictionary"):
        UnitMaskingCollator(tokenizer, dictionary="nowhere.tsv")
    with pytest.raises(ValueError, match="mask_replace_prob"):
        UnitMaskingCollator(tokenizer, mask_replace_prob=0.9, random_replace_prob=0.2)


def bert(tokenizer: Tokenizer) -> BertForMaskedLM:
    torch.manual_seed(0)
    return BertForMaskedLM(
        BertConfig(
            vocab_size=tokenizer.vocabulary_size,
            hidden_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=64,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            pad_token_id=tokenizer.special_ids["pad"],
        )
    )


def trained(
    tokenizer: Tokenizer, rows: Any, folder: Path, micro_batch: int, epochs: int = 2
) -> tuple[BertForMaskedLM, list[float]]:
    """A model after steps of 16 rows in the given micro-batches, and the norms of its gradients."""
    collator = UnitMaskingCollator(tokenizer, max_length=64)
    trainer = Trainer(
        bert(tokenizer),
        TrainingArguments(
            str(folder),
            per_device_train_batch_size=micro_batch,
            gradient_accumulation_steps=16 // micro_batch,
            num_train_epochs=epochs,
            learning_rate=1e-3,
            remove_unused_columns=False,
            logging_steps=1,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
        ),
        train_dataset=rows,
        data_collator=collator,
        callbacks=[collator],
        compute_loss_func=mean_over_step,
    )
    trainer.train()
    norms = [line["grad_norm"] for line in trainer.state.log_history if "grad_norm" in line]
    assert trainer.model is not None
    return trainer.model, norms


def test_gradients_do_not_depend_on_how_a_step_is_cut(
    rows: Dataset, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    some = rows.select(range(32))
    whole, norms = trained(tokenizer, some, tmp_path / "whole", 16)
    cut, cut_norms = trained(tokenizer, some, tmp_path / "cut", 4)
    assert len(norms) == 4
    assert norms == pytest.approx(cut_norms, rel=1e-4)
    for one, other in zip(whole.parameters(), cut.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


def test_a_saved_model_has_its_tokenizer(
    rows: Dataset, tokenizer: Tokenizer, texts: list[str], tmp_path: Path
) -> None:
    collator = UnitMaskingCollator(tokenizer)
    trainer = Trainer(
        bert(tokenizer),
        TrainingArguments(str(tmp_path / "run"), use_cpu=True, report_to=[]),
        train_dataset=rows,
        data_collator=collator,
    )
    trainer.save_model(str(tmp_path / "saved"))
    saved = AutoTokenizer.from_pretrained(tmp_path / "saved")
    for text in texts:
        assert (
            saved(text, add_special_tokens=False).input_ids == tokenizer.encode(text).ids.tolist()
        )
    # Pairs too: a model that is fine-tuned later may need its segments.
    original = AutoTokenizer.from_pretrained(tokenizer.folder)
    assert dict(saved("가", "나")) == dict(original("가", "나"))
    assert "token_type_ids" in saved("가", "나")
    assert UnitMaskingCollator(original).tokenizer is original
    again = Tokenizer.load(tmp_path / "saved")
    assert again.special_ids == tokenizer.special_ids


def test_the_trainer_takes_raw_text(texts: list[str], tokenizer: Tokenizer, tmp_path: Path) -> None:
    dataset = Dataset.from_dict({"text": texts[:16]})
    _, norms = trained(tokenizer, dataset, tmp_path, 16, epochs=2)
    assert len(norms) == 2
    assert all(np.isfinite(norms))


def test_the_loss_is_the_mean_over_all_hidden_pieces(tokenizer: Tokenizer, rows: Dataset) -> None:
    batch = UnitMaskingCollator(tokenizer)(features(rows)[:8])
    model = bert(tokenizer).eval()
    with torch.no_grad():
        theirs = model(**batch).loss
        labels = batch.pop("labels")
        ours = mean_over_step(model(**batch), labels)
        half = mean_over_step(model(**batch), labels, 2 * int((labels != -100).sum()))
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(half, theirs / 2)
