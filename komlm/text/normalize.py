"""The normaliser: text -> the form that a tokenizer reads, with the way back to the original.

Two of them map back to the code points of the text as given: :func:`nfc`, whose text Kiwi reads,
and :class:`Normalizer`, whose text the tokenizer reads and which exports itself into a
tokenizer.json. Both look only at the few places of a text that a rule could change (a *cluster*:
a run of special characters with the character before it); the rest is copied by slices.
"""

from __future__ import annotations

import base64
import functools
import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tokenizers import Regex, normalizers

from komlm.types import Span

GUARD = "\U0010fffd"
"""A private-use character that keeps a combining mark apart from its base in the exported form."""

_NFC = normalizers.NFC()
# Python's and tokenizers' tables of Unicode differ, so NFC is always the one that is exported.

_LATE_COMPOSERS = re.compile("[\u1160-\u11ff\ud7b0-\ud7ff\U00016d40-\U00016d7f]")
# Vowels and finals of conjoining Hangul, and Kirat Rai: letters that compose with what precedes.

_EXTENDERS = (
    r"[\p{M}\p{Cn}\n\x{0E33}\x{0EB3}\x{200C}\x{200D}\x{FF9E}\x{FF9F}"
    r"\x{1F3FB}-\x{1F3FF}\x{E0020}-\x{E007F}]"
)
# What joins the character before it in one grapheme; \p{Cn} since tokenizers' table of graphemes is
# newer than its regex engine's. `Precompiled` looks a short grapheme up as a whole and, when its
# first character is in the map, drops the rest of it.

_SHORT = 16
_REMEMBERED = 1 << 14
# Texts repeat their short clusters ("…", a line end, a syllable in NFD): that many are kept.


@dataclass(frozen=True, slots=True, eq=False)
class Normalized:
    """A normalised text and where each of its characters stood in the original.

    ``starts[k]`` and ``ends[k]`` are the half-open span, in code points of the original text, of
    ``text[k]``; None means that character k came from character k. *Shape:* (len(text),)

    Several characters from one original have that character's span, one from several has the whole
    sequence's. What the normaliser drops belongs to the next character that is not a space, at the
    end of the text to the last one. A space has the span of the first white-space character of its
    run. Starts and ends of the characters that are no spaces never decrease.

    Example: ``Normalizer.default()("갔다…")`` has the text ``"갔다..."`` and the starts
    ``[0, 1, 2, 2, 2]``.
    """

    text: str
    starts: np.ndarray | None = None
    ends: np.ndarray | None = None

    def span(self, start: int, end: int) -> Span:
        """The stretch of the original text from which ``text[start:end]`` came.

        An empty stretch stays empty, at the start of the character that follows it.

        Example: ``Normalizer.default()("갔다…").span(2, 5)`` -> ``Span(2, 3)``.
        """
        if self.starts is None or self.ends is None:
            return Span(start, end)
        if start < end:
            return Span(int(self.starts[start]), int(self.ends[end - 1]))
        if start < len(self.text):
            here = int(self.starts[start])
        else:
            here = int(self.ends[-1]) if len(self.ends) else 0
        return Span(here, here)


