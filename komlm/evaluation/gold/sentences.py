"""What a reader of treebanks gives: sentences of tokens, tokens of morphemes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple


class GoldMorpheme(NamedTuple):
    """A morpheme as annotators wrote it: a form and a tag, and no place in the text.

    Example: 갔다 has ``GoldMorpheme("가", "VV")``, ``("았", "EP")`` and ``("다", "EF")``.
    """

    form: str
    tag: str


class GoldToken(NamedTuple):
    """A token of a treebank; several may make up one eojeol (a full stop has one of its own)."""

    start: int
    """First code point in the sentence's text."""
    end: int
    """One past the last code point."""
    morphemes: tuple[GoldMorpheme, ...] | None
    """None: the treebank has none for this token, or as many tags as forms it has not."""
    cuts: tuple[int, ...] = ()
    """Boundaries inside the token that are known although its morphemes are not; in the text."""


@dataclass(frozen=True)
class GoldSentence:
    """A sentence of a treebank, in Unicode NFC.

    Example: ``"갔다."`` with the tokens [0,2) 가/VV 았/EP 다/EF and [2,3) ./SF.
    """

    text: str
    tokens: tuple[GoldToken, ...]


class WrittenToken(NamedTuple):
    """A token as a file has it, before it has a place in the text."""

    form: str
    morphemes: tuple[GoldMorpheme, ...] | None
    cuts: tuple[int, ...] = ()
    """As in :class:`GoldToken`, from the token's start."""
    space_after: bool = True


def sentence_of(tokens: Iterable[WrittenToken]) -> GoldSentence:
    """Tokens in order, with a space after each that does not deny it.

    Example: 갔다 without a space after it, then a full stop -> the text ``"갔다."``.
    """
    text, placed = "", []
    for token in tokens:
        start = len(text)
        text += token.form
        cuts = tuple(start + cut for cut in token.cuts)
        placed.append(GoldToken(start, len(text), token.morphemes, cuts))
        text += " " if token.space_after else ""
    return GoldSentence(text.rstrip(), tuple(placed))


def paired(forms: list[str], tags: list[str]) -> tuple[GoldMorpheme, ...] | None:
    """Forms with their tags; None where they do not go together, or there are none (``_``).

    Example: ``paired(["싶"], ["VX", "EF"])`` -> ``None``.
    """
    if len(forms) != len(tags) or not all(forms) or not all(tags) or "_" in (*forms, *tags):
        return None
    return tuple(GoldMorpheme(form, tag) for form, tag in zip(forms, tags, strict=True))


def without_morphemes(sentence: GoldSentence) -> GoldSentence:
    """The sentence with its tokens and known boundaries alone."""
    tokens = tuple(token._replace(morphemes=None) for token in sentence.tokens)
    return GoldSentence(sentence.text, tokens)
