"""Where annotated morphemes stand in the text: cases that a grammar of Korean decides."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from komlm.evaluation.gold import read_treebank
from komlm.evaluation.gold.eojeols import NOT_LOCATED, eojeols_of
from komlm.evaluation.gold.letters import letters, plain_form
from komlm.evaluation.gold.onto_surface import locate

# (written, forms, what is written of each; None: nothing is)
CASES = [
    # Each morpheme has syllables of its own.
    ("학교에서는", "학교 에서 는", "학교 에서 는"),
    ("먹었다", "먹 었 다", "먹 었 다"),
    # One syllable holds two: vowels or consonants run together.
    ("갔다", "가 았 다", "갔 갔 다"),
    ("했다", "하 였 다", "했 했 다"),
    ("됐다", "되 었 다", "됐 됐 다"),
    ("간다", "가 ㄴ다", "간 간다"),
    ("만든다", "만들 ㄴ다", "만든 든다"),
    ("보냈습니다", "보내 었 습니다", "보냈 냈 습니다"),
    ("그려서", "그리 어서", "그려 려서"),
    ("배웠다", "배우 었 다", "배웠 웠 다"),
    ("서울입니다", "서울 이 ㅂ니다", "서울 입 입니다"),
    ("의사였다", "의사 이 었 다", "의사 였 였 다"),
    ("그건", "그것 은", "그건 건"),
    ("넘겨받게", "넘기 어 받 게", "넘겨 겨 받 게"),
    # The vowel of the ending is one with the stem's.
    ("가서", "가 아서", "가 가서"),
    ("켜서", "켜 어서", "켜 켜서"),
    ("태어나", "태어나 아", "태어나 나"),
    ("내서", "내 어서", "내 내서"),
    ("가보다", "가 아 보 다", "가 가 보 다"),
    # Irregular stems.
    ("추워서", "춥 어서", "추워 워서"),
    ("가까운", "가깝 ㄴ", "가까운 운"),
    ("걸어", "걷 어", "걸 어"),
    ("들었다", "듣 었 다", "들 었 다"),
    ("지어", "짓 어", "지 어"),
    ("써서", "쓰 어서", "써 써서"),
    ("따랐다", "따르 았 다", "따랐 랐 다"),
    ("몰랐다", "모르 았 다", "몰 랐 다"),
    ("이르러", "이르 어", "이르 러"),
    ("파래서", "파랗 아서", "파래 래서"),
    ("하여", "하 아", "하 여"),
    # Another allomorph than is written, and nothing written at all.
    ("학생은", "학생 는", "학생 은"),
    ("누가", "누구 가", "누 가"),
    ("의사다", "의사 이 다", "의사 - 다"),
    ("어머니다", "어머니 이 다", "어머니 - 다"),
    ("걸로", "것 으로", "걸 로"),
    ("건데", "것 이 ㄴ데", "건 건 건데"),
    # Other scripts, and what two tags stand for.
    ("G20을", "G 20 을", "G 20 을"),
    ("(e-gima.com)가", "( e-gima.com ) 가", "( e-gima.com ) 가"),
]


@pytest.mark.parametrize(("text", "forms", "wanted"), CASES)
def test_morphemes_stand_where_a_linguist_puts_them(text: str, forms: str, wanted: str) -> None:
    spans = locate(text, tuple(forms.split()))
    assert spans is not None
    assert [text[start:end] or "-" for start, end in spans] == wanted.split()


@pytest.mark.parametrize(
    ("text", "forms"),
    [("영화", "사람 들 이"), ("이번", "이 날"), ("집없는", "집"), ("大學에", "대학 에")],
)
def test_forms_of_another_word_have_no_place(text: str, forms: str) -> None:
    assert locate(text, tuple(forms.split())) is None


syllables = st.text(
    st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3), min_size=1, max_size=4
)
endings = st.sampled_from(
    ["ㄴ", "ㄹ", "ㅂ니다", "았", "었", "어서", "아", "은", "을", "이", "ㄴ다", "요"]
)


@given(forms=st.lists(syllables, min_size=1, max_size=5))
def test_forms_that_spell_the_text_stand_one_after_the_other(forms: list[str]) -> None:
    spans = locate("".join(forms), tuple(forms))
    assert spans is not None
    text = "".join(forms)
    assert [text[start:end] for start, end in spans] == forms


@given(text=syllables, stem=syllables, rest=st.lists(endings, max_size=4))
def test_spans_are_in_order_and_leave_no_character_out(
    text: str, stem: str, rest: list[str]
) -> None:
    for written in (text, stem + text):
        spans = locate(written, (stem, *rest))
        if spans is None:
            continue
        assert all(0 <= start <= end <= len(written) for start, end in spans)
        assert all(a.start <= b.start and a.end <= b.end for a, b in pairwise(spans))
        assert {i for start, end in spans for i in range(start, end)} == set(range(len(written)))


@given(text=st.text(max_size=8))
def test_every_letter_knows_its_character(text: str) -> None:
    found = letters(text)
    assert {letter.character for letter in found} == set(range(len(text)))
    assert all(a.character <= b.character for a, b in pairwise(found))


def test_letters_of_kiwi_and_of_a_keyboard_are_the_same() -> None:
    assert plain_form("\u11ab다") == "ㄴ다"
    assert plain_form("\u11bc") == "ㅇ"
    assert plain_form("\u1112\u1161\u11ab") == "한"
    assert plain_form("\u119e") == "ㆍ"
    assert plain_form("\u113f") == "\u113f"  # no keyboard has it


@pytest.mark.slow
def test_real_treebanks_find_their_place(shared: Path) -> None:
    """Nearly every token of people's treebanks is located, and the text is the one they give."""
    for path in sorted((shared / "data" / "gold").glob("UD_*/*.conllu")):
        sentences = read_treebank(path)
        given = [
            line.removeprefix("# text = ")
            for line in path.read_text(encoding="utf-8").split("\n")
            if line.startswith("# text = ")
        ]
        made = [sentence.text for sentence in sentences]
        assert sum(a.strip() == b for a, b in zip(given, made, strict=True)) >= 0.99 * len(made)
        eojeols = [eojeol for sentence in sentences for eojeol in eojeols_of(sentence)]
        lost = sum(eojeol.missing == NOT_LOCATED for eojeol in eojeols)
        assert lost <= 0.002 * len(eojeols), path
