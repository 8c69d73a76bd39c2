"""Recovery against a loop over units in plain Python."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from komlm.config import Config
from komlm.data.rows import RowSource
from komlm.data.shards import Shards
from komlm.masking import begins
from komlm.masking.units import unit_numbers
from komlm.text.tags import CLASS_OF_TAG, CLASSES, TAG_CODE, TAGS
from komlm.training.recovery import (
    Hidden,
    Recovery,
    answers,
    joined,
    recovered,
    score,
    spread,
    without_symbols,
)
from komlm.training.recovery_table import summary, table
from komlm.training.state import RunState

COUNTS = np.array([0, 0, 0, 0, 0, 7, 3, 9, 1, 1])
A_PIECE = st.tuples(st.integers(0, len(TAGS) - 1), st.integers(5, 9), st.booleans())
UNITS = st.lists(st.lists(A_PIECE, min_size=1, max_size=4), min_size=1, max_size=12)


def as_arrays(units: list[list[tuple[int, int, bool]]]) -> Hidden:
    pieces = [(3 * number, *piece) for number, unit in enumerate(units) for piece in unit]
    numbers, codes, labels, right = (np.array(column) for column in zip(*pieces, strict=True))
    return Hidden(numbers, codes, labels, np.arange(len(pieces)) / 7, right)


def rank(code: int) -> int:
    return CLASSES.index(CLASS_OF_TAG[TAGS[code]]) if code else len(CLASSES)


def check(found: dict, units: list[list[tuple[int, int, bool]]]) -> None:
    groups: dict[str, dict[str, list[bool]]] = {"classes": {}, "tags": {}}
    for unit in units:
        head = min((code for code, _, _ in unit), key=rank)
        names = {
            "tags": TAGS[head] or "none",
            "classes": CLASS_OF_TAG[TAGS[head]] if head else "none",
        }
        for kind, name in names.items():
            groups[kind].setdefault(name, []).append(all(right for _, _, right in unit))
    everything = [all(right for _, _, right in unit) for unit in units]
    assert found["units"] == len(units)
    assert found["recovery"] == pytest.approx(sum(everything) / max(len(units), 1))
    guessed = [all(label == 7 for _, label, _ in unit) for unit in units]
    assert found["baseline"] == pytest.approx(sum(guessed) / max(len(units), 1))
    for kind, expected in groups.items():
        assert set(found[kind]) == set(expected)
        for name, right in expected.items():
            assert found[kind][name]["units"] == len(right)
            assert found[kind][name]["recovery"] == pytest.approx(sum(right) / len(right))


@given(UNITS)
@settings(deadline=None)
def test_recovered_against_a_loop(units: list[list[tuple[int, int, bool]]]) -> None:
    hidden = as_arrays(units)
    check(recovered(hidden, COUNTS), units)
    words = [
        [p for p in unit if not p[0] or rank(p[0]) != CLASSES.index("symbol")] for unit in units
    ]
    check(recovered(without_symbols(hidden), COUNTS), [word for word in words if word])


@given(UNITS)
@settings(deadline=None)
def test_score_against_a_loop(units: list[list[tuple[int, int, bool]]]) -> None:
    scored = score(as_arrays(units), COUNTS)
    pieces = [piece for unit in units for piece in unit]
    total = COUNTS.sum() + len(COUNTS)
    unigram = [-math.log((COUNTS[label] + 1) / total) for _, label, _ in pieces]
    assert scored["pieces"] == len(pieces)
    assert scored["loss"] == pytest.approx(sum(i / 7 for i in range(len(pieces))) / len(pieces))
    assert scored["accuracy"] == pytest.approx(sum(right for _, _, right in pieces) / len(pieces))
    baseline = scored["baseline"]
    assert baseline["loss"] == pytest.approx(sum(unigram) / len(unigram))
    assert baseline["accuracy"] == pytest.approx(
        sum(label == 7 for _, label, _ in pieces) / len(pieces)
    )


def test_joined_keeps_units_apart() -> None:
    one = as_arrays([[(0, 5, True), (0, 5, True)], [(0, 5, True)]])
    both = joined([one, one])
    assert both.units.tolist() == [0, 0, 3, 4, 4, 7]
    assert recovered(both, COUNTS)["units"] == 4


def test_spread() -> None:
    assert spread(10, 4).tolist() == [0, 2, 5, 7]
    assert spread(3, 10).tolist() == [0, 1, 2]


@pytest.fixture(scope="module")
def state(config: Config, shards_folder: Path) -> RunState:
    return RunState.new(config, Shards.open(shards_folder, "train"))


@pytest.mark.parametrize("level", ["piece", "morpheme", "eojeol"])
def test_answers_against_the_whole_model(state: RunState, level: str) -> None:
    """Logits at all positions by transformers; the units from the rows."""
    rows = RowSource(state.shards, 32).batch(np.arange(8))
    model = state.model.eval()
    hidden = answers(model, rows, level, 4, torch.device("cpu"))
    numbers = (unit_numbers(begins(rows, level)) + 32 * torch.arange(8)[:, None]).flatten().numpy()
    where = np.flatnonzero(np.isin(numbers, hidden.units))
    assert np.array_equal(numbers[where], hidden.units)  # units are hidden whole, in order
    corrupted = rows.input_ids.clone()
    corrupted.view(-1)[where] = 4
    with torch.inference_mode():
        logits = model(corrupted, attention_mask=rows.attention_mask).logits.view(-1, 64)[where]
    labels = rows.input_ids.flatten()[where]
    assert torch.equal(labels, torch.from_numpy(hidden.labels))
    assert torch.equal(logits.argmax(1) == labels, torch.from_numpy(hidden.right))
    losses = torch.nn.functional.cross_entropy(logits, labels, reduction="none")
    torch.testing.assert_close(losses.double(), torch.from_numpy(hidden.losses))


def test_measurement_depends_on_neither_recipe_nor_batches(
    state: RunState, shards_folder: Path
) -> None:
    source = RowSource(Shards.open(shards_folder, "heldout"), 32)
    counts = state.shards.counts()
    one, many = (
        Recovery(source, spread(len(source), 9), counts, rows).measure(state.model, state.device)
        for rows in (1, 9)
    )
    for level in ("piece", "morpheme", "eojeol"):
        assert one[level]["pieces"] == many[level]["pieces"]
        assert one[level]["loss"] == pytest.approx(many[level]["loss"], rel=1e-5)
        assert one[level]["baseline"] == many[level]["baseline"]
    assert one["rows"] == 9
    assert set(one["eojeol"]["word"]) == {"units", "recovery", "baseline", "classes", "tags"}
    assert one["piece"]["recovery"] == one["piece"]["accuracy"]
    assert set(one["morpheme"]["tags"]) <= {"NNG", "JKB", "SF"}


def test_table_and_summary() -> None:
    codes = [TAG_CODE[tag] for tag in ("NNG", "JKB", "SF")]
    hidden = as_arrays([[(codes[0], 7, True), (codes[1], 6, False)], [(codes[2], 7, True)]])
    scored = score(hidden, COUNTS)
    heldout = {"rows": 2, "piece": scored, "morpheme": scored, "eojeol": dict(scored)}
    heldout["eojeol"]["word"] = recovered(without_symbols(hidden), COUNTS)
    text = table(heldout)
    assert "2 rows" in text
    assert [line.split()[0] for line in text.splitlines() if line][2:] == [
        *("level", "piece", "morpheme", "eojeol", "word"),
        *("class", "noun", "symbol"),
        *("tag", "NNG", "SF"),
    ]
    assert all(len(line) <= 90 for line in text.splitlines())
    assert "NNG" not in table(heldout, tags=False)
    assert "held-out morphemes: loss 0.14 (unigram" in summary(heldout, "morpheme")
    assert "units right 50.0 %" in summary(heldout, "morpheme")
