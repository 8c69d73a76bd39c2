"""A tokenizer folder: text -> ids, with the span of each piece in the text as given.

The one encoder is the `tokenizers` object in the folder's tokenizer.json, so that training, komlm
and `AutoTokenizer` cut every text alike.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tokenizers

from komlm.text.normalize import Normalized, Normalizer, check_surrogates, nfc

WORD_START = "▁"
"""SentencePiece's mark of a space before a piece."""

_MOST_PADDING = 128

SPECIAL_ROLES = {
    "unk": "unk_token",
    "pad": "pad_token",
    "cls": "cls_token",
    "sep": "sep_token",
    "mask": "mask_token",
}
"""Our names of the five special pieces -> transformers' names of them."""


class Pieces(NamedTuple):
    """The pieces of a text. *Shape of each:* (pieces,)

    Example: ``"나는 갔다"`` with the pieces ▁나 는 ▁갔 다 -> starts 0 1 3 4, ends 1 2 4 5.
    """

    ids: np.ndarray
    """int64: numbers in the vocabulary, without [CLS] and [SEP]."""
    starts: np.ndarray
    """int64: first code point, the space before a piece left out."""
    ends: np.ndarray
    """int64: one past the last code point."""
    bare: np.ndarray
    """bool: a piece that is nothing but a space; its span is empty."""


