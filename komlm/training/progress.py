"""What a run tells while it runs. Whoever starts it decides how that is shown."""

from __future__ import annotations

import sys
from typing import Protocol


class Progress(Protocol):
    """The listener of a run.

    Example: the command line hands in one that moves a bar and prints the messages above it.
    """

    def on_step(self, step: int, steps: int, loss: float, tokens_per_s: float) -> None:
        """A step is done: ``step`` of ``steps``, its mean loss in nat, and the speed of late."""

    def on_message(self, text: str) -> None:
        """Something to be read: a measurement, a checkpoint, a damaged one that is skipped."""


class Messages:
    """The default: messages to stderr, and nothing for a step."""

    def on_step(self, step: int, steps: int, loss: float, tokens_per_s: float) -> None:
        pass

    def on_message(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)
