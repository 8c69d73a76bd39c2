"""Aligning texts: a tokenizer and Kiwi, loaded once; many texts in several processes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from komlm.processes import run_in_order
from komlm.text.alignment import Alignment
from komlm.text.analysis import Analyzer
from komlm.text.loading import load_tokenizer
from komlm.text.packed import Packed, pack
from komlm.text.tokenizer import Tokenizer
from komlm.text.training_rows import RowMaker, rows_of_dataset

CHUNK = 10_000
"""Characters that a worker gets at once; Kiwi takes a fifth of a second for them."""


class Aligner:
    """Aligns texts.

    Args:
        tokenizer: cuts them.
        analyzer: Kiwi.
        dictionary: the user dictionary that the analyzer was built with, for the analyzers of the
            processes that :meth:`batch` starts.

    Example: ``Aligner.from_pretrained("tok")("나는 어제 학교에 갔다.").units("morpheme")``.
    """

    def __init__(
        self, tokenizer: Tokenizer, analyzer: Analyzer, dictionary: Path | None = None
    ) -> None:
        self.tokenizer = tokenizer
        self.analyzer = analyzer
        self.dictionary = dictionary

    @classmethod
    def from_pretrained(cls, source: Any, dictionary: Path | str | None = None) -> Aligner:
        """Read a tokenizer of any make, and build Kiwi.

        Args:
            source: a folder (tokenizer.json, vocab.txt or a SentencePiece model), a ``.model``
                file, an id on the Hugging Face hub, or a tokenizer object of transformers,
                tokenizers or sentencepiece; see :func:`komlm.text.loading.load_tokenizer`.
            dictionary: a file in the format of Kiwi's user dictionary (form TAB tag TAB score a
                line).

        Raises:
            FileNotFoundError: there is no such tokenizer or dictionary.
            ValueError: a damaged file, or a tokenizer that cannot tell where its pieces stood.
            TypeError: a source of another kind.

        Example: ``Aligner.from_pretrained("klue/bert-base")``.
        """
        dictionary = Path(dictionary) if dictionary is not None else None
        return cls(load_tokenizer(source), Analyzer(dictionary), dictionary)

    def __call__(self, text: str) -> Alignment:
        """Align one text.

        Raises:
            TypeError: the text is no string.
            ValueError: a lone surrogate; the message names its offset.
        """
        _check_type(text)
        return Alignment(self.analyzer(text), self.tokenizer.encode(text), self.tokenizer.pieces)

    def batch(self, texts: Iterable[str], workers: int = 1) -> Iterator[Alignment]:
        """Align many texts, in order, a few ahead of what is taken.

        With several workers, each is a process with a Kiwi of its own, which takes some seconds to
        start; a script then needs ``if __name__ == "__main__":`` before what it does.

        Args:
            texts: read as they are needed; it may be a generator without end.
            workers: processes; 1 works in this one.

        Raises:
            ValueError: ``workers`` below 1, or a text that is refused; the message names its number
                (from 0), and what stands before it has been given out.
            TypeError: a text that is no string; the message names its number.
            ChildProcessError: a worker was killed.

        Example: ``for alignment in aligner.batch(lines, workers=2): ...``
        """
        if workers < 1:
            raise ValueError(f"workers = {workers}: wanted 1 or more")
        if isinstance(texts, str):
            raise TypeError("a single string: wanted several texts, such as [text]")
        return self._one_by_one(texts) if workers == 1 else self._in_processes(texts, workers)

    def map(
        self,
        dataset: Any,
        text_column: str = "text",
        max_length: int = 512,
        num_proc: int | None = None,
    ) -> Any:
        """A dataset of texts -> rows for training, with the columns that hiding whole units needs.

        A row is [CLS], pieces, [SEP]; a text that is too long for one becomes several, cut before
        eojeols. The second time, `datasets` finds the rows in its cache: what they depend on
        (text, tokenizer, Kiwi, user dictionary, ``max_length``) is in their fingerprint.

        Args:
            dataset: a `datasets` Dataset, IterableDataset, or a dict of these.
            text_column: where the texts are; the other columns are left out.
            max_length: pieces in a row, [CLS] and [SEP] counted.
            num_proc: processes, each with a Kiwi of its own.

        Returns:
            The same kind of dataset with the columns ``input_ids``, ``starts`` and ``tags``.

        Raises:
            ValueError: no such column, a text that is refused, ``max_length`` below 18, or a
                tokenizer without [MASK], [PAD], [CLS] or [SEP].

        Example: ``aligner.map(load_dataset("text", data_files="a.txt"), max_length=128)``.
        """
        maker = RowMaker(self.tokenizer, self.dictionary, max_length, self.analyzer)
        return rows_of_dataset(dataset, maker, text_column, num_proc)

    def _one_by_one(self, texts: Iterable[str]) -> Iterator[Alignment]:
        for number, text in enumerate(texts):
            try:
                alignment = self(text)
            except (TypeError, ValueError) as error:
                raise _numbered(error, number) from error
            yield alignment

    def _in_processes(self, texts: Iterable[str], workers: int) -> Iterator[Alignment]:
        sent: deque[Sequence[str]] = deque()

        def chunks() -> Iterator[Sequence[str]]:
            for chunk in _chunked(texts):
                sent.append(chunk)
                yield chunk

        number = 0
        make = partial(_build, self.tokenizer, self.dictionary)
        for packed, error in run_in_order(_align, chunks(), workers, make):
            chunk = sent.popleft()
            for analysis, pieces in packed.unpacked(chunk):
                yield Alignment(analysis, pieces, self.tokenizer.pieces)
            if error is not None:
                raise _numbered(error, number + packed.texts)
            number += len(chunk)


class _Aligned(NamedTuple):
    """What a worker gives back for a chunk."""

    packed: Packed
    error: TypeError | ValueError | None
    """Why the text after those that are packed was refused."""


def _build(tokenizer: Tokenizer, dictionary: Path | None) -> Aligner:
    return Aligner(tokenizer, Analyzer(dictionary), dictionary)


def _align(aligner: Aligner, texts: Sequence[str]) -> _Aligned:
    done, error = [], None
    for text in texts:
        try:
            _check_type(text)
            done.append((aligner.analyzer(text), aligner.tokenizer.encode(text)))
        except (TypeError, ValueError) as refusal:
            error = refusal
            break
    return _Aligned(pack(done), error)


def _chunked(texts: Iterable[str]) -> Iterator[Sequence[str]]:
    chunk: list[str] = []
    size = 0
    for text in texts:
        chunk.append(text)
        # What is no text is refused where it is aligned, by its number.
        size += len(text) + 1 if isinstance(text, str) else 1
        if size >= CHUNK:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _check_type(text: object) -> None:
    if not isinstance(text, str):
        raise TypeError(f"wanted a string, and got {type(text).__name__}")


def _numbered(error: TypeError | ValueError, number: int) -> TypeError | ValueError:
    kind = TypeError if isinstance(error, TypeError) else ValueError
    return kind(f"text {number}: {error}")
