"""Stateless randomness: each draw is a hash of what it is for, so there is no state to save.

A draw depends on (seed, epoch, row number, number within the row, purpose) and on nothing else: not
on batch size, workers, ranks, device, or where a run was resumed. The arithmetic is that of 64-bit
integers that wrap around, the same on Python ints, numpy int64 arrays and torch int64 tensors, so
that CPU and GPU give the same bits. Source: SplitMix64 (Steele, Lea and Flood, 2014).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

Integers = TypeVar("Integers", int, np.ndarray, Tensor)

FRACTION_BITS = 30
"""Probabilities are integers: p stands for ``p / 2**FRACTION_BITS``."""

ONE = 1 << FRACTION_BITS
"""The probability 1."""


class Purpose(IntEnum):
    """What a draw is for; draws for different purposes are independent. Never renumber.

    Example: ``draw(keys, positions, Purpose.REPLACE)``.
    """

    SELECT_UNIT = 1
    OFFSET = 2
    REPLACE = 3
    RANDOM_PIECE = 4
    ROW_ORDER = 5
    DROPOUT = 6
    HELDOUT = 7
    INITIAL_WEIGHTS = 8


# Written as signed numbers, because torch refuses a Python int over 2**63 - 1.
_STEP = 0x9E3779B97F4A7C15 - (1 << 64)
_STRIDE = 0xD1342543DE82EF95 - (1 << 64)
"""Between the streams of two purposes; far from any small multiple of _STEP."""
_FIRST = 0xBF58476D1CE4E5B9 - (1 << 64)
_SECOND = 0x94D049BB133111EB - (1 << 64)
_NOT_NEGATIVE = (1 << 63) - 1
_FEISTEL_ROUNDS = 4


def mix(x: Integers) -> Integers:
    """The finaliser of SplitMix64: a bijection of the 64-bit integers in which each bit of the
    result depends on each bit of ``x``.

    *Shape:* any, kept. The result is signed; a Python int is taken modulo 2**64.

    Example: ``mix(1)`` -> ``6238072747940578789``, and the same within an array or a tensor.
    """
    if isinstance(x, Tensor):
        return torch.from_numpy(_mix_array(x.numpy())) if x.device.type == "cpu" else _mix_tensor(x)
    if isinstance(x, np.ndarray):
        return _mix_array(x)
    return _mix_int(int(x))


def _mix_array(x: np.ndarray) -> np.ndarray:
    # In place on the fresh result of the first shift. Without signs there is nothing to mask off,
    # which makes this twice as fast as _mix_tensor.
    x = x.astype(np.int64, copy=False).view(np.uint64)
    with np.errstate(over="ignore"):  # numpy warns of the wrap where an array has no axis
        y = np.asarray(x >> np.uint64(30))
        y ^= x
        y *= np.uint64(_FIRST % (1 << 64))
        z = np.asarray(y >> np.uint64(27))
        z ^= y
        z *= np.uint64(_SECOND % (1 << 64))
    np.right_shift(z, np.uint64(31), out=y)
    y ^= z
    return y.view(np.int64)


def _mix_tensor(x: Tensor) -> Tensor:
    # As above; >> keeps the sign, so mask its copies off.
    y = x >> 30
    y &= (1 << 34) - 1
    y ^= x
    y *= _FIRST
    z = y >> 27
    z &= (1 << 37) - 1
    z ^= y
    z *= _SECOND
    y = z >> 31
    y &= (1 << 33) - 1
    y ^= z
    return y


def _mix_int(x: int) -> int:
    x = _signed(x)
    y = _signed((((x >> 30) & ((1 << 34) - 1)) ^ x) * _FIRST)
    z = _signed((((y >> 27) & ((1 << 37) - 1)) ^ y) * _SECOND)
    return ((z >> 31) & ((1 << 33) - 1)) ^ z


def row_keys(seed: int, epoch: int | Integers, numbers: Integers) -> Integers:
    """One key a row: a hash of (seed, epoch, row number).

    Args:
        seed: the run's seed.
        epoch: one for all rows, or one a row where a batch runs over the end of an epoch.
        numbers: row numbers, an int64 array or tensor.

    *Shape:* that of ``numbers``.

    Example: ``row_keys(0, 3, torch.tensor([7, 8]))[0] == row_keys(0, 3, torch.tensor([7]))[0]``.
    """
    return _chained(_chained(seed_of(seed), epoch), numbers)


def draw(keys: Integers, numbers: Any, purpose: Purpose) -> Integers:
    """A number in [0, 2**63) for each pair of key and number, uniform and independent.

    Args:
        keys: from :func:`row_keys`.
        numbers: what is drawn for within the row, such as a position; broadcast against ``keys``.
        purpose: what the draw is for.

    Example: keys of shape (64, 1), numbers of shape (512,) -> draws of shape (64, 512).
    """
    return _chained(keys + _signed(int(purpose) * _STRIDE), numbers) & _NOT_NEGATIVE


def seed_of(*numbers: int) -> int:
    """One seed in [0, 2**63) from several numbers, such as for ``torch.manual_seed``.

    Example: ``seed_of(0, Purpose.DROPOUT, step)``; ``seed_of(1, 2) != seed_of(2, 1)``.
    """
    key = mix(len(numbers))  # without it, leading zeros would make no difference
    for number in numbers:
        key = _chained(key, int(number))
    return key & _NOT_NEGATIVE


def _chained(key: Any, number: Any) -> Any:
    """The output of SplitMix64 with seed ``key`` at step ``number``."""
    if isinstance(number, (int, np.integer)):
        step: Any = _signed(int(number) * _STEP)
        if isinstance(key, (int, np.integer)):
            return mix(int(key) + step)
        return mix(key + step)
    return mix(key + number * _STEP)


def _signed(x: int) -> int:
    """``x`` modulo 2**64, as torch and numpy would hold it in an int64."""
    return (x + (1 << 63)) % (1 << 64) - (1 << 63)


def permuted(positions: np.ndarray, size: int, key: int) -> np.ndarray:
    """Where a permutation of range(size), chosen by ``key``, sends ``positions``.

    Computed, not stored: a Feistel network over the next power of two, applied again to whatever
    falls outside (cycle walking; Black and Rogaway, 2002). The time for a position does not depend
    on ``size``.

    Args:
        positions: int64 numbers in [0, size).
        size: 1 or more.
        key: any integer, such as ``seed_of(seed, epoch, Purpose.ROW_ORDER)``.

    *Shape:* that of ``positions``.

    Raises:
        ValueError: ``size`` is below 1, or a position lies outside.

    Example: ``sorted(permuted(np.arange(5), 5, key=1))`` -> ``[0, 1, 2, 3, 4]``.
    """
    if size < 1:
        raise ValueError(f"size = {size}: wanted 1 or more things to permute")
    result = np.array(positions, dtype=np.int64)
    if result.size and not 0 <= int(result.min()) <= int(result.max()) < size:
        raise ValueError(
            f"positions from {result.min()} to {result.max()}: wanted them within [0, {size})"
        )
    flat = result.reshape(-1)
    walking = np.arange(flat.size)
    while walking.size:
        flat[walking] = _feistel(flat[walking], size, key)
        walking = walking[flat[walking] >= size]
    return result


def _feistel(x: np.ndarray, size: int, key: int) -> np.ndarray:
    bits = max(2, (size - 1).bit_length())
    low_bits = bits // 2
    low_mask, high_mask = (1 << low_bits) - 1, (1 << (bits - low_bits)) - 1
    low, high = x & low_mask, x >> low_bits
    for turn in range(_FEISTEL_ROUNDS):
        high ^= _chained(seed_of(key, 2 * turn), low) & high_mask
        low ^= _chained(seed_of(key, 2 * turn + 1), high) & low_mask
    return (high << low_bits) | low
