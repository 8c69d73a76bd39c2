"""A tokenizer from whatever people have: a folder, a file, a name on the hub, an object."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import tokenizers

from komlm.text.specials import SPECIAL_ROLES, read_config, special_ids
from komlm.text.tokenizer import Tokenizer
from komlm.text.wordpiece import read_vocab

SENTENCEPIECE_FILES = ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model")
"""The names that a SentencePiece model has in folders of transformers."""

_WORDPIECE_CLASSES = tuple(
    name + speed
    for name in ("BertTokenizer", "ElectraTokenizer", "DistilBertTokenizer")
    for speed in ("", "Fast")
)
_HUB_ID = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
_SAMPLES = ("나는 어제 학교에 갔다.", "It's 3 o'clock, 안녕하세요!")
_WANTED = (
    "wanted a folder with tokenizer.json, vocab.txt or a SentencePiece model, a .model file, an id "
    "on the Hugging Face hub, or a tokenizer object of transformers, tokenizers or sentencepiece"
)


def load_tokenizer(source: Any) -> Tokenizer:
    """Read a tokenizer of any make. Its ids are those that the source itself gives.

    Args:
        source: one of

            * a folder with a tokenizer.json, a vocab.txt (WordPiece), or a SentencePiece model;
            * a SentencePiece ``.model`` or a ``tokenizer.json``;
            * an id on the Hugging Face hub (a ``str``; a ``Path`` is always a place on this
              machine), read by transformers without running code from there;
            * an object: a :class:`Tokenizer`, a ``tokenizers.Tokenizer``, a tokenizer of
              transformers, a ``sentencepiece.SentencePieceProcessor``. It is left as it is.

    Raises:
        FileNotFoundError: no such folder or file, no tokenizer in it, or no such id on the hub.
        ValueError: a damaged file, or a tokenizer that cannot tell where its pieces stood; the
            message says what to do.
        TypeError: a source of another kind.

    Example: ``load_tokenizer("klue/bert-base").encode("갔다").ids``.
    """
    if isinstance(source, Tokenizer):
        return source
    if isinstance(source, (str, Path)):
        return _from_place(source)
    if isinstance(source, tokenizers.Tokenizer):
        return _from_backend(source, "the tokenizers.Tokenizer")
    if hasattr(source, "serialized_model_proto"):
        return _from_sentencepiece(source.serialized_model_proto(), "the SentencePieceProcessor")
    if hasattr(source, "convert_ids_to_tokens"):
        return _from_transformers(source)
    raise TypeError(f"a tokenizer cannot be made of a {type(source).__name__}: {_WANTED}")


def _from_place(source: str | Path) -> Tokenizer:
    path = Path(source)
    if path.is_dir():
        return _from_folder(path)
    if path.is_file():
        return _from_file(path)
    if isinstance(source, str) and _HUB_ID.fullmatch(source) and path.suffix != ".model":
        return _from_hub(source)
    raise FileNotFoundError(f"no tokenizer in {source}: there is nothing of that name; {_WANTED}")


def _from_file(path: Path) -> Tokenizer:
    if path.name == "tokenizer.json":
        return Tokenizer.load(path.parent, all_specials=False)
    if path.name == "vocab.txt":
        return _from_vocab(path)
    return _from_sentencepiece(path.read_bytes(), str(path))


def _from_folder(folder: Path) -> Tokenizer:
    if (folder / "tokenizer.json").is_file():
        return Tokenizer.load(folder, all_specials=False)
    if read_config(folder).get("tokenizer_class") not in (None, *_WORDPIECE_CLASSES):
        # What such a class does with its files, only transformers knows: XLM-R has other ids than
        # its SentencePiece model, a Japanese BERT cuts words by a dictionary first.
        return _by_transformers(str(folder), local=True)
    if (folder / "vocab.txt").is_file():
        return _from_vocab(folder / "vocab.txt")
    models = [folder / name for name in SENTENCEPIECE_FILES if (folder / name).is_file()]
    models = models[:1] or sorted(folder.glob("*.model"))
    if len(models) > 1:
        names = ", ".join(path.name for path in models)
        raise ValueError(f"{folder} holds several models ({names}): name the file that is meant")
    if not models:
        raise FileNotFoundError(f"no tokenizer in {folder}: {_WANTED}")
    return _from_sentencepiece(models[0].read_bytes(), str(models[0]))


def _from_vocab(path: Path) -> Tokenizer:
    config = read_config(path.parent)
    backend = read_vocab(path, config)
    return Tokenizer(backend, special_ids(backend, config), str(path))


def _from_hub(name: str) -> Tokenizer:
    try:
        return _by_transformers(name, local=False)
    except OSError as error:
        # transformers tells of every file that it looked for; the first sentence says it.
        reason = str(error).strip().partition("\n")[0]
        raise FileNotFoundError(
            f"no tokenizer in {name}: there is nothing of that name here, and the Hugging Face hub "
            f"gave none: {reason}"
        ) from error


def _by_transformers(name: str, local: bool) -> Tokenizer:
    # Imported here: it brings torch, and takes seconds.
    from transformers import AutoTokenizer

    return _from_transformers(
        AutoTokenizer.from_pretrained(name, trust_remote_code=False, local_files_only=local), name
    )


def _from_transformers(source: Any, name: str = "") -> Tokenizer:
    kind = type(source).__name__
    name = name or f"the {kind}"
    backend = getattr(source, "backend_tokenizer", None)
    model: Any = getattr(source, "sp_model", None)
    if isinstance(backend, tokenizers.Tokenizer):
        specials = _special_ids_of(source)
        return Tokenizer(_copied(backend, name), specials, name)
    if not hasattr(model, "serialized_model_proto"):
        raise ValueError(
            f"{kind} cannot tell where its pieces stood in the text: it is a slow tokenizer and "
            "has no SentencePiece model. Load its fast form, AutoTokenizer.from_pretrained(NAME), "
            "or give the tokenizers.Tokenizer that cuts text as it does"
        )
    tokenizer = _from_sentencepiece(model.serialized_model_proto(), name, source)
    for text in _SAMPLES:
        wanted = source.encode(text, add_special_tokens=False)
        if tokenizer.encode(text).ids.tolist() != wanted:
            raise ValueError(
                f"{kind} does more than its SentencePiece model, such as in {text!r}: load its "
                "fast form with AutoTokenizer.from_pretrained(NAME)"
            )
    return tokenizer


def _from_sentencepiece(content: bytes, name: str, source: Any = None) -> Tokenizer:
    """A SentencePiece model as our one encoder.

    Args:
        source: a tokenizer of transformers whose ids and special pieces count.
    """
    # Imported here: only this needs SentencePiece.
    from komlm.text.export import build_backend
    from komlm.text.sentencepiece_model import read_model_as_it_is

    order = None if source is None else source.convert_ids_to_tokens(range(len(source)))
    vocabulary = read_model_as_it_is(content, name, order)
    backend = build_backend(vocabulary)
    if source is not None:
        return Tokenizer(backend, _special_ids_of(source), name)
    return Tokenizer(backend, special_ids(backend, {"unk_token": vocabulary.unk}), name)


def _from_backend(backend: tokenizers.Tokenizer, name: str) -> Tokenizer:
    state = json.loads(_serialized(backend, name))["model"]
    config = {"unk_token": state["unk_token"]} if state.get("unk_token") else {}
    return Tokenizer(_copied(backend, name), special_ids(backend, config), name)


def _copied(backend: tokenizers.Tokenizer, name: str) -> tokenizers.Tokenizer:
    """A copy, since the user's own is neither to lose its padding nor its truncation."""
    return tokenizers.Tokenizer.from_str(_serialized(backend, name))


def _serialized(backend: tokenizers.Tokenizer, name: str) -> str:
    try:
        return str(backend.to_str())
    except Exception as error:
        # `tokenizers` raises a bare Exception for a part that is written in Python.
        raise ValueError(
            f"{name} has a part of its own making that cannot be copied ({error}): give one whose "
            "parts are those of `tokenizers`"
        ) from error


def _special_ids_of(source: Any) -> dict[str, int]:
    found = {role: getattr(source, f"{key}_id", None) for role, key in SPECIAL_ROLES.items()}
    return {role: int(number) for role, number in found.items() if number is not None}
