"""Curves of compared runs as a picture: held-out loss against steps, a panel a level."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from komlm.evaluation.compare import RunHistory, curve
from komlm.files import written_whole
from komlm.types import LEVELS

# Okabe and Ito's colours, which colour-blind readers tell apart; markers say it a second time.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_MARKERS = "osD^vP"
# Of Linux, Windows and macOS; matplotlib's own font has no Hangul.
_KOREAN_FONTS = ("Noto Sans CJK KR", "NanumGothic", "Malgun Gothic", "Apple SD Gothic Neo")


def plot(runs: Sequence[RunHistory], path: Path) -> None:
    """Draw the runs into a PNG file, written whole.

    Raises:
        ValueError: another ending than .png, or matplotlib is not installed.

    Example: ``plot(read_runs([Path("runs/piece"), Path("runs/morpheme")]), Path("curves.png"))``.
    """
    if path.suffix.lower() != ".png":
        raise ValueError(f"--plot {path}: wanted a name that ends in .png")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"--plot {path}: there is no folder {path.parent}")
    try:
        from matplotlib import font_manager, rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ValueError("a plot needs matplotlib: pip install 'komlm[plot]' brings it") from error
    installed = set(font_manager.get_font_names())
    fonts = [name for name in _KOREAN_FONTS if name in installed]
    # A Figure of its own, without pyplot: no display is looked for, and no state is left.
    with rc_context({"font.family": [*fonts, "sans-serif"]}), written_whole(path) as beside:
        figure = Figure(figsize=(11, 4), layout="constrained")
        _draw(runs, figure.subplots(1, len(LEVELS), sharey=True))
        figure.savefig(beside, format="png", dpi=120)


def _draw(runs: Sequence[RunHistory], panels: Any) -> None:
    for panel, level in zip(panels, LEVELS, strict=True):
        baseline = runs[0].last[level]["baseline"]["loss"]
        panel.axhline(baseline, color="0.45", linestyle="--", label="unigram model")
        for number, run in enumerate(runs):
            panel.plot(
                *curve(run, level),
                color=_COLOURS[number % len(_COLOURS)],
                marker=_MARKERS[number % len(_MARKERS)],
                markersize=4,
                label=_as_typed(run.name),
            )
        panel.set_title(f"hidden by {level}")
        panel.set_xlabel("step")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("held-out loss, nat a piece")
    panels[0].legend()


def _as_typed(name: str) -> str:
    """A name that matplotlib neither hides (a leading _) nor reads as mathematics ($)."""
    return "\u200b" + name.replace("$", r"\$")
