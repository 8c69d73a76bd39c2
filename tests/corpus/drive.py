"""Runs a stage in a process that kills itself at a given moment; started by test_kills.py.

    python drive.py '{"stage": "analyze", "folder": ..., "moment": "before manifest.json", ...}'

A moment is just before or just after a file gets its name. What stands at the top of this file is
done in the stage's workers too, since they are spawned from it.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

import komlm.corpus.analyze
from komlm.corpus.prepare import prepare
from komlm.corpus.source import find_source
from komlm.text.analysis import Analysis


class SpaceAnalyzer:
    """In Kiwi's place, which takes seconds to load: each eojeol is a noun."""

    def __init__(self, dictionary: Path | None = None) -> None:
        pass

    def __call__(self, text: str, forms: bool) -> Analysis:
        spans = [match.span() for match in re.finditer(r"\S+", text)]
        starts, ends = np.array(spans, np.int64).reshape(-1, 2).T
        tags = np.ones(len(spans), np.uint8)
        return Analysis(text, starts, ends, tags, starts[:1])


def main(told: dict[str, Any]) -> None:
    """Run the stage that is told, until its moment."""
    real = os.replace

    def replace(source: Path, target: Path) -> None:
        name = Path(target).name
        if told["moment"] == f"before {name}":
            die()
        real(source, target)
        if told["moment"] == f"after {name}":
            die()

    os.replace = replace  # type: ignore[assignment]
    folder, workers = Path(told["folder"]), told["workers"]
    if told["stage"] == "analyze":
        komlm.corpus.analyze.analyze(find_source(told["corpus"]), folder, workers)
    else:
        tokenizer = Path(told["tokenizer"])
        prepare(Path(told["analysis"]), tokenizer, folder, workers, heldout=0.3)


def die() -> None:
    """Name the workers, then die as the kernel would have it."""
    print(json.dumps([child.pid for child in multiprocessing.active_children()]), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


komlm.corpus.analyze.DOCUMENTS_IN_A_PART = 3
if not os.environ.get("DRIVE_KIWI"):
    komlm.corpus.analyze.Analyzer = SpaceAnalyzer  # type: ignore[assignment,misc]
if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