def check_surrogates(text: str) -> None:
    """Refuse a text with a lone surrogate: a ValueError names its offset in code points.

    Example: ``check_surrogates("가\\ud800")`` raises, naming offset 1.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise ValueError(
            f"lone surrogate U+{code:04X} at offset {error.start}: it is half of a UTF-16 pair and "
            "no character; decode the file with errors='strict' or 'replace', or remove it"
        ) from None


def nfc(text: str) -> Normalized:
    """The text in Unicode NFC, which is what Kiwi reads, with the way back.

    Raises ValueError for a lone surrogate.

    Example: ``nfc("\\u1112\\u1161\\u11ab 번")`` has the text ``"한 번"`` and
    the starts ``[0, 3, 4]``.
    """
    special = _special_for_nfc()
    if special.search(text) is None:
        return Normalized(text)
    check_surrogates(text)
    draft = _edit(text, special, _opens, _look_up_composed)
    return Normalized(draft.text, draft.starts, draft.ends)


class Normalizer:
    """NFC, a character map, NFC again, and (with ``collapse``) white space made single.

    ``charsmap`` is a SentencePiece model's precompiled character map; empty means that no
    character is mapped. NUL is dropped, and U+2581 becomes a space, whatever the map says.
    With ``collapse``, runs of spaces become one and the ends are trimmed.

    Example: ``Normalizer.default()("㎏당  ５천 원ㅋㅋ\\n").text`` -> ``"kg당 5천 원ㅋㅋ"``.
    """

    def __init__(self, charsmap: bytes, *, collapse: bool = True) -> None:
        self._set_up(charsmap, _Asked(charsmap), collapse)

    def _set_up(self, charsmap: bytes | None, table: dict[str, str], collapse: bool) -> None:
        self.collapse = collapse
        self._charsmap = charsmap
        self._map = table
        self._special = _special(
            [code for code in _inert() if code and table[chr(code)] == chr(code)]
        )
        self._stands_alone = functools.lru_cache(maxsize=_REMEMBERED)(self._is_independent)
        self._rewrite_short = functools.lru_cache(maxsize=_REMEMBERED)(self._rewrite)

    @classmethod
    def default(cls, *, collapse: bool = True) -> Normalizer:
        """komlm's own normaliser, from the frozen table ``folding.tsv``; built once a process."""
        return _default(collapse)

    @classmethod
    def from_exported(cls, exported: normalizers.Normalizer | None) -> Normalizer | None:
        """The normaliser whose :meth:`export` this is, or None if it is another's work.

        Example: ``Normalizer.from_exported(Tokenizer.from_file(path).normalizer)``.
        """
        if exported is None:
            return None
        state = json.loads(exported.__getstate__())
        charsmap = b""
        for step in state.get("normalizers", []):
            if step["type"] == "Precompiled":
                charsmap = base64.b64decode(step["precompiled_charsmap"])
        for collapse in (True, False):
            if json.loads(_exported(charsmap, collapse).__getstate__()) == state:
                return cls(charsmap, collapse=collapse)
        return None

    @property
    def charsmap(self) -> bytes:
        """The precompiled character map; compiled by SentencePiece when the default is asked."""
        if self._charsmap is None:
            # Imported here since only an export needs SentencePiece, never an encoding.
            from komlm.text.sentencepiece_model import compile_charsmap

            self._charsmap = compile_charsmap(self._map)
        return self._charsmap

    def export(self) -> normalizers.Normalizer:
        """The same normaliser as a ``tokenizers`` object, for a tokenizer.json.

        With ``collapse`` it keeps one leading space where the text began with white space: after
        an added token such as [MASK] the space is information, and a Metaspace pre-tokenizer with
        ``prepend_scheme="first"`` does not double it. So
        ``export().normalize_str(text).removeprefix(" ")`` equals ``self(text).text``.
        """
        return _exported(self.charsmap, self.collapse)

    def __call__(self, text: str) -> Normalized:
        """Normalise a text; a lone surrogate is a ValueError that names its offset."""
        draft = _Draft(text)
        if self._special.search(text) is not None:
            check_surrogates(text)
            draft = _edit(text, self._special, self._stands_alone, self._look_up)
        out, starts, ends, lost, unwritten = draft
        if starts is not None and ends is not None and lost:
            _give_away(out, starts, ends, lost)
        if self.collapse and ("  " in out or out[:1] == " " or out[-1:] == " "):
            if starts is not None and ends is not None and unwritten:
                _prefer_white_space(out, starts, ends, unwritten)
            out, starts, ends = _collapse(out, starts, ends)
        return Normalized(out, starts, ends)

    def __reduce__(self) -> tuple[Callable[..., Normalizer], tuple[bytes | None, bool]]:
        if isinstance(self._map, _Asked):
            return _restored, (self._charsmap, self.collapse)
        return _restored, (None, self.collapse)

    def _is_independent(self, char: str) -> bool:
        """Whether nothing before ``char`` can have a part in what becomes of it."""
        if char == "\0" or not _opens(char):
            return False
        first = self._map[_NFC.normalize_str(char)[0]][:1]
        return first != "" and _opens(first)

    def _look_up(self, cluster: str) -> _Rewritten:
        return (self._rewrite_short if len(cluster) <= _SHORT else self._rewrite)(cluster)

    def _rewrite(self, cluster: str) -> _Rewritten:
        """What becomes of a stretch of text, step by step: exact for any text, and slow."""
        size = len(cluster)
        text, starts, ends = _compose(cluster.replace("\0", ""))
        mapped = [self._map[char] for char in text]
        starts = [at for at, new in zip(starts, mapped, strict=True) for _ in new]
        ends = [at for at, new in zip(ends, mapped, strict=True) for _ in new]
        text, starts, ends = _compose("".join(mapped), starts, ends)
        if "\0" in cluster:
            kept = [at for at, char in enumerate(cluster) if char != "\0"]
            starts = [kept[at] for at in starts]
            ends = [kept[at - 1] + 1 for at in ends]
        covered = bytearray(size)
        last = (0, 0)
        for char, start, end in zip(text, starts, ends, strict=True):
            if char != " " and (start, end) != last:
                covered[start:end] = b"\1" * (end - start)
                last = (start, end)
        lost = tuple(
            (bisect_right(starts, at), at)
            for at, char in enumerate(cluster)
            if not covered[at] and not char.isspace()
        )
        unwritten = tuple(
            at for at, char in enumerate(text) if char == " " and not cluster[starts[at]].isspace()
        )
        if not lost and starts == list(range(size)) and ends == list(range(1, size + 1)):
            return _Rewritten(text, None, None, (), ())
        return _Rewritten(text, tuple(starts), tuple(ends), lost, unwritten)


