"""What holds for every text and every tokenizer."""

from __future__ import annotations

from collections.abc import Sequence

from tokenizers import pre_tokenizers

from komlm.text.alignment import Alignment, Piece
from komlm.text.normalize import nfc
from komlm.text.span_edits import opens
from komlm.text.tokenizer import Tokenizer
from komlm.types import LEVELS
from tests.text.oracle import LONGEST_UNIT, overlap, unit_starts


def check_alignment(alignment: Alignment) -> None:
    """Order, partition, cover, and the units against the overlap graph."""
    text, pieces = alignment.text, alignment.pieces
    spans = [(p.start, p.end) for p in pieces]
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert [s for s, _ in spans] == sorted(s for s, _ in spans)
    assert [p.number for p in pieces] == list(range(len(pieces)))
    for level in LEVELS:
        units = alignment.units(level)
        assert [n for unit in units for n in unit.numbers] == list(range(len(pieces)))
        assert [p for unit in units for p in unit.pieces] == pieces
        assert all(unit.pieces for unit in units)
        if level != "piece":
            assert all(len(unit.pieces) <= LONGEST_UNIT for unit in units)
    wanted = unit_starts(
        spans, [(m.start, m.end) for m in alignment.morphemes], list(alignment.eojeols)
    )
    assert alignment.unit_starts("morpheme").tolist() == wanted.morpheme
    assert alignment.unit_starts("eojeol").tolist() == wanted.eojeol
    covered = {c for start, end in spans for c in range(start, end)}
    if pieces:
        assert {n for n, c in enumerate(text) if not c.isspace()} <= covered


def check_both_directions(alignment: Alignment) -> None:
    """Pieces and morphemes meet each other, and exactly where their spans do."""
    met = {
        (piece.number, n)
        for n, morpheme in enumerate(alignment.morphemes)
        for piece in alignment.pieces_of(morpheme)
    }
    for piece in alignment.pieces:
        found = alignment.morphemes_of(piece)
        mine = [n for number, n in sorted(met) if number == piece.number]
        assert found == [alignment.morphemes[n] for n in mine]
    for number, n in (
        (piece.number, n)
        for piece in alignment.pieces
        for n, morpheme in enumerate(alignment.morphemes)
        if overlap((piece.start, piece.end), (morpheme.start, morpheme.end))
    ):
        assert (number, n) in met


def check_spans_are_of_the_pieces(alignment: Alignment, tokenizer: Tokenizer) -> None:
    """What a piece covers, as the tokenizer normalises it, holds the letters of the piece; and no
    two neighbours share more than a character, with such as are dropped or composed with it."""
    composed = nfc(alignment.text)
    normalize = tokenizer._reading.normalize
    if tokenizer.normalizer is not None:
        normalize = lambda text: tokenizer.normalizer(text).text  # noqa: E731
    for piece in alignment.pieces:
        letters = _letters(piece, tokenizer)
        if letters is not None and piece.start < piece.end:
            inside = normalize(nfc(alignment.text[piece.start : piece.end]).text)
            if tokenizer._reading.word_start_is_space:
                inside = inside.replace("▁", "")
            # Where the tokenizer drops all that is written, what is left covers it.
            assert letters in inside.encode() or not inside.strip(), piece
    # In the composed text, whose characters are what the tokenizer is given.
    at = _places_in(composed.starts, composed.ends, len(alignment.text))
    written = [(at[p.start], at[p.end - 1] + 1) for p in alignment.pieces if p.start < p.end]
    for (_, end), (start, _) in zip(written, written[1:], strict=False):
        assert sum(_stands_alone(normalize(c)) for c in composed.text[start:end]) <= 1


def _stands_alone(normalized: str) -> bool:
    letters = normalized.strip(" ▁")
    return letters != "" and opens(letters[0])


def _letters(piece: Piece, tokenizer: Tokenizer) -> bytes | None:
    """What the piece stands for, as bytes without spaces; None for an unknown one."""
    if piece.id == tokenizer.special_ids.get("unk"):
        return None
    if byte := int(tokenizer._reading.bytes[piece.id]) + 1:
        return bytes([byte - 1])
    text = piece.piece
    if prefix := tokenizer._continuing_prefix:
        text = text.removeprefix(prefix)
    if "ByteLevel" in str(tokenizer._plain.pre_tokenizer) and set(text) <= set(_BYTE_OF):
        return bytes(_BYTE_OF[c] for c in text).strip()
    if tokenizer._reading.word_start_is_space:
        text = text.replace("▁", "")
    return text.strip().encode()


def _byte_of() -> dict[str, int]:
    """GPT-2's letter of each byte -> the byte, found by cutting characters of every kind."""
    found: dict[str, int] = {}
    cut = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str
    for code in (*range(0x800), *range(0x800, 0xD800, 0x400), *range(0xE000, 0x110000, 0x400)):
        ((letters, _),) = cut(chr(code))
        found.update(zip(letters, chr(code).encode(), strict=True))
    return found


_BYTE_OF = _byte_of()


def _places_in(starts: Sequence[int] | None, ends: Sequence[int] | None, size: int) -> list[int]:
    """Number of the composed character that each original one became a part of."""
    if starts is None or ends is None:
        return list(range(size))
    at = [0] * size
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        at[start:end] = [number] * (end - start)
    return at
