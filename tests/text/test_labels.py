"""Labelled spans of characters onto pieces, and back: worked examples, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from komlm.text.alignment import Alignment
from komlm.text.analysis import Analysis
from komlm.text.labels import LabelledSpan
from komlm.text.pieces import Pieces

TEXT = "나는 어제 학교에 갔다."
CUT = [(0, 1), (1, 2), (3, 5), (6, 8), (8, 9), (10, 11), (11, 12), (12, 13)]


def alignment(text: str = TEXT, spans: list[tuple[int, int]] = CUT) -> Alignment:
    """An alignment with these pieces and no morphemes."""
    starts, ends = np.array(spans, dtype=np.int64).T
    nothing = np.zeros(0, dtype=np.int64)
    analysis = Analysis(text, nothing, nothing, nothing.astype(np.uint8), nothing, ())
    pieces = Pieces(np.zeros(len(spans), np.int64), starts, ends, starts == ends)
    return Alignment(analysis, pieces, ["x"])


@pytest.mark.parametrize(
    ("scheme", "wanted"),
    [
        ("BIO", "B-PER I-PER O B-LOC O O O O"),
        ("IOB2", "B-PER I-PER O B-LOC O O O O"),
        ("BIOES", "B-PER E-PER O S-LOC O O O O"),
        ("IO", "I-PER I-PER O I-LOC O O O O"),
    ],
)
def test_the_schemes(scheme: str, wanted: str) -> None:
    a = alignment()
    labels = a.label_pieces([(6, 8, "LOC"), (0, 2, "PER")], scheme)
    assert labels == wanted.split()
    assert a.spans_from(labels) == [(0, 2, "PER"), (6, 8, "LOC")]


def test_a_piece_that_an_entity_reaches_into_belongs_to_it() -> None:
    a = alignment("학교에 갔다", [(0, 3), (4, 6)])
    labels = a.label_pieces([(1, 2, "X")])
    assert labels == ["B-X", "O"]
    assert a.spans_from(labels) == [LabelledSpan(0, 3, "X")]


def test_bytes_of_one_syllable_have_one_label() -> None:
    a = alignment("가나", [(0, 1), (0, 1), (0, 2), (1, 2)])
    assert a.label_pieces([(0, 1, "X")]) == ["B-X", "I-X", "I-X", "O"]
    with pytest.raises(ValueError, match=r"piece 2 \[0, 2\) is in two entities, \[0, 1\) of 'X'"):
        a.label_pieces([(0, 1, "X"), (1, 2, "Y")])


def test_a_bare_piece_goes_with_what_follows() -> None:
    """▁ 서울 ▁ 시 ▁: within an entity, in front of one, and at the end of the text."""
    a = alignment("서울 시 ", [(0, 0), (0, 2), (3, 3), (3, 4), (4, 4)])
    assert a.label_pieces([(0, 4, "LOC")]) == ["B-LOC"] + ["I-LOC"] * 4
    labels = a.label_pieces([(0, 2, "X"), (3, 4, "X")])
    assert labels == ["B-X", "I-X", "B-X", "I-X", "I-X"]
    assert a.spans_from(labels) == [(0, 2, "X"), (3, 4, "X")]
    assert a.label_pieces([(0, 2, "X")]) == ["B-X", "I-X", "O", "O", "O"]


def test_no_spans_and_an_entity_without_a_character() -> None:
    assert alignment().label_pieces([]) == ["O"] * len(CUT)
    assert alignment("", [(0, 0)]).spans_from(["B-X"]) == []


@pytest.mark.parametrize(
    ("spans", "told"),
    [
        ([(3, 3, "X")], r"\[3, 3\) of 'X' is empty.*<= 13"),
        ([(9, 14, "X")], r"\[9, 14\) of 'X' is outside the text.*<= 13"),
        ([(-1, 2, "X")], r"\[-1, 2\) of 'X' is outside"),
        ([(5, 2, "X")], r"\[5, 2\) of 'X' is outside"),
        ([(6, 9, "A"), (0, 2, "B"), (8, 10, "C")], r"\[6, 9\) of 'A' and \[8, 10\) of 'C' overlap"),
        ([(2, 3, "X")], r"no piece has a part of the span \[2, 3\) of 'X'"),
        ([(0, 1, "")], r"\[0, 1\) has the label ''"),
    ],
)
def test_spans_that_do_not_fit_are_named(spans: list[tuple[int, int, str]], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        alignment().label_pieces(spans)


def test_offsets_are_whole_numbers() -> None:
    with pytest.raises(TypeError, match="float"):
        alignment().label_pieces([(0.0, 1.5, "X")])  # type: ignore[list-item]
    assert alignment().label_pieces([(np.int64(0), np.int64(1), "X")])[0] == "B-X"


def test_an_unknown_scheme_names_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean 'BIOES'"):
        alignment().label_pieces([], "BIOSE")


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        ("O I-X I-X O O O O O", [(1, 5, "X")]),
        ("B-X I-Y I-X O O O O O", [(0, 1, "X"), (1, 2, "Y"), (3, 5, "X")]),
        ("B-X B-X O O O O O O", [(0, 1, "X"), (1, 2, "X")]),
        ("B-X E-X I-X O O O O O", [(0, 2, "X"), (3, 5, "X")]),
        ("S-X S-X E-X O O O O O", [(0, 1, "X"), (1, 2, "X"), (3, 5, "X")]),
        ("I-X S-X I-X O O O O B-Y", [(0, 1, "X"), (1, 2, "X"), (3, 5, "X"), (12, 13, "Y")]),
        ("B-A-B I-A-B O O O O O O", [(0, 2, "A-B")]),
    ],
)
def test_sequences_that_are_not_well_formed(
    labels: str, wanted: list[tuple[int, int, str]]
) -> None:
    assert alignment().spans_from(labels.split()) == wanted


def test_a_sequence_of_another_length_and_labels_that_are_none() -> None:
    with pytest.raises(ValueError, match="9 labels for 8 pieces"):
        alignment().spans_from(["O"] * 9)
    for label in ("LOC", "X-LOC", "B-", "", "B"):
        with pytest.raises(ValueError, match=f"label 2 is '{label}'"):
            alignment().spans_from(["O", "O", label] + ["O"] * 5)
    with pytest.raises(ValueError, match="label 0 is 0"):
        alignment().spans_from([0] * 8)  # type: ignore[list-item]


def test_a_span_outside_the_text_has_no_pieces() -> None:
    for span in ((0, 14), (-1, 2), (3, 2)):
        with pytest.raises(ValueError, match=rf"\[{span[0]}, {span[1]}\) is outside"):
            alignment().pieces_of(span)
        with pytest.raises(ValueError, match=rf"\[{span[0]}, {span[1]}\) is outside"):
            alignment().morphemes_of(span)