def load_table() -> dict[str, str]:
    """The frozen table: each character that folding changes -> what it becomes.

    Example: ``load_table()["㎏"]`` -> ``"kg"``; ``"ㅋ" in load_table()`` -> False.
    """
    table = {}
    path = Path(__file__).with_name("folding.tsv")
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            source, _, target = line.partition("\t")
            table[chr(int(source, 16))] = "".join(chr(int(code, 16)) for code in target.split())
    return table


class _Frozen(dict[str, str]):
    """The character map of the frozen table."""

    def __missing__(self, char: str) -> str:
        return char


class _Asked(dict[str, str]):
    """The character map inside a precompiled charsmap, asked for a character when needed."""

    def __init__(self, charsmap: bytes) -> None:
        super().__init__()
        self._precompiled = normalizers.Precompiled(charsmap) if charsmap else None

    def __missing__(self, char: str) -> str:
        new = char if self._precompiled is None else self._precompiled.normalize_str(char)
        self[char] = new = new.replace(GUARD, "").replace("▁", " ")
        return new


def _exported(charsmap: bytes, collapse: bool) -> normalizers.Normalizer:
    steps = [
        normalizers.Replace("\0", ""),
        normalizers.NFC(),
        # Never at the very front: tokenizers miscounts an insertion there and panics later.
        normalizers.Replace(Regex(rf"(?!\A)(?={_EXTENDERS})"), GUARD),
        *([normalizers.Precompiled(charsmap)] if charsmap else []),
        normalizers.Replace(GUARD, ""),
        normalizers.NFC(),
        normalizers.Replace("▁", " "),
    ]
    if collapse:
        # Trailing spaces after collapsing, or a long run of spaces takes quadratic time.
        steps.append(normalizers.Replace(Regex(" {2,}"), " "))
        steps.append(normalizers.Replace(Regex(r" \z"), ""))
    return normalizers.Sequence(steps)


@functools.cache
def _default(collapse: bool) -> Normalizer:
    normalizer = Normalizer.__new__(Normalizer)
    normalizer._set_up(None, _Frozen(load_table()), collapse)
    return normalizer


def _restored(charsmap: bytes | None, collapse: bool) -> Normalizer:
    return _default(collapse) if charsmap is None else Normalizer(charsmap, collapse=collapse)


