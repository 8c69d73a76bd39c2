"""A model so small that all its completions can be gone through one by one."""

from __future__ import annotations

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM

from komlm.inference.fill_mask import FillMask
from komlm.text.analysis import Analyzer
from komlm.text.export import SPECIALS, Vocabulary, write_folder
from komlm.text.normalize import Normalizer
from komlm.text.tokenizer import Tokenizer

WORD_STARTS = ["▁나", "▁학교", "▁집", "▁어제", "▁갔", "▁오", "▁학", "▁"]
PIECES = WORD_STARTS + list("나는에서로다를도교학집오갔.어제았")


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """A tokenizer of 30 pieces."""
    folder = tmp_path_factory.mktemp("tokenizers") / "small"
    vocabulary = Vocabulary(
        pieces=SPECIALS + tuple(PIECES),
        scores=(0.0,) * 5 + tuple(-float(5 - len(piece)) for piece in PIECES),
        kind="unigram",
        normalizer=Normalizer.default(),
    )
    write_folder(vocabulary, b"", folder)
    return Tokenizer.load(folder)


def bert(entries: int, positions: int = 24) -> BertForMaskedLM:
    torch.manual_seed(3)
    return BertForMaskedLM(
        BertConfig(
            vocab_size=entries,
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=positions,
            initializer_range=0.7,
            pad_token_id=1,
        )
    ).eval()


@pytest.fixture(scope="session")
def model(small: Tokenizer) -> BertForMaskedLM:
    return bert(small.vocabulary_size)


@pytest.fixture(scope="session")
def fill_mask(model: BertForMaskedLM, small: Tokenizer, analyzer: Analyzer) -> FillMask:
    return FillMask(model, small, analyzer)
