"""The folder of a run: config.toml, metrics.jsonl and a ``step-N/`` for each checkpoint."""

from __future__ import annotations

import shutil
from pathlib import Path

from komlm.config import Config, load_config, to_toml
from komlm.files import UNFINISHED, written_whole
from komlm.training.settings import fixed_settings, refuse_other_settings


def check_run_folder(run_folder: Path, config: Config, resume: bool) -> None:
    """May the run use this folder? Asked before anything is read.

    Raises:
        ValueError: it exists without ``resume``, or is no run, or one with other settings.
    """
    if run_folder.exists() and not run_folder.is_dir():
        raise ValueError(f"{run_folder} is a file: wanted a folder; name another one with -o")
    if not run_folder.exists() or not any(run_folder.iterdir()):
        return
    if not resume:
        raise ValueError(
            f"{run_folder} exists already: go on with it by --resume, or name another with -o"
        )
    written = run_folder / "config.toml"
    if not _holds_work(run_folder):
        return
    if written.is_file():
        then = fixed_settings(load_config(written))
        refuse_other_settings(written, then, fixed_settings(config))
    else:
        raise ValueError(
            f"{run_folder} holds no config.toml, so it is no run to --resume; name another with -o"
        )


def _holds_work(run_folder: Path) -> bool:
    """Whether there is more than a first try that failed before its first checkpoint was made."""
    ours = ("config.toml", "metrics.jsonl")
    return any(not path.name.startswith(ours) for path in run_folder.iterdir())


def open_run_folder(run_folder: Path, config: Config) -> None:
    """Make the folder, clear what a killed run left half written, and write the settings."""
    run_folder.mkdir(parents=True, exist_ok=True)
    remove_unfinished(run_folder)
    with written_whole(run_folder / "config.toml") as beside:
        beside.write_text(to_toml(config), encoding="utf-8")


def remove_unfinished(run_folder: Path) -> None:
    """Delete what a killed run left half written or half deleted."""
    for beside in run_folder.glob(f"*{UNFINISHED}"):
        if beside.is_dir():
            shutil.rmtree(beside)
        else:
            beside.unlink()
