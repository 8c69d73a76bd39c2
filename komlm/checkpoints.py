"""Finding checkpoints on disk: ``step-N`` folders in a run folder, whole or damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from komlm.files import DamagedError, read_json, sha256_of

STATE = Path("state/state.json")
"""What a checkpoint says of itself: its step, and the SHA-256 of every other file in it."""


def step_of(folder: Path) -> int | None:
    """The step in a checkpoint's name, or None for another name.

    Example: ``step_of(Path("run/step-100"))`` -> ``100``.
    """
    head, _, digits = folder.name.partition("-")
    return int(digits) if head == "step" and digits.isascii() and digits.isdigit() else None


def checkpoints(run_folder: Path) -> list[Path]:
    """The ``step-N`` folders of a run, oldest first, damaged ones too."""
    found = {
        step: folder
        for folder in run_folder.glob("step-*")
        if folder.is_dir() and (step := step_of(folder)) is not None
    }
    return [found[step] for step in sorted(found)]


def last_whole(run_folder: Path, say: Callable[[str], None]) -> Path | None:
    """The newest checkpoint whose files all have the sums that its state.json lists; None where the
    run has made no checkpoint yet.

    Args:
        run_folder: the run.
        say: told of each damaged checkpoint that is skipped.

    Raises:
        ValueError: there are checkpoints, and all are damaged. To begin again in their place is
            for the user to decide.

    Example: ``step-200`` cut short -> says so and gives ``step-100``.
    """
    there = checkpoints(run_folder)
    for folder in reversed(there):
        damage = damage_of(folder)
        if not damage:
            return folder
        say(f"{folder} is damaged and skipped: {damage}")
    if there:
        names = ", ".join(folder.name for folder in there)
        raise ValueError(
            f"no checkpoint of {run_folder} is whole: restore one of {names} from a copy, or train "
            "again, with another -o or here after deleting them"
        )
    return None


def damage_of(folder: Path) -> str:
    """What is wrong with the files of a checkpoint; empty if nothing is.

    A checkpoint that was given another name than ``step-N`` may hold any step.

    Example: ``"model.safetensors does not have the checksum that state/state.json lists"``.
    """
    if not (folder / STATE).exists():
        return f"{STATE} is missing"
    try:
        state = read_json(folder / STATE)
    except DamagedError as error:
        return f"{STATE} is damaged, {error.reason}"
    missing = [key for key in ("step", "files") if key not in state]
    if missing:
        return f"{STATE} has no {missing[0]!r}"
    if step_of(folder) not in (None, state["step"]):
        return f"it holds step {state['step']}"
    for name, wanted in state["files"].items():
        try:
            if sha256_of(folder / name) != wanted:
                return f"{name} does not have the checksum that {STATE} lists"
        except FileNotFoundError:
            return f"{name} is missing"
        except OSError as error:
            return f"{name} cannot be read ({error.strerror or error})"
    return ""


def find_model(folder: Path, say: Callable[[str], None]) -> Path:
    """The Hugging Face folder that ``folder`` stands for.

    A run folder stands for its last whole checkpoint; a ``step-N`` and any other folder with a
    config.json for itself.

    Args:
        folder: what the user named.
        say: told of each damaged checkpoint that is skipped.

    Raises:
        FileNotFoundError: nothing of the kind there.
        ValueError: a damaged ``step-N``, or a run folder in which all are damaged.

    Example: ``find_model(Path("runs/mini"), print)`` -> ``runs/mini/step-500``.
    """
    if (folder / STATE.parent).exists() and (damage := damage_of(folder)):
        raise ValueError(f"{folder} is damaged: {damage}. Use another checkpoint of the run")
    if (folder / "config.json").is_file():
        return folder
    found = last_whole(folder, say)
    if found is None:
        raise FileNotFoundError(
            f"no model in {folder}: wanted a run folder with a whole step-N, or a Hugging Face "
            "folder with config.json and safetensors. Train one with `komlm pretrain`"
        )
    return found
