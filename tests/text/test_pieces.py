"""Spans from the offsets of other makers' encoders, where these are known to be wrong."""

from __future__ import annotations

import unicodedata

import pytest
from tokenizers import AddedToken, Regex, models, normalizers
from tokenizers import Tokenizer as Backend
from tokenizers import pre_tokenizers as pre

from komlm.text.loading import load_tokenizer
from komlm.text.tokenizer import Tokenizer


def by_letters(normalizer: normalizers.Normalizer | None = None) -> Tokenizer:
    """Cuts a text into the characters that the normaliser makes of it, spaces left out."""
    backend = Backend(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    if normalizer is not None:
        backend.normalizer = normalizer
    backend.pre_tokenizer = pre.Sequence(
        [pre.WhitespaceSplit(), pre.Split(Regex("(?m)."), "isolated")]
    )
    return load_tokenizer(backend)


def spans(tokenizer: Tokenizer, text: str) -> list[tuple[int, int]]:
    found = tokenizer.encode(text)
    return list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))


N = normalizers
CLEAN = N.BertNormalizer(lowercase=False)
CASES = {
    "no normaliser": (None, "가 나", [(0, 1), (2, 3)]),
    # One syllable of two or three letters is one piece: the text is composed first.
    "NFD text": (None, unicodedata.normalize("NFD", "학교"), [(0, 3), (3, 5)]),
    "NFD text under NFKC": (N.NFKC(), unicodedata.normalize("NFD", "학교"), [(0, 3), (3, 5)]),
    "letters that NFKC composes": (N.NFKC(), "가 ㅎㅏ나", [(0, 1), (2, 4), (4, 5)]),
    "one that becomes several": (N.NFKC(), "㈜가", [(0, 1)] * 3 + [(1, 2)]),
    "a capital that becomes two": (N.Lowercase(), "İA", [(0, 1), (0, 1), (1, 2)]),
    "accents that fall away": (
        N.BertNormalizer(lowercase=True),
        "É e\u0301x",
        [(0, 1), (2, 4), (4, 5)],
    ),
    "a mark that composes with nothing": (
        N.BertNormalizer(lowercase=True, strip_accents=True),
        "aq\u0301a",
        [(0, 1), (1, 3), (3, 4)],
    ),
    "syllables taken apart": (N.NFD(), "학교", [(0, 1)] * 3 + [(1, 2)] * 2),
    "spaces put around": (N.BertNormalizer(lowercase=False), "漢字가", [(0, 1), (1, 2), (2, 3)]),
    "several that become one": (N.Replace("한국", "K"), "나한국나", [(0, 1), (1, 3), (3, 4)]),
    "one in front": (N.Prepend("x"), "가나", [(0, 1), (0, 1), (1, 2)]),
    "spaces cut off": (N.Strip(), "  가 나  ", [(2, 3), (4, 5)]),
    "dropped in front": (CLEAN, "\x01가", [(0, 2)]),
    "dropped inside": (CLEAN, "가\u200b나", [(0, 2), (2, 3)]),
    "dropped at the end": (CLEAN, "가나 \x01", [(0, 1), (1, 4)]),
    "dropped where an eojeol begins": (CLEAN, "가 \ufeff나", [(0, 1), (2, 4)]),
    "dropped between spaces": (CLEAN, "가 \x01 나", [(0, 1), (2, 5)]),
}


@pytest.mark.parametrize("case", CASES)
def test_what_a_normaliser_does(case: str) -> None:
    normalizer, text, wanted = CASES[case]
    assert spans(by_letters(normalizer), text) == wanted


def test_a_part_of_a_syllable_has_the_syllable() -> None:
    """Byte-level, and the bytes of unknown characters, of which Unigram tells the run alone."""
    byte_level = Backend(
        models.BPE({c: n for n, c in enumerate(sorted(pre.ByteLevel.alphabet()))}, [])
    )
    byte_level.pre_tokenizer = pre.ByteLevel(add_prefix_space=True)
    assert spans(load_tokenizer(byte_level), "가 a뷁") == [
        (0, 0), (0, 1), (0, 1), (0, 1), (2, 2), (2, 3), (3, 4), (3, 4), (3, 4),
    ]  # fmt: skip
    bytes_ = [(f"<0x{n:02X}>", -9.0) for n in range(256)]
    unigram = Backend(
        models.Unigram([("<unk>", 0.0), ("▁", -1.0), ("가", -1.0), *bytes_], 0, byte_fallback=True)
    )
    unigram.pre_tokenizer = pre.Metaspace(split=False)
    assert spans(load_tokenizer(unigram), "가 a뷁가") == [
        (0, 0), (0, 1), (2, 2), (2, 3), (3, 4), (3, 4), (3, 4), (4, 5),
    ]  # fmt: skip


def test_a_word_too_long_is_one_unknown_piece() -> None:
    wordpiece = Backend(models.WordPiece({"[UNK]": 0, "가": 1, "##가": 2}, unk_token="[UNK]"))
    wordpiece.pre_tokenizer = pre.BertPreTokenizer()
    assert spans(load_tokenizer(wordpiece), "가가 " + "가" * 200 + " 🙂") == [
        (0, 1), (1, 2), (3, 203), (204, 205),
    ]  # fmt: skip


def test_an_added_token_takes_its_own_stretch() -> None:
    wordpiece = Backend(models.WordPiece({"[UNK]": 0, "가": 1}, unk_token="[UNK]"))
    wordpiece.normalizer = N.BertNormalizer(lowercase=True)
    wordpiece.pre_tokenizer = pre.BertPreTokenizer()
    wordpiece.add_tokens([AddedToken("Kiwi", lstrip=True, rstrip=True, normalized=False)])
    assert spans(load_tokenizer(wordpiece), "가  Kiwi 가") == [(0, 1), (3, 7), (8, 9)]


@pytest.mark.parametrize("name", ["<s>", "<mask>", "[SEP]"])
def test_the_name_of_a_special_piece_is_text(name: str) -> None:
    """Unigram takes the letters for the piece, whose name is in its vocabulary."""
    letters = sorted(set("<>[]/smakSEP"))
    pieces = [(name, 0.0), ("<unk>", 0.0), ("▁", -1.0), *((c, -2.0) for c in letters)]
    backend = Backend(models.Unigram(pieces, 1))
    backend.pre_tokenizer = pre.Metaspace(split=False)
    backend.add_special_tokens([name])
    backend.encode_special_tokens = True
    assert 0 in backend.encode(name, add_special_tokens=False).ids
    tokenizer = load_tokenizer(backend)
    found = tokenizer.encode(name)
    assert [tokenizer.pieces[n] for n in found.ids] == ["▁", *name]
    assert found.starts.tolist() == [0, *range(len(name))]


def test_a_special_piece_of_one_letter_is_refused_with_its_offset() -> None:
    backend = Backend(models.Unigram([("$", 0.0), ("<unk>", 0.0), ("가", -1.0)], 1))
    backend.add_special_tokens(["$"])
    with pytest.raises(ValueError, match=r"reads \$ at offset 2 as its special piece"):
        load_tokenizer(backend).encode("가가$")


def test_dropout_is_for_training() -> None:
    merges = [("가", "나"), ("다", "라")]
    vocabulary = {p: n for n, p in enumerate(["가", "나", "다", "라", "가나", "다라"])}
    tokenizer = load_tokenizer(Backend(models.BPE(vocabulary, merges, dropout=0.9)))
    assert {tuple(tokenizer.encode("가나다라").ids.tolist()) for _ in range(50)} == {(4, 5)}
