from __future__ import annotations

import json
import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from komlm.training.metrics import MetricsFile, lines_backwards, read_metrics

LINES = [{"step": step, "loss": step / 3, "seconds": 2.0 * step} for step in range(10, 60, 10)]
LINES.insert(2, {"step": 20, "heldout": {"rows": 3, "말": "나는"}})


def content(lines: list[dict[str, object]]) -> bytes:
    return b"".join((json.dumps(line, ensure_ascii=False) + "\n").encode() for line in lines)


@given(step=st.integers(0, 60), cut=st.integers(0, 400))
def test_resumed_file_holds_the_whole_lines_up_to_the_step(
    tmp_path_factory: pytest.TempPathFactory, step: int, cut: int
) -> None:
    path = tmp_path_factory.mktemp("metrics") / "metrics.jsonl"
    torn = content(LINES)[:cut]
    path.write_bytes(torn)
    whole = [json.loads(line) for line in torn.split(b"\n")[:-1]]
    kept = [line for line in whole if line["step"] <= step]
    with MetricsFile(path, step) as metrics:
        assert metrics.seconds == max([line.get("seconds", 0.0) for line in kept], default=0.0)
        assert metrics.last_heldout() == next(
            (line["heldout"] for line in reversed(kept) if "heldout" in line), None
        )
        metrics.write({"step": 99})
        assert read_metrics(path) == [*kept, {"step": 99}]


def test_a_line_torn_in_the_middle_of_the_file_goes_with_those_after_it(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(content(LINES[:2]) + b"\x00\x00\n" + content(LINES[4:]))
    with MetricsFile(path, 20):
        pass
    assert read_metrics(path) == LINES[:2]


def test_lines_backwards() -> None:
    assert list(lines_backwards(content(LINES) + b'{"half')) == LINES[::-1]
    assert list(lines_backwards(b"")) == []


def test_a_full_disk_is_said_and_half_a_line_cut_off(tmp_path: Path) -> None:
    """A limit on the size of a file stands in for the disk."""
    path = tmp_path / "metrics.jsonl"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with MetricsFile(path, 0) as metrics:
        metrics.write(LINES[0])
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 9, limits[1]))
            for _ in range(2):
                with pytest.raises(OSError, match=f"could not write to {path}: .*--resume"):
                    metrics.write(LINES[1])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.stat().st_size == len(content(LINES[:1])) + 9
    with MetricsFile(path, 10):
        pass
    assert read_metrics(path) == LINES[:1]
