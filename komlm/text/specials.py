"""The special pieces of a tokenizer: which it has, and how text is kept from being read as one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import Regex, pre_tokenizers

SPECIAL_ROLES = {
    "unk": "unk_token",
    "pad": "pad_token",
    "cls": "cls_token",
    "sep": "sep_token",
    "mask": "mask_token",
}
"""Our names of the five special pieces -> transformers' names of them."""
_USUAL_NAMES = {
    "unk": ("[UNK]", "<unk>"),
    "pad": ("[PAD]", "<pad>"),
    "cls": ("[CLS]", "<s>"),
    "sep": ("[SEP]", "</s>"),
    "mask": ("[MASK]", "<mask>"),
}


def read_config(folder: Path) -> dict[str, Any]:
    """What tokenizer_config.json says; empty where there is none."""
    path = folder / "tokenizer_config.json"
    if not path.is_file():
        return {}
    try:
        config = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a JSON file: {error}") from error
    if not isinstance(config, dict):
        raise ValueError(f"{path}: wanted a JSON object")
    return config


def special_ids(backend: tokenizers.Tokenizer, config: Mapping[str, Any]) -> dict[str, int]:
    """Role -> id of the special pieces that a tokenizer has: by the names that its configuration
    gives, else by the usual ones ([MASK], <mask>).

    Example: ``special_ids(backend, {"mask_token": "<mask>"})`` -> ``{"unk": 3, "mask": 250001}``.
    """
    ids: dict[str, int] = {}
    for role, key in SPECIAL_ROLES.items():
        token = config.get(key)
        content = token.get("content") if isinstance(token, dict) else token
        for name in (str(content),) if content else _USUAL_NAMES[role]:
            number = backend.token_to_id(name)
            if number is not None:
                ids.setdefault(role, int(number))
    return ids


def reading_names_as_text(backend: tokenizers.Tokenizer) -> tokenizers.Tokenizer:
    """A copy that takes the name of a special piece in a text for letters, and cuts every text in
    one way, whatever dropout the original was trained with."""
    copy = tokenizers.Tokenizer.from_str(backend.to_str())
    copy.encode_special_tokens = True
    if getattr(copy.model, "dropout", None) is not None:
        copy.model.dropout = None
    return copy


def cutting_names(backend: tokenizers.Tokenizer, names: Sequence[str]) -> tokenizers.Tokenizer:
    """A copy that also cuts the names of special pieces: some models take the letters [SEP] for the
    piece of that name, which is in their vocabulary."""
    copy = reading_names_as_text(backend)
    own = [] if copy.pre_tokenizer is None else [copy.pre_tokenizer]
    copy.pre_tokenizer = pre_tokenizers.Sequence([*own, *cut_inside(names)])
    return copy


def cut_inside(names: Iterable[str]) -> list[pre_tokenizers.PreTokenizer]:
    """Pre-tokenizers that cut each of these names after its first character, so that no model takes
    a name in a text for the piece of that name.

    Example: ``["[SEP]", "[CLS]"]`` -> one that cuts ``"[SEP]"`` into ``[`` and ``SEP]``.
    """
    inner: dict[tuple[str, str], list[str]] = {}
    for name in names:
        if len(name) > 2:
            inner.setdefault((name[0], name[-1]), []).append(re.escape(name[1:-1]))
    return [
        pre_tokenizers.Split(
            Regex(rf"(?<={re.escape(first)})(?=({'|'.join(middles)}){re.escape(last)})"), "isolated"
        )
        for (first, last), middles in inner.items()
    ]
