"""The graph that units are defined by, built naively: the reference for the aligner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LONGEST_UNIT = 16


class Starts(NamedTuple):
    """Numbers of the pieces at which units begin."""

    morpheme: list[int]
    eojeol: list[int]


def overlap(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Whether two spans share a code point."""
    return max(a[0], b[0]) < min(a[1], b[1])


def unit_starts(
    pieces: Sequence[tuple[int, int]],
    morphemes: Sequence[tuple[int, int]],
    eojeols: Sequence[tuple[int, int]],
    cap: bool = True,
) -> Starts:
    """Components of the overlap graph of pieces and morphemes, cut where eojeols begin."""
    full = [span for span in [*pieces, *morphemes] if span[0] < span[1]]
    parent = {span: span for span in full}

    def root(span: tuple[int, int]) -> tuple[int, int]:
        while parent[span] != span:
            span = parent[span]
        return span

    for i, a in enumerate(full):
        for b in full[i + 1 :]:
            if overlap(a, b):
                parent[root(a)] = root(b)

    # An empty piece (a bare ▁) has the fate of the next piece that is not empty, and that piece
    # joins it; at the end it joins the piece before.
    written = [n for n, (start, end) in enumerate(pieces) if start < end]
    morpheme, eojeol = set(), set()
    seen_eojeols: set[int] = set()
    for before, n in zip([None, *written], written, strict=False):
        first = before + 1 if before is not None else 0
        mine = {k for k, e in enumerate(eojeols) if overlap(pieces[n], e)}
        begins_eojeol = before is None or min(mine) > max(seen_eojeols)
        if begins_eojeol:
            eojeol.add(first)
        if begins_eojeol or root(pieces[n]) != root(pieces[before]):
            morpheme.add(first)
        seen_eojeols |= mine
    if pieces and not written:
        morpheme.add(0)
        eojeol.add(0)
    if cap and pieces:
        _cut(len(pieces), morpheme, eojeol)
    return Starts(sorted(morpheme), sorted(eojeol))


def _cut(count: int, morpheme: set[int], eojeol: set[int]) -> None:
    for start, end in zip(sorted(eojeol), [*sorted(eojeol)[1:], count], strict=True):
        while end - start > LONGEST_UNIT:
            inside = [n for n in morpheme if start < n <= start + LONGEST_UNIT]
            start = max(inside, default=start + LONGEST_UNIT)
            eojeol.add(start)
            morpheme.add(start)
