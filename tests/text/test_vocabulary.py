"""Vocabularies: the layout, the boundaries, and sizes that are not possible."""

from __future__ import annotations

import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from komlm.text.analysis import Analyzer
from komlm.text.export import SPECIALS, write_folder
from komlm.text.normalize import Normalizer
from komlm.text.sentencepiece_model import BOUNDARY, least_size, read_model, to_sentencepiece
from komlm.text.tokenizer import Tokenizer
from komlm.text.vocabulary import plain_words_of, read_order, train, words_of

small_words = st.dictionaries(
    st.text("가나다라마바사아자차a1", min_size=1, max_size=6), st.integers(1, 50), min_size=1
)


def test_words_have_boundaries_where_no_morpheme_runs_over(analyzer: Analyzer) -> None:
    """갔 is two morphemes on one syllable: no boundary inside, one after."""
    words = words_of(analyzer("학교에 갔다…"), Normalizer.default())
    assert words == [f"학교{BOUNDARY}에", f"갔{BOUNDARY}다{BOUNDARY}..."]
    assert plain_words_of(" 학교에  갔다…", Normalizer.default()) == ["학교에", "갔다..."]


def test_boundaries_stand_in_the_normalised_text(analyzer: Analyzer) -> None:
    """NFD and ㎏ change the length; the boundaries follow."""
    text = unicodedata.normalize("NFD", "학교에서") + " ㎏을"
    words = words_of(analyzer(text), Normalizer.default())
    assert words[0].replace(BOUNDARY, "|") == "학교|에서"
    assert words[1].replace(BOUNDARY, "|") == "kg|을"


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@pytest.mark.parametrize("aware", [True, False])
def test_layout(mini_words: Counter[str], kind: str, aware: bool, tmp_path: Path) -> None:
    """KoBERT's five specials first, no piece twice, no boundary in a piece, and the size asked."""
    words = mini_words
    if not aware:
        words = Counter()
        for word, count in mini_words.items():
            words[word.replace(BOUNDARY, "")] += count
    vocabulary = train(words, 2000, kind)
    assert vocabulary.pieces[:5] == SPECIALS
    assert len(vocabulary.pieces) == len(set(vocabulary.pieces)) == 2000
    assert not any(BOUNDARY in piece for piece in vocabulary.pieces)
    write_folder(vocabulary, to_sentencepiece(vocabulary), tmp_path / "tok")
    loaded = Tokenizer.load(tmp_path / "tok")
    assert tuple(loaded.pieces) == vocabulary.pieces
    assert loaded.special_ids == {"unk": 0, "pad": 1, "cls": 2, "sep": 3, "mask": 4}
    assert train(words, 2000, kind) == vocabulary


def test_morpheme_aware_pieces_cross_fewer_boundaries(
    mini_words: Counter[str], tmp_path: Path
) -> None:
    """The point of it: cut the same words with both, count the pieces that cross a boundary."""
    plain: Counter[str] = Counter()
    for word, count in mini_words.items():
        plain[word.replace(BOUNDARY, "")] += count
    rates = {}
    for name, words in (("aware", mini_words), ("plain", plain)):
        vocabulary = train(words, 2000)
        write_folder(vocabulary, to_sentencepiece(vocabulary), tmp_path / name)
        rates[name] = _crossing(Tokenizer.load(tmp_path / name), mini_words)
    assert rates["aware"] < 0.01
    assert rates["aware"] < rates["plain"] / 5


def _crossing(tokenizer: Tokenizer, words: Counter[str]) -> float:
    crossing = pieces = 0
    encoded = tokenizer.encode_batch([word.replace(BOUNDARY, "") for word in words])
    for word, found in zip(words, encoded, strict=True):
        cuts, at = set(), 0
        for part in word.split(BOUNDARY)[:-1]:
            at += len(part)
            cuts.add(at)
        for start, end in zip(found.starts.tolist(), found.ends.tolist(), strict=True):
            crossing += words[word] * any(start < cut < end for cut in cuts)
            pieces += words[word]
    return crossing / pieces


