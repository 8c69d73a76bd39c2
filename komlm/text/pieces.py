"""The pieces of a text as arrays: one form for every kind of tokenizer.

A `tokenizers` object tells where its pieces stood; :func:`from_offsets` makes of it spans that can
be relied on, whatever the tokenizer's kind: the space in front of a piece left out, the marks that
stand for no character empty, every written character within a piece.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import tokenizers
from tokenizers import normalizers

from komlm.text.normalize import Normalized, nfc

WORD_START = "▁"
"""SentencePiece's mark of a space before a piece."""

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_SPACES = np.zeros(0x3002, dtype=bool)
"""By code point, whether it is white space; none from U+3001 on is."""
_SPACES[[code for code in range(len(_SPACES)) if chr(code).isspace()]] = True


class Pieces(NamedTuple):
    """The pieces of a text. *Shape of each:* (pieces,)

    Starts never decrease. Several pieces of one character (bytes of a syllable) all have its span.

    Example: ``"나는 갔다"`` with the pieces ▁나 는 ▁갔 다 -> starts 0 1 3 4, ends 1 2 4 5.
    """

    ids: np.ndarray
    """int64: numbers in the vocabulary, without [CLS] and [SEP]."""
    starts: np.ndarray
    """int64: first code point, the space before a piece left out."""
    ends: np.ndarray
    """int64: one past the last code point."""
    bare: np.ndarray
    """bool: a piece that is nothing but a space; its span is empty."""


class Reading(NamedTuple):
    """How the pieces of a tokenizer are to be read."""

    marks: np.ndarray
    """Which pieces are nothing but marks of a space (▁, Ġ). *Shape:* (vocabulary,) bool"""
    bytes: np.ndarray
    """The byte that each piece of byte fallback stands for, -1: none. *Shape:* (vocabulary,)"""
    word_start_is_space: bool
    """A literal ▁ is a space to the tokenizer."""
    normalize: Callable[[str], str]
    """What the tokenizer itself makes of a text before it cuts it."""


def reading_of(backend: tokenizers.Tokenizer, pieces: Sequence[str]) -> Reading:
    """How the pieces of a `tokenizers` object are to be read.

    Args:
        pieces: piece of each id.
    """
    # A mark is a space only to a tokenizer whose own parts make it one.
    parts = (backend.normalizer, backend.pre_tokenizer, backend.decoder)
    states = b"".join(part.__getstate__() for part in parts if part is not None).decode()
    word_start = WORD_START in states
    marks = (WORD_START if word_start else "") + ("Ġ" if "ByteLevel" in states else "")
    byte_of = [-1] * len(pieces)
    if has_byte_fallback(backend):
        matches = map(_BYTE.fullmatch, pieces)
        byte_of = [int(found[1], 16) if found else -1 for found in matches]
    return Reading(
        marks=np.array([set(piece) <= set(marks) and piece != "" for piece in pieces], dtype=bool),
        bytes=np.array(byte_of, dtype=np.int64),
        word_start_is_space=word_start,
        normalize=_normalizing(backend.normalizer),
    )


def _normalizing(normalizer: normalizers.Normalizer | None) -> Callable[[str], str]:
    if normalizer is None:
        return lambda text: nfc(text).text
    return lambda text: str(normalizer.normalize_str(nfc(text).text))


def has_byte_fallback(backend: tokenizers.Tokenizer) -> bool:
    """Whether unknown characters become bytes, such as the piece <0xEA>."""
    # Not every kind of model tells by an attribute. No piece is taken for it: in a piece, quotes
    # have a backslash before them.
    return '"byte_fallback":true' in backend.to_str()


def from_offsets(
    text: str,
    normal: Normalized,
    ids: list[int],
    offsets: list[tuple[int, int]],
    reading: Reading,
) -> Pieces:
    """Spans in the text as given, from the offsets that a `tokenizers` object tells.

    Those offsets take in the space before a piece, give a ▁ that was put in the span of its
    neighbour, give each byte of a run of unknown characters the whole run, and leave out characters
    that the tokenizer's normaliser composes or drops. Here spaces are cut off, a mark has an empty
    span, a byte has its character, and a character that was left out goes to the piece before it,
    or to the one after it where it begins an eojeol or turned into a part of that one.

    Args:
        text: the text as given.
        normal: what the `tokenizers` object was given.
        offsets: half-open spans in ``normal.text``.
    """
    found = np.array(ids, dtype=np.int64)
    spans = np.array(offsets, dtype=np.int64).reshape(-1, 2)
    if (reading.bytes[found] >= 0).any():
        _give_bytes_their_characters(reading.bytes[found], spans, normal.text)
    starts, ends = _trimmed(spans, _spaces(normal.text, reading.word_start_is_space))
    bare = (ends <= starts) | reading.marks[found]
    starts, ends = _mapped(starts, ends, normal)
    ends = np.where(bare, starts, ends)
    _cover(starts, ends, text, reading.normalize)
    return _placed(found, starts, ends, ends <= starts)


