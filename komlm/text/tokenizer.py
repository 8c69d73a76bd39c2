"""A tokenizer: text -> ids, with the span of each piece in the text as given.

The one encoder is a `tokenizers` object, that of the folder's tokenizer.json, so that training,
komlm and `AutoTokenizer` cut every text alike. :mod:`komlm.text.loading` makes one of everything
else that people have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers

from komlm.text.normalize import Normalized, Normalizer, check_surrogates, nfc
from komlm.text.pieces import (
    WORD_START,
    Pieces,
    Reading,
    from_offsets,
    has_byte_fallback,
    in_original,
    reading_of,
)
from komlm.text.specials import (
    SPECIAL_ROLES,
    cutting_names,
    read_config,
    reading_names_as_text,
    special_ids,
)

_MOST_PADDING = 128


class Tokenizer:
    """A `tokenizers` object, read so that spans can be relied on.

    Special names such as [MASK] are ordinary text to :meth:`encode`; :meth:`encode_with_masks`
    reads [MASK] as the mask.

    Args:
        backend: what cuts text. It is kept and set to neither pad nor truncate: give a copy of one
            that somebody else uses.
        special_ids: role -> id, the roles of :data:`SPECIAL_ROLES`; one that the tokenizer has not
            is left out, and :meth:`specials_for` refuses where it is needed.
        name: what errors call it.
        folder: the folder with its tokenizer.json, if there is one.

    Example: ``Tokenizer.load(Path("tok")).encode("갔다").ids`` -> the ids of ▁갔 다.
    """

    def __init__(
        self,
        backend: tokenizers.Tokenizer,
        special_ids: Mapping[str, int],
        name: str,
        folder: Path | None = None,
    ) -> None:
        self.name = name
        self._folder = folder
        backend.no_padding()
        backend.no_truncation()
        vocabulary = backend.get_vocab(with_added_tokens=True)
        self.vocabulary_size: int = max(vocabulary.values(), default=-1) + 1
        """One more than the largest id."""
        self.pieces: list[str] = [""] * self.vocabulary_size
        """Piece of each id; empty where an id has none."""
        for piece, number in vocabulary.items():
            self.pieces[number] = piece
        self.special_ids = dict(special_ids)
        self.normalizer = Normalizer.from_exported(backend.normalizer)
        """None: a tokenizer of another make, whose own normaliser does its work unseen."""
        self._reading_masks = backend
        # A second object, since the switch below and the normaliser belong to the object: text
        # comes to it normalised, so its offsets are those of the normalised text.
        self._plain = reading_names_as_text(backend)
        if self.normalizer is not None:
            self._plain.normalizer = None
        # With byte fallback, pieces such as <0xEA> are a part of a character each.
        self._lengths_add_up = self.normalizer is not None and not has_byte_fallback(self._plain)

    @classmethod
    def load(cls, folder: Path | str, all_specials: bool = True) -> Tokenizer:
        """Read a folder with a tokenizer.json, as a masked language model needs it.

        Args:
            all_specials: False takes a tokenizer that lacks a special piece too.

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
        found = special_ids(backend, read_config(folder))
        tokenizer = cls(backend, found, str(folder), folder)
        if all_specials:
            tokenizer.specials_for("a masked language model")
        return tokenizer

    def __reduce__(self) -> tuple[type[Tokenizer], tuple[Any, ...]]:
        return Tokenizer, (self._reading_masks, self.special_ids, self.name, self._folder)

    @property
    def serialized(self) -> str:
        """What a tokenizer.json of it holds; equal tokenizers have an equal one."""
        return str(self._reading_masks.to_str())

    @property
    def has_folder(self) -> bool:
        """Whether it was read from a folder with a tokenizer.json."""
        return self._folder is not None

    @property
    def folder(self) -> Path:
        """The folder with its tokenizer.json.

        Raises:
            ValueError: it was not read from one.
        """
        if self._folder is None:
            raise ValueError(
                f"{self.name} is no folder with a tokenizer.json: make one with `komlm tokenizer "
                "import`, or with save_pretrained(FOLDER) in transformers"
            )
        return self._folder

    def specials_for(self, purpose: str) -> dict[str, int]:
        """The ids of all five specials, for something that needs them.

        Raises:
            ValueError: one is missing; the message names it, the purpose and what to do.

        Example: ``tokenizer.specials_for("hiding pieces")["mask"]``.
        """
        for role, key in SPECIAL_ROLES.items():
            if role not in self.special_ids:
                wanted = f"[{role.upper()}]"
                raise ValueError(
                    f"{self.name}: the tokenizer has no {wanted} ({key}), and {purpose} needs all "
                    "of [UNK] [PAD] [CLS] [SEP] [MASK], under whatever names. Add it in "
                    f"transformers with tokenizer.add_special_tokens({{'{key}': '{wanted}'}}) and "
                    "save_pretrained(FOLDER), and enlarge the model's embedding by as much"
                )
        return dict(self.special_ids)

    def encode(self, text: str) -> Pieces:
        """Cut a text into pieces.

        A tokenizer of another make gets the text in NFC: its pieces are those of the NFC text, the
        spans those of the text as given.

        Raises:
            ValueError: a lone surrogate; the message names its offset.
        """
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[Pieces]:
        """Cut many texts into pieces; faster than one by one."""
        normalized = [self._normalized(text) for text in texts]
        contents = [normal.text for normal in normalized]
        if self._lengths_add_up:
            cut, read = self._plain.encode_batch_fast, self._from_lengths
        else:
            cut, read = self._plain.encode_batch, self._from_offsets
        encodings = cut(contents, add_special_tokens=False)
        return [read(*one) for one in zip(encodings, normalized, texts, strict=True)]

    def encode_with_masks(self, text: str) -> list[int]:
        """Ids of a text in which [MASK] is the mask, without [CLS] and [SEP].

        Example: ``"어제 [MASK]에 갔다"`` -> ids of ▁어제 [MASK] 에 ▁갔 다: no word start after the
        mask, and the space before the mask goes with it.
        """
        check_surrogates(text)
        return list(self._reading_masks.encode(text, add_special_tokens=False).ids)

    def _normalized(self, text: str) -> Normalized:
        if self.normalizer is not None:
            return self.normalizer(text)
        check_surrogates(text)
        return nfc(text)

    def _from_offsets(self, encoding: tokenizers.Encoding, normal: Normalized, text: str) -> Pieces:
        ids: list[int] = encoding.ids
        if not self._never_in_text.isdisjoint(ids):
            encoding = self._with_names_cut.encode(normal.text, add_special_tokens=False)
            ids = encoding.ids
            for number, (start, _) in zip(ids, encoding.offsets, strict=True):
                if number in self._never_in_text:
                    at = normal.span(start, start).start
                    raise ValueError(
                        f"{self.name} reads {self.pieces[number]} at offset {at} as its special "
                        "piece, and not as text: change or remove it"
                    )
        return from_offsets(text, normal, ids, encoding.offsets, self._reading)

    @cached_property
    def _reading(self) -> Reading:
        return reading_of(self._plain, self.pieces)

    @cached_property
    def _never_in_text(self) -> frozenset[int]:
        """Special pieces, which no text holds, whatever the letters in it."""
        added = self._reading_masks.get_added_tokens_decoder()
        special = {number for number, token in added.items() if token.special}
        return frozenset((special | set(self.special_ids.values())) - {self.special_ids.get("unk")})

    @cached_property
    def _with_names_cut(self) -> tokenizers.Tokenizer:
        return cutting_names(self._plain, [self.pieces[n] for n in sorted(self._never_in_text)])

    def _from_lengths(self, encoding: tokenizers.Encoding, normal: Normalized, text: str) -> Pieces:
        """Spans from the lengths of the pieces, which follow one another without a gap.

        Faster than reading offsets; an unknown piece has no length of its own, so a text that has
        one is cut again with offsets.
        """
        ids = np.array(encoding.ids, dtype=np.int64)
        if (ids == self.special_ids.get("unk", -1)).any():
            full = self._plain.encode(normal.text, add_special_tokens=False)
            return self._from_offsets(full, normal, text)
        lengths, leading, trailing = self._piece_lengths
        ends = np.cumsum(lengths[ids])
        # The pieces begin with a ▁ that the text has not (none in a text that is empty).
        ends -= ends[-1] - len(normal.text) if len(ids) else 0
        starts = ends - lengths[ids] + leading[ids]
        return in_original(ids, starts, ends - trailing[ids], normal)

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
                f"the model has {model_entries:,} entries and the tokenizer in {self.name} has "
                f"{self.vocabulary_size:,}: they do not belong together. Use the tokenizer that "
                "the model was trained with"
            )
