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
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Regex, normalizers

from komlm.text.span_edits import (
    NFC,
    REMEMBERED,
    SHORT,
    Draft,
    Rewritten,
    collapse,
    compose,
    composed,
    edit,
    give_away,
    inert_code_points,
    opens,
    prefer_white_space,
    special_for_nfc,
    special_pattern,
)
from komlm.types import Span

GUARD = "\U0010fffd"
"""A private-use character that keeps a combining mark apart from its base in the exported form."""

_EXTENDERS = (
    r"[\p{M}\p{Cn}\n\x{0E33}\x{0EB3}\x{200C}\x{200D}\x{FF9E}\x{FF9F}"
    r"\x{1F3FB}-\x{1F3FF}\x{E0020}-\x{E007F}]"
)
# What joins the character before it in one grapheme; \p{Cn} since tokenizers' table of graphemes is
# newer than its regex engine's. `Precompiled` looks a short grapheme up as a whole and, when its
# first character is in the map, drops the rest of it.


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
    special = special_for_nfc()
    if special.search(text) is None:
        return Normalized(text)
    check_surrogates(text)
    draft = edit(text, special, opens, composed)
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
        self._special = special_pattern(
            [code for code in inert_code_points() if code and table[chr(code)] == chr(code)]
        )
        self._stands_alone = functools.lru_cache(maxsize=REMEMBERED)(self._is_independent)
        self._rewrite_short = functools.lru_cache(maxsize=REMEMBERED)(self._rewrite)

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
        for collapses in (True, False):
            if json.loads(_exported(charsmap, collapses).__getstate__()) == state:
                return _imported(charsmap, collapses)
        return None

    @property
    def charsmap(self) -> bytes:
        """The precompiled character map; compiled by SentencePiece when the default is asked."""
        if self._charsmap is None:
            # Imported here since only an export needs SentencePiece, never an encoding.
            from komlm.text.charsmap import compile_charsmap

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
        draft = Draft(text)
        if self._special.search(text) is not None:
            check_surrogates(text)
            draft = edit(text, self._special, self._stands_alone, self._look_up)
        out, starts, ends, lost, unwritten = draft
        if starts is not None and ends is not None and lost:
            give_away(out, starts, ends, lost)
        if self.collapse and ("  " in out or out[:1] == " " or out[-1:] == " "):
            if starts is not None and ends is not None and unwritten:
                prefer_white_space(out, starts, ends, unwritten)
            out, starts, ends = collapse(out, starts, ends)
        return Normalized(out, starts, ends)

    def __reduce__(self) -> tuple[Callable[..., Normalizer], tuple[bytes | None, bool]]:
        if isinstance(self._map, _Asked):
            return _restored, (self._charsmap, self.collapse)
        return _restored, (None, self.collapse)

    def _is_independent(self, char: str) -> bool:
        """Whether nothing before ``char`` can have a part in what becomes of it."""
        if char == "\0" or not opens(char):
            return False
        first = self._map[NFC.normalize_str(char)[0]][:1]
        return first != "" and opens(first)

    def _look_up(self, cluster: str) -> Rewritten:
        return (self._rewrite_short if len(cluster) <= SHORT else self._rewrite)(cluster)

    def _rewrite(self, cluster: str) -> Rewritten:
        """What becomes of a stretch of text, step by step: exact for any text, and slow."""
        size = len(cluster)
        text, starts, ends = compose(cluster.replace("\0", ""))
        mapped = [self._map[char] for char in text]
        starts = [at for at, new in zip(starts, mapped, strict=True) for _ in new]
        ends = [at for at, new in zip(ends, mapped, strict=True) for _ in new]
        text, starts, ends = compose("".join(mapped), starts, ends)
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
            return Rewritten(text, None, None, (), ())
        return Rewritten(text, tuple(starts), tuple(ends), lost, unwritten)


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
    # Where the front of a text is taken away, Metaspace("first") does not know it as the front any
    # more and begins no word: a space in its place keeps it.
    front = [normalizers.Replace(Regex(rf"\A[\x00{GUARD}]+"), " ")] if collapse else []
    steps = [
        *front,
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


@functools.lru_cache(maxsize=8)
def _imported(charsmap: bytes, collapse: bool) -> Normalizer:
    """One for all tokenizers with this map: looking at each code point takes half a second."""
    return Normalizer(charsmap, collapse=collapse)


def _restored(charsmap: bytes | None, collapse: bool) -> Normalizer:
    return _default(collapse) if charsmap is None else Normalizer(charsmap, collapse=collapse)