def in_original(
    ids: np.ndarray, starts: np.ndarray, ends: np.ndarray, normal: Normalized
) -> Pieces:
    """Spans in the normalised text -> spans in the text as given; an empty one marks a bare piece.

    Example: [2, 5) of ``"갔다..."`` -> [2, 3) of ``"갔다…"``.
    """
    bare = ends <= starts
    return _placed(ids, *_mapped(starts, ends, normal), bare)


def _mapped(
    starts: np.ndarray, ends: np.ndarray, normal: Normalized
) -> tuple[np.ndarray, np.ndarray]:
    if normal.starts is None or normal.ends is None or not len(starts):
        return starts, ends
    last = len(normal.text) - 1
    return normal.starts[np.clip(starts, 0, last)], normal.ends[np.clip(ends - 1, 0, last)]


def _placed(ids: np.ndarray, starts: np.ndarray, ends: np.ndarray, bare: np.ndarray) -> Pieces:
    """Bare pieces stand where the next piece begins; at the end, where the piece before it ends."""
    if bare.any():
        starts, ends = starts.copy(), ends.copy()
        for i in np.flatnonzero(bare)[::-1].tolist():
            at = starts[i + 1] if i + 1 < len(ids) else (ends[i - 1] if i else 0)
            starts[i] = ends[i] = at
    return Pieces(ids, starts, ends, bare)


def _spaces(text: str, word_start_is_space: bool = False) -> np.ndarray:
    """Which characters are white space, or a space to the tokenizer."""
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    white = _SPACES[np.minimum(codes, len(_SPACES) - 1)]
    return white | (codes == ord(WORD_START)) if word_start_is_space else white


def _trimmed(spans: np.ndarray, space: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Spans without the spaces at their ends; of nothing but spaces, an empty one is left."""
    size = len(space)
    at = np.arange(size)
    written_from = np.append(np.minimum.accumulate(np.where(space, size, at)[::-1])[::-1], size)
    written_up_to = np.append(0, np.maximum.accumulate(np.where(space, 0, at + 1)))
    spans = np.clip(spans, 0, size)
    starts = written_from[spans[:, 0]]
    ends = np.maximum(np.minimum(written_up_to[spans[:, 1]], spans[:, 1]), starts)
    return starts, ends


def _cover(
    starts: np.ndarray, ends: np.ndarray, text: str, normalize: Callable[[str], str]
) -> None:
    """Put the spans in order and give each character that is in none to a neighbour, in place."""
    white = _spaces(text)
    written = np.flatnonzero(ends > starts)
    if not len(written):
        left = np.flatnonzero(~white)
        if len(left) and len(starts):
            # All is space to the tokenizer, though it is no white space (a literal ▁), or dropped.
            starts[-1], ends[-1] = left[0], left[-1] + 1
        return
    # No offsets that go back have been seen; should there be any, the longer span takes in the
    # shorter one.
    first, last = np.maximum.accumulate(starts[written]), np.maximum.accumulate(ends[written])
    seen = np.append(0, np.cumsum(~white))
    reach = np.append(0, last[:-1])
    for i in np.flatnonzero(seen[np.maximum(first, reach)] > seen[reach]).tolist():
        left = reach[i] + np.flatnonzero(~white[reach[i] : first[i]])
        to_previous = _length_of_what_is_lost(text, reach[i], first[i], normalize) if i else 0
        if to_previous:
            last[i - 1] = reach[i] + to_previous
            left = left[left >= last[i - 1]]
        if len(left):
            first[i] = left[0]
    left = np.flatnonzero(~white[last[-1] :])
    if len(left):
        last[-1] += left[-1] + 1
    starts[written], ends[written] = first, last


def _length_of_what_is_lost(
    text: str, start: int, end: int, normalize: Callable[[str], str]
) -> int:
    """Characters of ``text[start:end]`` that belong to ``text[start - 1]``.

    They follow it without a space, and add nothing to what the normaliser makes of it: they were
    composed with it (ㅎ + ㅏ under NFKC) or dropped.
    """
    stretch = text[start:end].split(maxsplit=1)
    if not stretch or text[start].isspace():
        return 0
    length, before = len(stretch[0]), text[start - 1]
    added = len(normalize(before + stretch[0])) - len(normalize(before))
    return length if added <= 0 else 0


def _give_bytes_their_characters(byte_of: np.ndarray, spans: np.ndarray, text: str) -> None:
    """The bytes of a run of characters that share its span get each its own character's, in place.

    Where the bytes are not those of the text (the normaliser changed it), the run's span stays.
    """
    bytes_, offsets = byte_of.tolist(), spans.tolist()
    run = 0
    for i in np.flatnonzero(byte_of >= 0).tolist():
        if i < run:
            continue
        run = i
        while run < len(bytes_) and bytes_[run] >= 0 and offsets[run] == offsets[i]:
            run += 1
        start, end = offsets[i]
        content, stretch = bytes(bytes_[i:run]), text[start:end]
        if WORD_START.encode() in content:
            stretch = stretch.replace(" ", WORD_START)
        if content == stretch.encode():
            sizes = [len(character.encode()) for character in stretch]
            at = start + np.repeat(np.arange(len(sizes)), sizes)
            spans[i:run, 0], spans[i:run, 1] = at, at + 1
