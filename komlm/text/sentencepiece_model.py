"""SentencePiece models: learnt, read and written.

SentencePiece learns and reads; what cuts text is the `tokenizers` object that
:mod:`komlm.text.export` builds.
"""

from __future__ import annotations

import io
import re
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
from google.protobuf.message import DecodeError
from sentencepiece import sentencepiece_model_pb2

from komlm.text.export import SPECIALS, Vocabulary
from komlm.text.normalize import Normalizer
from komlm.text.pieces import WORD_START

proto: Any = sentencepiece_model_pb2  # its classes are made at run time, unseen by type checkers

BOUNDARY = "\x1f"
"""Stands between two morpheme units of a word while learning; no normalised text holds it."""

_COVERAGE = 0.9995
_LONGEST_WORD = 1_000
_CUT_AT_ONCE = 100_000
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
_SPECIAL_NAME = re.compile(
    r"\[(UNK|PAD|CLS|SEP|MASK|BOS|EOS)\]|</?(s|unk|pad|cls|sep|mask|bos|eos)>"
)
# SentencePiece's numbers of model types and piece types (sentencepiece_model.proto).
_KIND_OF_TYPE = {1: "unigram", 2: "bpe"}
_NORMAL, _UNKNOWN, _USER_DEFINED, _BYTE_PIECE = 1, 2, 4, 6


def learn(words: Mapping[str, int], size: int, kind: str) -> Vocabulary:
    """What SentencePiece itself learns: ``size`` entries, or fewer where the words give no more.

    Args:
        words: word -> count; no piece crosses a :data:`BOUNDARY` in a word.
        kind: ``"unigram"`` or ``"bpe"``.
    """
    model = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "words.tsv"
        with counts.open("w", encoding="utf-8") as file:
            # Sorted, so that equal counts give an equal vocabulary.
            for word, count in sorted(words.items(), key=lambda item: (-item[1], item[0])):
                file.writelines(f"{part}\t{count}\n" for part in _short_enough(word))
        sentencepiece.SentencePieceTrainer.train(
            input=str(counts),
            input_format="tsv",
            model_writer=model,
            vocab_size=size,
            model_type=kind,
            pretokenization_delimiter=BOUNDARY,
            normalization_rule_name="identity",
            character_coverage=_COVERAGE,
            hard_vocab_limit=False,
            unk_id=0,
            pad_id=1,
            bos_id=2,
            eos_id=3,
            unk_piece=SPECIALS[0],
            pad_piece=SPECIALS[1],
            bos_piece=SPECIALS[2],
            eos_piece=SPECIALS[3],
            control_symbols=[SPECIALS[4]],
            # The result depends on the number of threads.
            num_threads=1,
            minloglevel=2,
        )
    return read_model(model.getvalue(), "the model just trained")


def count_pieces(vocabulary: Vocabulary, stretches: Mapping[str, int]) -> list[int]:
    """How often each piece is used when each stretch is cut by itself, by its count.

    Example: with the pieces ▁학교 and 에, ``{"▁학교": 10, "에": 10}`` -> 10 and 10.
    """
    texts = list(stretches)
    model = to_sentencepiece(vocabulary, whole_text=False)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    counts = np.zeros(len(vocabulary.pieces), dtype=np.int64)
    # In batches, since a Python list of all ids would need ten times the memory of the text.
    for first in range(0, len(texts), _CUT_AT_ONCE):
        batch = texts[first : first + _CUT_AT_ONCE]
        found = processor.encode(batch, num_threads=1)
        weights = np.repeat([stretches[text] for text in batch], [len(ids) for ids in found])
        flat = np.array([number for ids in found for number in ids], dtype=np.int64)
        np.add.at(counts, flat, weights.astype(np.int64))
    return [int(count) for count in counts]


def least_size(words: Mapping[str, int]) -> int:
    """Entries that the specials and the characters of the words alone take."""
    return len(SPECIALS) + len(_kept_characters(words))


