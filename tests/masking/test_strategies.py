"""The three strategies against a naive oracle of the same law, and the masking contract."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from komlm.data.rows import Rows
from komlm.masking import STRATEGIES, Selection, begins, systematic
from komlm.randomness import ONE, Purpose, draw, row_keys
from komlm.text.tags import CLASS_OF_CODE, CLASSES, TAG_CODE, TAGS
from komlm.types import Flag

FLAG = {"piece": 0, "morpheme": Flag.MORPHEME, "eojeol": Flag.EOJEOL}
PIECE = st.tuples(
    st.sampled_from([0, 0, 0, 1, 1, 3, 3, 7, 15, 17, 35, 65, int(Flag.SPECIAL)]),
    st.integers(0, len(TAGS) - 1),
)
WEIGHTS = st.dictionaries(
    st.sampled_from(CLASSES), st.sampled_from([0.0, 0.5, 1.0, 2.0, 9.0]), max_size=4
)


def units_naively(starts: list[int], unit: str) -> list[list[int]]:
    """Positions of the pieces of each unit; a special token is a unit of its own."""
    units: list[list[int]] = []
    for position, flags in enumerate(starts):
        fresh = position == 0 or flags & Flag.SPECIAL or starts[position - 1] & Flag.SPECIAL
        if fresh or unit == "piece" or flags & FLAG[unit]:
            units.append([])
        units[-1].append(position)
    return units


def probabilities_naively(
    units: list[list[int]], starts: list[int], tags: list[int], settings: Selection
) -> list[int]:
    result = []
    for unit in units:
        number = min(int(CLASS_OF_CODE[tags[position]]) for position in unit)
        weight = settings.weights.get(CLASSES[number], 1.0) if number < len(CLASSES) else 1.0
        probability = min(1.0, settings.ratio * weight)
        result.append(0 if starts[unit[0]] & Flag.SPECIAL else round(probability * ONE))
    return result


def select_naively(
    starts: list[int], tags: list[int], number: int, unit: str, settings: Selection
) -> list[bool]:
    units = units_naively(starts, unit)
    p = probabilities_naively(units, starts, tags, settings)
    assert isinstance(settings.epoch, int)
    key = row_keys(settings.seed, settings.epoch, number)

    def place(i: int) -> tuple[int, int, int]:
        return len(units[i]), (draw(key, i, Purpose.SELECT_UNIT) >> 16) % (1 << 31), i

    total, u = sum(p), draw(key, 0, Purpose.OFFSET)
    if total < ONE:
        u = ONE - (1 + u % total) if total else 0
    else:
        u >>= 33
    hidden, before = [False] * len(starts), 0
    for i in sorted((i for i in range(len(units)) if p[i]), key=place):
        if (before + p[i] + u) // ONE > (before + u) // ONE:
            for position in units[i]:
                hidden[position] = True
        before += p[i]
    return hidden


@st.composite
def batches(draw_: st.DrawFn) -> tuple[list[list[int]], list[list[int]]]:
    length = draw_(st.integers(1, 40))
    row = st.lists(PIECE, min_size=length, max_size=length)
    rows = draw_(st.lists(row, min_size=1, max_size=4))
    return [[f for f, _ in row] for row in rows], [[t for _, t in row] for row in rows]


@pytest.mark.property
@given(
    batches(),
    st.sampled_from([*STRATEGIES]),
    st.sampled_from([0.01, 0.15, 0.4, 0.9]),
    WEIGHTS,
    st.integers(0, 3),
    st.integers(0, 10**6),
)
def test_equal_to_the_naive_oracle(
    rows_of: Callable[..., Rows],
    batch: tuple[list[list[int]], list[list[int]]],
    unit: str,
    ratio: float,
    weights: dict[str, float],
    epoch: int,
    first: int,
) -> None:
    settings = Selection(ratio, weights, seed=7, epoch=epoch)
    hidden = STRATEGIES[unit](rows_of(*batch, first=first), settings)
    for i, (starts, tags) in enumerate(zip(*batch, strict=True)):
        assert hidden[i].tolist() == select_naively(starts, tags, first + i, unit, settings)


@pytest.mark.property
@given(batches(), st.sampled_from([*STRATEGIES]), st.sampled_from([0.1, 0.15, 0.5]), WEIGHTS)
def test_the_contract_of_a_row(
    rows_of: Callable[..., Rows],
    batch: tuple[list[list[int]], list[list[int]]],
    unit: str,
    ratio: float,
    weights: dict[str, float],
) -> None:
    settings = Selection(ratio, weights)
    hidden = STRATEGIES[unit](rows_of(*batch), settings)
    for i, (starts, tags) in enumerate(zip(*batch, strict=True)):
        units = units_naively(starts, unit)
        p = probabilities_naively(units, starts, tags, settings)
        chosen = [hidden[i][positions] for positions in units]
        assert all(bool(pieces.all()) or not bool(pieces.any()) for pieces in chosen)
        assert not any(bool(pieces.any()) for pieces, q in zip(chosen, p, strict=True) if not q)
        if sum(p) < ONE:
            assert sum(bool(pieces.any()) for pieces in chosen) == (sum(p) > 0)
        else:
            longest = max(len(unit) for unit, q in zip(units, p, strict=True) if q)
            wanted = sum(q * len(unit) for unit, q in zip(units, p, strict=True))
            assert abs(int(hidden[i].sum()) * ONE - wanted) <= longest * ONE


@pytest.mark.parametrize("unit", STRATEGIES)
def test_a_row_does_not_depend_on_its_batch(unit: str, realistic_rows: Callable[..., Rows]) -> None:
    rows = realistic_rows(64, 64)
    settings = Selection(0.15, {"noun": 2.0})
    together = STRATEGIES[unit](rows, settings)
    for size in (1, 7):
        parts = [
            STRATEGIES[unit](taken(rows, slice(i, i + size)), settings) for i in range(0, 64, size)
        ]
        assert torch.equal(torch.cat(parts), together)
    backwards = STRATEGIES[unit](taken(rows, torch.arange(63, -1, -1)), settings)
    assert torch.equal(backwards.flip(0), together)


def taken(rows: Rows, which: slice | torch.Tensor) -> Rows:
    return Rows(rows.input_ids[which], rows.starts[which], rows.tags[which], rows.numbers[which])


@pytest.mark.parametrize("unit", STRATEGIES)
def test_more_padding_changes_nothing(unit: str, realistic_rows: Callable[..., Rows]) -> None:
    rows = realistic_rows(32, 48)
    wide = [torch.nn.functional.pad(x, (0, 16)) for x in (rows.input_ids, rows.starts, rows.tags)]
    wide[1][:, 48:] = int(Flag.SPECIAL)
    hidden = STRATEGIES[unit](Rows(*wide, rows.numbers), Selection(0.15))
    assert torch.equal(hidden[:, :48], STRATEGIES[unit](rows, Selection(0.15)))
    assert not hidden[:, 48:].any()


@pytest.mark.parametrize("unit", STRATEGIES)
def test_the_road_of_a_gpu_gives_the_same_bits(
    unit: str, realistic_rows: Callable[..., Rows], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = realistic_rows(64, 128)
    ours = STRATEGIES[unit](rows, Selection(0.15))
    monkeypatch.setattr(systematic, "sorted_rows", lambda values: values.sort(dim=1).values)
    assert torch.equal(STRATEGIES[unit](rows, Selection(0.15)), ours)


def test_an_epoch_for_each_row(realistic_rows: Callable[..., Rows]) -> None:
    rows = realistic_rows(10, 64)
    select = STRATEGIES["morpheme"]
    mixed = select(rows, Selection(0.15, epoch=torch.tensor([4] * 6 + [5] * 4)))
    fourth, fifth = (select(rows, Selection(0.15, epoch=epoch)) for epoch in (4, 5))
    assert torch.equal(mixed, torch.cat([fourth[:6], fifth[6:]]))
    assert not torch.equal(fourth, fifth)
    assert not torch.equal(select(rows, Selection(0.15, seed=1, epoch=4)), fourth)


@pytest.mark.parametrize("length", [4096, 10_000])
def test_long_rows_and_long_units(length: int, rows_of: Callable[..., Rows]) -> None:
    one_unit = [3] + [0] * (length - 1)
    many = [3 if i % 3 == 0 else 0 for i in range(length)]
    rows = rows_of([one_unit, many])
    settings = Selection(0.15)
    hidden = STRATEGIES["eojeol"](rows, settings)
    assert bool(hidden[0].all())
    assert hidden[1].tolist() == select_naively(many, [0] * length, 1, "eojeol", settings)


def test_rows_beyond_the_sort_key_are_refused(rows_of: Callable[..., Rows]) -> None:
    with pytest.raises(ValueError, match="70000 pieces.*65535"):
        STRATEGIES["piece"](rows_of([[3] * 70_000]), Selection(0.15))


def test_empty_batches(rows_of: Callable[..., Rows]) -> None:
    none = Rows(*(torch.zeros(0, 8, dtype=torch.uint8) for _ in range(3)), torch.arange(0))
    assert STRATEGIES["morpheme"](none, Selection(0.15)).shape == (0, 8)
    special = rows_of([[int(Flag.SPECIAL)] * 8])
    assert not STRATEGIES["morpheme"](special, Selection(0.9)).any()


def test_the_class_of_an_eojeol_is_that_of_its_most_contentful_piece(
    rows_of: Callable[..., Rows],
) -> None:
    josa, noun = TAG_CODE["JKB"], TAG_CODE["NNG"]
    # Four eojeols: noun + josa, josa alone, symbol + noun, josa + josa.
    rows = rows_of([[3, 1, 3, 3, 1, 3, 1]], [[noun, josa, josa, TAG_CODE["SSO"], noun, josa, josa]])
    settings = Selection(0.5, {"noun": 2.0, "josa": 0.0})
    assert STRATEGIES["eojeol"](rows, settings)[0].tolist() == [1, 1, 0, 1, 1, 0, 0]
    assert STRATEGIES["morpheme"](rows, settings)[0].tolist()[:3] == [1, 0, 0]


def test_begins(rows_of: Callable[..., Rows]) -> None:
    cls = int(Flag.SPECIAL)
    rows = rows_of([[cls, 15, 0, 1, 3, 0, cls, cls]])
    assert begins(rows, "eojeol")[0].tolist() == [1, 1, 0, 0, 1, 0, 1, 1]
    assert begins(rows, "morpheme")[0].tolist() == [1, 1, 0, 1, 1, 0, 1, 1]
    assert begins(rows, "piece").all()
    unflagged = rows_of([[0, 0, cls, 0, 0], [0, 3, 0, 0, cls]])
    assert begins(unflagged, "eojeol").tolist() == [[1, 0, 1, 1, 0], [1, 1, 0, 0, 1]]
    with pytest.raises(ValueError, match="did you mean 'eojeol'"):
        begins(rows, "eojol")
