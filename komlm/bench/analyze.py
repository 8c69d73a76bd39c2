"""The stage analyze against Kiwi alone, and two workers against one.

Against Kiwi: the whole stage on a file of documents (reading it, the inventory, Kiwi, our arrays,
the parts and the manifest on disk), one worker, in this process; Kiwi alone is `tokenize` on the
same stretches in the same process and by the same object, with span and tag of each token read in a
Python loop. The text goes through in slices, and on each the two take turns. It is processor time:
waiting for the disk, some milliseconds a part, is left out.

Workers: characters a second by the clock on the wall, in the stretch of a run from a quarter to
four fifths of its text, in which every worker has its Kiwi and still has work; so building Kiwi is
apart. One worker runs before and one after the two, which are compared with the mean.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from komlm.bench.material import Material
from komlm.bench.report import Figure, Report
from komlm.bench.timing import added, cores, in_turn, one_core
from komlm.corpus.analyze import DOCUMENTS_IN_A_PART, analyze
from komlm.corpus.source import Source, find_source
from komlm.text.analysis import chunks_for_kiwi

SLICE_CHARACTERS = 60_000
PARTS_FOR_WORKERS = 8
CHARACTERS_FOR_WORKERS = 1_000_000
"""Of a large corpus the workers get no more: the rate is steady by then."""
BEGIN, END = 0.25, 0.8


def measure(material: Material) -> Report:
    """Characters a second, the stage's time over Kiwi's, and what a second worker brings."""
    seconds = against_kiwi(material)
    characters = sum(map(len, material.texts))
    figures = [
        Figure("characters_per_s.komlm", "komlm, characters/s", characters / seconds["komlm"]),
        Figure("characters_per_s.kiwi", "Kiwi alone, characters/s", characters / seconds["kiwi"]),
        Figure(
            "times_kiwi",
            "komlm's time / Kiwi's time",
            seconds["komlm"] / seconds["kiwi"],
            "{:.3f} times",
            at_most=1.08,
        ),
    ]
    speedup = speedup_of_two(material) if cores() > 1 else None
    figures.append(
        Figure(
            "speedup_of_2_workers",
            "2 workers / 1 worker",
            speedup,
            "{:.2f} times",
            at_least=1.8,
            why="one core here",
        )
    )
    return Report(
        figures, f"{characters:,} characters of {material.name}, Kiwi's construction apart"
    )


def against_kiwi(material: Material) -> dict[str, float]:
    """Seconds of ``komlm`` and of ``kiwi`` on all of the text."""
    slices = _slices(material.texts, SLICE_CHARACTERS)
    budget = material.seconds / len(slices)
    with one_core():
        return added(_seconds_of(texts, material, budget) for texts in slices)


def _seconds_of(texts: Sequence[str], material: Material, budget: float) -> dict[str, float]:
    analyzer = material.analyzer
    source = _written(texts, material.new_folder())
    chunks = [chunk for text in texts for chunk in chunks_for_kiwi(text)]
    return in_turn(
        {
            "komlm": lambda: analyze(source, material.new_folder()),
            "kiwi": lambda: analyzer.kiwi_alone(chunks),
        },
        budget,
        warm_up=False,
    )


def _slices(texts: Sequence[str], characters: int) -> list[list[str]]:
    """Documents in their order, in slices of so many characters or a little more."""
    slices: list[list[str]] = [[]]
    held = 0
    for text in texts:
        if held >= characters:
            slices.append([])
            held = 0
        slices[-1].append(text)
        held += len(text)
    return slices


def _written(texts: Sequence[str], folder: Path) -> Source:
    folder.mkdir()
    path = folder / "texts.jsonl"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts)
    return find_source(str(path))


def speedup_of_two(material: Material) -> float:
    """How many times as fast two workers are as one."""
    source = _written(lines_for_workers(material.texts), material.new_folder())

    def rate(workers: int) -> float:
        return steady_rate(
            lambda advance: analyze(source, material.new_folder(), workers, advance=advance)
        )

    before, two, after = rate(1), rate(2), rate(1)
    return two / ((before + after) / 2)


def lines_for_workers(texts: Sequence[str]) -> list[str]:
    """Lines of the texts, each a document, enough of them that both workers have several parts.

    Lines are taken again where a corpus has too few.
    """
    lines = [line for text in texts for line in text.splitlines() if line.strip()]
    needed = PARTS_FOR_WORKERS * DOCUMENTS_IN_A_PART
    lines *= -(-needed // len(lines))
    taken, characters = needed, sum(map(len, lines[:needed]))
    for line in islice(lines, needed, None):
        if characters >= CHARACTERS_FOR_WORKERS:
            break
        taken, characters = taken + 1, characters + len(line)
    return lines[:taken]


def steady_rate(run: Callable[[Callable[[int], None]], object]) -> float:
    """Characters a second in the middle of a run.

    Args:
        run: does the work; calls what it is given with the characters that were done.
    """
    done = 0
    seen: list[tuple[float, int]] = []

    def advance(amount: int) -> None:
        nonlocal done
        done += amount
        seen.append((time.perf_counter(), done))

    run(advance)
    inside = [(when, count) for when, count in seen if BEGIN * done <= count <= END * done]
    (begin, first), (end, last) = inside[0], inside[-1]
    return (last - first) / (end - begin)
