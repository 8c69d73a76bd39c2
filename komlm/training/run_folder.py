"""The folder of a run: config.toml, metrics.jsonl and a ``step-N/`` for each checkpoint."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from komlm.checkpoints import STATE, checkpoints
from komlm.config import Config, load_config, to_toml
from komlm.files import LOCK, UNFINISHED, FolderLock, read_json, written_whole
from komlm.training.metrics import TIME_FIELDS
from komlm.training.settings import fixed_settings, refuse_other_settings

CONFIG = "config.toml"
METRICS = "metrics.jsonl"
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_TIMES = re.compile(rf', "(?:{"|".join(TIME_FIELDS)})": {_NUMBER}(?=[,}}])'.encode())


def check_run_folder(run_folder: Path, config: Config, resume: bool) -> None:
    """May the run use this folder? Asked before anything is read.

    The settings of a run are those in its checkpoints, which have checksums; its config.toml, for
    people to read, counts only where no checkpoint can be read, and is written anew.

    Raises:
        ValueError: it exists without ``resume``, or is no run, or one with other settings.
    """
    if run_folder.exists() and not run_folder.is_dir():
        raise ValueError(f"{run_folder} is a file: wanted a folder; name another one with -o")
    if not run_folder.exists() or all(path.name == LOCK for path in run_folder.iterdir()):
        return
    if not resume:
        raise ValueError(
            f"{run_folder} exists already: go on with it by --resume, or name another with -o"
        )
    if not _holds_work(run_folder):
        return
    where, then = _settings_so_far(run_folder)
    refuse_other_settings(where, then, fixed_settings(config))


def _holds_work(run_folder: Path) -> bool:
    """Whether there is more than a first try that failed before its first checkpoint was made."""
    names = [path.name for path in run_folder.iterdir()]
    return any(name not in (CONFIG, METRICS) and not name.endswith(UNFINISHED) for name in names)


def _settings_so_far(run_folder: Path) -> tuple[Path, dict[str, Any]]:
    for folder in reversed(checkpoints(run_folder)):
        try:
            return folder, dict(read_json(folder / STATE)["config"])
        except (OSError, ValueError, KeyError):
            continue  # `last_whole` says what is wrong with this one
    written = run_folder / CONFIG
    if not written.is_file():
        raise ValueError(
            f"{run_folder} holds no {CONFIG}, so it is no run to --resume; name another with -o"
        )
    try:
        return written, fixed_settings(load_config(written))
    except ValueError as error:
        raise ValueError(
            f"{error}. No checkpoint of the run tells its settings in its place: restore "
            f"{written} from a copy, or begin another run with -o"
        ) from error


def open_run_folder(run_folder: Path, config: Config) -> FolderLock:
    """Make the folder, clear what a killed run left half written, and write the settings.

    Returns:
        The lock that keeps other runs away, to be closed when this one ends.

    Raises:
        ValueError: another run is working on the folder.
    """
    lock = FolderLock(run_folder)
    try:
        remove_unfinished(run_folder)
        if not checkpoints(run_folder):
            (run_folder / METRICS).unlink(missing_ok=True)  # of steps that are all made again
        with written_whole(run_folder / CONFIG) as beside:
            beside.write_text(to_toml(config), encoding="utf-8")
    except BaseException:
        lock.close()
        raise
    return lock


def remove_unfinished(run_folder: Path) -> None:
    """Delete what a killed run left half written or half deleted."""
    for beside in run_folder.glob(f"*{UNFINISHED}"):
        if beside.is_dir():
            shutil.rmtree(beside)
        elif beside.name != LOCK:
            beside.unlink()


def metrics_sum(run_folder: Path) -> dict[str, Any]:
    """What a checkpoint notes of metrics.jsonl: how many lines, and the SHA-256 of all they say but
    times, which no two runs have alike.

    Example: ``{"lines": 12, "sha256": "9f86d0..."}``.
    """
    path = run_folder / METRICS
    return _sum_of(path.read_bytes() if path.exists() else b"")


def _sum_of(content: bytes) -> dict[str, Any]:
    digest = hashlib.sha256(_TIMES.sub(b"", content)).hexdigest()
    return {"lines": content.count(b"\n"), "sha256": digest}


def check_metrics(run_folder: Path, step: int, noted: dict[str, Any] | None) -> None:
    """Are the lines of metrics.jsonl up to ``step`` those that a checkpoint has noted?

    A file that is not there was moved away, as the error says one may do: that is told on stderr.

    Args:
        noted: from :func:`metrics_sum`; None in a checkpoint of an older version.

    Raises:
        ValueError: lines are damaged or missing.
    """
    path = run_folder / METRICS
    if noted is None:
        return
    if not path.exists():
        if noted["lines"]:
            print(f"{path} is missing: what it told up to step {step} is lost", file=sys.stderr)
        return
    content = path.read_bytes() if path.is_file() else b""
    end = content.rfind(b"\n") + 1
    for _ in range(content.count(b"\n") - noted["lines"]):
        end = content.rfind(b"\n", 0, end - 1) + 1
    later = content[end:].splitlines()
    if _sum_of(content[:end]) != noted or any(_step_of(line) <= step for line in later):
        raise ValueError(
            f"{path} is damaged: its lines up to step {step} are not those that were written. "
            "Restore it from a copy, or move it away: the run then goes on without them"
        )


def _step_of(line: bytes) -> float:
    """The step of a line; that of a torn one, which is cut off, is beyond all."""
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return float("inf")
