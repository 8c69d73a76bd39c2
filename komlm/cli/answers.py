"""Answering texts in order: from an argument or stdin, as tables or as JSON, refused ones told."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import typer

from komlm.names import unknown

if TYPE_CHECKING:
    from komlm.inference.fill_mask import Blank, Candidate
    from komlm.text.alignment import Alignment, Piece, Unit

INPUTS = ("text", "jsonl")
# What JSON may hold as it is, and what ends a line, moves a cursor or is no UTF-8 all the same.
_NOT_PLAIN = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def check_input(input_: str) -> None:
    """Raises a ValueError for another kind than ``text`` and ``jsonl``."""
    if input_ not in INPUTS:
        raise ValueError(unknown("--input", input_, INPUTS))


def answer_each(
    text: str | None, input_: str, as_json: bool, answer: Callable[[str, int], str]
) -> None:
    """Print an answer for each text, in order.

    A text that is refused gets its error, as JSON or on stderr; the others are answered, and the
    exit code is 1.

    Args:
        text: the only text, or None for the lines of stdin.
        input_: ``text`` or ``jsonl``, how a line of stdin is read.
        answer: (text, its number from 0) -> what to print; a ValueError refuses the text.
    """
    from komlm.terminal import complain

    refused, printed = False, False
    for number, line in enumerate(_texts(text, input_)):
        try:
            if isinstance(line, ValueError):
                raise line
            answered = answer(line, number)
        except ValueError as error:
            refused = True
            if as_json:
                print_json({"error": str(error)})
            else:
                complain(error)
            continue
        if printed and not as_json:
            print()
        print(answered, flush=as_json)
        printed = True
    if refused:
        raise typer.Exit(1)


def _texts(text: str | None, input_: str) -> Iterator[str | ValueError]:
    if text is not None:
        yield text
        return
    from komlm.corpus.documents import decoded
    from komlm.corpus.jsonl_files import text_of

    if sys.stdin.isatty():
        print("reading a text a line; Ctrl-D ends", file=sys.stderr)
    for number, raw in enumerate(sys.stdin.buffer, 1):
        if number == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        place = f"line {number}"
        try:
            line = decoded(raw, place).removesuffix("\n").removesuffix("\r")
            yield text_of(line, "text", place) if input_ == "jsonl" else line
        except ValueError as error:
            yield error


def to_json(value: dict[str, Any]) -> str:
    """One line of JSON, Korean as it is.

    Example: the line separator U+2028 goes out as its escape, as some programs end a line there.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _NOT_PLAIN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def print_json(value: dict[str, Any]) -> None:
    """Print one line of JSON at once, so that a program may read along."""
    print(to_json(value), flush=True)


def alignment_json(alignment: Alignment) -> dict[str, Any]:
    """What `align --json` says of a text."""
    from komlm.types import LEVELS

    return {
        "text": alignment.text,
        "pieces": [_piece_json(piece) for piece in alignment.pieces],
        "morphemes": [morpheme._asdict() for morpheme in alignment.morphemes],
        "units": {level: [_unit_json(unit) for unit in alignment.units(level)] for level in LEVELS},
        "straddles": [piece.number for piece in alignment.straddles],
    }


def _piece_json(piece: Piece) -> dict[str, Any]:
    return {"id": piece.id, "piece": piece.piece, "start": piece.start, "end": piece.end}


def _unit_json(unit: Unit) -> dict[str, Any]:
    return {
        "pieces": list(unit.numbers),
        "start": unit.start,
        "end": unit.end,
        "morphemes": unit.morpheme_numbers,
        "tag": unit.tag,
        "class": unit.class_name,
    }


def blanks_json(text: str, blanks: list[Blank]) -> dict[str, Any]:
    """What `fill-mask --json` says of a text; ``original`` only where --hide hid it."""
    masks = []
    for blank in blanks:
        mask = {
            "start": blank.start,
            "end": blank.end,
            "candidates": [_candidate_json(candidate) for candidate in blank.candidates],
        }
        if blank.original is not None:
            mask["original"] = _candidate_json(blank.original)
        masks.append(mask)
    return {"text": text, "masks": masks}


def _candidate_json(candidate: Candidate) -> dict[str, Any]:
    return {
        "text": candidate.text,
        "score": candidate.score,
        "ids": list(candidate.ids),
        "morphemes": [{"form": m.form, "tag": m.tag} for m in candidate.morphemes],
    }
