"""Learning a vocabulary from words, morpheme-aware unless asked otherwise."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from komlm.names import unknown
from komlm.text.analysis import Analysis
from komlm.text.export import SPECIALS, Vocabulary
from komlm.text.normalize import Normalized, Normalizer
from komlm.text.pieces import WORD_START
from komlm.text.sentencepiece_model import BOUNDARY, count_pieces, learn, least_size

KINDS = ("unigram", "bpe")
_SURPLUS = 1.3
"""How many more pieces than wanted are tried, so that the least used can go."""


def plain_words_of(text: str, normalizer: Normalizer) -> list[str]:
    """The words of a text as the tokenizer will see them.

    Example: ``"학교에  갔다…"`` -> ``["학교에", "갔다..."]``.
    """
    return normalizer(text).text.split()


def words_of(analysis: Analysis, normalizer: Normalizer) -> list[str]:
    """The words of a text, with :data:`BOUNDARY` wherever a morpheme unit could begin.

    Example: ``"학교에 갔다"`` -> ``["학교|에", "갔|다"]`` with ``|`` for the boundary.
    """
    normal = normalizer(analysis.text)
    cuts = [0, *_boundaries(analysis, normal).tolist(), len(normal.text)]
    parts = [normal.text[a:b] for a, b in zip(cuts, cuts[1:], strict=False)]
    # A boundary beside a space says nothing more than the space.
    words = (word.strip(BOUNDARY) for word in BOUNDARY.join(parts).split(" "))
    return [word for word in words if word]


def _boundaries(analysis: Analysis, normal: Normalized) -> np.ndarray:
    """Where in the normalised text no morpheme runs over: the cuts that no unit forbids."""
    written = analysis.ends > analysis.starts
    starts, ends = analysis.starts[written], analysis.ends[written]
    at = np.unique(np.concatenate([starts, ends]))
    reach = np.concatenate([[-1], np.maximum.accumulate(ends)])
    at = at[reach[np.searchsorted(starts, at, side="left")] <= at]
    if normal.starts is None or normal.ends is None:
        return at[(at > 0) & (at < len(normal.text))]
    cuts = np.searchsorted(normal.starts, at, side="left")
    inside = (cuts > 0) & (cuts < len(normal.text))
    cuts, at = cuts[inside], at[inside]
    # Several characters that one character became are not cut apart.
    return np.unique(cuts[normal.ends[cuts - 1] <= normal.starts[cuts]])


def train(
    words: Mapping[str, int], size: int, kind: str = "unigram", at_most: bool = False
) -> Vocabulary:
    """Learn a vocabulary of ``size`` entries from words and their counts.

    Words with :data:`BOUNDARY` give a morpheme-aware vocabulary: no piece of it crosses a boundary
    of the training text. Its pieces are found by BPE within the boundaries; for ``"unigram"`` they
    then get probabilities by how often each is used, and the least used go.

    Args:
        words: word -> how often it occurs.
        at_most: take fewer entries where the words do not give ``size``.

    Raises:
        ValueError: no words; or ``size`` is less than their characters take or more than they
            give: the message names what is possible.

    Example: ``train(Counter({"학교\\x1f에": 10, "학교\\x1f가": 5}), size=12)``.
    """
    if kind not in KINDS:
        raise ValueError(unknown("type", kind, KINDS))
    if not words:
        raise ValueError("the corpus has no words: nothing to learn a vocabulary from")
    least = least_size(words)
    if size < least:
        raise ValueError(
            f"a vocabulary of {size:,} is too small for this corpus: its characters alone need "
            f"{least:,} entries. Use --vocab-size {least} or more"
        )
    aware = any(BOUNDARY in word for word in words)
    if aware and kind == "unigram":
        wanted = max(size, int(size * _SURPLUS))
        pieces, scores = _rescored(words, learn(words, wanted, "bpe"), size)
    else:
        learnt = learn(words, size, kind)
        pieces = list(learnt.pieces[len(SPECIALS) :])
        scores = list(learnt.scores[len(SPECIALS) :])
    found = len(pieces) + len(SPECIALS)
    if found < size and not at_most:
        raise ValueError(
            f"a vocabulary of {size:,} is too large for this corpus: at most {found:,} entries "
            f"are possible. Use --vocab-size {found} or less, or --at-most"
        )
    return Vocabulary(
        pieces=SPECIALS + tuple(pieces),
        scores=(0.0,) * len(SPECIALS) + tuple(scores),
        kind=kind,
        normalizer=Normalizer.default(),
    )


def _rescored(
    words: Mapping[str, int], candidates: Vocabulary, size: int
) -> tuple[list[str], list[float]]:
    """The pieces that are used most when each stretch between boundaries is cut by itself.

    Hard expectation maximisation: cut, count, drop a part of the least used, count again.
    """
    stretches: Counter[str] = Counter()
    for word, count in words.items():
        for stretch in (WORD_START + word).split(BOUNDARY):
            stretches[stretch] += count
    vocabulary, wanted = candidates, size - len(SPECIALS)
    while True:
        pieces = vocabulary.pieces[len(SPECIALS) :]
        used = dict(zip(pieces, count_pieces(vocabulary, stretches)[len(SPECIALS) :], strict=True))
        total = sum(used.values())
        # A piece that was never used stays possible, less likely than any that was used once.
        scores = {piece: math.log(max(count, 0.1) / total) for piece, count in used.items()}
        surplus = max(len(pieces) - wanted, 0)
        if not surplus and vocabulary.kind == "unigram":
            order = sorted(pieces, key=lambda piece: (-scores[piece], piece))
            return order, [scores[piece] for piece in order]
        # Single characters stay, or words would have unknown pieces.
        droppable = sorted((p for p in pieces if len(p) > 1), key=lambda p: (used[p], p))
        dropped = set(droppable[: min(surplus, len(pieces) // 20 + 1)])
        rest = [piece for piece in pieces if piece not in dropped]
        vocabulary = Vocabulary(
            pieces=SPECIALS + tuple(rest),
            scores=(0.0,) * len(SPECIALS) + tuple(scores[piece] for piece in rest),
            kind="unigram",
            normalizer=vocabulary.normalizer,
        )


def read_order(path: Path) -> list[str]:
    """The pieces of a published vocabulary JSON in the order of their ids.

    Two forms are known: gluonnlp's (``{"idx_to_token": [...]}``, KoBERT's) and ``{piece: id}``.

    Raises:
        ValueError: another form, or ids with gaps.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a JSON file: {error}") from error
    if isinstance(content, dict) and isinstance(content.get("idx_to_token"), list):
        order = content["idx_to_token"]
    elif isinstance(content, dict) and all(type(v) is int for v in content.values()):
        order = sorted(content, key=lambda piece: content[piece])
        if [content[piece] for piece in order] != list(range(len(order))):
            raise ValueError(f"{path}: the ids have gaps; wanted 0 to {len(order) - 1}")
    else:
        raise ValueError(f"{path}: wanted {{piece: id}} or {{'idx_to_token': [...]}}")
    return [str(piece) for piece in order]
