"""Pieces against morphemes and eojeols: which pieces are hidden together.

A **unit** is a run of neighbouring pieces that is hidden as a whole; at each level the units are a
partition of the pieces:

* ``eojeol``: a unit begins at a piece that begins a new run without white space;
* ``morpheme``: a unit begins at a piece that no morpheme and no earlier piece runs over, and
  wherever an eojeol unit begins: the connected components of pieces and morphemes;
* ``piece``: each piece alone.

An eojeol unit over 16 pieces is cut at its last morpheme unit within 16, else at 16; a cut begins a
unit at both levels. A piece that is nothing but ``▁`` belongs to the piece after it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from komlm.text.tags import CLASS_OF_CODE, CLASSES, NO_CLASS
from komlm.text.tokenizer import Pieces
from komlm.types import Flag

LONGEST_UNIT = 16
"""Pieces that a unit holds at most (at level eojeol, and so at level morpheme)."""

_JOSA, _EOMI = CLASSES.index("josa"), CLASSES.index("eomi")


@dataclass(frozen=True)
class UnitArrays:
    """What a shard keeps of an alignment. *Shape of each:* (pieces,)"""

    starts: np.ndarray
    """uint8: MORPHEME, EOJEOL, FUSED_EOMI, FUSED_JOSA and STRADDLE bits of :class:`Flag`."""
    tags: np.ndarray
    """uint8: tag code of the head of the morpheme unit that the piece belongs to."""
    straddles: np.ndarray
    """bool: the piece meets two morphemes that share no code point."""


def align_arrays(
    pieces: Pieces,
    morpheme_starts: np.ndarray,
    morpheme_ends: np.ndarray,
    morpheme_tags: np.ndarray,
    eojeol_starts: np.ndarray,
) -> UnitArrays:
    """Align one text, or many texts at once whose offsets were shifted to follow one another.

    Args:
        pieces: spans that never decrease. *Shape of each:* (pieces,)
        morpheme_starts, morpheme_ends: spans that never decrease; empty ones are left out of
            account. *Shape:* (morphemes,)
        morpheme_tags: tag codes. *Shape:* (morphemes,)
        eojeol_starts: where the runs without white space begin. *Shape:* (eojeols,)

    Example: pieces [0,1) [1,2) against morphemes 가 [0,1) 었 [0,1) 다 [1,2) -> starts
    [MORPHEME | EOJEOL | FUSED_EOMI, MORPHEME].
    """
    count = len(pieces.ids)
    if not count:
        nothing = np.zeros(0, dtype=np.uint8)
        return UnitArrays(nothing, nothing, nothing.astype(bool))
    written = morpheme_ends > morpheme_starts
    m_starts, m_ends = morpheme_starts[written], morpheme_ends[written]
    m_tags = morpheme_tags[written]

    eojeol, morpheme = _unit_begins(pieces, m_starts, m_ends, eojeol_starts)
    first, last = _morphemes_met(pieces, m_starts, m_ends)
    straddles = _straddling(first, last, m_starts, m_ends)
    _join_bare_pieces(pieces.bare, eojeol, morpheme)
    _cut_long_units(eojeol, morpheme)

    unit_of_piece = np.cumsum(morpheme) - 1
    begins = np.flatnonzero(morpheme)
    units = len(begins)
    heads, fused_eomi, fused_josa = _heads(
        units, unit_of_piece, first, last, m_starts, m_ends, m_tags
    )
    flags = morpheme.astype(np.uint8) * Flag.MORPHEME | eojeol.astype(np.uint8) * Flag.EOJEOL
    flags[begins] |= fused_eomi * np.uint8(Flag.FUSED_EOMI) | fused_josa * np.uint8(Flag.FUSED_JOSA)
    flags[begins[unit_of_piece[straddles]]] |= np.uint8(Flag.STRADDLE)
    return UnitArrays(flags.astype(np.uint8), heads[unit_of_piece], straddles)


def _unit_begins(
    pieces: Pieces, m_starts: np.ndarray, m_ends: np.ndarray, eojeol_starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where eojeol and morpheme units begin, before bare pieces are joined and long units cut."""
    starts, ends = pieces.starts, pieces.ends
    earlier_end = np.concatenate([[-1], np.maximum.accumulate(ends)[:-1]])
    # The eojeol of a piece's first character, and that of the last character before the piece.
    eojeol_of_first = np.searchsorted(eojeol_starts, starts, side="right")
    eojeol_before = np.searchsorted(eojeol_starts, earlier_end - 1, side="right")
    eojeol = eojeol_of_first > eojeol_before
    eojeol[0] = True

    run_over = earlier_end > starts
    if len(m_starts):
        before = np.searchsorted(m_starts, starts, side="left")
        reach = np.concatenate([[-1], np.maximum.accumulate(m_ends)])
        run_over |= reach[before] > starts
    return eojeol, eojeol | ~run_over


