"""Where the morphemes of a treebank stand in the text.

A treebank gives 추워서 as 춥+어서 and says nothing of where one ends. Both are taken apart into
letters (:mod:`komlm.evaluation.gold.letters`) and aligned with the fewest edits, each morpheme
getting a run of the text's letters:

* an edit costs 1, ㅂ to ㅜ or ㅗ (춥, 추워) and ㄷ to ㄹ (듣, 들어) half of it, a vowel for a
  consonant 2;
* a cut inside a syllable costs a tenth more, so that of two equal alignments the one that cuts
  between syllables is taken (몰라 is 몰|라).

A morpheme's span runs over every syllable in which it has a letter; two morphemes with letters in
one syllable share it, and no boundary is there (추워서: 춥 [0,2) 어서 [1,3), Kiwi's spans too). The
vowel of an ending that is one with the vowel before it shares that syllable (가서: 가 [0,1) 아서
[0,2)). A morpheme of which nothing is written has the syllable that its neighbours share (이 in
건데, 것+이+ㄴ데), else an empty span (이 in 의사다, 의사+이+다).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from komlm.evaluation.gold.letters import VOWELS, Letter, letters
from komlm.types import Span

INSIDE_SYLLABLE = 0.1
"""What a cut inside a syllable costs."""

FARTHEST = 0.6
"""Edits that an alignment may need, for each letter of the longer side; with more, what stands in
the treebank is not what stands in the text (an abbreviation written out, a damaged line)."""

_ALTERNATIONS = frozenset({("ㅂ", "ㅜ"), ("ㅂ", "ㅗ"), ("ㄷ", "ㄹ")})
"""Letters of a stem and what the text may have for them."""


@lru_cache(maxsize=100_000)
def locate(text: str, forms: tuple[str, ...]) -> tuple[Span, ...] | None:
    """Spans of morphemes in a token; they and their ends never decrease.

    Args:
        text: the token as written, in NFC.
        forms: the forms of its morphemes.

    Returns:
        A span for each form, or None: the forms are too far from the text.

    Example: ``locate("갔다", ("가", "았", "다"))`` -> [0,1) [0,1) [1,2).
    """
    if "".join(forms) == text:
        ends = [sum(map(len, forms[: i + 1])) for i in range(len(forms))]
        return tuple(map(Span, [0, *ends[:-1]], ends))
    written, parts = letters(text), [[part for part, _ in letters(form)] for form in forms]
    cuts, cost = _fewest_edits(written, parts)
    if cost > FARTHEST * max(len(written), sum(map(len, parts))):
        return None
    spans = []
    for before, part, start, end in zip([[], *parts], parts, cuts, cuts[1:], strict=False):
        first = start - _went_up(written, before, part, start, end)
        if first < end:
            spans.append(Span(written[first].character, written[end - 1].character + 1))
        else:
            at = written[start].character if start < len(written) else len(text)
            spans.append(Span(at, at + _is_inside(written, start)))
    return _in_order(spans)


def _is_inside(written: list[Letter], i: int) -> bool:
    """Whether letter ``i`` and the one before it are of one syllable."""
    return 0 < i < len(written) and written[i - 1].character == written[i].character


def _went_up(
    written: list[Letter], before: list[str], part: list[str], start: int, end: int
) -> bool:
    """Whether the morpheme's first vowel (아, 어) is one with the vowel written before it."""
    return (
        bool(before)
        and part[0] in "ㅏㅓ"
        and before[-1] in VOWELS
        and start > 0
        and written[start - 1].letter in VOWELS
        and end - start < len(part)
        and (start == end or written[start].letter != part[0])
    )


def _in_order(spans: list[Span]) -> tuple[Span, ...]:
    """An empty span may stand behind a syllable that a later morpheme shares: the later yields."""
    start = end = 0
    ordered = []
    for span in spans:
        start, end = max(start, span.start), max(end, span.end)
        ordered.append(Span(start, end) if span.end > span.start else Span(start, start))
    return tuple(ordered)


def _fewest_edits(written: list[Letter], parts: Sequence[list[str]]) -> tuple[list[int], float]:
    """Where each morpheme's letters begin and end among those written, and what it costs.

    Example: ㄱㅏㅆㄷㅏ and ㄱㅏ, ㅏㅆ, ㄷㅏ -> cuts 0 2 3 5.
    """
    count = len(written)
    inside = [_is_inside(written, i) for i in range(count + 1)]
    # best[i]: cost of all morphemes so far on the first i letters; came[i]: their cuts.
    best = [0.0, *[float("inf")] * count]
    came: list[list[int]] = [[0] for _ in range(count + 1)]
    for part in parts:
        best, begun = _one_morpheme(written, part, best)
        came = [[*came[begun[i]], i] for i in range(count + 1)]
        best = [cost + INSIDE_SYLLABLE * inside[i] for i, cost in enumerate(best)]
    return came[count], best[count]


def _one_morpheme(
    written: list[Letter], part: list[str], before: list[float]
) -> tuple[list[float], list[int]]:
    """Edit distance of one morpheme to every stretch of the letters written.

    Args:
        before: cost of what comes before, if the morpheme begins at letter i.

    Returns:
        For each letter at which the morpheme may end: the least cost, and where it then begins.
    """
    row, begun = list(before), list(range(len(before)))
    for i in range(1, len(row)):  # letters that the morpheme does not have
        if row[i - 1] + 1 < row[i]:
            row[i], begun[i] = row[i - 1] + 1, begun[i - 1]
    for letter in part:
        above, above_begun = row, begun
        row, begun = [above[0] + 1], [above_begun[0]]
        for i in range(1, len(above)):
            options = (
                (above[i - 1] + _substitution(letter, written[i - 1].letter), above_begun[i - 1]),
                (above[i] + 1, above_begun[i]),
                (row[i - 1] + 1, begun[i - 1]),
            )
            cost, start = min(options, key=lambda option: option[0])
            row.append(cost)
            begun.append(start)
    return row, begun


def _substitution(wanted: str, found: str) -> float:
    if wanted == found:
        return 0.0
    if (wanted, found) in _ALTERNATIONS:
        return 0.5
    return 1.0 if (wanted in VOWELS) == (found in VOWELS) else 2.0
