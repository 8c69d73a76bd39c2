"""SentencePiece's precompiled character map, compiled from a table."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

proto: Any = sentencepiece_model_pb2  # its classes are made at run time, unseen by type checkers


def compile_charsmap(table: Mapping[str, str]) -> bytes:
    """SentencePiece's precompiled character map of a table: what to replace -> by what.

    The bytes are those of ``NormalizerSpec.precompiled_charsmap`` in a SentencePiece model and
    what ``tokenizers.normalizers.Precompiled`` takes. SentencePiece cannot hold NUL as a key: a
    NUL in the table is left out, and the caller drops NUL in another way. An empty table is
    a ValueError, since SentencePiece has no map without an entry.

    Example: ``Precompiled(compile_charsmap({"…": "..."})).normalize_str("음…")`` -> ``"음..."``.
    """
    lines = [
        f"{_hex(source)}\t{_hex(target)}\n"
        for source, target in sorted(table.items())
        if source and "\0" not in source
    ]
    if not lines:
        raise ValueError(
            "the character map has no entry that SentencePiece can hold (empty, or only NUL); "
            "give at least one, or use b'' where no map is wanted"
        )
    model = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder) / "rules.tsv"
        rules.write_text("".join(lines), encoding="utf-8")
        # SentencePiece compiles a map only while training; the text it trains on is of no account.
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["가나다 abc"] * 8),
            model_writer=model,
            model_type="char",
            vocab_size=16,
            hard_vocab_limit=False,
            normalization_rule_tsv=str(rules),
            minloglevel=2,
        )
    trained = proto.ModelProto.FromString(model.getvalue())
    charsmap: bytes = trained.normalizer_spec.precompiled_charsmap
    return charsmap


def _hex(text: str) -> str:
    return " ".join(f"{ord(char):04X}" for char in text)
