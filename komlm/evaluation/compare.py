"""Runs beside one another: what each measured on the same held-out text, step by step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from komlm.config import load_config
from komlm.training.metrics import read_metrics
from komlm.training.run_folder import CONFIG, METRICS
from komlm.training.settings import fixed_settings
from komlm.types import LEVELS


@dataclass(frozen=True)
class RunHistory:
    """A run as its folder tells it.

    Attributes:
        name: of the folder.
        settings: by their full keys, as :func:`komlm.training.settings.fixed_settings` gives them.
        measured: (step, measurement) in order of steps; fields as in
            :func:`komlm.training.recovery.score`.
    """

    name: str
    settings: dict[str, Any]
    measured: list[tuple[int, dict[str, Any]]]

    @property
    def last(self) -> dict[str, Any]:
        """The latest measurement."""
        return self.measured[-1][1]


def read_runs(folders: Sequence[Path]) -> list[RunHistory]:
    """Read runs to be compared.

    Raises:
        FileNotFoundError: a folder that holds no run.
        ValueError: a run without a measurement, or runs that were measured on different text; the
            message names both.

    Example: ``read_runs([Path("runs/piece"), Path("runs/morpheme")])[1].last["morpheme"]["loss"]``.
    """
    runs = [_read(folder, name) for folder, name in zip(folders, _names(folders), strict=True)]
    for run in runs[1:]:
        if not _same_text(runs[0].last, run.last):
            raise ValueError(
                f"{runs[0].name} and {run.name} were measured on different held-out text: wanted "
                "runs with the same shards, rows.max_length and training.evaluate_rows"
            )
    return runs


def _names(folders: Sequence[Path]) -> list[str]:
    """The last parts of the paths; the whole paths where two of those are the same."""
    names = [folder.resolve().name for folder in folders]
    return names if len(set(names)) == len(names) else [str(folder) for folder in folders]


def _read(folder: Path, name: str) -> RunHistory:
    if not (folder / METRICS).is_file() or not (folder / CONFIG).is_file():
        raise FileNotFoundError(
            f"{folder} is no run: wanted a folder that `komlm pretrain -o` wrote, with {CONFIG} "
            f"and {METRICS}"
        )
    measured = [
        (line["step"], line["heldout"])
        for line in read_metrics(folder / METRICS)
        if "heldout" in line
    ]
    if not measured:
        raise ValueError(
            f"{folder} was not measured yet: a run measures itself every training.evaluate_every "
            "steps where its shards hold documents back"
        )
    return RunHistory(name, fixed_settings(load_config(folder / CONFIG)), measured)


def _same_text(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """The same hidden pieces have the same loss under the unigram model of the same training."""
    return one["rows"] == other["rows"] and all(
        one[level]["units"] == other[level]["units"]
        and math.isclose(one[level]["baseline"]["loss"], other[level]["baseline"]["loss"])
        for level in LEVELS
    )


def differences(runs: Sequence[RunHistory]) -> dict[str, list[Any]]:
    """The settings in which the runs differ, a value a run.

    Example: ``{"masking.unit": ["piece", "morpheme"]}``.
    """
    keys = dict.fromkeys(key for run in runs for key in run.settings)
    values = {key: [run.settings.get(key) for run in runs] for key in keys}
    return {key: found for key, found in values.items() if any(v != found[0] for v in found)}


def curve(run: RunHistory, level: str) -> tuple[list[int], list[float]]:
    """Steps, and the held-out loss of a level at each, in nat a piece.

    Example: ``curve(run, "morpheme")`` -> ``([500, 1000], [6.31, 6.12])``.
    """
    return [step for step, _ in run.measured], [m[level]["loss"] for _, m in run.measured]
