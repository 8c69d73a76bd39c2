"""Reader of KLUE-DP: TAB-separated INDEX WORD_FORM LEMMA POS HEAD DEPREL, a line an eojeol.

LEMMA has the morphemes with spaces between (``상황 이 었 다 .``), POS their tags
(``NNG+VCP+EP+EF+SF``).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

from komlm.corpus.documents import lines
from komlm.evaluation.gold.sentences import GoldSentence, WrittenToken, paired, sentence_of

COLUMNS = ["INDEX", "WORD_FORM", "LEMMA", "POS", "HEAD", "DEPREL"]


def read(path: Path) -> Iterator[GoldSentence]:
    """The sentences of a file, in order.

    Raises:
        ValueError: a line without six columns, an index out of turn, an empty WORD_FORM; the
            message names file and line.
    """
    words: list[WrittenToken] = []
    for number, line in lines(path):
        if not line.strip():
            if words:
                yield sentence_of(words)
            words = []
        elif not line.startswith("##"):
            words.append(_word(line, f"{path}, line {number}", len(words) + 1))
    if words:
        yield sentence_of(words)


def _word(line: str, place: str, wanted: int) -> WrittenToken:
    columns = line.split("\t")
    if len(columns) != len(COLUMNS):
        raise ValueError(
            f"{place}: wanted the six columns of KLUE-DP with TABs between ({' '.join(COLUMNS)}), "
            f"found {len(columns)}. Sentences end with an empty line, comments begin with ##"
        )
    index, form, lemma, tags = (unicodedata.normalize("NFC", column) for column in columns[:4])
    if index != str(wanted):
        raise ValueError(
            f"{place}: wanted word {wanted}, found {index!r}. Each sentence counts from 1, and an "
            "empty line ends it"
        )
    if not form.strip():
        raise ValueError(f"{place}: word {index} has no WORD_FORM")
    return WrittenToken(form, paired(lemma.split(" "), tags.split("+")))
