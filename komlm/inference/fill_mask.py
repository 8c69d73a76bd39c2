"""Filling masks with completions of one to three pieces, each with its morphemes.

A blank is filled within its eojeol: where a space (or nothing) stands before it, the first piece
must begin an eojeol; elsewhere it must not; and no later piece begins one.

How completions of different lengths are compared: a completion of n pieces is scored by its joint
probability given a blank of n pieces, the pieces predicted from left to right, each given those
before it. Lengths are taken to be equally likely: these probabilities are compared as they are.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from komlm.checkpoints import find_model
from komlm.inference.completion import BEAM, Around, Completer
from komlm.inference.loading import load_model
from komlm.text.aligner import Aligner
from komlm.text.analysis import Analyzer, Morpheme
from komlm.text.normalize import nfc
from komlm.text.pieces import WORD_START
from komlm.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Candidate:
    """What could stand in a blank.

    Example: ``Candidate("학교", 0.31, (2204,), (Morpheme("학교", "NNG", 6, 8),))``.
    """

    text: str
    score: float
    """Joint probability of its pieces, given their number."""
    ids: tuple[int, ...]
    morphemes: tuple[Morpheme, ...] = ()
    """What Kiwi finds in it, in the sentence with the blank filled (and in whose code points)."""


@dataclass(frozen=True)
class Blank:
    """A blank of the text, ``text[start:end]``, and its best completions, best first."""

    start: int
    end: int
    candidates: tuple[Candidate, ...]
    original: Candidate | None = None
    """What stood there before it was hidden."""


@dataclass(frozen=True)
class _Gap:
    """A blank in the pieces: its place in the list, and in the text."""

    at: int
    width: int
    begins_word: bool
    start: int
    end: int


class FillMask:
    """A model with its tokenizer and Kiwi.

    Args:
        model: a masked language model of transformers.

    Raises:
        ValueError: model and tokenizer of unlike sizes; the message names both.

    Example: ``FillMask.load(Path("runs/mini")).fill("수도는 [MASK]이다.")[0].candidates[0]`` ->
    ``Candidate("서울", ...)``.
    """

    def __init__(self, model: Any, tokenizer: Tokenizer, analyzer: Analyzer) -> None:
        tokenizer.check_fits(model.get_input_embeddings().num_embeddings)
        special_ids = tokenizer.specials_for("filling masks")
        self.tokenizer = tokenizer
        self.aligner = Aligner(tokenizer, analyzer)
        self._completer = Completer(model.eval(), tokenizer)
        self._mask_id = special_ids["mask"]
        words = self._completer.first.nonzero().flatten().tolist()
        # Decoded in front of a completion that begins no eojeol, and cut off again: some decoders
        # treat the first piece of a text in a way of its own.
        self._anchor = next((i for i in words if tokenizer.pieces[i].lstrip("▁Ġ").isalnum()), None)

    @classmethod
    def load(
        cls, folder: Path, dictionary: Path | None = None, say: Callable[[str], None] | None = None
    ) -> FillMask:
        """Load a run folder (its last whole checkpoint), a ``step-N``, or a Hugging Face folder.

        Weights are read from safetensors only, and no code from the folder is run.

        Args:
            folder: where the model is.
            dictionary: a user dictionary for Kiwi.
            say: told of each damaged checkpoint that is skipped; stderr without it.

        Raises:
            FileNotFoundError: no model there.
            ValueError: a damaged checkpoint, or model and tokenizer of unlike sizes.
        """
        model_folder = find_model(folder, say or (lambda message: print(message, file=sys.stderr)))
        tokenizer = Tokenizer.load(model_folder)
        return cls(load_model(model_folder), tokenizer, Analyzer(dictionary))

    def fill(self, text: str, top_k: int = 5, max_pieces: int = 3) -> list[Blank]:
        """Complete each [MASK] in a text; while one is filled, the others stay one mask each.

        Raises:
            ValueError: no [MASK] in the text, or more pieces than the model has positions.
        """
        mask = self.tokenizer.pieces[self._mask_id]
        if mask not in text:
            raise ValueError(
                f"no {mask} in {_short(text)}: put one where a word is to be filled in"
            )
        ids = self.tokenizer.encode_with_masks(text)
        gaps, start = [], -1
        for at in (at for at, number in enumerate(ids) if number == self._mask_id):
            start = text.find(mask, start + 1)
            end = start + len(mask)
            gaps.append(_Gap(at, 1, _begins_word(text, start), start, end))
        if len(gaps) != text.count(mask):
            raise ValueError(
                f"the tokenizer reads {len(gaps)} masks in {_short(text)}, which has "
                f"{text.count(mask)} times {mask}: it may cut long texts short"
            )
        return self._fill_gaps(text, ids, gaps, top_k, max_pieces)

    def fill_hidden(
        self,
        text: str,
        hide: Sequence[str],
        unit: str = "morpheme",
        top_k: int = 5,
        max_pieces: int = 3,
    ) -> list[Blank]:
        """Hide the units that hold each of ``hide`` and complete them.

        Args:
            hide: stretches of the text; of each, the first place counts.
            unit: the level whose units are hidden, as in masking.

        Raises:
            ValueError: a stretch that is not in the text, or an unknown unit.

        Example: ``fill_hidden("나는 어제 학교에 갔다.", ["학교"], "eojeol")`` hides 학교에.
        """
        mask = self.tokenizer.pieces[self._mask_id]
        if mask in text:
            raise ValueError(f"{mask} and something to hide in one text: use one or the other")
        alignment = self.aligner(text)
        units = alignment.units(unit)
        chosen = set()
        composed = nfc(text)  # 학교 is found in a text that is decomposed, and the other way round
        for stretch in hide:
            wanted = nfc(stretch).text
            at = composed.text.find(wanted)
            if at < 0 or not wanted:
                raise ValueError(f"{_short(stretch)} is not in {_short(text)}: nothing to hide")
            start, end = composed.span(at, at + len(wanted))
            met = {n for n, u in enumerate(units) if u.start < end and u.end > start}
            if not met:
                raise ValueError(f"no piece holds {_short(stretch)}: nothing to hide")
            chosen |= met
        ids = alignment.encoded.ids.tolist()
        gaps = []
        for n in sorted(chosen):
            first, start = units[n].numbers.start, units[n].start
            # Some tokenizers begin a word where no space stands, at a zero-width one for example.
            begins = _begins_word(text, start) or bool(self._completer.first[ids[first]])
            gaps.append(_Gap(first, len(units[n].numbers), begins, start, units[n].end))
        if not gaps:
            raise ValueError("nothing to hide: name a stretch of the text")
        return self._fill_gaps(text, ids, gaps, top_k, max_pieces, originals=True)

    def _fill_gaps(
        self,
        text: str,
        ids: list[int],
        gaps: list[_Gap],
        top_k: int,
        max_pieces: int,
        originals: bool = False,
    ) -> list[Blank]:
        if top_k < 1 or max_pieces < 1:
            raise ValueError(f"top_k = {top_k}, max_pieces = {max_pieces}: wanted 1 or more")
        masked = list(ids)
        for gap in gaps:
            masked[gap.at : gap.at + gap.width] = [self._mask_id] * gap.width
        found: list[tuple[list[Candidate], Candidate | None]] = []
        for gap in gaps:
            around = Around(masked[: gap.at], masked[gap.at + gap.width :])
            longest = min(max_pieces, self._completer.room(around))
            original = None
            if originals:
                given = tuple(ids[gap.at : gap.at + gap.width])
                score = self._completer.score(around, given)
                original = Candidate(text[gap.start : gap.end], score, given)
            found.append((self._complete(around, gap, top_k, longest), original))
        best = [candidates[0].text if candidates else "" for candidates, _ in found]
        return [
            Blank(
                gap.start,
                gap.end,
                tuple(self._with_morphemes(text, gaps, best, number, c) for c in candidates),
                original and self._with_morphemes(text, gaps, best, number, original),
            )
            for number, (gap, (candidates, original)) in enumerate(zip(gaps, found, strict=True))
        ]

    def _complete(self, around: Around, gap: _Gap, top_k: int, longest: int) -> list[Candidate]:
        best: dict[str, Candidate] = {}
        for pieces in range(1, longest + 1):
            beam = max(BEAM, 2 * top_k)
            for ids, score in self._completer.best(around, pieces, gap.begins_word, beam):
                text = self._surface(ids, gap.begins_word)
                # The same text cut in another way: the likelier way stands for it.
                known = best.get(text)
                if text and (known is None or known.score < score):
                    best[text] = Candidate(text, score, ids)
        ranked = sorted(best.values(), key=lambda candidate: (-candidate.score, candidate.ids))
        return ranked[:top_k]

    def _surface(self, ids: tuple[int, ...], begins_word: bool) -> str:
        """The text of pieces that stand within an eojeol; empty for a part of a character."""
        if begins_word or self._anchor is None:
            text = self.tokenizer.surface(ids)
        else:
            text = self.tokenizer.surface((self._anchor, *ids))
            text = text.removeprefix(self.tokenizer.surface((self._anchor,)))
        # A decoder may put spaces around punctuation; a completion has none.
        return "" if "\ufffd" in text else "".join(text.split())

    def _with_morphemes(
        self, text: str, gaps: list[_Gap], best: list[str], number: int, candidate: Candidate
    ) -> Candidate:
        """The candidate with what Kiwi finds in it, the other blanks filled with their best."""
        parts, done, start = [], 0, 0
        for n, gap in enumerate(gaps):
            parts.append(text[done : gap.start])
            if n == number:
                start = sum(map(len, parts))
            parts.append(candidate.text if n == number else best[n])
            done = max(done, gap.end)
        analysis = self.aligner.analyzer("".join([*parts, text[done:]]))
        end = start + len(candidate.text)
        inside = tuple(m for m in analysis.morphemes if m.start < end and m.end > start)
        return Candidate(candidate.text, candidate.score, candidate.ids, inside)


def _begins_word(text: str, start: int) -> bool:
    """Does an eojeol begin at ``text[start]``? Characters that are not written do not count."""
    while start and unicodedata.category(text[start - 1]) in ("Cc", "Cf"):
        if text[start - 1].isspace():
            return True
        start -= 1
    return not start or text[start - 1].isspace() or text[start - 1] == WORD_START


def _short(text: str) -> str:
    return repr(text) if len(text) <= 60 else repr(text[:60]) + "..."
