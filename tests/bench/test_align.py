from __future__ import annotations

import unicodedata
from dataclasses import replace

import numpy as np
import pytest

from komlm.bench import Material
from komlm.bench.align import _Fresh, measure
from komlm.corpus.prepare import align_documents, encode_documents
from komlm.text.analysis import Analyzer, chunks_for_kiwi
from komlm.text.tokenizer import Tokenizer


def test_the_report(material: Material) -> None:
    values = measure(material).values
    assert values.keys() == {"eojeols_per_s", "kiwi_eojeols_per_s", "share_of_kiwi"}
    quotient = values["kiwi_eojeols_per_s"] / values["eojeols_per_s"]
    assert values["share_of_kiwi"] == pytest.approx(quotient, rel=1e-4)


def test_what_is_timed_is_what_the_stage_does(material: Material, tokenizer: Tokenizer) -> None:
    """Encoding and aligning, each apart, give what the shards are written from."""
    for analyses in material.analyses():
        encoded = tokenizer.encode_batch([analysis.text for analysis in analyses])
        apart = align_documents([replace(analysis) for analysis in analyses], encoded)
        at_once = encode_documents(analyses, tokenizer)
        for one, other in zip(apart, at_once, strict=True):
            assert np.array_equal(one, other)


def test_eojeols_are_found_anew_each_time(material: Material) -> None:
    analyses = next(material.analyses())
    held = _Fresh(analyses)
    _ = held.analyses[0].eojeol_starts
    held.renew()
    assert "eojeol_starts" not in vars(held.analyses[0])
    assert held.analyses[0].text == analyses[0].text


TEXTS = [
    "나는 어제 학교에 갔다.\n너는?",
    unicodedata.normalize("NFD", "건네줄게 추워서"),
    "바다다. " * 600,
    "가" * 4_500,
    " \n",
]


@pytest.mark.parametrize("text", TEXTS, ids=["lines", "NFD", "long", "no space", "blank"])
def test_kiwi_alone_finds_as_many_morphemes(analyzer: Analyzer, text: str) -> None:
    assert analyzer.kiwi_alone(chunks_for_kiwi(text)) == len(analyzer(text).tags)


def test_chunks_are_the_text(analyzer: Analyzer, material: Material) -> None:
    for text in material.texts:
        assert "".join(chunks_for_kiwi(text)) == text
        assert analyzer.kiwi_alone(chunks_for_kiwi(text)) == len(analyzer(text).tags)