@settings(max_examples=15)
@given(small_words, st.sampled_from(["unigram", "bpe"]), st.booleans())
def test_any_words_give_a_vocabulary_or_say_what_is_possible(
    words: dict[str, int], kind: str, aware: bool
) -> None:
    if aware:
        words = {BOUNDARY.join(word): count for word, count in words.items()}
    least = least_size(words)
    with pytest.raises(ValueError, match=f"--vocab-size {least} or more"):
        train(words, least - 1, kind)
    vocabulary = train(words, 5_000, kind, at_most=True)
    possible = len(vocabulary.pieces)
    assert least <= possible < 5_000
    with pytest.raises(ValueError, match="--at-most"):
        train(words, possible + 1, kind)
    assert len(train(words, least, kind).pieces) == least


def test_no_words() -> None:
    with pytest.raises(ValueError, match="no words"):
        train({}, 100)


def test_an_unknown_type_is_named(mini_words: Counter[str]) -> None:
    with pytest.raises(ValueError, match="did you mean 'unigram'"):
        train(mini_words, 2000, "unigrm")


def test_kobert_keeps_its_numbers(shared: Path, tmp_path: Path) -> None:
    """Every piece under the id that the published JSON gives it, and KoBERT's own normalisation."""
    files = shared / "data" / "tokenizers" / "kobert"
    order = read_order(files / "kobertvocab_f38b8a4d6d.json")
    content = (files / "tokenizer_78b3253a26.model").read_bytes()
    vocabulary = read_model(content, "KoBERT", order)
    write_folder(vocabulary, to_sentencepiece(vocabulary), tmp_path / "tok")
    loaded = Tokenizer.load(tmp_path / "tok")
    assert loaded.pieces == order
    assert loaded.vocabulary_size == 8002
    pieces = [loaded.pieces[n] for n in loaded.encode("ㅋㅋㅠㅠ").ids]
    assert pieces == ["▁", "ᄏ", "큐", "[UNK]"]


def test_without_an_order_the_specials_come_first(shared: Path) -> None:
    """The model's own <unk>, <s> and </s> fall away."""
    content = (shared / "data/tokenizers/kobert/tokenizer_78b3253a26.model").read_bytes()
    vocabulary = read_model(content, "KoBERT")
    assert vocabulary.pieces[:7] == (*SPECIALS, ".", "▁")
    assert len(vocabulary.pieces) == 8002
    assert not {"<unk>", "<s>", "</s>"} & set(vocabulary.pieces)


def test_an_order_of_another_model_is_refused(shared: Path) -> None:
    tokenizers = shared / "data" / "tokenizers"
    order = read_order(tokenizers / "kobert" / "kobertvocab_f38b8a4d6d.json")
    content = (tokenizers / "kortok_sp-8k" / "tok.model").read_bytes()
    with pytest.raises(ValueError, match="do not belong together"):
        read_model(content, "kortok", order)


@pytest.mark.parametrize("content", [b"", b"\x00\x01", b"not a model at all, only text"])
def test_bytes_that_are_no_model(content: bytes) -> None:
    with pytest.raises(ValueError, match="SentencePiece model"):
        read_model(content, "a.model")


@pytest.mark.parametrize("text", ["[1, 2]", "{", '{"a": "b"}', '{"a": 0, "b": 2}'])
def test_json_that_is_no_vocabulary(text: str, tmp_path: Path) -> None:
    path = tmp_path / "vocab.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="vocab.json"):
        read_order(path)


def test_an_existing_folder_is_refused(mini_words: Counter[str], tmp_path: Path) -> None:
    vocabulary = train(mini_words, 2000)
    with pytest.raises(ValueError, match="choose another -o"):
        write_folder(vocabulary, b"", tmp_path)