def _kept_characters(words: Mapping[str, int]) -> set[str]:
    """The characters that SentencePiece gives an entry: the commonest, to the share covered."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
        counts[WORD_START] += count
    counts.pop(BOUNDARY, None)
    total, covered, kept = sum(counts.values()), 0, set()
    for character, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if covered >= total * _COVERAGE:
            break
        kept.add(character)
        covered += count
    return kept


def _short_enough(word: str) -> list[str]:
    """SentencePiece skips what is over 4,192 bytes and says nothing: longer words come in parts."""
    if len(word) <= _LONGEST_WORD:
        return [word]
    parts = [word[i : i + _LONGEST_WORD] for i in range(0, len(word), _LONGEST_WORD)]
    return [part for p in parts if (part := p.strip(BOUNDARY))]


def to_sentencepiece(vocabulary: Vocabulary, whole_text: bool = True) -> bytes:
    """The vocabulary as a SentencePiece model file.

    Args:
        whole_text: treat spaces as text needs it; False cuts a stretch exactly as it is given.
    """
    kinds = proto.ModelProto.SentencePiece
    model = proto.ModelProto()
    for piece, score in zip(vocabulary.pieces, vocabulary.scores, strict=True):
        if piece == SPECIALS[0]:
            kind = kinds.UNKNOWN
        elif piece in SPECIALS:
            kind = kinds.CONTROL
        elif vocabulary.byte_fallback and _BYTE.fullmatch(piece):
            kind = kinds.BYTE
        else:
            kind = kinds.NORMAL
        model.pieces.add(piece=piece, score=score, type=kind)
    trainer = model.trainer_spec
    trainer.model_type = trainer.UNIGRAM if vocabulary.kind == "unigram" else trainer.BPE
    trainer.vocab_size = len(vocabulary.pieces)
    trainer.byte_fallback = vocabulary.byte_fallback
    roles = ("unk", "pad", "bos", "eos")
    for role, special in zip(roles, SPECIALS, strict=False):
        setattr(trainer, f"{role}_id", vocabulary.pieces.index(special))
        setattr(trainer, f"{role}_piece", special)
    normalizer = model.normalizer_spec
    normalizer.name = "komlm"
    if whole_text:
        normalizer.precompiled_charsmap = vocabulary.normalizer.charsmap
    normalizer.add_dummy_prefix = whole_text and vocabulary.add_dummy_prefix
    normalizer.remove_extra_whitespaces = whole_text and vocabulary.normalizer.collapse
    normalizer.escape_whitespaces = True
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def read_model(content: bytes, name: str, order: Sequence[str] | None = None) -> Vocabulary:
    """Read a SentencePiece model into KoBERT's layout, with the model's own normalisation.

    The model's special pieces ([CLS], <s>, <pad> and the like) fall away; the five specials come
    first, then the other pieces in the model's order, or all in the given ``order``.

    Args:
        content: the bytes of a .model file.
        name: what errors call it.
        order: piece of each id, the five specials among them (a published vocabulary).

    Raises:
        ValueError: not a SentencePiece model of type unigram or BPE; or an ``order`` that names
            pieces the model has not, or lacks a special.
    """
    model = _parsed(content, name)
    ordinary = _ordinary(model)
    if order is None:
        order = [*SPECIALS, *ordinary]
    _check_order(order, ordinary, name)
    scores = tuple(0.0 if piece in SPECIALS else ordinary[piece] for piece in order)
    return _vocabulary(model, tuple(order), scores)


def read_model_as_it_is(
    content: bytes, name: str, order: Sequence[str] | None = None
) -> Vocabulary:
    """Read a SentencePiece model with its own ids and special pieces, for aligning.

    Args:
        content: the bytes of a .model file.
        name: what errors call it.
        order: piece of each id where a program has others than the model, special pieces of its
            own among them.

    Raises:
        ValueError: not a SentencePiece model of type unigram or BPE.

    Example: ``read_model_as_it_is(content, "kobert.model").pieces[:2]`` -> ``("<unk>", "<s>")``.
    """
    model = _parsed(content, name)
    ordinary = _ordinary(model)
    pieces = tuple(order) if order is not None else tuple(p.piece for p in model.pieces)
    vocabulary = _vocabulary(model, pieces, tuple(ordinary.get(piece, 0.0) for piece in pieces))
    unk = next(piece.piece for piece in model.pieces if piece.type == _UNKNOWN)
    if unk not in pieces:
        raise ValueError(f"{name}: the vocabulary lacks {unk}, its piece for unknown characters")
    specials = tuple(piece for piece in pieces if piece not in ordinary)
    return replace(vocabulary, specials=specials, unk=unk)


def _parsed(content: bytes, name: str) -> Any:
    model = proto.ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError as error:
        raise ValueError(f"{name}: not a SentencePiece model: {error}") from error
    if not model.pieces or model.trainer_spec.model_type not in _KIND_OF_TYPE:
        raise ValueError(f"{name}: wanted a SentencePiece model of type unigram or BPE")
    spec = model.normalizer_spec
    if model.trainer_spec.treat_whitespace_as_suffix or not spec.escape_whitespaces:
        raise ValueError(
            f"{name}: its pieces do not begin with a space (treat_whitespace_as_suffix or no "
            "escape_whitespaces); wanted a model trained without these options"
        )
    return model


def _ordinary(model: Any) -> dict[str, float]:
    """The pieces that text is cut into, and their scores."""
    return {
        piece.piece: piece.score
        for piece in model.pieces
        if piece.type in (_NORMAL, _USER_DEFINED, _BYTE_PIECE)
        and not _SPECIAL_NAME.fullmatch(piece.piece)
    }


def _vocabulary(model: Any, pieces: tuple[str, ...], scores: tuple[float, ...]) -> Vocabulary:
    spec = model.normalizer_spec
    return Vocabulary(
        pieces=pieces,
        scores=scores,
        kind=_KIND_OF_TYPE[model.trainer_spec.model_type],
        normalizer=Normalizer(spec.precompiled_charsmap, collapse=spec.remove_extra_whitespaces),
        add_dummy_prefix=spec.add_dummy_prefix,
        byte_fallback=model.trainer_spec.byte_fallback,
    )


def _check_order(order: Sequence[str], ordinary: Mapping[str, float], name: str) -> None:
    missing = [special for special in SPECIALS if special not in order]
    if missing:
        raise ValueError(f"the vocabulary for {name} lacks {', '.join(missing)}")
    strange = [piece for piece in order if piece not in ordinary and piece not in SPECIALS]
    if strange:
        raise ValueError(
            f"the vocabulary and {name} do not belong together: {len(strange):,} of its pieces are "
            f"not in the model, such as {strange[0]!r}"
        )
    if len(set(order)) != len(order):
        raise ValueError(f"the vocabulary for {name} names a piece twice")
