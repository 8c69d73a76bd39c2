from __future__ import annotations

import pytest

from komlm.bench import Material
from komlm.bench.vocabulary import COLUMNS, figures_of, measure, split
from komlm.text.analysis import Analysis
from komlm.text.tokenizer import Tokenizer


def test_the_report(material: Material) -> None:
    report = measure(material)
    values = report.values
    assert list(values) == ["unigram", "bpe", "plain_unigram", "plain_bpe", "given"]
    for figures in values.values():
        assert tuple(figures) == COLUMNS
        assert 1 <= figures["pieces_an_eojeol"] < 6
    for kind in ("unigram", "bpe"):
        assert values[kind]["straddles"] < values[f"plain_{kind}"]["straddles"]
    assert len(report.rows) == 6


def test_no_document_is_on_both_sides(material: Material) -> None:
    analyses = [one for batch in material.analyses() for one in batch]
    seen, unseen = split(analyses)
    assert len(unseen) == len(analyses) // 10
    assert {id(one) for one in seen + unseen} == {id(one) for one in analyses}
    assert len(seen) + len(unseen) == len(analyses)
    with pytest.raises(ValueError, match="9 documents.*wants 10"):
        split(analyses[:9])


def test_the_figures_are_those_of_the_alignment(material: Material, tokenizer: Tokenizer) -> None:
    """Against objects, a document at a time."""
    from komlm.text.alignment import Alignment

    analyses: list[Analysis] = next(material.analyses())[:5]
    alignments = [
        Alignment(analysis, tokenizer.encode(analysis.text), tokenizer.pieces)
        for analysis in analyses
    ]
    pieces = sum(len(one.pieces) for one in alignments)
    figures = {f.key: f.value for f in figures_of("x", "X", tokenizer.folder, analyses)}
    eojeols = sum(len(analysis.text.split()) for analysis in analyses)
    assert figures["x.pieces_an_eojeol"] == pieces / eojeols
    assert figures["x.straddles"] == sum(len(one.straddles) for one in alignments) / pieces
    unknown = sum(
        piece.id == tokenizer.special_ids["unk"] for a in alignments for piece in a.pieces
    )
    assert figures["x.unknown"] == unknown / pieces
