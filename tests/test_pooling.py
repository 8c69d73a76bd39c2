"""Vectors of units from vectors of pieces, against sums by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from komlm import pool
from komlm.text.aligner import Aligner
from komlm.text.alignment import Alignment
from komlm.text.analysis import Analyzer
from komlm.text.tokenizer import Tokenizer
from komlm.types import LEVELS


@pytest.fixture(scope="module")
def aligner(tokenizer: Tokenizer, analyzer: Analyzer) -> Aligner:
    return Aligner(tokenizer, analyzer)


def vectors(alignment: Alignment) -> torch.Tensor:
    """Piece n has the vector (n, 1)."""
    numbers = torch.arange(float(len(alignment.pieces)))
    return torch.stack([numbers, torch.ones_like(numbers)], dim=1)


@pytest.mark.parametrize("level", LEVELS)
def test_the_mean_is_that_of_the_units_pieces(aligner: Aligner, level: str) -> None:
    alignment = aligner("우리는 어제 운동장에서 축구를 했습니다.")
    pooled = pool(vectors(alignment), alignment, level)
    numbers = [unit.numbers for unit in alignment.units(level)]
    wanted = [[sum(n) / len(n), 1.0] for n in numbers]
    torch.testing.assert_close(pooled, torch.tensor(wanted))
    firsts = pool(vectors(alignment), alignment, level, how="first")
    assert firsts[:, 0].tolist() == [n[0] for n in numbers]


@given(text=st.text("나는 학교에갔다.ㅋ🙂\n", max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_units_hold_every_piece_once(aligner: Aligner, text: str) -> None:
    alignment = aligner(text)
    for level in LEVELS:
        sizes = torch.tensor([len(unit.numbers) for unit in alignment.units(level)])
        pooled = pool(vectors(alignment), alignment, level)
        assert len(pooled) == len(sizes)
        total = (pooled[:, 0] * sizes).sum() if len(sizes) else torch.tensor(0.0)
        torch.testing.assert_close(total, vectors(alignment)[:, 0].sum())


def test_gradients_reach_the_pieces(aligner: Aligner) -> None:
    alignment = aligner("나는 학교에 갔다.")
    states = vectors(alignment).requires_grad_()
    pool(states, alignment, "eojeol").sum().backward()
    assert states.grad is not None
    assert (states.grad > 0).all()


def test_what_does_not_fit_is_told(aligner: Aligner) -> None:
    alignment = aligner("나는 학교에 갔다.")
    states = vectors(alignment)
    with pytest.raises(ValueError, match=r"leave out those of \[CLS\] and \[SEP\]"):
        pool(torch.cat([states, states[:2]]), alignment)
    with pytest.raises(ValueError, match=r"shape \(1, \d+, 2\): wanted a vector for each"):
        pool(states[None], alignment)
    with pytest.raises(ValueError, match="mean"):
        pool(states, alignment, how="meen")
    with pytest.raises(ValueError, match="morpheme"):
        pool(states, alignment, "morphem")


def test_half_precision_stays_so(aligner: Aligner, tmp_path: Path) -> None:
    alignment = aligner("나는 학교에 갔다.")
    assert pool(vectors(alignment).bfloat16(), alignment).dtype == torch.bfloat16
