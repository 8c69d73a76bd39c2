"""Looking a name up, with an error that names the nearest known one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """The sentence that tells of an unknown name.

    Example: ``unknown("unit", "morphem", ["piece", "morpheme"])`` ->
    ``"unknown unit 'morphem'; did you mean 'morpheme'? Known: morpheme, piece"``.
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"; did you mean '{near[0]}'?" if near else "."
    return f"unknown {kind} '{name}'{hint} Known: {', '.join(names) or 'none'}"


def pick(kind: str, name: str, known: Mapping[str, T]) -> T:
    """``known[name]``, or a ValueError that names the nearest known name.

    Example: ``pick("unit", "eojeol", STRATEGIES)`` -> the eojeol strategy.
    """
    if name not in known:
        raise ValueError(unknown(kind, name, known))
    return known[name]
