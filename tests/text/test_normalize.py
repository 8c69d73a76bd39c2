"""The normaliser against its derivation, against its exported form and against a naive twin.

``python tests/text/test_normalize.py > komlm/text/folding.tsv`` writes the frozen table anew
(with the Unicode version of that Python: the table in the repo is frozen at 14.0.0).
"""

from __future__ import annotations

import pickle
import sys
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import normalizers

from komlm.text.normalize import Normalized, Normalizer, check_surrogates, load_table, nfc

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
    """What one character becomes: its decomposition step by step, save for the rules."""
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

KOBERT = Path(__file__).parents[3] / "shared/data/tokenizers/kobert/tokenizer_78b3253a26.model"
ALL = [*range(0xD800), *range(0xE000, 0x110000)]
NFC = normalizers.NFC()


@cache
def kobert(collapse: bool = True) -> Normalizer:
    if not KOBERT.exists():
        pytest.skip(f"needs {KOBERT.name} from the shared data, which is not here")
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined]
    model.ParseFromString(KOBERT.read_bytes())
    return Normalizer(model.normalizer_spec.precompiled_charsmap, collapse=collapse)


@cache
def small() -> Normalizer:
    """A map unlike ours: it takes case away, drops CR, makes a space of ZWSP, parts a mark."""
    from komlm.text.charsmap import compile_charsmap

    table = {"A": "a", "E": "e", "\n": " ", "\r": "", "\u200b": " ", "´": " \u0301", "½": "1⁄2"}
    return Normalizer(compile_charsmap({**table, "ㅋ": "\u110f", "ㅠ": "\u1172"}))


NORMALIZERS: dict[str, Callable[[], Normalizer]] = {
    "ours": Normalizer.default,
    "ours without collapse": lambda: Normalizer.default(collapse=False),
    "small": small,
    "kobert": kobert,
    "kobert without collapse": lambda: kobert(collapse=False),
    "no charsmap": cache(lambda: Normalizer(b"")),
}
each_normalizer = pytest.mark.parametrize("name", NORMALIZERS)


table_of_ours = cache(load_table)


@cache
def exported(name: str) -> normalizers.Normalizer:
    return NORMALIZERS[name]().export()


# The naive twin: the whole text, character by character, by the words of the docstrings.

Char = tuple[str, int, int]


def naive_nfc(chars: list[Char]) -> list[Char]:
    def opens(at: int) -> bool:
        char = chars[at][0]
        category = unicodedata.category(char)
        hangul_tail = "\u1160" <= char <= "\u11ff" or "\ud7b0" <= char <= "\ud7fb"
        late = hangul_tail or "\U00016d40" <= char <= "\U00016d7f"
        after_space = at > 0 and chars[at - 1][0].isspace()
        return at == 0 or after_space or not (category[0] == "M" or category == "Cn" or late)

    segments: list[list[Char]] = []
    for at, char in enumerate(chars):
        if opens(at):
            segments.append([])
        segments[-1].append(char)
    out: list[Char] = []
    for segment in segments:
        old = "".join(char for char, _, _ in segment)
        new = NFC.normalize_str(old)
        if new == old:
            out += segment
        else:
            out += [(char, segment[0][1], segment[-1][2]) for char in new]
    return out


def naive(text: str, mapped: Callable[[str], str], collapse: bool) -> list[Char]:
    chars = [(char, at, at + 1) for at, char in enumerate(text) if char != "\0"]
    chars = [(new, start, end) for char, start, end in naive_nfc(chars) for new in mapped(char)]
    chars = naive_nfc(chars)
    letters = [(start, end) for char, start, end in chars if char != " "]
    widened = {span: span for span in letters}
    for at, char in enumerate(text):
        if char.isspace() or any(start <= at < end for start, end in letters) or not letters:
            continue
        following = [span for span in letters if span[0] > at]
        if following:
            start, end = widened[following[0]]
            widened[following[0]] = (min(at, start), end)
        else:
            widened[letters[-1]] = (widened[letters[-1]][0], at + 1)
    out: list[Char] = []
    for is_space, group in groupby(chars, key=lambda char: char[0] == " "):
        run = list(group)
        if not is_space:
            out += [(char, *widened[start, end]) for char, start, end in run]
        elif not collapse:
            out += run
        else:
            out.append(next((char for char in run if text[char[1]].isspace()), run[0]))
    if collapse:
        out = out[out[:1] == [] or out[0][0] == " " :]
        out = out[:-1] if out and out[-1][0] == " " else out
    return out


