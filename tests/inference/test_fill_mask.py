from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from transformers import BertForMaskedLM

from komlm.inference.fill_mask import Blank, FillMask
from komlm.text.aligner import Aligner
from komlm.text.analysis import Analyzer
from komlm.text.tokenizer import Tokenizer


def texts_of(blank: Blank) -> list[str]:
    return [candidate.text for candidate in blank.candidates]


def check(blank: Blank, tokenizer: Tokenizer, begins_word: bool) -> None:
    assert blank.candidates
    assert len(set(texts_of(blank))) == len(blank.candidates)
    for candidate in blank.candidates:
        pieces = [tokenizer.pieces[i] for i in candidate.ids]
        assert candidate.text == "".join(pieces).replace("▁", "")
        assert candidate.text
        assert 0 < candidate.score < 1
        assert not set(candidate.ids) & set(tokenizer.special_ids.values())
        assert pieces[0].startswith("▁") == begins_word
        assert not any(piece.startswith("▁") for piece in pieces[1:])
        assert len(pieces) <= 3


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("[MASK]", [True]),
        ("[MASK]에 갔다", [True]),
        ("나는 [MASK]", [True]),
        ("나[MASK]", [False]),
        ("나는\u3000[MASK]에", [True]),
        ("나는\n[MASK]에", [True]),
        ("\ufeff[MASK]에", [True]),
        ("나는\u200b[MASK]에", [False]),
        ("[MASK][MASK]", [True, False]),
        ("[MASK]는 [MASK] [MASK]에 갔[MASK].", [True, True, True, False]),
    ],
)
def test_blanks_begin_a_word_where_a_space_stands_before_them(
    fill_mask: FillMask, small: Tokenizer, text: str, begins: list[bool]
) -> None:
    blanks = fill_mask.fill(text, top_k=40)
    assert len(blanks) == len(begins)
    place = -1
    for blank, begins_word in zip(blanks, begins, strict=True):
        place = text.index("[MASK]", place + 1)
        assert (blank.start, blank.end) == (place, place + 6)
        check(blank, small, begins_word)


def test_the_mask_takes_the_space_and_leaves_no_word_start_behind(small: Tokenizer) -> None:
    ids = small.encode_with_masks("나는 [MASK]에 갔다.")
    pieces = [small.pieces[i] for i in ids]
    assert pieces == ["▁나", "는", "[MASK]", "에", "▁갔", "다", "."]


def test_a_completion_has_its_morphemes_in_the_sentence(fill_mask: FillMask) -> None:
    (blank,) = fill_mask.fill("나는 어제 [MASK]에 갔다.", top_k=40, max_pieces=1)
    school = next(c for c in blank.candidates if c.text == "학교")
    assert [(m.form, m.tag, m.start, m.end) for m in school.morphemes] == [("학교", "NNG", 6, 8)]
    (end,) = fill_mask.fill("나는 어제 학교에 [MASK]다.", top_k=40, max_pieces=1)
    went = next(c for c in end.candidates if c.text == "갔")
    assert [(m.form, m.tag) for m in went.morphemes] == [("가", "VV"), ("었", "EP")]


@pytest.mark.parametrize(
    ("unit", "original", "place", "begins_word"),
    [
        ("morpheme", "학교", (6, 8), True),
        ("eojeol", "학교에", (6, 9), True),
        ("piece", "학교", (6, 8), True),
    ],
)
def test_hiding_goes_by_units(
    fill_mask: FillMask,
    small: Tokenizer,
    unit: str,
    original: str,
    place: tuple[int, int],
    begins_word: bool,
) -> None:
    (blank,) = fill_mask.fill_hidden("나는 어제 학교에 갔다.", ["학교"], unit, top_k=40)
    assert (blank.start, blank.end) == place
    assert blank.original is not None
    assert blank.original.text == original
    check(blank, small, begins_word)


def test_the_score_of_what_stood_there_is_its_score_as_a_completion(
    fill_mask: FillMask, model: BertForMaskedLM, small: Tokenizer
) -> None:
    text = "나는 학교에 갔다."
    (blank,) = fill_mask.fill_hidden(text, ["교에"], "eojeol", top_k=1_000, max_pieces=2)
    assert blank.original is not None
    assert len(blank.original.ids) == 2
    among = next(c for c in blank.candidates if c.ids == blank.original.ids)
    assert blank.original.score == pytest.approx(among.score, rel=1e-5)
    assert blank.original.morphemes == among.morphemes


def test_several_stretches_are_hidden_at_once(fill_mask: FillMask, small: Tokenizer) -> None:
    text = "나는 어제 학교에 갔다."
    blanks = fill_mask.fill_hidden(text, ["갔", "에", "나"], "morpheme", top_k=40)
    assert [text[b.start : b.end] for b in blanks] == ["나", "에", "갔"]
    for blank, begins_word in zip(blanks, (True, False, True), strict=True):
        check(blank, small, begins_word)


def test_an_unknown_word_at_the_start_of_an_eojeol_is_one(
    fill_mask: FillMask, small: Tokenizer, analyzer: Analyzer
) -> None:
    text = "나는 뷁에 갔다."
    ids = Aligner(small, analyzer)(text).encoded.ids
    assert small.special_ids["unk"] in ids
    (blank,) = fill_mask.fill_hidden(text, ["뷁"], "eojeol", top_k=40)
    check(blank, small, True)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda f: f.fill("나는 갔다"), "put one where a word is to be filled in"),
        (lambda f: f.fill(""), "no \\[MASK\\] in ''"),
        (lambda f: f.fill("[MASK] " + "에" * 500), "the model reads 24 at most"),
        (lambda f: f.fill("[MASK] \ud800"), "surrogate"),
        (lambda f: f.fill("[MASK]", top_k=0), "top_k = 0"),
        (lambda f: f.fill("[MASK]", max_pieces=0), "max_pieces = 0"),
        (lambda f: f.fill_hidden("나는", ["학교"]), "'학교' is not in '나는'"),
        (lambda f: f.fill_hidden("나는", [""]), "nothing to hide"),
        (lambda f: f.fill_hidden("나는 갔다", [" "]), "no piece holds ' '"),
        (lambda f: f.fill_hidden("나는", []), "nothing to hide"),
        (lambda f: f.fill_hidden("나는", ["나"], "morphem"), "did you mean 'morpheme'"),
    ],
)
def test_what_cannot_be_filled_is_told(
    fill_mask: FillMask, call: Callable[[FillMask], object], told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        call(fill_mask)


def test_a_text_that_leaves_room_for_one_piece_gets_one(
    fill_mask: FillMask, small: Tokenizer
) -> None:
    text = "[MASK]" + "에" * 21  # with [CLS] and [SEP] 24 pieces
    (blank,) = fill_mask.fill(text, top_k=40)
    assert {len(c.ids) for c in blank.candidates} == {1}
    (blank,) = fill_mask.fill(text[:-1], top_k=1_000)
    assert {len(c.ids) for c in blank.candidates} == {1, 2}
    with pytest.raises(ValueError, match="the text has 25 pieces and the model reads 24"):
        fill_mask.fill(text + "에")


def test_nothing_is_left_in_the_folder(small: Tokenizer, fill_mask: FillMask) -> None:
    before = sorted(path.name for path in Path(small.folder).iterdir())
    first = fill_mask.fill("나는 [MASK]에 갔다.")
    assert fill_mask.fill("나는 [MASK]에 갔다.") == first
    assert sorted(path.name for path in Path(small.folder).iterdir()) == before
