"""Units against the overlap graph, and what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from komlm.text.alignment import Alignment
from komlm.text.analysis import Analyzer
from komlm.text.pieces import Pieces
from komlm.text.tags import CLASS_OF_TAG, CLASSES, TAG_CODE, TAGS
from komlm.text.tokenizer import Tokenizer
from komlm.text.units import align_arrays
from komlm.types import Flag
from tests.text.invariants import check_alignment
from tests.text.oracle import overlap, unit_starts
from tests.text.strategies import texts


@st.composite
def layouts(draw: st.DrawFn) -> tuple[list, list, list]:
    """Random eojeols, pieces that cover them, and morphemes in order."""
    eojeols, at = [], 0
    for length in draw(st.lists(st.integers(1, 25), min_size=1, max_size=5)):
        eojeols.append((at, at + length))
        at += length + 1
    characters = [c for start, end in eojeols for c in range(start, end)]
    pieces, n = [], 0
    while n < len(characters):
        kind = draw(st.sampled_from(["one", "one", "run", "run", "several", "bare"]))
        start = characters[n]
        if kind == "several":
            pieces += [(start, start + 1)] * draw(st.integers(2, 3))
            n += 1
        else:
            if kind == "bare":
                pieces.append((start, start))
            taken = 1 if kind != "run" else draw(st.integers(1, 4))
            pieces.append((start, characters[min(n + taken, len(characters)) - 1] + 1))
            n += taken
    if draw(st.booleans()):
        pieces.append((pieces[-1][1], pieces[-1][1]))
    starts = sorted(draw(st.lists(st.integers(0, at), max_size=20)))
    ends = np.maximum.accumulate([s + draw(st.integers(0, 4)) for s in starts] or [0]).tolist()
    return pieces, list(zip(starts, ends, strict=False)), eojeols


def arrays(spans: list) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(spans, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


@pytest.mark.property
@given(layouts(), st.data())
def test_arrays_are_the_components_of_the_overlap_graph(layout: tuple, data: st.DataObject) -> None:
    pieces, morphemes, eojeols = layout
    tags = data.draw(
        st.lists(st.integers(1, len(TAGS) - 1), min_size=len(morphemes), max_size=len(morphemes))
    )
    p_starts, p_ends = arrays(pieces)
    m_starts, m_ends = arrays(morphemes)
    units = align_arrays(
        Pieces(np.zeros(len(pieces), np.int64), p_starts, p_ends, p_starts == p_ends),
        m_starts,
        m_ends,
        np.array(tags, np.uint8),
        arrays(eojeols)[0],
    )
    wanted = unit_starts(pieces, morphemes, eojeols)
    assert np.flatnonzero(units.starts & Flag.MORPHEME).tolist() == wanted.morpheme
    assert np.flatnonzero(units.starts & Flag.EOJEOL).tolist() == wanted.eojeol
    straddles = [
        any(
            a[1] <= b[0] or b[1] <= a[0]
            for a in morphemes
            for b in morphemes
            if overlap(a, piece) and overlap(b, piece)
        )
        for piece in pieces
    ]
    assert units.straddles.tolist() == straddles
    bounds = [*wanted.morpheme, len(pieces)]
    for first, last in zip(bounds, bounds[1:], strict=False):
        met = [
            (CLASSES.index(CLASS_OF_TAG[TAGS[tag]]), n)
            for n, (m, tag) in enumerate(zip(morphemes, tags, strict=True))
            if any(overlap(m, piece) for piece in pieces[first:last])
        ]
        head = tags[min(met)[1]] if met else 0
        assert units.tags[first:last].tolist() == [head] * (last - first)
        assert bool(units.starts[first] & Flag.STRADDLE) == any(straddles[first:last])


@pytest.mark.property
@given(text=texts)
def test_any_text(text: str, analyzer: Analyzer, tokenizer: Tokenizer) -> None:
    analysis = analyzer(text)
    alignment = Alignment(analysis, tokenizer.encode(text), tokenizer.pieces)
    check_alignment(alignment)
    for unit in alignment.units("morpheme"):
        heads = [morpheme for morpheme in unit.morphemes if morpheme.start < morpheme.end]
        best = min((CLASSES.index(m.class_name) for m in heads), default=None)
        assert unit.class_name == (None if best is None else CLASSES[best])


def test_the_worked_example(analyzer: Analyzer, tokenizer: Tokenizer) -> None:
    """One look at everything: contraction, josa, head tags."""
    text = "나는 어제 학교에 갔다."
    alignment = Alignment(analyzer(text), tokenizer.encode(text), tokenizer.pieces)
    units = alignment.units("morpheme")
    assert [u.text for u in units] == [
        "나",
        "는",
        "어제",
        "학교",
        "에",
        "갔",
        "다",
        ".",
    ]
    assert [u.tag for u in units] == ["NP", "JX", "MAG", "NNG", "JKB", "VV", "EF", "SF"]
    assert [u.class_name for u in units][:2] == ["noun", "josa"]
    went = units[5]
    assert [morpheme.form for morpheme in went.morphemes] == ["가", "었"]
    assert alignment.arrays.starts[went.numbers.start] & Flag.FUSED_EOMI
    assert alignment.straddles == []


def test_flags_of_a_fused_josa_and_of_a_straddle() -> None:
    """난 = 나 + ᆫ on one syllable; 학교에 as one piece is no contraction but a straddle."""
    pieces = Pieces(np.array([7, 8]), np.array([0, 2]), np.array([1, 5]), np.array([False, False]))
    tags = np.array([TAG_CODE[t] for t in ("NP", "JX", "NNG", "JKB")], np.uint8)
    units = align_arrays(
        pieces, np.array([0, 0, 2, 4]), np.array([1, 1, 4, 5]), tags, np.array([0, 2])
    )
    both = Flag.MORPHEME | Flag.EOJEOL
    assert units.starts.tolist() == [both | Flag.FUSED_JOSA, both | Flag.STRADDLE]
    assert [TAGS[t] for t in units.tags] == ["NP", "NNG"]


def test_an_unknown_level_names_the_nearest(analyzer: Analyzer, tokenizer: Tokenizer) -> None:
    alignment = Alignment(analyzer("갔다"), tokenizer.encode("갔다"), tokenizer.pieces)
    with pytest.raises(ValueError, match="did you mean 'eojeol'"):
        alignment.units("eojol")


def test_no_text_has_no_units(analyzer: Analyzer, tokenizer: Tokenizer) -> None:
    for text in ("", "  ", "▁", "\u200b"):
        alignment = Alignment(analyzer(text), tokenizer.encode(text), tokenizer.pieces)
        assert alignment.pieces == []
        assert alignment.units("morpheme") == alignment.units("eojeol") == []
