"""Writing a tokenizer folder that `AutoTokenizer` loads where komlm is not installed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import tokenizers
from tokenizers import AddedToken, decoders, models, pre_tokenizers, processors

from komlm.files import folder_written_whole
from komlm.text.normalize import Normalizer
from komlm.text.pieces import WORD_START
from komlm.text.specials import SPECIAL_ROLES, cut_inside

SPECIALS = ("[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]")
"""The first entries of every vocabulary that komlm makes: KoBERT's layout."""


@dataclass(frozen=True)
class Vocabulary:
    """Pieces in the order of their ids, the special ones among them, and how text is cut by them.

    Example: ``Vocabulary(pieces=("[UNK]", ..., "▁학교"), scores=(0.0, ..., -7.1), kind="unigram",
    normalizer=Normalizer.default())``.
    """

    pieces: tuple[str, ...]
    scores: tuple[float, ...]
    """Unigram: log-probabilities. BPE: the higher, the earlier a merge."""
    kind: str
    """``"unigram"`` or ``"bpe"``."""
    normalizer: Normalizer
    add_dummy_prefix: bool = True
    """Text begins with a ``▁`` as though a space stood before it."""
    byte_fallback: bool = False
    """Unknown characters become bytes."""
    specials: tuple[str, ...] = SPECIALS
    """Pieces that no text holds, whatever the letters in it."""
    unk: str = SPECIALS[0]
    """The one of them that stands for unknown characters."""


def build_backend(vocabulary: Vocabulary) -> tokenizers.Tokenizer:
    """The `tokenizers` object of a vocabulary.

    Example: ``build_backend(v).encode("갔다", add_special_tokens=False).tokens`` -> ▁갔 다.
    """
    backend = tokenizers.Tokenizer(_model(vocabulary))
    backend.normalizer = vocabulary.normalizer.export()
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            # "first": a stretch after [MASK] begins a word only if a space stands there.
            pre_tokenizers.Metaspace(
                WORD_START,
                prepend_scheme="first" if vocabulary.add_dummy_prefix else "never",
                split=False,
            ),
            # The model would take "[SEP]" in a corpus text for the piece of that name.
            *cut_inside(vocabulary.specials),
        ]
    )
    backend.decoder = _decoder(vocabulary)
    backend.add_special_tokens(
        [AddedToken(special, normalized=False) for special in vocabulary.specials]
    )
    if {"[CLS]", "[SEP]"} <= set(vocabulary.specials):
        cls, sep = (vocabulary.pieces.index(special) for special in ("[CLS]", "[SEP]"))
        backend.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[("[CLS]", cls), ("[SEP]", sep)],
        )
    return backend


def _model(vocabulary: Vocabulary) -> models.Model:
    pieces, scores = vocabulary.pieces, vocabulary.scores
    unk = pieces.index(vocabulary.unk)
    if vocabulary.kind == "unigram":
        entries = list(zip(pieces, scores, strict=True))
        return models.Unigram(entries, unk_id=unk, byte_fallback=vocabulary.byte_fallback)
    return models.BPE(
        {piece: i for i, piece in enumerate(pieces)},
        _merges(vocabulary),
        unk_token=vocabulary.unk,
        fuse_unk=True,
        byte_fallback=vocabulary.byte_fallback,
    )


def _merges(vocabulary: Vocabulary) -> list[tuple[str, str]]:
    """All ways to make each piece, best piece first.

    SentencePiece joins the neighbours whose join has the best score.
    """
    known = dict(zip(vocabulary.pieces, vocabulary.scores, strict=True))
    for special in vocabulary.specials:
        known.pop(special, None)
    ways = []
    for piece, score in known.items():
        for cut in range(1, len(piece)):
            left, right = piece[:cut], piece[cut:]
            if left in known and right in known:
                ways.append((-score, -known[left], -known[right], left, right))
    return [(left, right) for *_, left, right in sorted(ways)]


def _decoder(vocabulary: Vocabulary) -> decoders.Decoder:
    scheme = "always" if vocabulary.add_dummy_prefix else "never"
    spaces = decoders.Metaspace(WORD_START, prepend_scheme=scheme, split=False)
    if not vocabulary.byte_fallback:
        return spaces
    return decoders.Sequence([decoders.ByteFallback(), decoders.Fuse(), spaces])


def write_folder(vocabulary: Vocabulary, sentencepiece_model: bytes, folder: Path) -> None:
    """Write tokenizer.json, tokenizer_config.json, special_tokens_map.json and tokenizer.model.

    Args:
        sentencepiece_model: the same vocabulary as a SentencePiece model, for other programs.

    Raises:
        ValueError: the folder exists; the message says what to do.
    """
    if folder.exists():
        raise ValueError(f"{folder} exists already: choose another -o, or delete it first")
    folder.parent.mkdir(parents=True, exist_ok=True)
    specials = {key: f"[{role.upper()}]" for role, key in SPECIAL_ROLES.items()}
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        **specials,
    }
    with folder_written_whole(folder) as beside:
        # Not backend.save(): it tells of a full disk by a bare Exception.
        (beside / "tokenizer.json").write_text(
            build_backend(vocabulary).to_str(pretty=True), encoding="utf-8"
        )
        (beside / "tokenizer.model").write_bytes(sentencepiece_model)
        for name, content in (("tokenizer_config", config), ("special_tokens_map", specials)):
            text = json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True)
            (beside / f"{name}.json").write_text(text + "\n", encoding="utf-8")