def spans(normal: Normalized) -> list[Char]:
    size = len(normal.text)
    starts = range(size) if normal.starts is None else normal.starts.tolist()
    ends = range(1, size + 1) if normal.ends is None else normal.ends.tolist()
    return list(zip(normal.text, starts, ends, strict=True))


def tricky() -> st.SearchStrategy[str]:
    atoms = st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3),
        st.characters(min_codepoint=0x1100, max_codepoint=0x11FF),
        st.characters(min_codepoint=0x3130, max_codepoint=0x318F),
        st.characters(min_codepoint=0xFF00, max_codepoint=0xFFEF),
        st.characters(categories=["Mn", "Mc", "Me"]),
        st.characters(categories=["Zs", "Zl", "Zp", "Cc", "Cf"]),
        st.sampled_from(
            "\0\t\n\r  \u3000▁\u200b\u200d\ufe0f\ufeff\U0010fffd\u0301\u0316ae½㎏①ﷺㅋㅠ´"
        ),
        st.sampled_from(["👨‍👩‍👧", "👍🏽", "🇰🇷", "1️⃣", "[MASK]", "  ", "\r\n", "학교에 갔다…", "ｶﾞ"]),
        st.text("가각힣한국어\u1112\u1161\u11ab", max_size=4).map(
            lambda text: unicodedata.normalize("NFD", text)
        ),
    )
    return st.lists(atoms, max_size=16).map("".join)


def check(name: str, text: str) -> None:
    normalizer = NORMALIZERS[name]()
    normal = normalizer(text)
    out = exported(name).normalize_str(text)
    assert normal.text == (out.removeprefix(" ") if normalizer.collapse else out)

    table = table_of_ours() if name.startswith("ours") else None

    def mapped(char: str) -> str:
        return normalizer._map[char] if table is None else table.get(char, char)

    found = spans(normal)
    assert found == naive(text, mapped, normalizer.collapse)
    check_invariants(text, found)


def check_invariants(text: str, found: list[Char]) -> None:
    letters = [(start, end) for char, start, end in found if char != " "]
    assert all(0 <= start < end <= len(text) for _, start, end in found)
    assert letters == sorted(letters)
    ends = [end for _, end in letters]
    assert ends == sorted(ends)
    if letters:
        covered = {at for start, end in letters for at in range(start, end)}
        assert all(char.isspace() or at in covered for at, char in enumerate(text))


# The table


def test_table_is_the_derived_one() -> None:
    version = unicodedata.unidata_version
    derived = derive()
    if version == "14.0.0":
        assert TABLE_FILE.read_text(encoding="utf-8") == written(derived, version)
        return
    # A newer Unicode only adds characters: what the frozen table says must still follow.
    table = load_table()
    assert {char: derived.get(char) for char in table} == table


def test_table_is_nfkc_but_for_hangul_spacing_marks_and_what_is_dropped() -> None:
    table = load_table()
    for code in ALL:
        char = chr(code)
        new, nfkc = table.get(char, char), unicodedata.normalize("NFKC", char)
        if new == nfkc or new in ("", " ") or unicodedata.normalize("NFC", char) != char:
            continue
        if unicodedata.normalize("NFKC", new) == nfkc:  # stops on the way: ㄱ, ´ and ￣ -> ¯
            assert any("\u1100" <= part <= "\u11ff" for part in nfkc) or nfkc[0] == " ", hex(code)
        else:
            # A code point that this Python knows and the table's Unicode did not.
            assert unicodedata.unidata_version != "14.0.0", hex(code)


