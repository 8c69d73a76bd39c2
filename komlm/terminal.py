"""What a person sees in a terminal: progress bars on stderr, results on stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from komlm.tables import columns

if TYPE_CHECKING:
    from komlm.inference.fill_mask import Blank
    from komlm.processes import Advance
    from komlm.text.alignment import Alignment, Unit
    from komlm.text.analysis import Morpheme


@contextmanager
def bar(what: str, total: int, unit: str) -> Iterator[Advance]:
    """A progress bar with rate and time left. A file or a pipe gets a line now and then instead."""
    from tqdm import tqdm

    with tqdm(
        total=total,
        desc=what,
        unit=f" {unit}",
        unit_scale=True,
        file=sys.stderr,
        dynamic_ncols=True,
        mininterval=0.2 if sys.stderr.isatty() else 10.0,
    ) as shown:
        yield shown.update


class TrainingBar:
    """Shows a training run: a bar for the steps, its messages above it."""

    def __init__(self) -> None:
        from tqdm import tqdm

        self._bar = tqdm(
            desc="train",
            unit=" steps",
            file=sys.stderr,
            dynamic_ncols=True,
            mininterval=0.2 if sys.stderr.isatty() else 10.0,
        )

    def on_step(self, step: int, steps: int, loss: float, tokens_per_s: float) -> None:
        if self._bar.total is None:
            # A resumed run starts its bar where it stands, so that the time left is right.
            self._bar.reset(total=steps)
            self._bar.initial = step - 1
            self._bar.n = step - 1
        self._bar.set_postfix_str(f"loss {loss:.3f}, {tokens_per_s:,.0f} tokens/s", refresh=False)
        self._bar.update(1)

    def on_message(self, text: str) -> None:
        from tqdm import tqdm

        tqdm.write(shown(text), file=sys.stderr)

    def close(self) -> None:
        """Leave the finished bar on the screen."""
        self._bar.close()


def shown(text: str) -> str:
    """A text that cannot move the cursor: control characters are written as escapes.

    Example: ``shown("가\\x1b[31m")`` -> ``"가\\\\x1b[31m"``.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def complain(error: object) -> None:
    """An error, or a warning, as one line on stderr."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        error = f"{error.filename}: {error.strerror}"
    print(f"komlm: {shown(' '.join(str(error).split()))}", file=sys.stderr, flush=True)


def alignment_table(alignment: Alignment) -> str:
    """A row a morpheme unit: its eojeol, its pieces, its morphemes, its class."""
    starts = {unit.numbers.start: unit for unit in alignment.units("eojeol")}
    straddles = {piece.number for piece in alignment.straddles}
    rows = [("eojeol", "unit", "pieces", "morphemes", "class")]
    for unit in alignment.units("morpheme"):
        eojeol = starts.get(unit.numbers.start)
        rows.append(
            (
                shown(alignment.text[eojeol.start : eojeol.end]) if eojeol else "",
                shown(alignment.text[unit.start : unit.end]),
                " ".join(
                    shown(piece.piece) + ("*" if piece.number in straddles else "")
                    for piece in unit.pieces
                ),
                _morphemes(unit.morphemes),
                unit.class_name or "-",
            )
        )
    table = columns(rows)
    if straddles:
        table += "\n* straddle: the piece meets morphemes that share no character"
    return table


def _morphemes(morphemes: Iterable[Morpheme]) -> str:
    return " + ".join(f"{shown(m.form)}/{m.tag}" for m in morphemes) or "-"


def masked_text(alignment: Alignment, hidden: set[int], units: Sequence[Unit]) -> str:
    """The text with each hidden unit as [MASK]. Example: ``"나는 어제 [MASK]에 갔다."``."""
    text, parts, done = alignment.text, [], 0
    for unit in units:
        if hidden.intersection(unit.numbers):
            parts += [text[done : unit.start], "[MASK]"]
            done = max(done, unit.end)
    return shown("".join([*parts, text[done:]]))


def blanks_table(text: str, blanks: Sequence[Blank]) -> str:
    """Each blank and its completions with probability and morphemes."""
    parts = []
    for blank in blanks:
        parts.append(f"{shown(text[: blank.start])}____{shown(text[blank.end :])}")
        rows = [
            (f"{100 * c.score:6.2f} %", shown(c.text), _morphemes(c.morphemes))
            for c in blank.candidates
        ]
        parts.append(columns(rows) if rows else "(no completion)")
        if blank.original is not None:
            parts.append(
                f"{100 * blank.original.score:6.2f} %  {shown(blank.original.text)} (was there)"
            )
    return "\n".join(parts)
