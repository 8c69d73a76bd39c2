"""Aligning many texts: in order, a few ahead, the same with any number of workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from komlm import Aligner, Alignment
from komlm.text import aligner as module
from komlm.text.analysis import Analyzer
from komlm.text.packed import pack
from komlm.text.tokenizer import Tokenizer
from tests.text.families import source_of, tokenizer_of
from tests.text.strategies import texts

TEXTS = ["나는 어제 학교에 갔다.", "", "난 추워서 안갔다ㅋㅋ", "  ", "뷁🙂 É"] * 3


def same(one: Alignment, other: Alignment) -> None:
    assert one.text == other.text
    assert one.pieces == other.pieces
    assert one.morphemes == other.morphemes
    assert one.units("morpheme") == other.units("morpheme")
    for mine, theirs in zip(one.encoded, other.encoded, strict=True):
        assert np.array_equal(mine, theirs)
    assert np.array_equal(one.analysis.sentence_starts, other.analysis.sentence_starts)


@pytest.fixture
def aligner(tokenizer: Tokenizer, analyzer: Analyzer) -> Aligner:
    return Aligner(tokenizer, analyzer)


def test_one_worker_is_one_by_one(aligner: Aligner) -> None:
    for alignment, text in zip(aligner.batch(TEXTS), TEXTS, strict=True):
        same(alignment, aligner(text))


def test_what_is_no_text_is_refused(aligner: Aligner) -> None:
    with pytest.raises(TypeError, match="wanted a string, and got NoneType"):
        aligner(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"a single string: wanted several texts"):
        aligner.batch("가나")


@pytest.mark.slow
def test_several_workers_give_the_same_in_order(
    analyzer: Analyzer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a tokenizer of another make and a dictionary of the user's."""
    monkeypatch.setattr(module, "CHUNK", 40)
    words = tmp_path / "words.txt"
    words.write_text("칸칸토리\tNNP\t5.0\n", encoding="utf-8")
    aligner = Aligner.from_pretrained(source_of("wordpiece, uncased"), words)
    many = ["칸칸토리에 갔다.", *TEXTS] * 4
    for alignment, text in zip(aligner.batch(many, workers=2), many, strict=True):
        same(alignment, aligner(text))
        assert text in TEXTS or alignment.morphemes[0].form == "칸칸토리"


@pytest.mark.slow
def test_texts_are_read_a_few_ahead_and_without_end(
    aligner: Aligner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", 100)
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        while True:
            read += 1
            yield f"{read}번째 글이다."

    found = aligner.batch(endless(), workers=2)
    for number in range(1, 200):
        assert next(found).text == f"{number}번째 글이다."
        # Eight chunks are under way, and the one that is given out.
        assert read - number < 10 * 15
    found.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bad", "kind", "told"),
    [
        ("가\ud800", ValueError, "text 12: lone surrogate U\\+D800 at offset 1"),
        (None, TypeError, "text 12: wanted a string, and got NoneType"),
    ],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_text_that_is_refused_is_named_by_its_number(
    aligner: Aligner,
    monkeypatch: pytest.MonkeyPatch,
    bad: object,
    kind: type,
    told: str,
    workers: int,
) -> None:
    monkeypatch.setattr(module, "CHUNK", 30)
    many = [*TEXTS[:12], bad, *TEXTS]
    done = []
    with pytest.raises(kind, match=told):
        done.extend(aligner.batch(many, workers=workers))  # type: ignore[arg-type]
    assert [alignment.text for alignment in done] == TEXTS[:12]


@pytest.mark.slow
def test_an_analyzer_that_cannot_be_built_says_why(
    tokenizer: Tokenizer, analyzer: Analyzer, tmp_path: Path
) -> None:
    aligner = Aligner(tokenizer, analyzer, tmp_path / "gone.txt")
    with pytest.raises(FileNotFoundError, match=r"user dictionary .*gone.txt: there is no such"):
        list(aligner.batch(TEXTS, workers=2))


def test_too_few_workers_are_told_at_once(aligner: Aligner) -> None:
    with pytest.raises(ValueError, match="workers = 0: wanted 1 or more"):
        aligner.batch(TEXTS, workers=0)


def test_no_texts(aligner: Aligner) -> None:
    assert list(aligner.batch([])) == []


@settings(max_examples=50)
@given(many=st.lists(texts, max_size=5))
def test_packed_and_unpacked(many: list[str], analyzer: Analyzer) -> None:
    tokenizer = tokenizer_of("byte-level bpe")
    done = [(analyzer(text), tokenizer.encode(text)) for text in many]
    packed = pack(done)
    assert packed.texts == len(many)
    for (analysis, pieces), text, wanted in zip(packed.unpacked(many), many, done, strict=True):
        same(
            Alignment(analysis, pieces, tokenizer.pieces),
            Alignment(*wanted, tokenizer.pieces),
        )
        assert analysis.text == text
