"""What Kiwi's view of a text promises, for any text."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from komlm.text.analysis import MAX_CHUNK, Analyzer, _chunks, analyzer_identity
from komlm.text.tags import (
    CLASS_OF_CODE,
    CLASS_OF_TAG,
    CLASSES,
    NO_CLASS,
    TAG_CODE,
    TAGS,
    plain_tag,
)
from komlm.types import Span
from tests.text.strategies import texts


@given(text=texts)
@settings(max_examples=200)
def test_any_text(text: str, analyzer: Analyzer) -> None:
    found = analyzer(text)
    assert (np.diff(found.starts) >= 0).all()
    assert (np.diff(found.ends) >= 0).all()
    assert all(0 <= m.start <= m.end <= len(text) for m in found.morphemes)
    assert [text[s:e] for s, e in found.eojeols] == text.split()
    assert found.eojeol_starts.tolist() == [span.start for span in found.eojeols]
    assert (np.diff(found.sentence_starts) >= 0).all()
    assert analyzer(text, forms=False).tags.tolist() == found.tags.tolist()


@given(st.text("가나 \n.다!?", max_size=60), st.integers(1, 6))
def test_chunks_are_the_text(text: str, repeat: int) -> None:
    """Nothing is lost or moved, and none is longer than Kiwi bears."""
    text = text * repeat * 40
    chunks = list(_chunks(text))
    assert "".join(chunk for _, chunk, _ in chunks) == text
    assert all(text[start : start + len(chunk)] == chunk for start, chunk, _ in chunks)
    assert all(len(chunk) <= MAX_CHUNK + 1 for _, chunk, _ in chunks)


def test_chunks_end_at_the_best_place() -> None:
    """A line end, else a sentence end, else a space, else hard."""
    sentence = "나는 갔다. " * 400
    assert all(re.search(r"다\. $", chunk) for _, chunk, _ in _chunks(sentence))
    words = "갔다 " * 1_000
    assert all(chunk.endswith(" ") for _, chunk, _ in _chunks(words))
    assert [len(chunk) for _, chunk, _ in _chunks("가" * 4_500)] == [2000, 2000, 500]
    assert [chunk for _, chunk, _ in _chunks("가\n나")] == ["가\n", "나"]


def test_nfd_is_read_as_nfc(analyzer: Analyzer) -> None:
    """Kiwi finds no morphemes in NFD; the spans are those of the text as given."""
    nfd = unicodedata.normalize("NFD", "학교에 갔다")
    morphemes = analyzer(nfd).morphemes
    assert [m.form for m in morphemes] == ["학교", "에", "가", "었", "다"]
    assert (morphemes[0].start, morphemes[0].end) == (0, 5)
    assert (morphemes[1].start, morphemes[1].end) == (5, 7)


def test_sentences(analyzer: Analyzer) -> None:
    text = "나는 갔다. 너는 왔니?\n그래."
    assert analyzer(text).sentences == [Span(0, 6), Span(7, 13), Span(14, 17)]


def test_a_lone_surrogate_is_named(analyzer: Analyzer) -> None:
    with pytest.raises(ValueError, match="offset 3"):
        analyzer("갔다 \udfff")


def test_forms_are_not_kept_on_disk(analyzer: Analyzer) -> None:
    with pytest.raises(ValueError, match="no dictionary forms"):
        _ = analyzer("갔다", forms=False).morphemes


def test_a_user_dictionary_is_used_and_is_part_of_the_identity(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_text("쀍뷁볽\tNNP\t10.0\n", encoding="utf-8")
    found = Analyzer(path)("쀍뷁볽을 봤다").morphemes
    assert (found[0].form, found[0].tag) == ("쀍뷁볽", "NNP")
    first = analyzer_identity(path)
    assert first != analyzer_identity()
    path.write_text("쀍뷁볽\tNNP\t5.0\n", encoding="utf-8")
    assert analyzer_identity(path) != first


@pytest.mark.parametrize(
    "content", [b"no tab here\n", "낱말\tXYZ\t0\n".encode(), b"\xff\xfe\tNNP\n"]
)
def test_a_broken_dictionary_is_named(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"words\.tsv"):
        Analyzer(path)


def test_a_missing_dictionary_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        Analyzer(tmp_path / "nowhere")


def test_tags_have_numbers_and_classes() -> None:
    assert TAGS[0] == ""
    assert len(set(TAGS)) == len(TAGS) <= 255
    assert CLASS_OF_CODE[0] == NO_CLASS
    assert all(CLASSES[CLASS_OF_CODE[TAG_CODE[tag]]] == name for tag, name in CLASS_OF_TAG.items())
    assert plain_tag("VV-I") == plain_tag("VV-R") == "VV"


def test_every_tag_of_the_installed_kiwi_is_known() -> None:
    """Kiwi's own words, one a tag: those that its text interface names."""
    import kiwipiepy

    source = Path(kiwipiepy.__file__).parent
    named = set()
    for file in source.rglob("*.py*"):
        if file.suffix in (".py", ".pyi"):
            text = file.read_text(encoding="utf-8")
            named |= set(re.findall(r"['\"]((?:NN|VC|XS|ET|JK|SS|W_|Z_)[A-Z]+)['\"]", text))
    assert {"NNG", "VCP", "XSN", "ETM", "JKS"} <= named
    assert named - set(TAG_CODE) <= set()
