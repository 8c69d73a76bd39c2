"""Kiwi's view of a text: morphemes, eojeols and sentences, with spans in the text as given.

The only place that imports kiwipiepy.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from komlm.text.normalize import nfc
from komlm.text.tags import CLASS_OF_TAG, TAG_CODE, TAGS, plain_tag
from komlm.types import Span

MAX_CHUNK = 2_000
"""Characters that Kiwi gets at once: its time grows faster than the length (20,000: 0.9 s)."""

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_SENTENCE_END = re.compile(r"[.?!…。][\"'”’)\]]*\s")
_EOJEOL = re.compile(r"\S+")


class Morpheme(NamedTuple):
    """A morpheme that Kiwi found.

    Spans may overlap (갔 is 가/VV and 었/EP on one syllable) and may be empty (an unwritten
    이/VCP). ``form`` is the dictionary form, not the surface: 추워서 has 춥/VA.

    Example: ``Morpheme("학교", "NNG", 6, 8)`` in ``"나는 어제 학교에 갔다."``.
    """

    form: str
    tag: str
    start: int
    end: int

    @property
    def class_name(self) -> str:
        """One of :data:`komlm.text.tags.CLASSES`. Example: ``"josa"`` for a JKB."""
        return CLASS_OF_TAG[self.tag]


@dataclass(frozen=True)
class Analysis:
    """A text and what Kiwi says of it; all offsets are code points of ``text``.

    Example: ``Analyzer()("나는 갔다").morphemes`` -> 나/NP [0,1) 는/JX [1,2) 가/VV [3,4)
    었/EP [3,4) 다/EF [4,5).
    """

    text: str
    starts: np.ndarray
    """Start of each morpheme; never decreases. *Shape:* (morphemes,) int64"""
    ends: np.ndarray
    """End of each morpheme; never decreases. *Shape:* (morphemes,) int64"""
    tags: np.ndarray
    """Tag code of each morpheme (komlm.text.tags.TAGS). *Shape:* (morphemes,) uint8"""
    sentence_starts: np.ndarray
    """Where sentences begin. *Shape:* (sentences,) int64"""
    forms: tuple[str, ...] | None = None
    """Dictionary forms, where they were asked for (they are not kept on disk)."""

    @cached_property
    def eojeol_starts(self) -> np.ndarray:
        """Where the maximal runs without white space begin. *Shape:* (eojeols,) int64"""
        return np.array([match.start() for match in _EOJEOL.finditer(self.text)], dtype=np.int64)

    @property
    def eojeols(self) -> list[Span]:
        """The maximal runs without white space. Example: ``"나는 갔다"`` -> [0,2) [3,5)."""
        return [Span(*match.span()) for match in _EOJEOL.finditer(self.text)]

    @property
    def morphemes(self) -> list[Morpheme]:
        """The morphemes as objects.

        Raises:
            ValueError: the analysis was read from disk, where forms are not kept.
        """
        if self.forms is None:
            raise ValueError(
                "this analysis holds no dictionary forms; analyse the text with Analyzer()(text)"
            )
        return [
            Morpheme(form, TAGS[tag], start, end)
            for form, tag, start, end in zip(
                self.forms,
                self.tags.tolist(),
                self.starts.tolist(),
                self.ends.tolist(),
                strict=True,
            )
        ]

    @property
    def sentences(self) -> list[Span]:
        """The sentences, white space around them left out."""
        bounds = [*self.sentence_starts.tolist(), len(self.text)]
        spans = []
        for start, end in zip(bounds, bounds[1:], strict=False):
            stretch = self.text[start:end]
            left = start + len(stretch) - len(stretch.lstrip())
            spans.append(Span(left, max(left, start + len(stretch.rstrip()))))
        return spans


class Analyzer:
    """Finds morphemes with Kiwi.

    Build it inside the process that uses it: a Kiwi that has worked once hangs in a forked child.
    Construction takes some seconds, and the first text as long again.

    Args:
        dictionary: a file in the format of Kiwi's user dictionary (form TAB tag TAB score a line).

    Example: ``Analyzer()("갔다").morphemes`` -> 가/VV [0,1) 었/EP [0,1) 다/EF [1,2).
    """

    def __init__(self, dictionary: Path | None = None) -> None:
        import kiwipiepy

        # One thread: stages run in parallel by processes, which scales better. All else is Kiwi's
        # own default. F1 of boundaries inside eojeols (`komlm align --gold`; GSD, KSL, Kaist, each
        # dev, and KLUE-DP): 96.35 96.20 95.62 95.98. No other single option gains 0.1 on most:
        # model_type="cong-global" gains 0.22 0.07 0.06 0.02 at half the speed, load_default_dict
        # and serial numbers off at most 0.09, split_complex loses up to 1.9, and
        # integrate_allomorph changes forms alone. BENCHMARKS.md has them all.
        self._kiwi = kiwipiepy.Kiwi(num_workers=1)
        if dictionary is not None:
            _load_dictionary(self._kiwi, dictionary)

    def __call__(self, text: str, forms: bool = True) -> Analysis:
        """Analyse one text of any length.

        Raises:
            ValueError: the text has a lone surrogate; the message names its offset.
        """
        normal = nfc(text)
        starts: list[int] = []
        ends: list[int] = []
        tags: list[int] = []
        found: list[str] = []
        sentences: list[int] = []
        tokenize, code_of = self._kiwi.tokenize, _CODE_OF_KIWI_TAG
        for chunk_start, chunk, goes_on in _chunks(normal.text):
            # A line that was cut for its length goes on with the sentence it was cut in, unless
            # the cut stood at a sentence end.
            sentence = 0 if goes_on else -1
            for token in tokenize(chunk):
                start = chunk_start + token.start
                starts.append(start)
                ends.append(start + token.len)
                tags.append(code_of[token.tag])
                if forms:
                    found.append(token.form)
                if token.sent_position != sentence:
                    sentence = token.sent_position
                    sentences.append(start)
        start_array = np.array(starts, dtype=np.int64)
        # Kiwi has not been seen to give ends that decrease; should it, the longer span takes in
        # the shorter one, which leaves the units as they are and the arrays in order.
        end_array = np.maximum.accumulate(np.array(ends, dtype=np.int64))
        sentence_array = np.array(sentences, dtype=np.int64)
        if normal.starts is not None and normal.ends is not None:
            start_array, end_array = _to_original(
                start_array, end_array, normal.starts, normal.ends
            )
            sentence_array = normal.starts[sentence_array] if sentences else sentence_array
        return Analysis(
            text=text,
            starts=start_array,
            ends=end_array,
            tags=np.array(tags, dtype=np.uint8),
            sentence_starts=sentence_array,
            forms=tuple(found) if forms else None,
        )

    def kiwi_alone(self, chunks: Iterable[str]) -> int:
        """Kiwi's own work and nothing of ours, to be measured against: read span and tag of each
        token, keep none, and return how many there are.

        Args:
            chunks: from :func:`chunks_for_kiwi`.
        """
        tokens = 0
        for chunk in chunks:
            for token in self._kiwi.tokenize(chunk):
                _ = token.start, token.len, token.tag
                tokens += 1
        return tokens


class _CodeOfKiwiTag(dict[str, int]):
    """Kiwi's tag -> tag code, found once a tag."""

    def __missing__(self, tag: str) -> int:
        code = TAG_CODE.get(plain_tag(tag))
        if code is None:
            raise ValueError(
                f"this Kiwi gives a tag that komlm does not know: {tag!r}. Add it at the end of "
                "_TAGS_OF_CLASS in komlm/text/tags.py, or install the kiwipiepy that komlm names."
            )
        self[tag] = code
        return code


