"""Scores against treebanks: invariants, and naive references that know nothing of arrays."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from komlm.evaluation.gold import read_treebank
from komlm.evaluation.gold.agreement import Agreement
from komlm.evaluation.gold.analysis_scores import AnalysisScores, longest_common
from komlm.evaluation.gold.eojeols import NO_MORPHEMES, GoldEojeol
from komlm.evaluation.gold.scores import score_treebank
from komlm.evaluation.gold.sentences import GoldMorpheme, GoldSentence, WrittenToken, sentence_of
from komlm.evaluation.gold.table import table
from komlm.evaluation.gold.tag_sets import coarse, sejong
from komlm.evaluation.gold.unit_scores import CAUSES, UnitScores
from komlm.text.alignment import Alignment
from komlm.text.analysis import Analysis, Analyzer, Morpheme
from komlm.text.tags import CLASS_OF_TAG, TAG_CODE
from komlm.text.tokenizer import Pieces, Tokenizer
from tests.evaluation.gold_files import CONLLU, IN_MISC, KLUE_DP, WITHOUT_MORPHEMES


def analysis_of(text: str, morphemes: list[Morpheme]) -> Analysis:
    return Analysis(
        text=text,
        starts=np.array([m.start for m in morphemes], dtype=np.int64),
        ends=np.array([m.end for m in morphemes], dtype=np.int64),
        tags=np.array([TAG_CODE[m.tag] for m in morphemes], dtype=np.uint8),
        sentence_starts=np.zeros(1, dtype=np.int64),
        forms=tuple(m.form for m in morphemes),
    )


def pieces_of(spans: list[tuple[int, int]]) -> Pieces:
    starts, ends = (np.array(side, dtype=np.int64) for side in zip(*spans, strict=True))
    return Pieces(np.zeros(len(spans), dtype=np.int64), starts, ends, np.zeros(len(spans), bool))


# -- one sentence worked by hand: 나는 물을 마셨다. 마시 and 었 share 셨 --------------------

TEXT = "나는 물을 마셨다"
GOLD = [
    GoldEojeol(0, 2, (Morpheme("나", "NP", 0, 1), Morpheme("는", "JX", 1, 2))),
    GoldEojeol(3, 5, (Morpheme("물", "NNG", 3, 4), Morpheme("을", "JKO", 4, 5))),
    GoldEojeol(
        6,
        9,
        (Morpheme("마시", "VV", 6, 8), Morpheme("었", "EP", 7, 8), Morpheme("다", "EF", 8, 9)),
    ),
]
# This Kiwi takes 물을 for one noun, and cuts 마 off.
FOUND = [
    Morpheme("나", "NP", 0, 1),
    Morpheme("는", "JX", 1, 2),
    Morpheme("물을", "NNG", 3, 5),
    Morpheme("마", "NNG", 6, 7),
    Morpheme("시", "EP", 7, 8),
    Morpheme("었", "EP", 7, 8),
    Morpheme("다", "EC", 8, 9),
]


def test_an_analysis_worked_by_hand() -> None:
    scores = AnalysisScores()
    scores.add(GOLD, analysis_of(TEXT, FOUND))
    # Gold has 나|는 물|을 마셨|다, Kiwi 나|는 마|셨|다.
    assert scores.boundaries == Agreement(found=3, gold=3, both=2)
    assert scores.boundaries_in_words == Agreement(found=3, gold=3, both=2)
    # 나 는, none of 물 을 and 물을, 었 다.
    assert scores.forms == Agreement(found=7, gold=7, both=4)
    assert scores.sejong_tagged == Agreement(found=7, gold=7, both=3)
    assert scores.coarse_tagged == Agreement(found=7, gold=7, both=3)
    assert scores.forms.f1 == pytest.approx(4 / 7)


def test_units_worked_by_hand() -> None:
    # 나는 is one piece (a straddle); 물을 two pieces, joined by Kiwi; 마셨다: 마, 셨다.
    pieces = pieces_of([(0, 2), (3, 4), (4, 5), (6, 7), (7, 9)])
    scores = UnitScores()
    scores.add(GOLD, Alignment(analysis_of(TEXT, FOUND), pieces, ["가"]))
    assert (scores.eojeols, scores.pieces, scores.units) == (3, 5, 4)
    assert scores.morphemes == Counter({"straddle": 3, "analysis": 2, "shared": 2})
    # 나는 and 셨다 are straddles, 물을 is Kiwi's; the unit 마 meets 마시 alone.
    assert scores.mixing == Counter({"straddle": 2, "analysis": 1})
    assert scores.boundaries == Counter({"straddle": 2, "analysis": 1})
    assert scores.whole_if_no_straddle == 3  # 나 는 다
    assert scores.whole_if_kiwi_right == 2  # 물 을
    # With a piece a character, 셨 still mixes 마시 and 었.
    scores = UnitScores()
    characters = [(i, i + 1) for i, c in enumerate(TEXT) if c != " "]
    scores.add(GOLD, Alignment(analysis_of(TEXT, FOUND), pieces_of(characters), ["가"]))
    assert scores.mixing == Counter({"contraction": 1, "analysis": 1})
    assert scores.morphemes == Counter({"whole": 3, "analysis": 2, "shared": 2})


def test_a_morpheme_that_kiwi_cuts_is_cut_up() -> None:
    gold = [GoldEojeol(0, 3, (Morpheme("나들이", "NNG", 0, 3),))]
    kiwi = analysis_of("나들이", [Morpheme("나", "NP", 0, 1), Morpheme("들이", "VV", 1, 3)])
    scores = UnitScores()
    scores.add(gold, Alignment(kiwi, pieces_of([(0, 1), (1, 3)]), ["가"]))
    assert scores.morphemes == Counter({"cut up": 1})
    assert scores.whole_if_kiwi_right == 1
    assert scores.mixing.total() == 0


# -- anything against a naive reference --------------------------------------------------------

forms_ = st.sampled_from(["가", "나", "다", "라", "았", "은"])
TAGS = ["NNG", "VV", "EP", "EF", "JX", "SF"]


@st.composite
def morphemes_in_order(draw: st.DrawFn, start: int, end: int) -> list[Morpheme]:
    """Morphemes that cover [start, end) in order; neighbours may share characters."""
    cuts = draw(st.lists(st.integers(start, end), max_size=end - start + 2).map(sorted))
    bounds = [start, *cuts, end]
    spans = []
    for left, right in pairwise(bounds):
        first = max(start, left - draw(st.integers(0, 1)))
        low = spans[-1][0] if spans else start
        high = spans[-1][1] if spans else start
        spans.append((max(first, low), max(right, high)) if right > left else (left, left))
    # Empty spans must not go back behind what was written.
    reach, ordered = start, []
    for s, e in spans:
        reach = max(reach, s)
        ordered.append(Morpheme(draw(forms_), draw(st.sampled_from(TAGS)), reach, max(reach, e)))
    return ordered


@st.composite
def scored_sentences(draw: st.DrawFn) -> tuple[str, list[GoldEojeol], Analysis, Pieces]:
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    text, eojeols, found, spans = "", [], [], []
    for length in lengths:
        start = len(text)
        end = start + length
        text += "".join(
            draw(st.lists(st.sampled_from("가갔나.A"), min_size=length, max_size=length))
        )
        text += " "
        known = draw(st.booleans()) or draw(st.booleans())
        gold = tuple(draw(morphemes_in_order(start, end))) if known else ()
        eojeols.append(GoldEojeol(start, end, gold, "" if known else NO_MORPHEMES))
        found += draw(morphemes_in_order(start, end))
        cuts = sorted(draw(st.sets(st.integers(start + 1, max(start + 1, end - 1)))))
        bounds = [start, *(cut for cut in cuts if cut < end), end]
        spans += list(pairwise(bounds))
    return text.rstrip(), eojeols, analysis_of(text.rstrip(), found), pieces_of(spans)


def naive_boundaries(morphemes: list[Morpheme], start: int, end: int) -> set[int]:
    return {p for p in range(start + 1, end) if not any(m.start < p < m.end for m in morphemes)}


@given(scored_sentences())
def test_boundaries_are_those_of_a_naive_count(
    drawn: tuple[str, list[GoldEojeol], Analysis, Pieces],
) -> None:
    _, eojeols, analysis, _ = drawn
    scores = AnalysisScores()
    scores.add(eojeols, analysis)
    wanted = Agreement()
    for eojeol in eojeols:
        if not eojeol.missing:
            gold = naive_boundaries(list(eojeol.morphemes), eojeol.start, eojeol.end)
            found = naive_boundaries(analysis.morphemes, eojeol.start, eojeol.end)
            wanted.add(len(found), len(gold), len(found & gold))
    assert scores.boundaries == wanted
    assert scores.eojeols + scores.left_out.total() == len(eojeols)
    words = scores.boundaries_in_words
    assert words.found <= wanted.found
    assert words.both <= wanted.both


@given(scored_sentences())
def test_units_are_those_of_a_naive_count(
    drawn: tuple[str, list[GoldEojeol], Analysis, Pieces],
) -> None:
    text, eojeols, analysis, pieces = drawn
    alignment = Alignment(analysis, pieces, ["가"])
    scores = UnitScores()
    scores.add(eojeols, alignment)
    units = [(unit.start, unit.end) for unit in alignment.units("morpheme")]
    spans = list(zip(pieces.starts.tolist(), pieces.ends.tolist(), strict=True))
    kiwi = [(m.start, m.end) for m in analysis.morphemes]
    scored = [eojeol for eojeol in eojeols if not eojeol.missing]
    gold = [(m.start, m.end) for eojeol in scored for m in eojeol.morphemes]

    def over(those: list[tuple[int, int]], p: int) -> bool:
        return any(start < p < end for start, end in those)

    def cause(positions: list[int]) -> str:
        by_piece = any(over(spans, p) for p in positions)
        by_kiwi = any(over(kiwi, p) for p in positions)
        return "both" if by_piece and by_kiwi else "analysis" if by_kiwi else "straddle"

    def meets(one: tuple[int, int], other: tuple[int, int]) -> bool:
        return bool(set(range(*one)) & set(range(*other)))

    boundaries: Counter[str] = Counter()
    for eojeol in scored:
        for p in naive_boundaries(list(eojeol.morphemes), eojeol.start, eojeol.end):
            boundaries[cause([p]) if over(units, p) else "kept"] += 1
    assert scores.boundaries == boundaries

    morphemes: Counter[str] = Counter()
    for n, span in enumerate(gold):
        others = gold[:n] + gold[n + 1 :]
        if span[0] == span[1] or any(meets(span, other) for other in others):
            morphemes["shared"] += 1
        elif span in units:
            morphemes["whole"] += 1
        elif lost := [p for p in span if over(units, p)]:
            morphemes[cause(lost)] += 1
        else:
            morphemes["cut up"] += 1
    assert scores.morphemes == morphemes
    assert scores.morphemes.total() == len(gold)
    assert scores.morphemes["whole"] <= scores.whole_if_kiwi_right

    mixing: Counter[str] = Counter()
    inside = [u for u in units if any(e.start <= u[0] and u[1] <= e.end for e in scored)]
    for start, end in inside:
        if sum(meets((start, end), span) for span in gold) > 1:
            lost = [p for p in range(start + 1, end) if not over(gold, p)]
            mixing[cause(lost) if lost else "contraction"] += 1
    assert scores.mixing == mixing
    assert scores.units == len(inside)


@given(scored_sentences())
def test_with_golds_morphemes_for_kiwis_only_pieces_cost_anything(
    drawn: tuple[str, list[GoldEojeol], Analysis, Pieces],
) -> None:
    text, eojeols, _, pieces = drawn
    eojeols = [eojeol for eojeol in eojeols if not eojeol.missing]
    right = analysis_of(text, [m for eojeol in eojeols for m in eojeol.morphemes])
    scores = UnitScores()
    scores.add(eojeols, Alignment(right, pieces, ["가"]))
    assert scores.boundaries["analysis"] == scores.boundaries["both"] == 0
    assert scores.morphemes["cut up"] == scores.morphemes["analysis"] == 0
    assert scores.morphemes["whole"] == scores.whole_if_kiwi_right
    characters = [(i, i + 1) for e in eojeols for i in range(e.start, e.end)]
    if characters:
        best = UnitScores()
        best.add(eojeols, Alignment(right, pieces_of(characters), ["가"]))
        assert set(+best.morphemes) <= {"shared", "whole"}
        assert {cause for cause in CAUSES if best.mixing[cause]} == set()
        assert best.morphemes["whole"] == best.whole_if_no_straddle == scores.whole_if_no_straddle


def agreements(scores: AnalysisScores) -> dict[str, Agreement]:
    return {name: value for name, value in vars(scores).items() if isinstance(value, Agreement)}


@given(scored_sentences())
def test_gold_against_itself_is_perfect(
    drawn: tuple[str, list[GoldEojeol], Analysis, Pieces],
) -> None:
    text, eojeols, _, _ = drawn
    same = [m for eojeol in eojeols for m in eojeol.morphemes]
    scores = AnalysisScores()
    scores.add(eojeols, analysis_of(text, same))
    for name, agreement in agreements(scores).items():
        assert agreement.found == agreement.gold == agreement.both, name


@given(scored_sentences())
def test_swapping_the_sides_swaps_precision_and_recall(
    drawn: tuple[str, list[GoldEojeol], Analysis, Pieces],
) -> None:
    text, eojeols, analysis, _ = drawn
    ours = []
    for e in eojeols:
        found = [m for m in analysis.morphemes if e.start <= m.start <= e.end and not e.missing]
        ours.append(GoldEojeol(e.start, e.end, tuple(found), e.missing))
    theirs = analysis_of(text, [m for eojeol in eojeols for m in eojeol.morphemes])
    one, other = AnalysisScores(), AnalysisScores()
    one.add(eojeols, analysis)
    other.add(ours, theirs)
    for name, agreement in agreements(one).items():
        swapped = agreements(other)[name]
        assert agreement.f1 == swapped.f1, name
        assert agreement.precision == swapped.recall, name


@given(st.text("가나다", max_size=7), st.text("가나다", max_size=7))
def test_the_longest_common_subsequence_is_the_textbooks(one: str, other: str) -> None:
    @cache
    def longest(i: int, j: int) -> int:
        if i == len(one) or j == len(other):
            return 0
        if one[i] == other[j]:
            return 1 + longest(i + 1, j + 1)
        return max(longest(i + 1, j), longest(i, j + 1))

    assert longest_common(one, other) == longest(0, 0)


# -- tags ---------------------------------------------------------------------------------------


def test_tag_sets_meet_in_the_coarse_classes() -> None:
    same = {
        "NNG": "ncn",
        "XR": "ncps",
        "NNB": "nbu",
        "NP": "npd",
        "SN": "nnc",
        "VV": "pvg",
        "VA": "paa",
        "VX": "px",
        "VCP": "jp",
        "VCN": "paa",
        "MMD": "mmd",
        "MAG": "mag",
        "IC": "ii",
        "JKB": "jca",
        "JC": "jct",
        "JX": "jxt",
        "EP": "ep",
        "EF": "ef",
        "EC": "ecs",
        "ETN": "etn",
        "ETM": "etm",
        "XSA": "xsm",
        "SL": "f",
        "SF": "sf",
    }
    for one, other in same.items():
        assert coarse(one) == coarse(other), (one, other)
    assert len({coarse(tag) for tag in same}) == 21
    # Every tag that Kiwi can give has a class.
    assert {coarse(tag) for tag in CLASS_OF_TAG} <= {coarse(tag) for tag in same}
    assert (sejong("VV-I"), sejong("SSO"), sejong("W_URL"), sejong("XSA")) == (
        "VV",
        "SS",
        "SL",
        "XSA",
    )


def test_allomorphs_of_endings_are_united_and_nothing_else() -> None:
    gold = [GoldEojeol(0, 2, (Morpheme("가", "VV", 0, 1), Morpheme("아서", "EC", 0, 2)))]
    scores = AnalysisScores()
    scores.add(
        gold, analysis_of("가서", [Morpheme("가", "VV", 0, 1), Morpheme("어서", "EC", 0, 2)])
    )
    assert (scores.forms.both, scores.united_forms.both) == (1, 2)
    gold = [GoldEojeol(0, 3, (Morpheme("지영", "NNP", 0, 2), Morpheme("아", "JKV", 2, 3)))]
    scores = AnalysisScores()
    scores.add(
        gold, analysis_of("지영아", [Morpheme("지영", "NNP", 0, 2), Morpheme("어", "EF", 2, 3)])
    )
    assert (scores.forms.both, scores.united_forms.both) == (1, 1)


# -- the whole way, from a file with real Kiwi and pieces --------------------------------------


def read(folder: Path, name: str, content: str) -> list[GoldSentence]:
    (folder / name).write_text(content, encoding="utf-8")
    return read_treebank(folder / name)


def test_a_treebank_from_file_to_table(
    tmp_path: Path, analyzer: Analyzer, tokenizer: Tokenizer
) -> None:
    done: list[int] = []
    scores = [
        score_treebank(
            name, read(tmp_path, name, content), analyzer, {"tok": tokenizer}, done.append
        )
        for name, content in (
            ("a.conllu", CONLLU),
            ("kaist.conllu", IN_MISC),
            ("pud.conllu", WITHOUT_MORPHEMES),
            ("klue.tsv", KLUE_DP),
        )
    ]
    assert sum(done) == sum(score.sentences for score in scores) == 7
    first, kaist, pud, klue = (score.analysis for score in scores)
    assert (first.eojeols, first.left_out) == (8, {NO_MORPHEMES: 1})
    assert klue.boundaries.f1 == 1.0
    assert klue.sejong_tagged.gold == klue.coarse_tagged.gold == klue.forms.gold
    assert kaist.sejong_tagged == Agreement()
    assert kaist.coarse_tagged.gold == 9
    assert (pud.eojeols, pud.boundaries.f1) == (0, None)
    assert (pud.known_boundaries.gold, pud.known_boundaries.recall) == (3, 1.0)
    shown = table(scores)
    assert shown.count("a.conllu") == 3
    assert shown.count("pud.conllu") == 1
    json = scores[0].to_json()
    units: dict[str, Any] = json["units"]["tok"]
    assert sum(units["morphemes"].values()) == json["analysis"]["forms"]["gold"]


def test_a_sentence_of_kiwi_s_own_morphemes_scores_full_marks(
    analyzer: Analyzer, tokenizer: Tokenizer
) -> None:
    """Located from their forms alone, Kiwi's morphemes come to stand where Kiwi says."""
    texts = [
        "나는 어제 학교에 갔다.",
        "날이 추워서 집에 가서 물을 마셨습니다.",
        "그건 제가 만든 책입니다.",
    ]
    for text in texts:
        analysis = analyzer(text)
        tokens = []
        for word in analysis.eojeols:
            found = [m for m in analysis.morphemes if word.start <= m.start < word.end]
            tokens.append(
                WrittenToken(
                    text[word.start : word.end], tuple(GoldMorpheme(m.form, m.tag) for m in found)
                )
            )
        scores = score_treebank("kiwi", [sentence_of(tokens)], analyzer, {"tok": tokenizer})
        assert scores.analysis.boundaries.f1 == 1.0, text
        assert scores.analysis.sejong_tagged.f1 == 1.0, text
        assert scores.units["tok"].boundaries["analysis"] == 0
