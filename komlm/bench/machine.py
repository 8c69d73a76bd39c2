"""What a figure was measured with: the machine, what else it does, and the versions."""

from __future__ import annotations

import datetime
import os
import platform
from importlib.metadata import version

import torch

from komlm.bench.timing import cores


def busy() -> str:
    """A warning where other programs are at work; empty where they are not, or cannot be seen.

    Example: ``"the machine is busy (load 7.4 on 2 cores): ..."``.
    """
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load < cores() / 2:
        return ""
    return (
        f"the machine is busy (load {load:.1f} on {cores()} cores): figures by the clock on the "
        "wall (workers of analyze, step) will be rough"
    )


def machine_line() -> str:
    """Date, cores, GPU and versions.

    Example: ``"2026-12-01, 2 cores (x86_64), Python 3.11.7, torch 2.13.0, transformers 5.24.0,
    kiwipiepy 0.24.1"``.
    """
    parts = [
        datetime.date.today().isoformat(),
        f"{cores()} cores ({platform.machine()})",
        f"Python {platform.python_version()}",
        *(f"{name} {version(name)}" for name in ("torch", "transformers", "kiwipiepy")),
    ]
    if torch.cuda.is_available():
        parts.insert(2, torch.cuda.get_device_name())
    return ", ".join(parts)
