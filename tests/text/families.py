"""A small tokenizer of each family, trained on the embedded corpus; and published ones.

Built when first asked for, once a process.
"""

from __future__ import annotations

import functools
import json
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from tokenizers import AddedToken, decoders, models, normalizers, trainers
from tokenizers import Tokenizer as Backend
from tokenizers import pre_tokenizers as pre

from komlm.corpus import read_documents
from komlm.corpus.source import find_source
from komlm.text.export import write_folder
from komlm.text.loading import load_tokenizer
from komlm.text.normalize import Normalizer
from komlm.text.sentencepiece_model import to_sentencepiece
from komlm.text.tokenizer import Tokenizer
from komlm.text.vocabulary import plain_words_of, train

REAL = Path(__file__).parent.parent.parent.parent / "shared" / "data" / "tokenizers"
SPECIALS = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]"]
ENTRIES = 800


@functools.cache
def texts() -> list[str]:
    """Lines of the embedded corpus, and some of other scripts and sizes."""
    documents = [document.text for document in read_documents(find_source("mini"))]
    lines = [line for text in documents for line in text.splitlines() if line.strip()]
    return [*lines, "The Quick Brown Fox, jumps over É è 漢字 12:30."]


def _ours(kind: str) -> Path:
    words: Counter[str] = Counter()
    for text in texts():
        words.update(plain_words_of(text, Normalizer.default()))
    vocabulary = train(words, 1_600, kind=kind)
    folder = _folder() / "tok"
    write_folder(vocabulary, to_sentencepiece(vocabulary), folder)
    return folder


def _sentencepiece(kind: str, **options: Any) -> Path:
    path = _folder() / "small.model"
    with path.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts()),
            model_writer=file,
            vocab_size=1_500,
            model_type=kind,
            character_coverage=0.98,
            hard_vocab_limit=False,
            num_threads=1,
            minloglevel=2,
            **options,
        )
    return path


def _wordpiece(**options: Any) -> Backend:
    backend = Backend(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(**options)
    backend.pre_tokenizer = pre.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    return _trained(backend, trainers.WordPieceTrainer)


def _bpe() -> Backend:
    backend = Backend(models.BPE(unk_token="[UNK]"))
    backend.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.Strip()])
    backend.pre_tokenizer = pre.Whitespace()
    return _trained(backend, trainers.BpeTrainer, limit_alphabet=300)


def _byte_level(add_prefix_space: bool) -> Backend:
    backend = Backend(models.BPE())
    backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer = pre.ByteLevel(add_prefix_space=add_prefix_space)
    backend.decoder = decoders.ByteLevel()
    return _trained(backend, trainers.BpeTrainer, initial_alphabet=sorted(pre.ByteLevel.alphabet()))


def _byte_fallback() -> Backend:
    """As Llama's: spaces become ▁ in the normaliser, unknown characters bytes."""
    source = Backend(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    source.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    source.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    bytes_ = [f"<0x{number:02X}>" for number in range(256)]
    trainer = trainers.BpeTrainer(
        vocab_size=ENTRIES, special_tokens=["<unk>", "<s>", "</s>", *bytes_], limit_alphabet=300
    )
    source.train_from_iterator([word for text in texts() for word in text.split()], trainer)
    state = Backend.from_str(source.to_str())
    # Bytes are no added tokens: a text may hold the letters <0x41>.
    return _without_added(state, keep={"<unk>", "<s>", "</s>"})


def _unigram() -> Backend:
    """As XLM-R's: NFKC composes ㅎㅏ, a ▁ is put before each word, names in angle brackets."""
    backend = Backend(models.Unigram())
    backend.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()])
    backend.pre_tokenizer = pre.Sequence([pre.WhitespaceSplit(), pre.Metaspace()])
    backend.decoder = decoders.Metaspace()
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.UnigramTrainer(
        vocab_size=1_500, special_tokens=names, unk_token="<unk>", show_progress=False
    )
    backend.train_from_iterator(texts(), trainer)
    return backend


def _trained(backend: Backend, trainer: Callable[..., Any], **options: Any) -> Backend:
    options = {"limit_alphabet": 500, **options}
    backend.train_from_iterator(
        texts(),
        trainer(vocab_size=ENTRIES, special_tokens=SPECIALS, show_progress=False, **options),
    )
    # Not special: what a user adds to a vocabulary, found in the text before anything else.
    backend.add_tokens([AddedToken("감자칩", normalized=True), AddedToken("🙂", normalized=False)])
    return backend


def _without_added(backend: Backend, keep: set[str]) -> Backend:
    state = json.loads(backend.to_str())
    state["added_tokens"] = [one for one in state["added_tokens"] if one["content"] in keep]
    return Backend.from_str(json.dumps(state))


_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []
"""Deleted when the process ends."""


def _folder() -> Path:
    _FOLDERS.append(tempfile.TemporaryDirectory(prefix="komlm-test-"))
    return Path(_FOLDERS[-1].name)


BUILDERS: dict[str, Callable[[], Any]] = {
    "ours, unigram": lambda: _ours("unigram"),
    "ours, bpe": lambda: _ours("bpe"),
    "sentencepiece unigram": lambda: _sentencepiece("unigram"),
    "sentencepiece bpe": lambda: _sentencepiece("bpe", normalization_rule_name="identity"),
    "sentencepiece unigram, bytes": lambda: _sentencepiece("unigram", byte_fallback=True),
    "sentencepiece bpe, bytes": lambda: _sentencepiece("bpe", byte_fallback=True),
    "unigram": _unigram,
    "wordpiece, cased": lambda: _wordpiece(lowercase=False, strip_accents=False),
    "wordpiece, uncased": lambda: _wordpiece(lowercase=True, strip_accents=False),
    "wordpiece, jamo": lambda: _wordpiece(lowercase=True),
    "bpe": _bpe,
    "bpe, bytes": _byte_fallback,
    "byte-level bpe": lambda: _byte_level(add_prefix_space=False),
    "byte-level bpe, prefix": lambda: _byte_level(add_prefix_space=True),
}
"""Trained here: name -> what :func:`load_tokenizer` is given."""

PUBLISHED = ("kobert", "kcbert", "koelectra", "kortok_sp-8k", "kortok_mecab_sp-8k")
FAMILIES = [*BUILDERS, *PUBLISHED]


@functools.cache
def source_of(family: str) -> Any:
    """What :func:`load_tokenizer` is given; skips where a published one is not there."""
    if family in BUILDERS:
        return BUILDERS[family]()
    if not (REAL / family).is_dir():
        pytest.skip("needs ../shared, published tokenizers that are not part of the project")
    return REAL / family


@functools.cache
def tokenizer_of(family: str) -> Tokenizer:
    """The tokenizer of a family."""
    return load_tokenizer(source_of(family))


@functools.cache
def sentencepiece_of(family: str) -> sentencepiece.SentencePieceProcessor:
    """SentencePiece itself, with the model of a family."""
    source = source_of(family)
    path = next(source.glob("*.model")) if source.is_dir() else source
    return sentencepiece.SentencePieceProcessor(model_file=str(path))
