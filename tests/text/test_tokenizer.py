"""Ids and spans: against AutoTokenizer, and the fast way against the slow one."""

from __future__ import annotations

import json
import shutil
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from tokenizers import Tokenizer as Backend
from tokenizers import models, normalizers, pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from komlm.text.tokenizer import Tokenizer
from tests.text.strategies import texts


@pytest.fixture(scope="module")
def auto(tokenizer_folder: Path) -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(tokenizer_folder)


@pytest.mark.property
@given(text=texts)
def test_ids_are_those_of_autotokenizer(
    text: str, tokenizer: Tokenizer, auto: PreTrainedTokenizerBase
) -> None:
    ids = auto(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    assert tokenizer.encode(text).ids.tolist() == ids
    assert not set(ids) & {1, 2, 3, 4}


@pytest.mark.property
@given(text=texts)
def test_spans_from_lengths_are_those_from_offsets(text: str, tokenizer: Tokenizer) -> None:
    """Two ways to the same spans: lengths of the pieces added up, and the encoder's offsets."""
    normal = tokenizer._normalized(text)
    encoding = tokenizer._plain.encode(normal.text, add_special_tokens=False)
    slow = tokenizer._from_offsets(encoding, normal, text)
    for fast_array, slow_array in zip(tokenizer.encode(text), slow, strict=True):
        assert np.array_equal(fast_array, slow_array)


@given(text=texts)
def test_pieces_spell_the_normalised_text(text: str, tokenizer: Tokenizer) -> None:
    """What each piece covers, normalised, is the piece."""
    assert tokenizer.normalizer is not None
    found = tokenizer.encode(text)
    for n, start, end in zip(*(a.tolist() for a in found[:3]), strict=True):
        piece = tokenizer.pieces[n].lstrip("▁")
        if n != tokenizer.special_ids["unk"]:
            assert piece in tokenizer.normalizer(text[start:end]).text


@pytest.mark.parametrize(
    "front", ["\0", "\0\0", "\0 ", " \0", "\u200b", "\ufeff", "\U0010fffd", "\x01"]
)
def test_a_dropped_front_still_begins_a_word(
    front: str, tokenizer: Tokenizer, auto: PreTrainedTokenizerBase
) -> None:
    plain = tokenizer.encode("학교에").ids.tolist()
    assert tokenizer.encode(front + "학교에").ids.tolist() == plain
    read = auto(front + "학교에", add_special_tokens=False, split_special_tokens=True)
    assert read["input_ids"] == plain


def test_a_mask_takes_the_space_before_it_and_starts_no_word(
    tokenizer: Tokenizer, auto: PreTrainedTokenizerBase
) -> None:
    text = "나는 어제 [MASK]에 갔다. [MASK] 좋았다"
    ids = tokenizer.encode_with_masks(text)
    assert ids == auto(text, add_special_tokens=False)["input_ids"]
    pieces = [tokenizer.pieces[n] for n in ids]
    first, second = (k for k, piece in enumerate(pieces) if piece == "[MASK]")
    assert not pieces[first - 1].endswith("▁")
    assert not pieces[first + 1].startswith("▁")
    assert pieces[second + 1].startswith("▁")


def test_a_lone_surrogate_is_named_with_its_offset(tokenizer: Tokenizer) -> None:
    for encode in (tokenizer.encode, tokenizer.encode_with_masks):
        with pytest.raises(ValueError, match="offset 2"):
            encode("갔다\ud800")


def test_no_folder_and_no_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="komlm tokenizer train"):
        Tokenizer.load(tmp_path / "nowhere")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ValueError, match="not a tokenizer"):
        Tokenizer.load(tmp_path)


def test_a_missing_special_is_named(tokenizer_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tok"
    shutil.copytree(tokenizer_folder, folder)
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**config, "mask_token": "<mask>"}))
    with pytest.raises(ValueError, match=r"no \[MASK\] \(mask_token\).*add_special_tokens"):
        Tokenizer.load(folder)
    lenient = Tokenizer.load(folder, all_specials=False)
    assert set(lenient.special_ids) == {"unk", "pad", "cls", "sep"}
    with pytest.raises(ValueError, match="filling masks needs all"):
        lenient.specials_for("filling masks")


def test_a_model_of_another_size_is_refused(tokenizer: Tokenizer) -> None:
    tokenizer.check_fits(2000)
    tokenizer.check_fits(2048)
    for entries in (1990, 2500):
        with pytest.raises(ValueError, match=rf"{entries:,}.*2,000"):
            tokenizer.check_fits(entries)


@pytest.fixture(scope="module")
def wordpiece_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer of another make, as KLUE-BERT has."""
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "학교", "##에", "갔", "##다", "."]
    backend = Backend(models.WordPiece({p: n for n, p in enumerate(names)}, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    folder = tmp_path_factory.mktemp("wordpiece")
    backend.save(str(folder / "tokenizer.json"))
    return folder


def test_another_make(wordpiece_folder: Path) -> None:
    """Its own normaliser works unseen; spans are in the text as given, NFD too."""
    tokenizer = Tokenizer.load(wordpiece_folder)
    assert tokenizer.normalizer is None
    found = tokenizer.encode("학교에 갔다.")
    assert [tokenizer.pieces[n] for n in found.ids] == ["학교", "##에", "갔", "##다", "."]
    assert found.starts.tolist() == [0, 2, 4, 5, 6]
    assert found.ends.tolist() == [2, 3, 5, 6, 7]
    nfd = unicodedata.normalize("NFD", "학교에")
    assert tokenizer.encode(nfd).ends.tolist() == [5, len(nfd)]
    assert tokenizer.word_initial[5:].tolist() == [True, False, True, False, True]
    assert tokenizer.word_continuing[5:].tolist() == [False, True, False, True, True]
