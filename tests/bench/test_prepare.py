from __future__ import annotations

import numpy as np
import pytest

from komlm.bench import Material
from komlm.bench import prepare as bench_prepare
from komlm.bench.prepare import bytes_of_long_documents, measure


def test_the_report(material: Material) -> None:
    values = measure(material).values
    assert values.keys() == {"eojeols_per_s", "bytes_a_token"}
    assert values["eojeols_per_s"] > 0
    # Two bytes an id, one of flags, one of a tag; the rest is the frame.
    for size in values["bytes_a_token"].values():
        assert 4 <= size < 4.5


def test_the_bytes_of_long_documents(material: Material, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = np.diff(material.shards.offsets)
    everything = bytes_of_long_documents(material.shards, material)
    monkeypatch.setattr(bench_prepare, "LONG", int(np.median(lengths)) + 1)
    half = bytes_of_long_documents(material.shards, material)
    assert everything is not None
    assert half is not None
    # The frame of a file weighs more on fewer tokens.
    assert 4 < everything < half
    monkeypatch.setattr(bench_prepare, "LONG", int(lengths.max()) + 1)
    assert bytes_of_long_documents(material.shards, material) is None
