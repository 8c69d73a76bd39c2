"""What is measured on: a corpus, its analysis, a tokenizer and rows, each made when asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from komlm.corpus import read_documents
from komlm.corpus.analysis_folder import AnalysisFolder, is_analysis, read_part
from komlm.corpus.analyze import analyzer_of_process
from komlm.corpus.source import Reading, find_source
from komlm.data.shards import Shards
from komlm.pipeline import Bar, analysis_of, prepare_corpus, train_tokenizer
from komlm.text.analysis import Analysis, Analyzer
from komlm.text.tokenizer import Tokenizer

VOCABULARY_SIZE = 2_000


class Material:
    """A corpus and what komlm makes of it; all measurements of a run share it.

    Args:
        folder: where everything goes; whoever made it deletes it.
        bar: opens a progress bar.
        corpus: what `komlm analyze` takes, or the folder of an analysis.
        reading: how its files are read.
        tokenizer: a tokenizer folder; without one it is trained on the corpus.
        seconds: that the rounds of one measurement may take, about; see
            :func:`komlm.bench.timing.in_turn`.

    Raises:
        FileNotFoundError: no such corpus, or no tokenizer in that folder.
        ValueError: a corpus that cannot be read.

    Example: ``Material(Path("scratch"), bar).shards.pieces`` -> pieces of the embedded corpus.
    """

    def __init__(
        self,
        folder: Path,
        bar: Bar,
        corpus: Sequence[str] = ("mini",),
        reading: Reading | None = None,
        tokenizer: Path | None = None,
        seconds: float = 8.0,
    ) -> None:
        self.folder = folder
        self.name = " ".join(corpus)
        self.seconds = seconds
        self.given_tokenizer = tokenizer
        self._bar = bar
        self._corpus = corpus
        self._reading = reading
        self._scratch = 0
        # A wrong name is told now, not after the first measurement.
        if not self._is_analysis:
            find_source(corpus, reading)
        if tokenizer is not None:
            Tokenizer.load(tokenizer)

    @property
    def _is_analysis(self) -> bool:
        return len(self._corpus) == 1 and is_analysis(Path(self._corpus[0]))

    def new_folder(self) -> Path:
        """A path in the folder at which nothing is."""
        self._scratch += 1
        return self.folder / f"scratch-{self._scratch}"

    @cached_property
    def texts(self) -> list[str]:
        """The documents, without those that hold nothing but space."""
        if self._is_analysis:
            return [analysis.text for batch in self.analyses() for analysis in batch]
        documents = read_documents(find_source(self._corpus, self._reading))
        texts = [document.text for document in documents if document.text.strip()]
        if not texts:
            raise ValueError(f"{self.name}: no text in it")
        return texts

    @cached_property
    def analyzer(self) -> Analyzer:
        """The one Kiwi of this process, warm: the stage analyze works with the same."""
        analyzer = analyzer_of_process()
        analyzer("나는 어제 학교에 갔다.")
        return analyzer

    @cached_property
    def analysis(self) -> Path:
        """The folder of the analysis."""
        return analysis_of(self._corpus, self.folder / "analysis", self._bar, reading=self._reading)

    def analyses(self) -> Iterator[list[Analysis]]:
        """The analysis as the stage prepare reads it, a list of documents at a time."""
        for path, sha256 in AnalysisFolder(self.analysis).parts:
            yield from read_part(path, sha256)

    @cached_property
    def tokenizer_folder(self) -> Path:
        """The tokenizer given, or one of 2,000 entries (or as many as the corpus gives)."""
        if self.given_tokenizer is not None:
            return self.given_tokenizer
        folder = self.folder / "tokenizer"
        train_tokenizer([str(self.analysis)], folder, self._bar, VOCABULARY_SIZE, at_most=True)
        return folder

    @cached_property
    def shards(self) -> Shards:
        """The whole corpus as shards, nothing held out."""
        folder = self.folder / "shards"
        prepare_corpus([str(self.analysis)], self.tokenizer_folder, folder, self._bar, heldout=0.0)
        return Shards.open(folder)
