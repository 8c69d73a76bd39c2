"""Compared runs as text for the terminal: a column a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from komlm.evaluation.compare import RunHistory, differences
from komlm.tables import figures, percent
from komlm.text.tags import CLASS_OF_TAG, CLASSES
from komlm.training.recovery import NONE
from komlm.types import LEVELS


def table(runs: Sequence[RunHistory]) -> str:
    """What differs, then loss and recovery by level, class and tag.

    Beside the runs stands the unigram model, which knows only how often each piece occurs.
    """
    first = runs[0].last
    parts = [
        f"{len(runs)} runs on the same held-out text: {first['rows']:,} rows, 15 % hidden. The "
        "unigram model\nknows only how often each piece occurs and always guesses the most "
        "frequent one.",
        figures(_settings(runs)),
        figures([_header("loss, nat a piece", runs), *(_loss(level, runs) for level in LEVELS)]),
        figures([_header("pieces right", runs), *(_accuracy(level, runs) for level in LEVELS)]),
        figures([_header("units right", runs), *_units(runs)]),
    ]
    for level in ("morpheme", "eojeol"):
        rows = _groups(runs, level, "classes", (*CLASSES, NONE))
        parts.append(figures([_header(f"{level}s by class", runs), *rows]))
    rows = _groups(runs, "morpheme", "tags", (*CLASS_OF_TAG, NONE))
    parts.append(figures([_header("morphemes by tag", runs), *rows]))
    return "\n\n".join(parts)


def _settings(runs: Sequence[RunHistory]) -> list[list[str]]:
    rows = [["setting", *(run.name for run in runs)]]
    rows += [[key, *map(str, values)] for key, values in differences(runs).items()]
    return [*rows, ["last step", *(f"{run.measured[-1][0]:,}" for run in runs)]]


def _header(what: str, runs: Sequence[RunHistory]) -> list[str]:
    return [what, "of", "unigram", *(run.name for run in runs)]


def _loss(level: str, runs: Sequence[RunHistory]) -> list[str]:
    measured = [run.last[level] for run in runs]
    first = measured[0]
    return [
        level,
        f"{first['pieces']:,}",
        f"{first['baseline']['loss']:.3f}",
        *(f"{m['loss']:.3f}" for m in measured),
    ]


def _accuracy(level: str, runs: Sequence[RunHistory]) -> list[str]:
    measured = [run.last[level] for run in runs]
    first = measured[0]
    return [
        level,
        f"{first['pieces']:,}",
        percent(first["baseline"]["accuracy"]),
        *(percent(m["accuracy"]) for m in measured),
    ]


def _units(runs: Sequence[RunHistory]) -> list[list[str]]:
    rows = []
    for level in LEVELS:
        # The levels' own baseline holds more than the recovery of units.
        found = [run.last[level] for run in runs]
        rows.append(_recovery(level, [{**f, "baseline": f["baseline"]["recovery"]} for f in found]))
    return [*rows, _recovery("  word", [run.last["eojeol"]["word"] for run in runs])]


def _groups(
    runs: Sequence[RunHistory], level: str, kind: str, names: Sequence[str]
) -> list[list[str]]:
    found = [run.last[level][kind] for run in runs]
    return [_recovery(name, [f[name] for f in found]) for name in names if name in found[0]]


def _recovery(name: str, groups: Sequence[dict[str, Any]]) -> list[str]:
    first = groups[0]
    return [
        name,
        f"{first['units']:,}",
        percent(first["baseline"]),
        *(percent(group["recovery"]) for group in groups),
    ]
