"""From a corpus to shards in one go: analysis, tokenizer, shards, each kept in a folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from komlm.config import Config
from komlm.corpus import read_documents
from komlm.corpus.analysis_folder import AnalysisFolder, is_analysis
from komlm.corpus.analyze import analyze, take_inventory
from komlm.corpus.prepare import check_heldout, prepare
from komlm.corpus.source import Reading, find_source
from komlm.corpus.stage import content_of
from komlm.files import beside
from komlm.names import unknown
from komlm.processes import Advance
from komlm.text.export import write_folder
from komlm.text.normalize import Normalizer
from komlm.text.sentencepiece_model import to_sentencepiece
from komlm.text.tokenizer import Tokenizer
from komlm.text.vocabulary import KINDS, plain_words_of, train, words_of

Bar = Callable[[str, int, str], AbstractContextManager[Advance]]
"""Opens a progress bar: (what is done, how much in all, its unit) -> a function to advance it."""


def analysis_of(
    corpus: Sequence[str],
    keep: Path,
    bar: Bar,
    workers: int = 1,
    dictionary: Path | None = None,
    reading: Reading | None = None,
) -> Path:
    """The folder of the corpus' analysis: itself if it is one, else made in ``keep``.

    Raises:
        ValueError: a corpus that cannot be read, or a dictionary for an analysis that is made
            already with another.
    """
    if len(corpus) == 1 and is_analysis(folder := Path(corpus[0])):
        if dictionary is not None:
            raise ValueError(
                f"{folder} is analysed already: --dictionary belongs to `komlm analyze`"
            )
        return folder
    source = find_source(corpus, reading)
    inventory = take_inventory(source, dictionary)
    with bar("analyze", inventory.characters, "characters") as advance:
        analyze(source, keep, workers, dictionary, inventory, advance)
    return keep


def train_tokenizer(
    corpus: Sequence[str],
    folder: Path,
    bar: Bar,
    size: int = 8002,
    kind: str = "unigram",
    plain: bool = False,
    at_most: bool = False,
    workers: int = 1,
    dictionary: Path | None = None,
    reading: Reading | None = None,
) -> int:
    """Learn a vocabulary from a corpus or an analysis, write its folder, return its size.

    Without ``plain`` the corpus is analysed first, in ``FOLDER.analysis``, which
    `komlm prepare` can take up.

    Raises:
        ValueError: as :func:`analysis_of` and :func:`komlm.text.vocabulary.train`; or the folder
            exists.
    """
    if folder.exists():
        raise ValueError(f"{folder} exists already: choose another -o, or delete it first")
    if kind not in KINDS:
        # Said now, not after the hours of an analysis.
        raise ValueError(unknown("type", kind, KINDS))
    if plain and dictionary is not None:
        raise ValueError("--plain reads no morphemes, so --dictionary would change nothing")
    normalizer = Normalizer.default()
    words: Counter[str] = Counter()
    if plain and not (len(corpus) == 1 and is_analysis(Path(corpus[0]))):
        source = find_source(corpus, reading)
        total = take_inventory(source).characters
        with bar("count words", total, "characters") as advance:
            for document in read_documents(source):
                words.update(plain_words_of(document.text, normalizer))
                advance(len(document.text))
    else:
        keep = beside(folder, ".analysis")
        analysis = AnalysisFolder(analysis_of(corpus, keep, bar, workers, dictionary, reading))
        with bar("count words", analysis.manifest["counts"]["characters"], "characters") as advance:
            for analysed in analysis:
                words.update(
                    plain_words_of(analysed.text, normalizer)
                    if plain
                    else words_of(analysed, normalizer)
                )
                advance(len(analysed.text))
    vocabulary = train(words, size, kind, at_most)
    write_folder(vocabulary, to_sentencepiece(vocabulary), folder)
    return len(vocabulary.pieces)


def prepare_corpus(
    corpus: Sequence[str],
    tokenizer: Path,
    folder: Path,
    bar: Bar,
    workers: int = 1,
    heldout: float = 0.01,
    dictionary: Path | None = None,
    reading: Reading | None = None,
) -> dict[str, Any]:
    """Shards of a corpus or an analysis; a corpus is analysed first, in ``FOLDER.analysis``.

    Raises:
        ValueError: as :func:`analysis_of` and :func:`komlm.corpus.prepare.prepare`.
    """
    # What would stop `prepare` is said now, not after the hours of an analysis.
    check_heldout(heldout)
    Tokenizer.load(tokenizer)
    content_of(folder, "shards")
    keep = beside(folder, ".analysis")
    analysis = analysis_of(corpus, keep, bar, workers, dictionary, reading)
    total = AnalysisFolder(analysis).manifest["counts"]["eojeols"]
    with bar("prepare", total, "eojeols") as advance:
        return prepare(analysis, tokenizer, folder, workers, heldout, advance)


def with_shards(config: Config, folder: Path, bar: Bar, workers: int = 1) -> Config:
    """The same run on shards made from ``data.corpus``; a run that has shards stays as it is.

    Args:
        folder: gets ``analysis``, ``tokenizer`` and ``shards``; what is there already is kept.

    Raises:
        ValueError: neither ``data.shards`` nor ``data.corpus`` is set, or the folder was made from
            other settings.
    """
    data = config.data
    if data.shards:
        return config
    if not data.corpus:
        raise ValueError(
            "nothing to learn from: give --set data.shards=FOLDER (made by `komlm prepare`), or "
            "--set data.corpus=NAME-OR-FILES"
        )
    analysis = analysis_of([data.corpus], folder / "analysis", bar, workers)
    tokenizer = folder / "tokenizer"
    if tokenizer.exists():
        entries = Tokenizer.load(tokenizer).vocabulary_size
        if entries != data.vocabulary_size:
            raise ValueError(
                f"{tokenizer} has {entries:,} entries, and data.vocabulary_size is "
                f"{data.vocabulary_size:,}: choose another -o, or delete {folder} first"
            )
    else:
        train_tokenizer([str(analysis)], tokenizer, bar, data.vocabulary_size)
    shards = folder / "shards"
    prepare_corpus([str(analysis)], tokenizer, shards, bar, workers, data.heldout)
    return replace(config, data=replace(data, shards=str(shards)))
