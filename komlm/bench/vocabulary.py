"""Vocabularies of one size side by side, on text that they were not trained on.

Nine tenths of the documents train morpheme-aware and plain vocabularies of both kinds; the rest
measures them, and the tokenizer that the user gave, if one was given (which may have seen it).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from komlm.bench.material import Material
from komlm.bench.report import Figure, Report
from komlm.corpus.prepare import encode_documents
from komlm.text.analysis import Analysis
from komlm.text.export import write_folder
from komlm.text.normalize import Normalizer
from komlm.text.sentencepiece_model import to_sentencepiece
from komlm.text.tokenizer import Tokenizer
from komlm.text.vocabulary import KINDS, plain_words_of, train, words_of

COLUMNS = ("pieces_an_eojeol", "straddles", "unknown", "entries")
HELD_OUT_EVERY = 10


def measure(material: Material) -> Report:
    """Pieces an eojeol, straddling and unknown pieces, of each vocabulary."""
    seen, unseen = split([one for batch in material.analyses() for one in batch])
    size = Tokenizer.load(material.tokenizer_folder).vocabulary_size
    figures: list[Figure] = []
    for plain in (False, True):
        words = count_words(seen, plain)
        for kind in KINDS:
            vocabulary = train(words, size, kind, at_most=True)
            folder = material.new_folder()
            write_folder(vocabulary, to_sentencepiece(vocabulary), folder)
            key = f"plain_{kind}" if plain else kind
            label = f"--plain {kind}" if plain else f"morpheme-aware {kind}"
            figures += figures_of(key, label, folder, unseen)
    if material.given_tokenizer is not None:
        label = material.given_tokenizer.name
        figures += figures_of("given", label, material.given_tokenizer, unseen)
    note = (
        f"trained on {len(seen):,} documents of {material.name}, measured on {len(unseen):,} others"
    )
    return Report(figures, note, COLUMNS)


def split(analyses: Sequence[Analysis]) -> tuple[list[Analysis], list[Analysis]]:
    """Nine tenths to learn from, and each tenth document to measure on.

    Raises:
        ValueError: fewer than ten documents.
    """
    unseen = list(analyses[HELD_OUT_EVERY - 1 :: HELD_OUT_EVERY])
    if not unseen:
        raise ValueError(
            f"{len(analyses)} documents: `komlm bench vocabulary` wants {HELD_OUT_EVERY} or more, "
            "to measure on some that it did not train on"
        )
    seen = [one for number, one in enumerate(analyses, 1) if number % HELD_OUT_EVERY]
    return seen, unseen


def count_words(analyses: Sequence[Analysis], plain: bool) -> Counter[str]:
    """The words to learn from, with morpheme boundaries unless ``plain``."""
    normalizer = Normalizer.default()
    of: Callable[[Analysis], list[str]] = (
        (lambda one: plain_words_of(one.text, normalizer))
        if plain
        else (lambda one: words_of(one, normalizer))
    )
    words: Counter[str] = Counter()
    for analysis in analyses:
        words.update(of(analysis))
    return words


def figures_of(key: str, label: str, folder: Path, unseen: Sequence[Analysis]) -> list[Figure]:
    """The figures of one tokenizer on documents."""
    tokenizer = Tokenizer.load(folder)
    encoded = encode_documents(unseen, tokenizer)
    pieces = max(len(encoded.input_ids), 1)
    unknown = int((encoded.input_ids == tokenizer.special_ids["unk"]).sum())
    eojeols = sum(len(analysis.eojeol_starts) for analysis in unseen)
    return [
        Figure(f"{key}.pieces_an_eojeol", label, pieces / eojeols, "{:.3f}"),
        Figure(f"{key}.straddles", label, encoded.straddles / pieces, "{:.2%}"),
        Figure(f"{key}.unknown", label, unknown / pieces, "{:.2%}"),
        Figure(f"{key}.entries", label, tokenizer.vocabulary_size, "{:,}"),
    ]