def _morphemes_met(
    pieces: Pieces, m_starts: np.ndarray, m_ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """First and last number of the morphemes that each piece meets; last < first: none."""
    first = np.searchsorted(m_ends, pieces.starts, side="right")
    last = np.searchsorted(m_starts, pieces.ends, side="left") - 1
    return first, np.where(pieces.ends > pieces.starts, last, first - 1)


def _straddling(
    first: np.ndarray, last: np.ndarray, m_starts: np.ndarray, m_ends: np.ndarray
) -> np.ndarray:
    # Spans are in order, so two of the morphemes met are apart exactly if the outermost are.
    straddles = last > first
    at = np.flatnonzero(straddles)
    straddles[at] = m_ends[first[at]] <= m_starts[last[at]]
    return straddles


def _join_bare_pieces(bare: np.ndarray, eojeol: np.ndarray, morpheme: np.ndarray) -> None:
    """A piece of nothing but ``▁`` begins what the next piece would begin; the last one joins."""
    for i in np.flatnonzero(bare)[::-1].tolist():
        is_last = i + 1 == len(bare)
        for begins in (eojeol, morpheme):
            begins[i] = False if is_last else begins[i + 1]
            if not is_last:
                begins[i + 1] = False
    eojeol[0] = morpheme[0] = True


def _cut_long_units(eojeol: np.ndarray, morpheme: np.ndarray) -> None:
    bounds = np.append(np.flatnonzero(eojeol), len(eojeol))
    for unit in np.flatnonzero(np.diff(bounds) > LONGEST_UNIT).tolist():
        start, end = int(bounds[unit]), int(bounds[unit + 1])
        while end - start > LONGEST_UNIT:
            inside = np.flatnonzero(morpheme[start + 1 : start + LONGEST_UNIT + 1])
            start += int(inside[-1]) + 1 if len(inside) else LONGEST_UNIT
            eojeol[start] = morpheme[start] = True


def _heads(
    units: int,
    unit_of_piece: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    m_starts: np.ndarray,
    m_ends: np.ndarray,
    m_tags: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Head tag of each unit, and whether it also holds a fused eomi or josa."""
    no_flag = np.zeros(units, dtype=bool)
    # First and last morpheme of each unit: the pieces are in order, so are the morphemes.
    meets = last >= first
    unit_first = np.full(units, len(m_starts), dtype=np.int64)
    unit_last = np.full(units, -1, dtype=np.int64)
    np.minimum.at(unit_first, unit_of_piece[meets], first[meets])
    np.maximum.at(unit_last, unit_of_piece[meets], last[meets])
    lengths = np.maximum(unit_last - unit_first + 1, 0)
    if not lengths.sum():
        return np.zeros(units, dtype=np.uint8), no_flag, no_flag

    owner = np.repeat(np.arange(units), lengths)
    offset = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    member = np.repeat(unit_first, lengths) + offset
    classes = CLASS_OF_CODE[m_tags[member]].astype(np.int64)
    # Smallest (class, number): the first morpheme of the most contentful class.
    key = classes * (len(m_starts) + 1) + member
    best = np.full(units, (NO_CLASS + 1) * (len(m_starts) + 1), dtype=np.int64)
    np.minimum.at(best, owner, key)
    held = lengths > 0
    head = best % (len(m_starts) + 1)
    heads = np.zeros(units, dtype=np.uint8)
    heads[held] = m_tags[head[held]]

    fused = _shares_a_character(m_starts, m_ends)[member] & (member != head[owner])
    fused_eomi, fused_josa = no_flag.copy(), no_flag.copy()
    fused_eomi[owner[fused & (classes == _EOMI)]] = True
    fused_josa[owner[fused & (classes == _JOSA)]] = True
    return heads, fused_eomi, fused_josa


def _shares_a_character(m_starts: np.ndarray, m_ends: np.ndarray) -> np.ndarray:
    overlaps_next = np.append(m_starts[1:] < m_ends[:-1], False)
    return overlaps_next | np.append(False, overlaps_next[:-1])
