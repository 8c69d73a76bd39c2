"""A WordPiece tokenizer from a vocab.txt alone, as BERT models were published with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors

from komlm.text.specials import special_ids

_FIRST_SYLLABLE, _LAST_SYLLABLE = "가", "힣"


def read_vocab(path: Path, config: Mapping[str, Any]) -> tokenizers.Tokenizer:
    """The `tokenizers` object of a vocab.txt, a piece a line.

    Without a tokenizer_config.json that says otherwise, the vocabulary tells what is done to text:
    letters are made small where it has no capital letter, and accents fall away only where besides
    that it has no Hangul syllable, for taking accents away also takes syllables apart.

    Args:
        config: what tokenizer_config.json says (do_lower_case, strip_accents,
            tokenize_chinese_chars and the names of the special pieces).

    Raises:
        ValueError: not UTF-8, or no piece for unknown words.

    Example: ``read_vocab(Path("kcbert/vocab.txt"), {}).encode("갔다").tokens`` -> 갔다.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8: {error}") from error
    pieces = [line.rstrip("\r") for line in lines]
    vocabulary = {piece: number for number, piece in enumerate(pieces) if piece}
    backend = tokenizers.Tokenizer(models.WordPiece(vocabulary))
    specials = special_ids(backend, config)
    if "unk" not in specials:
        raise ValueError(f"{path}: no [UNK] among its pieces; wanted a WordPiece vocabulary")
    names = {role: pieces[number] for role, number in specials.items()}
    backend.model = models.WordPiece(vocabulary, unk_token=names["unk"])
    backend.normalizer = _normalizer([p for p in vocabulary if p not in names.values()], config)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.add_special_tokens([AddedToken(name, normalized=False) for name in names.values()])
    if {"cls", "sep"} <= set(names):
        backend.post_processor = processors.BertProcessing(
            (names["sep"], specials["sep"]), (names["cls"], specials["cls"])
        )
    return backend


def _normalizer(pieces: list[str], config: Mapping[str, Any]) -> normalizers.Normalizer:
    lowercase, strip_accents = config.get("do_lower_case"), config.get("strip_accents")
    if lowercase is None:
        lowercase = not any(any(map(str.isupper, piece)) for piece in pieces)
        if strip_accents is None:
            has_syllables = any(
                any(_FIRST_SYLLABLE <= char <= _LAST_SYLLABLE for char in piece) for piece in pieces
            )
            strip_accents = lowercase and not has_syllables
    return normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=config.get("tokenize_chinese_chars", True),
        strip_accents=strip_accents,
        lowercase=lowercase,
    )
