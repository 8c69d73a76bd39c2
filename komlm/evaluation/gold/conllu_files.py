"""Reader of CoNLL-U, the format of Universal Dependencies.

Morphemes stand in LEMMA (``가+았+다``) and XPOS (``VV+EP+EF``); ``OrigLemma`` in MISC, which has
all of them where LEMMA has the stem alone, takes precedence. Where XPOS is ``_``, MISC may hold
both (``짐승/ncn+도/jxc``). ``MSeg`` in MISC (``보좌관-은``) gives boundaries without morphemes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from komlm.corpus.documents import lines
from komlm.evaluation.gold.sentences import (
    GoldMorpheme,
    GoldSentence,
    WrittenToken,
    paired,
    sentence_of,
)

COLUMNS = ["ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"]

_ID = re.compile(r"(\d+)(?:-(\d+)|\.\d+)?")
_IN_MISC = re.compile(r"(.+?)/([A-Za-z]+)(?:\+|$)")


class _Line(NamedTuple):
    """A word line: number of the word, last word of the range it stands for, columns."""

    number: int
    last: int | None
    form: str
    lemma: str
    xpos: str
    misc: str


def read(path: Path) -> Iterator[GoldSentence]:
    """The sentences of a file, in order.

    The text is made of the tokens and ``SpaceAfter=No``. A range (``1-2``) is one token with the
    morphemes of its words; empty nodes (``1.1``) are left out.

    Raises:
        ValueError: a line without ten columns, a number out of turn, an empty FORM, a range that
            its words do not fill; the message names file and line.
    """
    words: list[_Line] = []
    place = str(path)
    for number, line in lines(path):
        place = f"{path}, line {number}"
        if not line.strip():
            if words:
                yield sentence_of(_tokens(words, place))
            words = []
        elif not line.startswith("#"):
            word = _word(line, place, words)
            if word is not None:
                words.append(word)
    if words:
        yield sentence_of(_tokens(words, place))


def _word(line: str, place: str, before: list[_Line]) -> _Line | None:
    columns = line.split("\t")
    if len(columns) != len(COLUMNS):
        raise ValueError(
            f"{place}: wanted the ten columns of CoNLL-U with TABs between ({' '.join(COLUMNS)}), "
            f"found {len(columns)}. Sentences end with an empty line, comments begin with #"
        )
    found = _ID.fullmatch(columns[0])
    if not found:
        raise ValueError(f"{place}: wanted a word's number such as 1, 1-2 or 1.1: {columns[0]!r}")
    if "." in columns[0]:
        return None
    number, last = int(found[1]), int(found[2]) if found[2] else None
    wanted = 1
    if before:
        wanted = before[-1].number + (before[-1].last is None)
    if number != wanted or (last is not None and last < number):
        raise ValueError(
            f"{place}: wanted word {wanted}, found {columns[0]}. Each sentence counts from 1, and "
            "an empty line ends it"
        )
    if not columns[1].strip():
        raise ValueError(f"{place}: word {columns[0]} has no FORM")
    return _Line(number, last, *(unicodedata.normalize("NFC", columns[i]) for i in (1, 2, 4, 9)))


def _tokens(words: list[_Line], place: str) -> Iterator[WrittenToken]:
    waiting = iter(words)
    for word in waiting:
        if word.last is None:
            yield _token(word, [word])
            continue
        inside: list[_Line] = []
        for part in waiting:
            inside.append(part)
            if part.number >= word.last:
                break
        if not inside or inside[-1].number != word.last:
            raise ValueError(
                f"{place}: the sentence ends before the words {word.number}-{word.last} are given"
            )
        yield _token(word, inside)


def _token(outer: _Line, words: list[_Line]) -> WrittenToken:
    morphemes: tuple[GoldMorpheme, ...] | None = ()
    for word in words:
        found = _morphemes(word)
        morphemes = None if found is None or morphemes is None else morphemes + found
    misc = _fields(outer.misc)
    parts = misc.get("MSeg", "").split("-")
    cuts = [sum(map(len, parts[:i])) for i in range(1, len(parts))]
    known = all(parts) and "".join(parts) == outer.form
    return WrittenToken(
        outer.form,
        morphemes or None,
        tuple(cuts) if known else (),
        misc.get("SpaceAfter") != "No",
    )


def _fields(misc: str) -> dict[str, str]:
    pairs = (field.partition("=") for field in misc.split("|"))
    return {key: value for key, equals, value in pairs if equals}


def _morphemes(word: _Line) -> tuple[GoldMorpheme, ...] | None:
    if word.xpos == "_":
        found = _IN_MISC.findall(word.misc)
        whole = "+".join(f"{form}/{tag}" for form, tag in found) == word.misc
        return tuple(GoldMorpheme(*pair) for pair in found) if found and whole else None
    if word.form == "+":  # its own mark between morphemes
        return paired([word.form], [word.xpos.strip("+")])
    lemma = _fields(word.misc).get("OrigLemma", word.lemma)
    return paired(lemma.split("+"), word.xpos.split("+"))
