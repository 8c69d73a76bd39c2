"""Which settings a run keeps from its first step to its last."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from komlm.config import Config

FREE_KEYS = (
    "data",
    "examples",
    "training.device",
    "training.keep_checkpoints",
    "training.stop_after_minutes",
)
"""Sections and keys that change nothing of what is learnt: a resumed run may have others, and
checkpoints leave them out. The shards count by their identity, wherever they lie."""


def fixed_settings(config: Config) -> dict[str, Any]:
    """All settings that a run keeps from its first step to its last, by their full keys.

    Example: ``fixed_settings(config)["masking.ratio"]`` -> ``0.15``; ``data.shards`` is not in it.
    """
    settings: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            section = dataclasses.asdict(value)
            settings |= {f"{field.name}.{key}": item for key, item in section.items()}
        else:
            settings[field.name] = value
    return {
        key: value
        for key, value in settings.items()
        if key not in FREE_KEYS and key.partition(".")[0] not in FREE_KEYS
    }


def refuse_other_settings(where: Path, then: dict[str, Any], now: dict[str, Any]) -> None:
    """A run keeps its settings.

    Raises:
        ValueError: ``now`` differs from ``then``, as ``where`` has it; the message names the keys.
    """
    keys = sorted(key for key in then.keys() | now.keys() if then.get(key) != now.get(key))
    if keys:
        changes = "; ".join(f"{key} was {then.get(key)!r}, now {now.get(key)!r}" for key in keys)
        raise ValueError(
            f"{where} belongs to a run with other settings: {changes}. Resume with the same ones, "
            "or begin another run with -o."
        )