_CODE_OF_KIWI_TAG = _CodeOfKiwiTag()


def _to_original(
    starts: np.ndarray, ends: np.ndarray, map_starts: np.ndarray, map_ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Spans in the NFC text -> spans in the original; an empty span stays empty."""
    if not len(starts):
        return starts, ends
    last = len(map_starts) - 1
    # An empty span at the very end of the text has no character after it: it ends the text.
    after_end = starts > last
    original_starts = np.where(after_end, map_ends[last], map_starts[np.minimum(starts, last)])
    original_ends = np.where(ends > starts, map_ends[np.maximum(ends - 1, 0)], original_starts)
    return original_starts, np.maximum.accumulate(original_ends)


def chunks_for_kiwi(text: str) -> list[str]:
    """The stretches of a text that Kiwi gets, one after the other.

    Example: ``"나는 갔다.\\n너는?"`` -> ``["나는 갔다.\\n", "너는?"]``.
    """
    return [chunk for _, chunk, _ in _chunks(nfc(text).text)]


def _chunks(text: str) -> Iterator[tuple[int, str, bool]]:
    """Cut a text for Kiwi: (start, stretch, whether it goes on with the sentence before it).

    At line ends; a longer line at sentence ends, else at spaces, else hard.
    """
    for line in _LINE.finditer(text):
        start, end = line.span()
        goes_on = False
        while end - start > MAX_CHUNK:
            cut, at_sentence = _cut(text, start, start + MAX_CHUNK)
            yield start, text[start:cut], goes_on
            start, goes_on = cut, not at_sentence
        yield start, text[start:end], goes_on


def _cut(text: str, start: int, limit: int) -> tuple[int, bool]:
    """Where to cut ``text[start:limit]``, and whether a sentence ends there."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text, start, limit)]
    if ends:
        return ends[-1], True
    for cut in range(limit, start, -1):
        if text[cut - 1].isspace():
            return cut, False
    return limit, False


def _load_dictionary(kiwi: object, dictionary: Path) -> None:
    if not dictionary.is_file():
        raise FileNotFoundError(f"user dictionary {dictionary}: there is no such file")
    try:
        kiwi.load_user_dictionary(str(dictionary))  # type: ignore[attr-defined]
    except Exception as error:
        # Kiwi raises bare Exceptions and OSErrors here; the file is what the user can mend.
        raise ValueError(
            f"user dictionary {dictionary}: {error}. Wanted lines of form TAB tag TAB score, "
            "such as 감자칩<TAB>NNP<TAB>0.0"
        ) from error


def analyzer_identity(dictionary: Path | None = None) -> dict[str, str]:
    """What an analysis depends on besides the text: Kiwi, its model and the user dictionary.

    Example: ``{"kiwipiepy": "0.24.1", "kiwipiepy_model": "0.24.0", "dictionary": ""}``.
    """
    from importlib.metadata import version

    if dictionary is not None and not dictionary.is_file():
        raise FileNotFoundError(f"user dictionary {dictionary}: there is no such file")
    return {
        "kiwipiepy": version("kiwipiepy"),
        "kiwipiepy_model": version("kiwipiepy_model"),
        "dictionary": hashlib.sha256(dictionary.read_bytes()).hexdigest() if dictionary else "",
    }
