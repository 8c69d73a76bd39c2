"""What all tests share: one Kiwi, and a small tokenizer trained on the embedded corpus."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from komlm.corpus import read_documents
from komlm.corpus.source import find_source
from komlm.text.analysis import Analyzer
from komlm.text.export import write_folder
from komlm.text.normalize import Normalizer
from komlm.text.sentencepiece_model import to_sentencepiece
from komlm.text.tokenizer import Tokenizer
from komlm.text.vocabulary import train, words_of

# CI asks for many examples (HYPOTHESIS_PROFILE=many, more by HYPOTHESIS_EXAMPLES=25000); a
# developer's run stays short.
settings.register_profile("default", deadline=None, max_examples=100)
settings.register_profile(
    "many",
    deadline=None,
    max_examples=int(os.environ.get("HYPOTHESIS_EXAMPLES", "5000")),
    suppress_health_check=list(HealthCheck),
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

SHARED = Path(__file__).parent.parent.parent / "shared"
"""Real data, beside the checkout; tests that need it skip where it is absent."""


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data."""
    if not SHARED.is_dir():
        pytest.skip("needs ../shared, real Korean data that is not part of the project")
    return SHARED


@pytest.fixture(scope="session")
def analyzer() -> Analyzer:
    """One Kiwi for all tests: it takes seconds to build."""
    return Analyzer()


@pytest.fixture(scope="session")
def mini_words(analyzer: Analyzer) -> Counter[str]:
    """The words of the embedded corpus with their morpheme boundaries."""
    words: Counter[str] = Counter()
    for document in read_documents(find_source("mini")):
        words.update(words_of(analyzer(document.text, forms=False), Normalizer.default()))
    return words


@pytest.fixture(scope="session")
def tokenizer_folder(mini_words: Counter[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A morpheme-aware tokenizer of 2,000 entries."""
    folder = tmp_path_factory.mktemp("tokenizers") / "mini"
    vocabulary = train(mini_words, 2000)
    write_folder(vocabulary, to_sentencepiece(vocabulary), folder)
    return folder


@pytest.fixture(scope="session")
def tokenizer(tokenizer_folder: Path) -> Tokenizer:
    """The same, loaded."""
    return Tokenizer.load(tokenizer_folder)
