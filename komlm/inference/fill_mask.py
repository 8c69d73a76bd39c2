"""Filling masks with completions of one to three pieces, each with its morphemes.

A blank is filled within its eojeol: where a space (or nothing) stands before it, the first piece must
begin an eojeol; elsewhere it must not; and no later piece begins one.

How completions of different lengths are compared: a completion of n pieces is scored by its joint
probability given a blank of n pieces, the pieces predicted from left to right, each given those before
it. Lengths are taken to be equally likely, so that these probabilities are compared as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from komlm.checkpoints import find_model
from komlm.text.alignment import Alignment
from komlm.text.analysis import Analyzer, Morpheme
from komlm.text.tokenizer import Tokenizer

BEAM = 24
"""Beginnings of a completion that are followed up."""


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
    """What Kiwi finds in it, in the sentence with the blank filled."""


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

    Example: ``FillMask.load(Path("runs/mini")).fill("대한민국의 수도는 [MASK]이다.")[0].candidates[0]``
    -> ``Candidate("서울", ...)``.
    """

    def __init__(self, model: Any, tokenizer: Tokenizer, analyzer: Analyzer) -> None:
        tokenizer.check_fits(model.get_input_embeddings().num_embeddings)
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.analyzer = analyzer
        self._positions: int = model.config.max_position_embeddings
        words = torch.from_numpy(tokenizer.word_initial.copy())
        usable = torch.ones_like(words)
        usable[list(tokenizer.special_ids.values())] = False
        self._first = words & usable
        self._later = torch.from_numpy(tokenizer.word_continuing.copy()) & usable

    @classmethod
    def load(cls, folder: Path, dictionary: Path | None = None) -> FillMask:
        """Load a run folder (its last whole checkpoint), a ``step-N``, or a Hugging Face folder.

        Weights are read from safetensors only, and no code from the folder is run.

        Raises:
            FileNotFoundError: no model there.
            ValueError: a damaged checkpoint, or model and tokenizer of unlike sizes.
        """
        import transformers

        model_folder = find_model(folder)
        # transformers' own warnings tell of heads that a checkpoint lacks; errors are raised anyway.
        transformers.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        try:
            model = transformers.AutoModelForMaskedLM.from_pretrained(
                model_folder, use_safetensors=True, local_files_only=True, trust_remote_code=False
            )
        except (OSError, RuntimeError) as error:
            raise ValueError(f"{model_folder}: no masked language model to load: {error}") from error
        return cls(model, Tokenizer.load(model_folder), Analyzer(dictionary))

    def fill(self, text: str, top_k: int = 5, max_pieces: int = 3) -> list[Blank]:
        """Complete each [MASK] in a text; while one is filled, the others stay one mask each.

        Raises:
            ValueError: no [MASK] in the text, or more pieces than the model has positions.
        """
        mask = self.tokenizer.pieces[self.tokenizer.special_ids["mask"]]
        if mask not in text:
            raise ValueError(f"no {mask} in {text!r}: put one where a word is to be filled in")
        ids = self.tokenizer.encode_with_masks(text)
        spots = [at for at, number in enumerate(ids) if number == self.tokenizer.special_ids["mask"]]
        gaps = []
        start = -1
        for at in spots:
            start = text.index(mask, start + 1)
            begins_word = start == 0 or text[start - 1].isspace()
            gaps.append(_Gap(at, 1, begins_word, start, start + len(mask)))
        return self._fill_gaps(text, ids, gaps, top_k, max_pieces)

    def fill_hidden(
        self, text: str, hide: Sequence[str], unit: str = "morpheme", top_k: int = 5,
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
        alignment = Alignment(self.analyzer(text), self.tokenizer.encode(text), self.tokenizer.pieces)
        units = alignment.units(unit)
        chosen = set()
        for stretch in hide:
            start = text.find(stretch)
            if start < 0 or not stretch:
                raise ValueError(f"{stretch!r} is not in {text!r}: nothing to hide")
            end = start + len(stretch)
            chosen |= {n for n, u in enumerate(units) if u.start < end and u.end > start}
        ids = alignment.encoded.ids.tolist()
        gaps = [
            _Gap(
                units[n].pieces[0],
                len(units[n].pieces),
                bool(self._first[ids[units[n].pieces[0]]]),
                units[n].start,
                units[n].end,
            )
            for n in sorted(chosen)
        ]
        if not gaps:
            raise ValueError(f"{list(hide)} meets no piece of {text!r}: nothing to hide")
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
        found = []
        for gap in gaps:
            left, right = masked[: gap.at], masked[gap.at + gap.width :]
            original = None
            if originals:
                given = tuple(ids[gap.at : gap.at + gap.width])
                score = self._score(left, right, given)
                original = Candidate(text[gap.start : gap.end], score, given)
            found.append((self._complete(left, right, gap, top_k, max_pieces), original))
        best = [candidates[0].text if candidates else "" for candidates, _ in found]
        return [
            Blank(
                gap.start,
                gap.end,
                tuple(self._with_morphemes(text, gaps, best, number, c) for c in candidates),
                original,
            )
            for number, (gap, (candidates, original)) in enumerate(zip(gaps, found, strict=True))
        ]

    @property
    def _mask_id(self) -> int:
        return self.tokenizer.special_ids["mask"]

    def _complete(
        self, left: list[int], right: list[int], gap: _Gap, top_k: int, max_pieces: int
    ) -> list[Candidate]:
        best: dict[str, Candidate] = {}
        for pieces in range(1, max_pieces + 1):
            for ids, score in self._beam(left, right, pieces, gap.begins_word):
                candidate = Candidate(self.tokenizer.surface(ids), score, ids)
                # The same text cut in another way: the likelier way stands for it.
                known = best.get(candidate.text)
                if candidate.text and (known is None or known.score < score):
                    best[candidate.text] = candidate
        ranked = sorted(best.values(), key=lambda candidate: (-candidate.score, candidate.ids))
        return ranked[:top_k]

    def _beam(
        self, left: list[int], right: list[int], pieces: int, begins_word: bool
    ) -> list[tuple[tuple[int, ...], float]]:
        """The likeliest runs of ``pieces`` pieces and their joint probabilities."""
        beams: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
        for step in range(pieces):
            allowed = self._first if begins_word and step == 0 else self._later
            logs = self._log_probabilities(left, right, [ids for ids, _ in beams], pieces)
            logs = logs.masked_fill(~allowed, -torch.inf)
            logs += torch.tensor([score for _, score in beams]).unsqueeze(1)
            top = logs.flatten().topk(min(BEAM, int(allowed.sum())))
            beams = [
                ((*beams[flat // logs.shape[1]][0], flat % logs.shape[1]), score)
                for score, flat in zip(top.values.tolist(), top.indices.tolist(), strict=True)
            ]
        return [(ids, float(torch.tensor(score).exp())) for ids, score in beams]

    def _score(self, left: list[int], right: list[int], ids: tuple[int, ...]) -> float:
        """Joint probability of given pieces."""
        total = 0.0
        for step, number in enumerate(ids):
            logs = self._log_probabilities(left, right, [ids[:step]], len(ids))
            total += float(logs[0, number])
        return float(torch.tensor(total).exp())

    @torch.inference_mode()
    def _log_probabilities(
        self, left: list[int], right: list[int], begun: list[tuple[int, ...]], pieces: int
    ) -> torch.Tensor:
        """Of the next piece of a blank of ``pieces`` pieces. *Shape:* (begun, vocabulary)"""
        cls, sep = self.tokenizer.special_ids["cls"], self.tokenizer.special_ids["sep"]
        rows = [
            [cls, *left, *ids, *[self._mask_id] * (pieces - len(ids)), *right, sep] for ids in begun
        ]
        if len(rows[0]) > self._positions:
            raise ValueError(
                f"the text has {len(rows[0]):,} pieces and the model reads {self._positions:,} at "
                "most: shorten it"
            )
        logits = self.model(input_ids=torch.tensor(rows)).logits
        at = 1 + len(left) + len(begun[0])
        return logits[:, at, : self.tokenizer.vocabulary_size].float().log_softmax(-1)

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
            done = gap.end
        analysis = self.analyzer("".join([*parts, text[done:]]))
        end = start + len(candidate.text)
        inside = tuple(m for m in analysis.morphemes if m.start < end and m.end > start)
        return Candidate(candidate.text, candidate.score, candidate.ids, inside)
