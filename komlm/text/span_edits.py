"""Rewriting the few places of a text that a rule changes, and keeping track of where things stood.

A *cluster* is a run of special characters with the character before it; what lies between clusters
is copied by slices. :mod:`komlm.text.normalize` says what becomes of a cluster.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from tokenizers import normalizers

NFC = normalizers.NFC()
# Python's and tokenizers' tables of Unicode differ, so NFC is always the one that is exported.

_LATE_COMPOSERS = re.compile("[\u1160-\u11ff\ud7b0-\ud7ff\U00016d40-\U00016d7f]")
# Vowels and finals of conjoining Hangul, and Kirat Rai: letters that compose with what precedes.

SHORT = 16
REMEMBERED = 1 << 14
# Texts repeat their short clusters ("…", a line end, a syllable in NFD): that many are kept.


class Rewritten(NamedTuple):
    """What became of a cluster; without starts and ends all is in its place."""

    text: str
    starts: tuple[int, ...] | None
    ends: tuple[int, ...] | None
    lost: tuple[tuple[int, int], ...]
    """Originals that no character covers: (number of the character that follows, offset)."""
    unwritten: tuple[int, ...]
    """Numbers of the spaces that stand for no white space of the original."""


class Draft(NamedTuple):
    """A whole text with its clusters rewritten, before lost characters are given away."""

    text: str
    starts: np.ndarray | None = None
    ends: np.ndarray | None = None
    lost: Sequence[tuple[int, int]] = ()
    unwritten: Sequence[int] = ()


@functools.lru_cache(maxsize=1 << 16)
def opens(char: str) -> bool:
    """Whether ``char`` surely composes with nothing before it, nor changes places with it."""
    category = unicodedata.category(char)
    # A code point unassigned here may be a mark in the Unicode version of tokenizers.
    return category[0] != "M" and category != "Cn" and _LATE_COMPOSERS.match(char) is None


@functools.cache
def inert_code_points() -> list[int]:
    """The code points below U+10000 that open a segment and that NFC leaves as they are."""
    codes = chain(range(0xD800), range(0xE000, 0x10000))
    return [code for code in codes if opens(char := chr(code)) and NFC.normalize_str(char) == char]


def special_pattern(plain: Sequence[int]) -> re.Pattern[str]:
    """A run of characters that are not among the plain ones.

    All above U+FFFF are special, since a regex class with many ranges up there is slow; what
    rewrites a cluster finds out which of them stay.
    """
    cuts = np.flatnonzero(np.diff(plain) != 1) + 1
    ranges = "".join(
        f"{re.escape(chr(run[0]))}-{re.escape(chr(run[-1]))}" for run in np.split(plain, cuts)
    )
    return re.compile(f"[^{ranges}]+")


@functools.cache
def special_for_nfc() -> re.Pattern[str]:
    return special_pattern(inert_code_points())


def _segments(text: str) -> Iterator[tuple[int, int]]:
    """Stretches that NFC treats alone. White space is one of its own: its span is no letter's."""
    start = 0
    for at in range(1, len(text)):
        if opens(text[at]) or text[at - 1].isspace():
            yield start, at
            start = at
    if text:
        yield start, len(text)


def compose(
    text: str, starts: list[int] | None = None, ends: list[int] | None = None
) -> tuple[str, list[int], list[int]]:
    """NFC of a text whose characters have these spans (their own places where None)."""
    if starts is None or ends is None:
        starts, ends = list(range(len(text))), list(range(1, len(text) + 1))
    if NFC.normalize_str(text) == text:
        return text, starts, ends
    out: list[str] = []
    new_starts: list[int] = []
    new_ends: list[int] = []
    for a, b in _segments(text):
        new = NFC.normalize_str(text[a:b])
        out.append(new)
        if new == text[a:b]:
            new_starts += starts[a:b]
            new_ends += ends[a:b]
        else:
            new_starts += [starts[a]] * len(new)
            new_ends += [ends[b - 1]] * len(new)
    return "".join(out), new_starts, new_ends


def _compose_cluster(cluster: str) -> Rewritten:
    text, starts, ends = compose(cluster)
    if text == cluster:
        return Rewritten(text, None, None, (), ())
    return Rewritten(text, tuple(starts), tuple(ends), (), ())


_compose_short_cluster = functools.lru_cache(maxsize=REMEMBERED)(_compose_cluster)


def composed(cluster: str) -> Rewritten:
    return (_compose_short_cluster if len(cluster) <= SHORT else _compose_cluster)(cluster)


