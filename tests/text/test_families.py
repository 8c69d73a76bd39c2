"""Every family of tokenizers: what is promised of any text."""

from __future__ import annotations

import functools
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from komlm.text.alignment import Alignment
from komlm.text.analysis import Analyzer
from komlm.text.labels import SCHEMES
from komlm.text.normalize import nfc
from tests.text.families import FAMILIES, sentencepiece_of, tokenizer_of
from tests.text.invariants import (
    check_alignment,
    check_both_directions,
    check_spans_are_of_the_pieces,
)
from tests.text.strategies import texts

# Of each of nineteen families; HYPOTHESIS_EXAMPLES asks for more.
EXAMPLES = int(os.environ.get("HYPOTHESIS_EXAMPLES", min(settings().max_examples, 2_000)))
examples = settings(max_examples=EXAMPLES)
family = pytest.mark.parametrize("family", FAMILIES)


def aligned(text: str, family: str, analyzer: Analyzer) -> Alignment:
    tokenizer = tokenizer_of(family)
    return Alignment(analyzer(text), tokenizer.encode(text), tokenizer.pieces)


@pytest.mark.property
@family
@examples
@given(text=texts, data=st.data())
def test_any_text(text: str, data: st.DataObject, family: str, analyzer: Analyzer) -> None:
    alignment = aligned(text, family, analyzer)
    check_alignment(alignment)
    check_both_directions(alignment)
    check_spans_are_of_the_pieces(alignment, tokenizer_of(family))
    check_labels(alignment, data.draw(entities(len(text))))
    tokenizer = tokenizer_of(family)
    special = {number for role, number in tokenizer.special_ids.items() if role != "unk"}
    assert special.isdisjoint(alignment.encoded.ids.tolist())


@st.composite
def entities(draw: st.DrawFn, length: int) -> list[tuple[int, int, str]]:
    """Labelled spans that do not overlap, each with a label of its own, in any order."""
    cuts = sorted(draw(st.sets(st.integers(0, length), max_size=8)))
    spans = [(start, end, f"E{n}") for n, (start, end) in enumerate(zip(cuts, cuts[1:]))]  # noqa: B905
    return draw(st.permutations([span for span in spans if draw(st.booleans())]))


def check_labels(alignment: Alignment, spans: list[tuple[int, int, str]]) -> None:
    """Back again: the spans, widened to whole pieces; refused exactly where they cannot be told."""
    held = {
        span: [p for p in alignment.pieces if max(p.start, span[0]) < min(p.end, span[1])]
        for span in spans
    }
    numbers = [piece.number for pieces in held.values() for piece in pieces]
    tellable = all(held.values()) and len(numbers) == len(set(numbers))
    wanted = sorted(
        (pieces[0].start, max(piece.end for piece in pieces), label)
        for (_, _, label), pieces in held.items()
        if pieces
    )
    for scheme in SCHEMES:
        if not tellable:
            with pytest.raises(ValueError, match=r"two entities|no piece"):
                alignment.label_pieces(spans, scheme)
            continue
        labels = alignment.label_pieces(spans, scheme)
        assert len(labels) == len(alignment.pieces)
        assert alignment.spans_from(labels) == wanted
        # A piece has the label of the entity it meets, one that is no bare ▁ only of that.
        for piece, label in zip(alignment.pieces, labels, strict=True):
            mine = [span[2] for span, pieces in held.items() if piece in pieces]
            if piece.start < piece.end:
                assert label == "O" if not mine else label.split("-")[1:] == mine


@functools.cache
def in_transformers(family: str) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer_of(family)._reading_masks)


@pytest.mark.property
@pytest.mark.parametrize("family", [f for f in FAMILIES if not f.startswith("sentencepiece")])
@examples
@given(text=texts)
def test_ids_are_those_of_transformers(text: str, family: str) -> None:
    """On the text that Kiwi reads, which is in NFC."""
    tokenizer = tokenizer_of(family)
    ids = in_transformers(family)(
        nfc(text).text, add_special_tokens=False, split_special_tokens=True
    )["input_ids"]
    # Theirs takes the letters <s> for the piece of that name.
    if tokenizer._never_in_text.isdisjoint(ids):
        assert tokenizer.encode(text).ids.tolist() == ids


NAMES = ("<unk>", "<s>", "</s>", "[UNK]", "[PAD]", "[BOS]", "[EOS]", "[CLS]", "[SEP]", "[MASK]")
SENTENCEPIECE = [f for f in FAMILIES if f.startswith(("sentencepiece", "kobert", "kortok"))]


@pytest.mark.property
@pytest.mark.parametrize("family", SENTENCEPIECE)
@examples
@given(text=texts)
def test_ids_are_those_of_sentencepiece(text: str, family: str) -> None:
    """On the normalised text, and but for ties of equal score and names of special pieces."""
    tokenizer, model = tokenizer_of(family), sentencepiece_of(family)
    assert tokenizer.normalizer is not None
    normal = tokenizer.normalizer(text).text
    ours, theirs = tokenizer.encode(text).ids.tolist(), model.encode(normal)
    if ours == theirs or any(name in text for name in NAMES):
        return
    surfaces = ["".join(tokenizer.pieces[n] for n in ids) for ids in (ours, theirs)]
    scores = [sum(model.get_score(n) for n in ids) for ids in (ours, theirs)]
    assert surfaces[0] == surfaces[1]
    assert scores[0] == pytest.approx(scores[1], abs=1e-3)
