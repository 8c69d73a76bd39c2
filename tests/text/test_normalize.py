"""The normaliser against its derivation, against its exported form and against a naive twin.

``python tests/text/test_normalize.py > komlm/text/folding.tsv`` writes the frozen table anew
(with the Unicode version of that Python: the table in the repo is frozen at 14.0.0).
"""

from __future__ import annotations

import pickle
import re
import sys
import unicodedata
from functools import cache
from pathlib import Path

TABLE_FILE = Path(__file__).parents[2] / "komlm" / "text" / "folding.tsv"

HEADER = """\
# How komlm folds characters: code point, TAB, code points of what it becomes (none: dropped).
# Unicode {version}, frozen. Derived by tests/text/test_normalize.py, which says each rule, from
# NFKC with exceptions. A character without a line stays; NFC runs before and after this table.
"""

SPACE = " "

HANGUL_FILLERS = "\u3164\uffa0"
"""Stand-alone blanks (compatibility and half-width): invisible, dropped. The conjoining fillers
U+115F and U+1160 stay: they hold the place of a missing initial or vowel in an old-Hangul syllable,
and without U+115F the letters U+1100 U+115F U+1161 would compose to another word's 가."""

VISIBLE_FORMATS = {
    *map(chr, range(0x0600, 0x0606)),
    *"\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd",
}
"""Prepended_Concatenation_Mark: of category Cf, yet printed (Arabic number sign and the like)."""

INVISIBLE_MARKS = {
    *"\u034f\u17b4\u17b5\u180b\u180c\u180d\u180f",
    *map(chr, range(0xFE00, 0xFE10)),
    *map(chr, range(0xE0100, 0xE01F0)),
}
"""Marks with Default_Ignorable_Code_Point: grapheme joiner, Khmer inherent vowels, variation
selectors."""


def is_noncharacter(code: int) -> bool:
    return 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE


def is_dropped(char: str) -> bool:
    category = unicodedata.category(char)
    return (
        category == "Cc"
        or (category == "Cf" and char not in VISIBLE_FORMATS)
        or char in INVISIBLE_MARKS
        or char in HANGUL_FILLERS
        or is_noncharacter(ord(char))
        or char == "\U0010fffd"
    )


@cache
def keyboard_jamo() -> dict[str, str]:
    """Conjoining letter -> the compatibility jamo whose NFKC it is: U+1100 -> ㄱ."""
    return {
        unicodedata.normalize("NFKC", chr(code)): chr(code)
        for code in range(0x3131, 0x318F)
        if chr(code) not in HANGUL_FILLERS
    }


def fold(char: str) -> str:
    """What one character becomes: its compatibility decomposition step by step, save for the rules."""
    if char.isspace() or char == "▁":
        return SPACE
    if is_dropped(char):
        return ""
    if "\u3131" <= char <= "\u318e":
        return char  # compatibility jamo, as typed
    decomposition = unicodedata.decomposition(char).split()
    if not decomposition:
        return char
    compatible = decomposition[0].startswith("<")
    parts = [chr(int(code, 16)) for code in decomposition[compatible:]]
    if compatible and parts[0] == SPACE and unicodedata.category(parts[1])[0] == "M":
        return char  # ´ ¨ ゛: a stray space would split the word
    text = unicodedata.normalize("NFC", "".join(map(fold, parts)))
    if compatible:
        text = "".join(keyboard_jamo().get(part, part) for part in text)
    return text


def derive() -> dict[str, str]:
    table = {}
    for code in [*range(0xD800), *range(0xE000, 0x110000)]:
        char = chr(code)
        # NFC replaces singletons and CJK compatibility ideographs before the table is asked.
        if unicodedata.normalize("NFC", char) == char and (folded := fold(char)) != char:
            table[char] = folded
    return table


def written(table: dict[str, str], version: str) -> str:
    lines = [
        f"{ord(char):04X}\t{SPACE.join(f'{ord(part):04X}' for part in new)}\n"
        for char, new in table.items()
    ]
    return HEADER.format(version=version) + "".join(lines)


if __name__ == "__main__":
    sys.stdout.write(written(derive(), unicodedata.unidata_version))
    sys.exit()