def test_table_is_stable() -> None:
    table = load_table()
    assert all(unicodedata.normalize("NFC", char) == char for char in table)
    assert all(unicodedata.normalize("NFC", new) == new for new in table.values())
    for new in table.values():
        assert all(table.get(char, char) == char for char in new)
        assert not any(char.isspace() and char != " " for char in new)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ㅋㅋㅠㅠ ㅎㅏ ㄳ ㆍ", "ㅋㅋㅠㅠ ㅎㅏ ㄳ ㆍ"),
        ("㎏ ① ㈜ ５ ﬁ ½ ㎡ … Ａ", "kg 1 (주) 5 fi 1⁄2 m2 ... A"),
        ("㉠ ㈀ ㉮ ㈎ ﾡￂ", "ㄱ (ㄱ) 가 (가) ㄱㅏ"),
        ("\u1112\u1161\u11ab e\u0301 ｶﾞ", "한 é ガ"),
        ("가\u3164나\uffa0다", "가나다"),
        ("\u1100\u115f\u1161 \u1100\u1160\u11a8", "\u1100\u115f\u1161 \u1100\u1160\u11a8"),
        ("a´b ¨ ￣ー￣", "a´b ¨ ¯ー¯"),
        (" \t가\u3000\x85\x1c나▁다 \u2028\n", "가 나 다"),
        ("\ufeff가\0\u200b\xad나\u202e\U0010fffd다\ufe0f\ufffe", "가나다"),
        ("\u0600١ \ufffd \ue000", "\u0600١ \ufffd \ue000"),
        ("\u212b \uf900", "Å 豈"),
        ("[MASK] <unk>", "[MASK] <unk>"),
        ("", ""),
        (" \u200b▁\n", ""),
    ],
)
def test_what_ours_makes_of_it(text: str, expected: str) -> None:
    normalizer = Normalizer.default()
    assert normalizer(text).text == expected
    assert normalizer(expected).text == expected
    check("ours", text)


# The map back


@pytest.mark.parametrize(
    ("text", "out", "starts", "ends"),
    [
        ("갔다…", "갔다...", [0, 1, 2, 2, 2], [1, 2, 3, 3, 3]),
        ("\u1112\u1161\u11ab국", "한국", [0, 3], [3, 4]),
        ("e\u200b\u0301x", "éx", [0, 3], [3, 4]),
        ("\u200b가\ufeff 나\0", "가 나", [0, 3, 2], [2, 4, 6]),
        ("나는 ▁ 갔다", "나는 갔다", [0, 1, 2, 3, 6], [1, 2, 3, 6, 7]),
        ("가▁ 나", "가 나", [0, 2, 1], [1, 3, 4]),
        (" \n가 \t 나 ", "가 나", [2, 3, 6], [3, 4, 7]),
        ("\0㎏\0", "kg", [0, 0], [3, 3]),
    ],
)
def test_where_it_came_from(text: str, out: str, starts: list[int], ends: list[int]) -> None:
    normal = Normalizer.default()(text)
    assert normal.starts is not None
    assert normal.ends is not None
    assert (normal.text, normal.starts.tolist(), normal.ends.tolist()) == (out, starts, ends)
    check("ours", text)


def test_a_text_that_stays_has_no_arrays() -> None:
    for text in ("나는 어제 학교에 갔다. “네” abc", "줄\n바꿈？", "뒤 ", "😀 ㅋㅋ"):
        normal = Normalizer.default()(text)
        assert normal.starts is None
        assert normal.ends is None
        assert nfc(text).starts is None


def test_span() -> None:
    normal = Normalizer.default()("갔다… 나")
    assert normal.span(2, 5) == (2, 3)
    assert normal.span(0, len(normal.text)) == (0, 5)
    assert normal.span(5, 5) == (3, 3)
    assert normal.span(7, 7) == (5, 5)
    assert Normalized("").span(0, 0) == (0, 0)
    assert Normalizer.default()("\u200b").span(0, 0) == (0, 0)
    assert nfc("가나").span(1, 2) == (1, 2)


# Against the exported form


def in_context(codes: list[int]) -> Iterator[str]:
    """Each character between Hangul, after a short base that folds, and before a mark."""
    contexts = ["가{}나", "½{}", "{}\u0301", "a\u0301{}\u1161"]
    if 0x20000 <= codes[0] < 0xE0000 or codes[0] >= 0xF0000:
        contexts = contexts[:1]  # ideographs, private and unassigned: nothing joins
    for context in contexts:
        yield "다".join(context.format(chr(code)) for code in codes)


def sweep(name: str, codes: list[int]) -> None:
    normalizer, export = NORMALIZERS[name](), exported(name)
    for first in range(0, len(codes), 512):
        some = codes[first : first + 512]
        for text in in_context(some):
            out = export.normalize_str(text)
            out = out.removeprefix(" ") if normalizer.collapse else out
            if normalizer(text).text != out:
                for code in some:
                    for one in in_context([code]):
                        check(name, one)
                pytest.fail(f"differs only in the whole: U+{some[0]:04X} to U+{some[-1]:04X}")


@pytest.mark.parametrize("name", ["ours", "kobert"])
def test_code_points_in_context(name: str) -> None:
    sweep(name, [*range(0x0B00), *range(0x1100, 0x3400, 3), *ALL[0x3400::149]])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ours", "kobert"])
