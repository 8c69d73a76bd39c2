"""A held-out measurement as text for the terminal."""

from __future__ import annotations

from typing import Any

from komlm.tables import figures, percent
from komlm.text.tags import CLASS_OF_TAG, CLASSES
from komlm.training.recovery import NONE
from komlm.types import LEVELS


def summary(heldout: dict[str, Any], level: str) -> str:
    """One line about one level.

    Example: ``"held-out morphemes: loss 5.84 (unigram 6.16), pieces right 16.6 % (10.7 %)"``, and
    the same for units.
    """
    values, baseline = heldout[level], heldout[level]["baseline"]
    return (
        f"held-out {level}s: loss {values['loss']:.2f} (unigram {baseline['loss']:.2f}), "
        f"pieces right {percent(values['accuracy'])} ({percent(baseline['accuracy'])}), "
        f"units right {percent(values['recovery'])} ({percent(baseline['recovery'])})"
    )


def table(heldout: dict[str, Any], tags: bool = True) -> str:
    """The whole measurement: levels, then classes, then (with ``tags``) tags of morpheme units."""
    parts = [
        f"Held-out text, {heldout['rows']} rows, 15 % hidden. In brackets the unigram model, which "
        "knows\nonly how often each piece occurs and always guesses the most frequent one.",
        figures(
            [_LEVEL_HEADER, *(_level(heldout[level], level) for level in LEVELS), _word(heldout)]
        ),
    ]
    groups = [heldout[level]["classes"] for level in ("morpheme", "eojeol")]
    rows = [
        [name, *_group(groups[0].get(name)), *_group(groups[1].get(name))]
        for name in (*CLASSES, NONE)
        if name in groups[0] or name in groups[1]
    ]
    header = ["class", "morphemes right", "", "units", "eojeols right", "", "units"]
    parts.append(figures([header, *rows]))
    if tags:
        known = heldout["morpheme"]["tags"]
        rows = [[tag, *_group(known[tag])] for tag in (*CLASS_OF_TAG, NONE) if tag in known]
        parts.append(figures([["tag", "morphemes right", "", "units"], *rows]))
    return "\n\n".join(parts)


_LEVEL_HEADER = ["level", "loss", "", "pieces right", "", "units right", "", "units"]


def _level(values: dict[str, Any], name: str) -> list[str]:
    baseline = values["baseline"]
    return [
        name,
        f"{values['loss']:.3f}",
        f"({baseline['loss']:.3f})",
        percent(values["accuracy"]),
        f"({percent(baseline['accuracy'])})",
        *_group({**values, "baseline": baseline["recovery"]}),
    ]


def _word(heldout: dict[str, Any]) -> list[str]:
    return ["  word", "", "", "", "", *_group(heldout["eojeol"]["word"])]


def _group(group: dict[str, Any] | None) -> list[str]:
    if not group:
        return ["", "", ""]
    recovery, baseline = percent(group["recovery"]), percent(group["baseline"])
    return [recovery, f"({baseline})", f"{group['units']:,}"]
