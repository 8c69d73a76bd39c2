from __future__ import annotations

import pytest

from komlm.bench import Material, batch
from komlm.bench.batch import measure, rate
from komlm.text.aligner import Aligner
from komlm.text.analysis import Analyzer
from komlm.text.tokenizer import Tokenizer


def test_every_text_is_counted(tokenizer: Tokenizer, analyzer: Analyzer) -> None:
    assert rate(Aligner(tokenizer, analyzer), ["나는 갔다."] * 40, 1) > 0


def test_one_core_measures_one_worker(
    material: Material, analyzer: Analyzer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "cores", lambda: 1)
    monkeypatch.setattr(batch, "lines_for_workers", lambda texts: list(texts)[:10])
    values = measure(material).values
    assert values["characters_per_s"]["one_worker"] > 0
    assert values["speedup_of_2_workers"] is None


@pytest.mark.slow
def test_two_workers(material: Material, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "cores", lambda: 2)
    values = measure(material).values
    speed = values["characters_per_s"]
    quotient = speed["two_workers"] / speed["one_worker"]
    assert values["speedup_of_2_workers"] == pytest.approx(quotient, rel=1e-4)