def test_every_code_point_in_context(name: str) -> None:
    sweep(name, ALL)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ours", "kobert"])
def test_every_code_point_alone(name: str) -> None:
    normalizer, export = NORMALIZERS[name](), exported(name)
    for code in ALL:
        out = export.normalize_str(chr(code))
        out = out.removeprefix(" ") if normalizer.collapse else out
        assert normalizer(chr(code)).text == out, hex(code)


@each_normalizer
def test_some_code_points_alone(name: str) -> None:
    for code in [*range(0x400), *ALL[0x400::499]]:
        check(name, chr(code))


@pytest.mark.property
@pytest.mark.parametrize("name", ["ours", "kobert"])
@given(text=tricky())
def test_any_text(name: str, text: str) -> None:
    check(name, text)
    once = Normalizer.default()(text).text
    assert Normalizer.default()(once).text == once


@pytest.mark.parametrize(
    "name", ["ours without collapse", "kobert without collapse", "small", "no charsmap"]
)
@given(text=tricky())
def test_any_text_otherwise(name: str, text: str) -> None:
    check(name, text)


@pytest.mark.property
@given(text=tricky())
def test_nfc_of_any_text(text: str) -> None:
    normal = nfc(text)
    assert normal.text == NFC.normalize_str(text)
    found = spans(normal)
    assert found == naive_nfc([(char, at, at + 1) for at, char in enumerate(text)])
    assert all(0 <= start < end <= len(text) for _, start, end in found)
    assert {at for _, start, end in found for at in range(start, end)} == set(range(len(text)))


def test_leading_space_is_kept_in_the_export_alone() -> None:
    normalizer = Normalizer.default()
    assert normalizer.export().normalize_str(" \n 갔다 \n") == " 갔다"
    assert normalizer("  갔다 ").text == "갔다"


@pytest.mark.parametrize(
    "text", ["\n", "\u0301½", "\uff9e½", "\n½\u0301", "\r\nA\U000e0041", "½\u1acf"]
)
def test_export_guards_marks_at_the_front_and_newer_ones(text: str) -> None:
    for name in ("ours", "small", "no charsmap"):
        check(name, text)


# Imported and reloaded


def test_kobert_reads_as_its_vocabulary_was_made() -> None:
    assert kobert()("ㅋㅋㅠㅠ").text == "ᄏ큐ᅲ"
    assert kobert()("가\u200b나").text == "가 나"


@each_normalizer
def test_from_exported(name: str) -> None:
    normalizer = NORMALIZERS[name]()
    again = Normalizer.from_exported(normalizer.export())
    assert again is not None
    assert again.collapse == normalizer.collapse
    assert again.charsmap == normalizer.charsmap
    text = " ㎏…ㅋㅋㅠㅠ\u200b  \u0001 e\u0301▁ "
    assert spans(again(text)) == spans(normalizer(text))


def test_a_foreign_normalizer_is_none() -> None:
    assert Normalizer.from_exported(None) is None
    assert Normalizer.from_exported(normalizers.NFKC()) is None
    foreign = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    assert Normalizer.from_exported(foreign) is None


@each_normalizer
def test_pickle(name: str) -> None:
    normalizer = NORMALIZERS[name]()
    again = pickle.loads(pickle.dumps(normalizer))
    assert spans(again("㎏  ㅋ…")) == spans(normalizer("㎏  ㅋ…"))


def test_charsmap_of_nothing() -> None:
    from komlm.text.charsmap import compile_charsmap

    with pytest.raises(ValueError, match="no entry"):
        compile_charsmap({"\0": ""})


# Errors and size


@pytest.mark.parametrize("text", ["가나\ud800다", "…\n\udfff"])
def test_lone_surrogate(text: str) -> None:
    for read in (Normalizer.default(), nfc, check_surrogates):
        with pytest.raises(ValueError, match="surrogate U\\+D.* at offset 2"):
            read(text)
    check_surrogates("가\U0001f600")


@pytest.mark.parametrize("unit", ["\u200b ", "▁", "\u0316\u0301", "\0", " \n", "가\u200b", "ﷺ"])
def test_a_long_line_takes_linear_time(unit: str) -> None:
    text = unit * 20_000  # of quadratic time one would notice
    normal = Normalizer.default()(text)
    assert len(spans(normal)) == len(normal.text)
    assert nfc(text).text == NFC.normalize_str(text)
