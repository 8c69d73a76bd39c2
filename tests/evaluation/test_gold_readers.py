from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from komlm.evaluation.gold import read_treebank
from komlm.evaluation.gold.eojeols import NO_MORPHEMES, eojeols_of
from komlm.evaluation.gold.sentences import GoldSentence
from tests.evaluation.gold_files import CONLLU, IN_MISC, KLUE_DP, WITHOUT_MORPHEMES


def write(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def as_text(sentence: GoldSentence) -> list[str]:
    """``form[morpheme/tag+...]`` of each token."""
    return [
        sentence.text[token.start : token.end]
        + "["
        + ("-" if token.morphemes is None else "+".join("/".join(m) for m in token.morphemes))
        + "]"
        for token in sentence.tokens
    ]


def test_conllu_with_ranges_empty_nodes_and_whole_lemmas(tmp_path: Path) -> None:
    first, second, third = read_treebank(write(tmp_path, "a.conllu", CONLLU))
    assert first.text == '나는 어제 "학교"에 갔다.'
    assert as_text(first)[0] == "나는[나/NP+는/JX]"
    assert as_text(first)[-2:] == ["갔다[가/VV+았/EP+다/EF]", ".[./SF]"]
    assert second.text == "날이 추워서 싶습니다"
    assert as_text(second) == [
        "날이[날/NNG+이/JKS]",
        "추워서[춥/VA+어서/EC]",
        "싶습니다[-]",
    ]
    assert as_text(third) == ["않고[않/VX+고/EC]", "+[+/SW]"]


def test_tags_in_the_last_column(tmp_path: Path) -> None:
    (sentence,) = read_treebank(write(tmp_path, "a.conllu", IN_MISC))
    assert sentence.text == "짐승도 순치될 수 있다 ."
    assert as_text(sentence)[1] == "순치될[순치/ncpa+되/xsv+ㄹ/etm]"


def test_a_treebank_without_morphemes_keeps_its_boundaries(tmp_path: Path) -> None:
    (sentence,) = read_treebank(write(tmp_path, "a.conllu", WITHOUT_MORPHEMES))
    assert sentence.text == "공원은 넓은 곳이다."
    eojeols = eojeols_of(sentence)
    assert {eojeol.missing for eojeol in eojeols} == {NO_MORPHEMES}
    assert [eojeol.known_cuts for eojeol in eojeols] == [(2,), (), (8, 10)]


def test_klue_dp(tmp_path: Path) -> None:
    first, second = read_treebank(write(tmp_path, "a.tsv", KLUE_DP))
    assert first.text == "아이는 물을 마셨다."
    assert as_text(first)[2] == "마셨다.[마시/VV+었/EP+다/EF+./SF]"
    assert as_text(second)[2] == "20%[-]"


def test_tokens_without_a_space_make_up_an_eojeol(tmp_path: Path) -> None:
    sentence = read_treebank(write(tmp_path, "a.conllu", CONLLU))[0]
    eojeols = eojeols_of(sentence)
    assert [sentence.text[e.start : e.end] for e in eojeols] == sentence.text.split()
    assert [(m.form, m.start, m.end) for m in eojeols[2].morphemes] == [
        ('"', 6, 7),
        ("학교", 7, 9),
        ('"', 9, 10),
        ("에", 10, 11),
    ]
    assert [(m.form, m.start, m.end) for m in eojeols[3].morphemes] == [
        ("가", 12, 13),
        ("았", 12, 13),
        ("다", 13, 14),
        (".", 14, 15),
    ]


def test_decomposed_hangul_is_composed(tmp_path: Path) -> None:
    decomposed = "1\t\u1112\u1161\u11ab번\t한+번\tNOUN\tMM+NNB\t_\t0\troot\t_\t_\n"
    (sentence,) = read_treebank(write(tmp_path, "a.conllu", decomposed))
    assert sentence.text == "한번"
    assert as_text(sentence) == ["한번[한/MM+번/NNB]"]


def test_packed_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.conllu.gz").write_bytes(gzip.compress(CONLLU.encode()))
    plain = read_treebank(write(tmp_path, "a.conllu", CONLLU))
    assert read_treebank(tmp_path / "a.conllu.gz") == plain


WORD = "1\t나\t나\tPRON\tNP\t_\t0\troot\t_\t_\n"
KLUE_WORD = "1\t나\t나\tNP\t0\tNP\n"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.conllu", WORD + "2\t는\t는\n", "line 2: wanted the ten columns"),
        ("a.conllu", WORD + WORD, "line 2: wanted word 2, found 1"),
        ("a.conllu", "x" + WORD, "line 1: wanted a word's number"),
        ("a.conllu", "# 말\n" + WORD.replace("나\t나", " \t나"), "line 2: word 1 has no FORM"),
        ("a.conllu", "1-3\t나는\t" + "_\t" * 7 + "_\n" + WORD, "before the words 1-3"),
        ("a.conllu", "", "the file is empty"),
        ("a.conllu", "# text = 나는\n\n\n", "no sentence"),
        ("a.conllu", WORD.replace("나", "\udcb3"), "line 1: byte 0xb3"),
        ("a.tsv", KLUE_WORD + "2\t는\n", "line 2: wanted the six columns"),
        ("a.tsv", KLUE_WORD + "3\t는\t는\tJX\t0\tNP\n", "line 2: wanted word 2, found '3'"),
        ("a.tsv", "1\t\t\t\t\t\n", "line 1: word 1 has no WORD_FORM"),
        ("a.tsv", "## 말\n", "no sentence"),
        ("a.conll", WORD, "did you mean '.conllu'"),
        ("treebank", WORD, "kind of treebank"),
    ],
)
def test_a_broken_file_is_named_with_its_line(
    tmp_path: Path, name: str, content: str, said: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=said.replace("(", r"\(")) as caught:
        read_treebank(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_and_a_damaged_packing_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"b\.tsv: there is no such file"):
        read_treebank(tmp_path / "b.tsv")
    (tmp_path / "a.conllu.gz").write_bytes(gzip.compress(CONLLU.encode())[:40])
    with pytest.raises(ValueError, match="cut short or damaged"):
        read_treebank(tmp_path / "a.conllu.gz")