class _Rewritten(NamedTuple):
    """What became of a cluster; without starts and ends all is in its place."""

    text: str
    starts: tuple[int, ...] | None
    ends: tuple[int, ...] | None
    lost: tuple[tuple[int, int], ...]
    """Originals that no character covers: (number of the character that follows, offset)."""
    unwritten: tuple[int, ...]
    """Numbers of the spaces that stand for no white space of the original."""


class _Draft(NamedTuple):
    """A whole text with its clusters rewritten, before lost characters are given away."""

    text: str
    starts: np.ndarray | None = None
    ends: np.ndarray | None = None
    lost: Sequence[tuple[int, int]] = ()
    unwritten: Sequence[int] = ()


@functools.lru_cache(maxsize=1 << 16)
def _opens(char: str) -> bool:
    """Whether ``char`` surely composes with nothing before it, nor changes places with it."""
    category = unicodedata.category(char)
    # A code point unassigned here may be a mark in the Unicode version of tokenizers.
    return category[0] != "M" and category != "Cn" and _LATE_COMPOSERS.match(char) is None


@functools.cache
def _inert() -> list[int]:
    """The code points below U+10000 that open a segment and that NFC leaves as they are."""
    codes = chain(range(0xD800), range(0xE000, 0x10000))
    return [
        code for code in codes if _opens(char := chr(code)) and _NFC.normalize_str(char) == char
    ]


def _special(plain: Sequence[int]) -> re.Pattern[str]:
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
def _special_for_nfc() -> re.Pattern[str]:
    return _special(_inert())


def _segments(text: str) -> Iterator[tuple[int, int]]:
    """Stretches that NFC treats alone. White space is one of its own: its span is no letter's."""
    start = 0
    for at in range(1, len(text)):
        if _opens(text[at]) or text[at - 1].isspace():
            yield start, at
            start = at
    if text:
        yield start, len(text)


def _compose(
    text: str, starts: list[int] | None = None, ends: list[int] | None = None
) -> tuple[str, list[int], list[int]]:
    """NFC of a text whose characters have these spans (their own places where None)."""
    if starts is None or ends is None:
        starts, ends = list(range(len(text))), list(range(1, len(text) + 1))
    if _NFC.normalize_str(text) == text:
        return text, starts, ends
    out: list[str] = []
    new_starts: list[int] = []
    new_ends: list[int] = []
    for a, b in _segments(text):
        new = _NFC.normalize_str(text[a:b])
        out.append(new)
        if new == text[a:b]:
            new_starts += starts[a:b]
            new_ends += ends[a:b]
        else:
            new_starts += [starts[a]] * len(new)
            new_ends += [ends[b - 1]] * len(new)
    return "".join(out), new_starts, new_ends


def _compose_cluster(cluster: str) -> _Rewritten:
    text, starts, ends = _compose(cluster)
    if text == cluster:
        return _Rewritten(text, None, None, (), ())
    return _Rewritten(text, tuple(starts), tuple(ends), (), ())


_compose_short_cluster = functools.lru_cache(maxsize=_REMEMBERED)(_compose_cluster)


def _look_up_composed(cluster: str) -> _Rewritten:
    return (_compose_short_cluster if len(cluster) <= _SHORT else _compose_cluster)(cluster)


def _edit(
    text: str,
    special: re.Pattern[str],
    stands_alone: Callable[[str], bool],
    rewrite: Callable[[str], _Rewritten],
) -> _Draft:
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
        return _Draft(text)
    parts.append(text[done:])
    out = "".join(parts)
    if not lengths:
        return _Draft(out)
    lengths.append(len(out) - size)
    all_starts = np.arange(len(out)) + np.array(shifts).repeat(lengths)
    all_ends = all_starts + 1
    if places:
        all_starts[places] = starts
        all_ends[places] = ends
    return _Draft(out, all_starts, all_ends, lost, unwritten)


def _give_away(
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


def _prefer_white_space(
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


def _collapse(
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
