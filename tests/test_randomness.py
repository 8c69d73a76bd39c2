from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from komlm.randomness import Purpose, _mix_tensor, draw, mix, permuted, row_keys, seed_of

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def test_mix_gives_the_published_outputs_of_splitmix64() -> None:
    # The reference values for seed 1234567, as on Rosetta Code.
    wanted = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert [mix(1234567 + (i + 1) * GOLDEN) & MASK for i in range(5)] == wanted


def unmix(y: int) -> int:
    def unshift(v: int, bits: int) -> int:
        x = v
        for _ in range(64 // bits + 1):
            x = v ^ (x >> bits)
        return x

    x = unshift(y & MASK, 31)
    x = unshift(x * pow(0x94D049BB133111EB, -1, 1 << 64) & MASK, 27)
    return unshift(x * pow(0xBF58476D1CE4E5B9, -1, 1 << 64) & MASK, 30)


@given(INT64)
def test_mix_is_a_bijection(x: int) -> None:
    assert unmix(mix(x)) == x & MASK


@given(st.lists(INT64, max_size=20))
def test_ints_arrays_and_tensors_give_the_same_bits(values: list[int]) -> None:
    wanted = [mix(value) for value in values]
    array = np.array(values, dtype=np.int64)
    tensor = torch.tensor(values, dtype=torch.int64)
    assert mix(array).tolist() == wanted
    assert mix(tensor).tolist() == wanted
    assert _mix_tensor(tensor).tolist() == wanted  # the way on a GPU
    assert array.tolist() == values == tensor.tolist()


@given(INT64, INT64, INT64, st.lists(INT64, min_size=1, max_size=5))
def test_draws_are_the_same_for_ints_arrays_and_tensors(
    seed: int, epoch: int, number: int, rows: list[int]
) -> None:
    for purpose in (Purpose.SELECT_UNIT, Purpose.REPLACE):
        wanted = [draw(row_keys(seed, epoch, row), number, purpose) for row in rows]
        array, tensor = np.array(rows, dtype=np.int64), torch.tensor(rows, dtype=torch.int64)
        assert draw(row_keys(seed, epoch, array), number, purpose).tolist() == wanted
        assert draw(row_keys(seed, epoch, tensor), number, purpose).tolist() == wanted
        epochs = torch.full_like(tensor, epoch)
        numbers = torch.full_like(tensor, number)
        assert draw(row_keys(seed, epochs, tensor), numbers, purpose).tolist() == wanted
        assert all(0 <= value < 1 << 63 for value in wanted)


def test_draws_broadcast_and_all_differ() -> None:
    keys = row_keys(0, 0, torch.arange(50))
    draws = [draw(keys[:, None], torch.arange(300), purpose) for purpose in Purpose]
    assert draws[0].shape == (50, 300)
    assert torch.stack(draws).unique().numel() == len(Purpose) * 50 * 300


@pytest.mark.parametrize("shift", [0, 16, 33, 55])
def test_draws_are_uniform(shift: int) -> None:
    keys = row_keys(3, 1, torch.arange(200))
    draws = draw(keys[:, None], torch.arange(1000), Purpose.OFFSET)
    counts = torch.bincount(((draws >> shift) & 255).view(-1), minlength=256).double()
    expected = draws.numel() / 256
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    assert abs(chi_square - 255) < 4 * (2 * 255) ** 0.5


def test_draws_of_neighbouring_rows_epochs_seeds_and_purposes_are_not_related() -> None:
    def sample(seed: int = 0, epoch: int = 0, row: int = 0, purpose: Purpose = Purpose.OFFSET):
        keys = row_keys(seed, epoch, torch.tensor([row]))
        return draw(keys, torch.arange(20_000), purpose).double()

    base = sample()
    others = [sample(seed=1), sample(epoch=1), sample(row=1), sample(purpose=Purpose.REPLACE)]
    others.append(base.roll(1))
    for other in others:
        correlation = float(torch.corrcoef(torch.stack([base, other]))[0, 1])
        assert abs(correlation) < 4 / 20_000**0.5


def test_seed_of_depends_on_order_and_number_of_its_arguments() -> None:
    seeds = [seed_of(), seed_of(0), seed_of(0, 0), seed_of(1), seed_of(0, 1), seed_of(1, 0)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 1 << 63 for seed in seeds)


@given(st.integers(1, 300), INT64)
def test_permuted_is_a_permutation(size: int, key: int) -> None:
    assert sorted(permuted(np.arange(size), size, key).tolist()) == list(range(size))


@given(st.lists(st.integers(0, 10**12 - 1), unique=True, max_size=20), INT64)
def test_permuted_treats_each_position_alone(positions: list[int], key: int) -> None:
    together = permuted(np.array(positions, dtype=np.int64), 10**12, key)
    alone = [int(permuted(np.array([p]), 10**12, key)[0]) for p in positions]
    assert together.tolist() == alone
    assert len(set(alone)) == len(positions)
    assert all(0 <= value < 10**12 for value in alone)


@pytest.mark.parametrize("size", [7, 50])
def test_permuted_sends_a_position_anywhere(size: int) -> None:
    keys = 1000
    counts = np.zeros(size)
    for key in range(keys):
        counts[permuted(np.array([size // 2]), size, key)[0]] += 1
    expected = keys / size
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    assert abs(chi_square - (size - 1)) < 5 * (2 * (size - 1)) ** 0.5


def test_permuted_leaves_neighbours_apart() -> None:
    order = permuted(np.arange(100_000), 100_000, key=1)
    assert abs(float(np.corrcoef(order[:-1], order[1:])[0, 1])) < 4 / 100_000**0.5


def test_permuted_keeps_its_argument_and_its_shape() -> None:
    positions = np.arange(6).reshape(2, 3)
    assert permuted(positions, 6, 1).shape == (2, 3)
    assert positions.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(("positions", "size"), [([5], 5), ([-1], 5), ([0], 0)])
def test_permuted_refuses_what_lies_outside(positions: list[int], size: int) -> None:
    with pytest.raises(ValueError, match="wanted"):
        permuted(np.array(positions), size, key=0)
