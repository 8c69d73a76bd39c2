"""Scores against treebanks that people annotated: Kiwi's morphemes, and units of pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from komlm.corpus.documents import plain_suffix
from komlm.evaluation.gold import conllu_files, klue_dp_files
from komlm.evaluation.gold.sentences import GoldSentence, without_morphemes
from komlm.names import unknown

READERS: dict[str, Callable[[Path], Iterator[GoldSentence]]] = {
    ".conllu": conllu_files.read,
    ".tsv": klue_dp_files.read,
}
"""Suffix of a treebank file, also packed as .gz or .zst -> its reader."""


def read_treebank(path: Path) -> list[GoldSentence]:
    """The sentences of a treebank file.

    Where most tokens have no morphemes, LEMMA holds something else (PUD has the stems of copulas
    and nothing for other words), so none is taken from it.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a suffix that no reader is for, a file without a sentence, or a broken line.

    Example: ``read_treebank(Path("ko_gsd-ud-dev.conllu"))[0].text``.
    """
    suffix = plain_suffix(path)
    if suffix not in READERS:
        raise ValueError(f"{path}: {unknown('kind of treebank', suffix, READERS)}")
    if not path.is_file():
        raise FileNotFoundError(f"treebank {path}: there is no such file")
    sentences = list(READERS[suffix](path))
    if not sentences:
        raise ValueError(f"{path}: there is no sentence in it")
    tokens = [token for sentence in sentences for token in sentence.tokens]
    if 2 * sum(token.morphemes is None for token in tokens) > len(tokens):
        return [without_morphemes(sentence) for sentence in sentences]
    return sentences