def edit(
    text: str,
    special: re.Pattern[str],
    stands_alone: Callable[[str], bool],
    rewrite: Callable[[str], Rewritten],
) -> Draft:
    """The text with its clusters rewritten; ``special`` finds them."""
    parts: list[str] = []
    places: list[int] = []
    starts: list[int] = []
    ends: list[int] = []
    lost: list[tuple[int, int]] = []
    unwritten: list[int] = []
    shifts = [0]  # Place in the original less place in the new text, of each stretch in turn.
    lengths: list[int] = []
    done = size = 0
    for match in special.finditer(text):
        a, b = match.span()
        if a and not stands_alone(text[a]):
            a -= 1  # What the run begins with may join the plain character before it.
        new = rewrite(text[a:b])
        if new.starts is None and new.text == text[a:b]:
            continue
        parts += (text[done:a], new.text)
        done = b
        if new.starts is not None and new.ends is not None:
            at = a - shifts[-1]
            places += range(at, at + len(new.text))
            starts += [a + start for start in new.starts]
            ends += [a + end for end in new.ends]
            lost += [(at + number, a + offset) for number, offset in new.lost]
            unwritten += [at + number for number in new.unwritten]
            lengths.append(at + len(new.text) - size)
            size += lengths[-1]
            shifts.append(b - size)
    if not parts:
        return Draft(text)
    parts.append(text[done:])
    out = "".join(parts)
    if not lengths:
        return Draft(out)
    lengths.append(len(out) - size)
    all_starts = np.arange(len(out)) + np.array(shifts).repeat(lengths)
    all_ends = all_starts + 1
    if places:
        all_starts[places] = starts
        all_ends[places] = ends
    return Draft(out, all_starts, all_ends, lost, unwritten)


def give_away(
    text: str,
    starts: np.ndarray,
    ends: np.ndarray,
    lost: Sequence[tuple[int, int]],
) -> None:
    """Widen spans in place: a lost original goes to the next character that is no space.

    At the end of the text it goes to the last one. Characters of one span keep one span.
    """
    owners: dict[int, int] = {}
    searched = owner = len(text)
    for number, offset in reversed(lost):
        at = number
        while at < searched and text[at] == " ":
            at += 1
        if at < searched:
            owner = at
        searched = number
        owners[owner] = offset
    trailing = owners.pop(len(text), None)
    for at, offset in owners.items():
        span = (starts[at], ends[at])
        while at < len(text) and (text[at] == " " or (starts[at], ends[at]) == span):
            if text[at] != " ":
                starts[at] = min(starts[at], offset)
            at += 1
    if trailing is not None:
        last = max(offset for _, offset in lost)
        at = len(text.rstrip(" ")) - 1
        span = (starts[at], ends[at]) if at >= 0 else (0, 0)
        while at >= 0 and (text[at] == " " or (starts[at], ends[at]) == span):
            if text[at] != " ":
                ends[at] = max(ends[at], last + 1)
            at -= 1


def prefer_white_space(
    text: str,
    starts: np.ndarray,
    ends: np.ndarray,
    unwritten: Sequence[int],
) -> None:
    """Give the first space of a run, in place, the span of the first that was white space."""
    without = set(unwritten)
    for first in unwritten:
        if first and text[first - 1] == " ":
            continue
        at = first
        while at in without and text[at + 1 : at + 2] == " ":
            at += 1
        if at not in without:
            starts[first], ends[first] = starts[at], ends[at]


def collapse(
    text: str, starts: np.ndarray | None, ends: np.ndarray | None
) -> tuple[str, np.ndarray | None, np.ndarray | None]:
    """Make runs of spaces one (the first of them) and trim the ends."""
    front, back = len(text) - len(text.lstrip(" ")), len(text.rstrip(" "))
    if front >= back:
        return "", None, None
    if "  " not in text[front:back]:
        if starts is None or ends is None:
            if front == 0:
                return text[:back], None, None
            return text[front:back], np.arange(front, back), np.arange(front + 1, back + 1)
        return text[front:back], starts[front:back], ends[front:back]
    codes = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
    keep = codes != ord(" ")
    keep[1:] |= keep[:-1].copy()
    keep[:front] = False
    keep[back:] = False
    out = re.sub(" {2,}", " ", text[front:back])
    if starts is None or ends is None:
        places = np.flatnonzero(keep)
        return out, places, places + 1
    return out, starts[keep], ends[keep]
