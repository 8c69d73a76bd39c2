"""A small corpus with everything that real ones have, analysed once, in parts of five documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest

from komlm.corpus import analyze as analyze_module
from komlm.corpus.analyze import analyze
from komlm.corpus.prepare import prepare
from komlm.corpus.source import Source, find_source
from komlm.text.analysis import Analyzer
from tests.corpus.disk import stamps, write_jsonl

DOCUMENTS_IN_A_PART = 5

TEXTS = [
    "나는 어제 학교에 갔다. 친구를 만나서 이야기를 했다.",
    "날씨가 추워서 집에만 있었다.",
    "",
    "   \t ",
    "뭔데 그래? 그건 내 거야! 줘.",
    "서울은 대한민국의 수도이다.\n인구는 약 천만 명이다.\n\n한강이 흐른다.",
    "ㅋㅋㅋㅋ 진짜 웃겨 ㅠㅠ 😂😂 대박",
    "가격은 ５천 원(㎏당)입니다. 문의: help@example.com, https://example.com/길",
    "학교에 갔던 날, \x00 비가 왔다.",
    "\x00",
    "\u200b\ufeff",
    "할머니께서 건네주신 사과를 먹었다",
    normalize("NFD", "학교에 갔다"),
    "끝없이 이어지는 " * 30 + "이야기.",
    "학교에서집이라는 가게에 갔다.",
    "아",
    "바다다 건강하다지요 안됔ㅋㅋ 추워서 신난다",
    "뷁뚫쀍 𠀀𠀁 漢字와 English mixed 문장",
    "그는 말했다.“가자.”그리고 떠났다. ",
    "マイクロ １２３ ①② ½ é à 조합",
    *(f"{n}번째 손님이 가게에 왔습니다. 주인은 빵을 {n}개 팔았다." for n in range(10)),
    "",
    "",
    "",
    " ",
    "\n",
    "마지막 문장입니다.",
]
"""Documents 30 to 34 are blank, so that one part of five holds nothing at all."""


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return TEXTS


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    path = tmp_path_factory.mktemp("corpus") / "letters.jsonl"
    return find_source(str(write_jsonl(path, TEXTS)))


@pytest.fixture(scope="session")
def _shared_kiwi(analyzer: Analyzer) -> Callable[[Path | None, str], Analyzer]:
    made: dict[str, Analyzer] = {"": analyzer}

    def analyzer_of(dictionary: Path | None, sha256: str) -> Analyzer:
        if sha256 not in made:
            made[sha256] = Analyzer(dictionary)
        return made[sha256]

    return analyzer_of


@pytest.fixture
def small_parts(_shared_kiwi: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of five documents, and the Kiwi that the tests have built already."""
    monkeypatch.setattr(analyze_module, "DOCUMENTS_IN_A_PART", DOCUMENTS_IN_A_PART)
    monkeypatch.setattr(analyze_module, "_analyzer", _shared_kiwi)


@pytest.fixture(scope="session")
def analysis(
    source: Source, _shared_kiwi: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """An unbroken analysis; not to be changed."""
    folder = tmp_path_factory.mktemp("unbroken") / "analysis"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(analyze_module, "DOCUMENTS_IN_A_PART", DOCUMENTS_IN_A_PART)
        patch.setattr(analyze_module, "_analyzer", _shared_kiwi)
        analyze(source, folder)
    before = stamps(folder)
    yield folder
    assert stamps(folder) == before


@pytest.fixture(scope="session")
def shards(
    analysis: Path, tokenizer_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """Unbroken shards with a third held out; not to be changed."""
    folder = tmp_path_factory.mktemp("unbroken") / "shards"
    prepare(analysis, tokenizer_folder, folder, heldout=0.3)
    before = stamps(folder)
    yield folder
    assert stamps(folder) == before
