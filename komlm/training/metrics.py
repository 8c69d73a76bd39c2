"""metrics.jsonl: what happened at which step, one JSON object a line.

Lines of training: ``step, loss, learning_rate, gradient_norm, hidden, tokens`` (of that step alone)
and ``seconds, tokens_per_s``, the only fields that another run of the same recipe has otherwise.
Lines of measurement: ``{"step": 100, "heldout": {...}}``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

TIME_FIELDS = ("seconds", "tokens_per_s")
"""The fields that depend on the machine."""


_MAKE_ROOM = "Make room, then go on with --resume"


class MetricsFile:
    """The file of a run, opened to go on after ``step``: later lines, and half a line, are cut off.

    Attributes:
        seconds: the time that the kept lines tell of, so that ``seconds`` goes on where it was.

    Example::

        with MetricsFile(run / "metrics.jsonl", step=0) as metrics:
            metrics.write({"step": 10, "loss": 8.9})
    """

    def __init__(self, path: Path, step: int) -> None:
        self.path = path
        self.seconds = 0.0
        # Unbuffered, so that nothing is left to be written when the disk is full.
        self._file = path.open("a+b", buffering=0)
        self._file.truncate(_end_of(self._whole_bytes(), step))
        for line in lines_backwards(self._whole_bytes()):
            if "seconds" in line:
                self.seconds = line["seconds"]
                break

    def write(self, line: dict[str, Any]) -> None:
        """Append a line; it is in the file when this returns.

        Raises:
            OSError: the disk is full. Half a line may be there; a resumed run cuts it off.
        """
        # One write a line: a killed run leaves whole lines, or one half at the very end.
        content = (json.dumps(line, ensure_ascii=False) + "\n").encode()
        try:
            written = self._file.write(content)
        except OSError as error:
            raise OSError(f"could not write to {self.path}: {error}. {_MAKE_ROOM}") from error
        if written != len(content):
            raise OSError(f"could not write to {self.path}: no room for a line. {_MAKE_ROOM}")

    def to_disk(self) -> None:
        """Wait until the lines are on disk, so that no checkpoint is ahead of them."""
        os.fsync(self._file.fileno())

    def last_heldout(self) -> dict[str, Any] | None:
        """The latest measurement on held-out rows."""
        for line in lines_backwards(self._whole_bytes()):
            if "heldout" in line:
                return dict(line["heldout"])
        return None

    def _whole_bytes(self) -> bytes:
        self._file.seek(0)
        return self._file.read()

    def __enter__(self) -> MetricsFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """All whole lines of a metrics file; a run that is being written may end in half a line.

    Raises:
        ValueError: a line before the end is damaged; the message names it.
    """
    content = path.read_bytes()
    lines = content[: content.rfind(b"\n") + 1].splitlines()
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(json.loads(line))
        except ValueError as error:
            raise ValueError(
                f"{path}, line {number}: damaged: {error}. `komlm pretrain --resume` cuts off what "
                "follows the last checkpoint"
            ) from error
    return found


def lines_backwards(content: bytes) -> Iterator[dict[str, Any]]:
    """The whole lines from the last to the first; reading stops where the caller does."""
    end = content.rfind(b"\n")
    while end >= 0:
        begin = content.rfind(b"\n", 0, end) + 1
        yield json.loads(content[begin:end])
        end = begin - 1


def _end_of(content: bytes, step: int) -> int:
    """How many bytes hold the lines up to ``step``; looked for from the end, where it is near."""
    end = content.rfind(b"\n") + 1
    while end:
        begin = content.rfind(b"\n", 0, end - 1) + 1
        try:
            if json.loads(content[begin:end])["step"] <= step:
                return end
        except (ValueError, KeyError, TypeError):
            # A machine that lost power may leave a torn line before the last; it is past its
            # checkpoint, because lines are on disk before a checkpoint is.
            pass
        end = begin
    return 0