class Tokenizer:
    """A tokenizer folder that komlm made, or any folder with a tokenizer.json.

    Special names such as [MASK] are ordinary text to :meth:`encode`; :meth:`encode_with_masks`
    reads [MASK] as the mask.

    Example: ``Tokenizer.load(Path("tok")).encode("갔다").ids`` -> the ids of ▁갔 다.
    """

    def __init__(self, folder: Path, backend: tokenizers.Tokenizer, config: dict[str, object]):
        self.folder = folder
        self.vocabulary_size: int = backend.get_vocab_size(with_added_tokens=True)
        self.pieces: list[str] = [str(backend.id_to_token(i)) for i in range(self.vocabulary_size)]
        """Piece of each id."""
        self.special_ids = _special_ids(backend, config, folder)
        self.normalizer = Normalizer.from_exported(backend.normalizer)
        """None: a tokenizer of another make, whose own normaliser does its work unseen."""
        backend.no_padding()
        backend.no_truncation()
        self._reading_masks = backend
        # A second object, since the switch below and the normaliser belong to the object: text
        # comes to it normalised, so its offsets are those of the normalised text.
        self._plain = tokenizers.Tokenizer.from_str(backend.to_str())
        self._plain.encode_special_tokens = True
        if self.normalizer is not None:
            self._plain.normalizer = None
        # With byte fallback, pieces such as <0xEA> are a part of a character each.
        self._lengths_add_up = self.normalizer is not None and not getattr(
            self._plain.model, "byte_fallback", False
        )

    @classmethod
    def load(cls, folder: Path | str) -> Tokenizer:
        """Read a tokenizer folder.

        Raises:
            FileNotFoundError: no such folder, or no tokenizer.json in it.
            ValueError: a tokenizer.json that `tokenizers` cannot read, or a missing special piece.
        """
        folder = Path(folder)
        path = folder / "tokenizer.json"
        if not path.is_file():
            raise FileNotFoundError(
                f"no tokenizer in {folder}: wanted a folder with tokenizer.json. Make one with "
                "`komlm tokenizer train` or `komlm tokenizer import`"
            )
        try:
            backend = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:
            # `tokenizers` raises bare Exceptions for a file that it cannot read.
            raise ValueError(f"{path}: not a tokenizer: {error}") from error
        return cls(folder, backend, _read_config(folder / "tokenizer_config.json"))

    def encode(self, text: str) -> Pieces:
        """Cut a text into pieces.

        Raises:
            ValueError: a lone surrogate; the message names its offset.
        """
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[Pieces]:
        """Cut many texts into pieces; faster than one by one."""
        normalized = [self._normalized(text) for text in texts]
        contents = [normal.text for normal in normalized]
        if not self._lengths_add_up:
            encodings = self._plain.encode_batch(contents, add_special_tokens=False)
            return [
                _from_offsets(encoding, normal)
                for encoding, normal in zip(encodings, normalized, strict=True)
            ]
        encodings = self._plain.encode_batch_fast(contents, add_special_tokens=False)
        return [
            self._from_lengths(encoding, normal)
            for encoding, normal in zip(encodings, normalized, strict=True)
        ]

    def encode_with_masks(self, text: str) -> list[int]:
        """Ids of a text in which [MASK] is the mask, without [CLS] and [SEP].

        Example: ``"어제 [MASK]에 갔다"`` -> ids of ▁어제 [MASK] 에 ▁갔 다: no word start after the
        mask, and the space before the mask goes with it.
        """
        check_surrogates(text)
        ids: list[int] = self._reading_masks.encode(text, add_special_tokens=False).ids
        return ids

    def _normalized(self, text: str) -> Normalized:
        if self.normalizer is not None:
            return self.normalizer(text)
        check_surrogates(text)
        return nfc(text)

    def _from_lengths(self, encoding: tokenizers.Encoding, normal: Normalized) -> Pieces:
        """Spans from the lengths of the pieces, which follow one another without a gap.

        Faster than reading offsets; an unknown piece has no length of its own, so a text that has
        one is cut again with offsets.
        """
        ids = np.array(encoding.ids, dtype=np.int64)
        unk = self.special_ids["unk"]
        if (ids == unk).any():
            full = self._plain.encode(normal.text, add_special_tokens=False)
            return _from_offsets(full, normal)
        lengths, leading, trailing = self._piece_lengths
        ends = np.cumsum(lengths[ids])
        # The pieces begin with a ▁ that the text has not (none in a text that is empty).
        ends -= ends[-1] - len(normal.text) if len(ids) else 0
        starts = ends - lengths[ids] + leading[ids]
        return _in_original(ids, starts, ends - trailing[ids], normal)

    @cached_property
    def _piece_lengths(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Characters of each piece, and how many ▁ it has in front and behind."""
        lengths = np.array([len(piece) for piece in self.pieces])
        leading = np.array([len(piece) - len(piece.lstrip(WORD_START)) for piece in self.pieces])
        trailing = np.array([len(piece) - len(piece.rstrip(WORD_START)) for piece in self.pieces])
        return lengths, leading, np.where(leading == lengths, 0, trailing)

    @property
    def _continuing_prefix(self) -> str | None:
        prefix: str | None = getattr(self._plain.model, "continuing_subword_prefix", None)
        return prefix

    @cached_property
    def word_initial(self) -> np.ndarray:
        """Which pieces begin an eojeol. *Shape:* (vocabulary,) bool

        Read off the mark that the tokenizer's kind uses: ``▁`` or ``Ġ`` in front of a piece that
        begins one, ``##`` in front of one that does not.
        """
        if prefix := self._continuing_prefix:
            return np.array([not piece.startswith(prefix) for piece in self.pieces])
        return np.array([piece.startswith((WORD_START, "Ġ")) for piece in self.pieces])

    @cached_property
    def word_continuing(self) -> np.ndarray:
        """Which pieces can stand inside an eojeol. *Shape:* (vocabulary,) bool

        With a ``##`` tokenizer punctuation has no mark, wherever it stands.
        """
        if self._continuing_prefix:
            marks = [not any(map(str.isalnum, piece)) for piece in self.pieces]
            return ~self.word_initial | np.array(marks)
        return ~self.word_initial

    def surface(self, ids: Sequence[int]) -> str:
        """The text of a run of pieces, without the space in front.

        Example: the ids of ▁학 교 -> ``"학교"``.
        """
        text: str = self._plain.decode(list(ids), skip_special_tokens=False)
        return text.strip()

    def check_fits(self, model_entries: int) -> None:
        """Check that a model's vocabulary is this one's.

        Args:
            model_entries: rows of the model's embedding; a few more than the tokenizer has are
                padding that some models are given for speed.

        Raises:
            ValueError: the sizes differ by more; the message names both.
        """
        if not 0 <= model_entries - self.vocabulary_size < _MOST_PADDING:
            raise ValueError(
                f"the model has {model_entries:,} entries and the tokenizer in {self.folder} has "
                f"{self.vocabulary_size:,}: they do not belong together. Use the tokenizer that "
                "the model was trained with"
            )


def _read_config(path: Path) -> dict[str, object]:
    if not path.is_file():
        return {}
    try:
        config = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a JSON file: {error}") from error
    if not isinstance(config, dict):
        raise ValueError(f"{path}: wanted a JSON object")
    return config


def _special_ids(
    backend: tokenizers.Tokenizer, config: dict[str, object], folder: Path
) -> dict[str, int]:
    ids = {}
    for role, key in SPECIAL_ROLES.items():
        token = config.get(key) or f"[{role.upper()}]"
        content = token.get("content") if isinstance(token, dict) else token
        number = backend.token_to_id(str(content))
        if number is None:
            raise ValueError(
                f"{folder}: the tokenizer has no {content} ({key}); a masked language model needs "
                "all of [UNK] [PAD] [CLS] [SEP] [MASK]"
            )
        ids[role] = int(number)
    return ids


def _from_offsets(encoding: tokenizers.Encoding, normal: Normalized) -> Pieces:
    ids = np.array(encoding.ids, dtype=np.int64)
    offsets = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
    starts, ends = offsets[:, 0], offsets[:, 1]
    text = normal.text
    is_space = np.array([c in (" ", WORD_START) or c.isspace() for c in text] + [False])
    # A piece's span takes in the space before it; the ▁ in front of the text has the first
    # character's span, although it is none of it.
    last = max(len(text) - 1, 0)
    starts = starts + is_space[starts] * (ends > starts)
    ends = np.where((ends > starts) & is_space[np.clip(ends - 1, 0, last)], ends - 1, ends)
    if encoding.tokens and set(encoding.tokens[0]) == {WORD_START}:
        ends[0] = starts[0]
    return _in_original(ids, starts, np.maximum(starts, ends), normal)


def _in_original(
    ids: np.ndarray, starts: np.ndarray, ends: np.ndarray, normal: Normalized
) -> Pieces:
    """Spans in the normalised text -> spans in the text as given."""
    bare = ends <= starts
    if normal.starts is not None and normal.ends is not None and len(ids):
        last = len(normal.text) - 1
        starts = normal.starts[np.clip(starts, 0, last)]
        ends = normal.ends[np.clip(ends - 1, 0, last)]
    if bare.any():
        # An empty span where the next piece begins; at the end, where the piece before ends.
        starts, ends = starts.copy(), ends.copy()
        for i in np.flatnonzero(bare)[::-1].tolist():
            at = starts[i + 1] if i + 1 < len(ids) else (ends[i - 1] if i else 0)
            starts[i] = ends[i] = at
    return Pieces(ids, starts, ends, bare)
