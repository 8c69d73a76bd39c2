"""Labelled spans of characters -> a label a piece, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import NamedTuple

import numpy as np

from komlm.names import unknown
from komlm.text.pieces import Pieces

SCHEMES = ("BIO", "IOB2", "BIOES", "IO")
"""Ways to label the pieces of an entity; BIO and IOB2 are one."""


class LabelledSpan(NamedTuple):
    """A half-open stretch of a text, in code points, and what it is.

    Example: ``LabelledSpan(6, 8, "LOC")`` is 학교 in ``"나는 어제 학교에 갔다."``.
    """

    start: int
    end: int
    label: str


def labels_of(
    pieces: Pieces, length: int, spans: Iterable[tuple[int, int, str]], scheme: str
) -> list[str]:
    """A label a piece; see :meth:`komlm.Alignment.label_pieces`.

    Args:
        length: characters of the text.
    """
    if scheme not in SCHEMES:
        raise ValueError(unknown("scheme", scheme, SCHEMES))
    entities = _checked(spans, length)
    owner = _owners(pieces, entities)
    labels = []
    for n, mine in enumerate(owner):
        if mine < 0:
            labels.append("O")
            continue
        first = n == 0 or owner[n - 1] != mine
        last = n + 1 == len(owner) or owner[n + 1] != mine
        labels.append(f"{_prefix(scheme, first, last)}-{entities[mine].label}")
    return labels


def _prefix(scheme: str, first: bool, last: bool) -> str:
    if scheme == "IO":
        return "I"
    if scheme == "BIOES" and last:
        return "S" if first else "E"
    return "B" if first else "I"


def _checked(spans: Iterable[tuple[int, int, str]], length: int) -> list[LabelledSpan]:
    """The spans in order of the text, none empty, outside it or over another."""
    entities = sorted(
        (LabelledSpan(index(start), index(end), label) for start, end, label in spans),
        key=lambda span: span[:2],
    )
    for start, end, label in entities:
        if not 0 <= start < end <= length:
            why = "is empty" if 0 <= start == end <= length else "is outside the text"
            raise ValueError(
                f"the span [{start}, {end}) of {label!r} {why}: wanted 0 <= start < end <= {length}"
            )
        if not isinstance(label, str) or not label:
            raise ValueError(f"the span [{start}, {end}) has the label {label!r}: wanted a name")
    for one, other in zip(entities, entities[1:], strict=False):
        if other.start < one.end:
            raise ValueError(
                f"the spans [{one.start}, {one.end}) of {one.label!r} and [{other.start}, "
                f"{other.end}) of {other.label!r} overlap: a piece has one label"
            )
    return entities


def _owners(pieces: Pieces, entities: Sequence[LabelledSpan]) -> list[int]:
    """Number of the entity that each piece meets, -1: none."""
    owner = np.full(len(pieces.ids), -1, dtype=np.int64)
    if not entities:
        return [-1] * len(owner)
    starts, ends = np.array([span[:2] for span in entities], dtype=np.int64).T
    first = np.searchsorted(ends, pieces.starts, side="right")
    last = np.searchsorted(starts, pieces.ends, side="left") - 1
    for n in np.flatnonzero(~pieces.bare & (last > first)).tolist():
        one, other = entities[first[n]], entities[last[n]]
        raise ValueError(
            f"piece {n} [{pieces.starts[n]}, {pieces.ends[n]}) is in two entities, [{one.start}, "
            f"{one.end}) of {one.label!r} and [{other.start}, {other.end}) of {other.label!r}: "
            "a piece has one label. Use a tokenizer with smaller pieces, or leave one entity out"
        )
    meets = ~pieces.bare & (last == first)
    owner[meets] = first[meets]
    unmet = np.setdiff1d(np.arange(len(entities)), owner)
    if len(unmet):
        start, end, label = entities[int(unmet[0])]
        raise ValueError(
            f"no piece has a part of the span [{start}, {end}) of {label!r}: it is white space, or "
            "the tokenizer drops it"
        )
    # A bare piece belongs to what follows it; at the end, to what stands before it.
    for n in np.flatnonzero(pieces.bare)[::-1].tolist():
        if n + 1 < len(owner):
            owner[n] = owner[n + 1]
    for n in np.flatnonzero(pieces.bare).tolist():
        if n and pieces.bare[n:].all():
            owner[n] = owner[n - 1]
    found: list[int] = owner.tolist()
    return found


def spans_of(pieces: Pieces, labels: Sequence[str]) -> list[LabelledSpan]:
    """The entities of a label sequence; see :meth:`komlm.Alignment.spans_from`."""
    if len(labels) != len(pieces.ids):
        raise ValueError(
            f"{len(labels)} labels for {len(pieces.ids)} pieces: wanted one a piece, none for "
            "[CLS] and [SEP]"
        )
    runs: list[tuple[int, int, str]] = []
    inside = ""
    for n, label in enumerate(labels):
        prefix, name = _parted(n, label)
        if not name:
            inside = ""
            continue
        if prefix in "BS" or name != inside:
            runs.append((n, n + 1, name))
        else:
            runs[-1] = (runs[-1][0], n + 1, name)
        inside = "" if prefix in "ES" else name
    spans = []
    for first, stop, name in runs:
        written = first + np.flatnonzero(~pieces.bare[first:stop])
        if len(written):
            start, end = pieces.starts[written[0]], pieces.ends[written].max()
            spans.append(LabelledSpan(int(start), int(end), name))
    return spans


def _parted(number: int, label: str) -> tuple[str, str]:
    """Prefix and name of a label; of ``"O"``, no name."""
    prefix, _, name = label.partition("-") if isinstance(label, str) else ("", "", "")
    if label == "O":
        return "O", ""
    if prefix not in ("B", "I", "E", "S") or not name:
        raise ValueError(
            f"label {number} is {label!r}: wanted O, or B-, I-, E- or S- and a name, such as B-LOC"
        )
    return prefix, name
