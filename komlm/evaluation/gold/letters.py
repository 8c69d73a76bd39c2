"""A text as letters: syllables taken apart as far as it makes 갔 and 가+았 look alike.

Compound vowels come apart (ㅘ is ㅗㅏ, ㅐ is ㅏㅣ, ㅕ is ㅣㅓ), so do clusters (ㄶ is ㄴㅎ); the
silent ㅇ of an onset is left out; a final ㄴ, an initial ㄴ and ㄴ on its own are the same letter.
"""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache
from typing import NamedTuple

_INITIALS = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
_MEDIALS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
_FINALS = " ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"
_COMPOUNDS = {
    **dict(zip("ㅐㅑㅒㅔㅕㅖ", ("ㅏㅣ", "ㅣㅏ", "ㅣㅏㅣ", "ㅓㅣ", "ㅣㅓ", "ㅣㅓㅣ"), strict=True)),
    **dict(zip("ㅘㅙㅚㅛ", ("ㅗㅏ", "ㅗㅏㅣ", "ㅗㅣ", "ㅣㅗ"), strict=True)),
    **dict(zip("ㅝㅞㅟㅠㅢ", ("ㅜㅓ", "ㅜㅓㅣ", "ㅜㅣ", "ㅣㅜ", "ㅡㅣ"), strict=True)),
    **dict(zip("ㄳㄵㄶㄺㄻㄼ", ("ㄱㅅ", "ㄴㅈ", "ㄴㅎ", "ㄹㄱ", "ㄹㅁ", "ㄹㅂ"), strict=True)),
    **dict(zip("ㄽㄾㄿㅀㅄ", ("ㄹㅅ", "ㄹㅌ", "ㄹㅍ", "ㄹㅎ", "ㅂㅅ"), strict=True)),
}
VOWELS = frozenset("ㅏㅓㅗㅜㅡㅣ")


class Letter(NamedTuple):
    """A letter and the character of the text that it is a part of."""

    letter: str
    character: int


@cache
def _letters_of(character: str) -> str:
    code = ord(character) - 0xAC00
    if 0 <= code < 11172:
        initial = _INITIALS[code // 588].replace("ㅇ", "")
        medial, final = _MEDIALS[code % 588 // 28], _FINALS[code % 28].strip()
        parts = initial, *(_COMPOUNDS.get(part, part) for part in (medial, final))
        return "".join(parts)
    character = compatible(character)
    return _COMPOUNDS.get(character, character)


@cache
def compatible(character: str) -> str:
    """A conjoining jamo as the letter that a keyboard types. Example: U+11AB -> ``"ㄴ"``."""
    if not "\u1100" <= character <= "\u11ff":
        return character
    # "HANGUL JONGSEONG NIEUN" is "HANGUL LETTER NIEUN".
    name = unicodedata.name(character, "")
    for kind in ("CHOSEONG", "JUNGSEONG", "JONGSEONG"):
        name = name.replace(kind, "LETTER")
    try:
        return unicodedata.lookup(name)
    except KeyError:  # an old letter that keyboards do not have
        return character


@lru_cache(maxsize=100_000)
def plain_form(form: str) -> str:
    """A morpheme's form with its letters as a keyboard types them, in NFC.

    Example: Kiwi's ``"ᆫ다"`` (U+11AB) and a treebank's ``"ㄴ다"`` are both ``"ㄴ다"``.
    """
    return "".join(map(compatible, unicodedata.normalize("NFC", form)))


def letters(text: str) -> list[Letter]:
    """The letters of a text. Example: ``"갔다"`` -> ㄱ0 ㅏ0 ㅆ0 ㄷ1 ㅏ1."""
    return [Letter(part, i) for i, c in enumerate(text) for part in _letters_of(c)]
