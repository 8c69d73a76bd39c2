from __future__ import annotations

import os

import pytest

from komlm.bench import machine
from komlm.bench.machine import busy, machine_line


def test_the_line_tells_machine_and_versions() -> None:
    line = machine_line()
    for name in ("cores", "Python 3.", "torch ", "transformers ", "kiwipiepy "):
        assert name in line
    assert "\n" not in line


def test_a_busy_machine_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cores", lambda: 4)
    for load, told in ((0.3, False), (1.9, False), (2.0, True), (7.4, True)):
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0.0, 0.0), raising=False)
        assert bool(busy()) == told
    assert "load 7.4 on 4 cores" in busy()
    monkeypatch.delattr(os, "getloadavg")
    assert busy() == ""
