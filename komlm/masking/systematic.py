"""Systematic sampling: each unit is hidden with just its probability, and no row is far off.

The units of a row stand in the order of (length, hash). p is the probability of a unit, C the
running sum of p in that order, and u one draw a row from [0, 1): a unit is hidden if and only if
floor(C + u) > floor(C - p + u). As u is uniform, each unit is hidden with probability p; as the
crossings are one apart and the units ordered by length, the hidden pieces of a row differ from
the sum of p x length by at most its longest unit. (The obvious way, random order cut at a budget,
hides long units up to half as often.) Source: Madow, 1949, on systematic sampling with unequal
probabilities. All in integers, so that each device gives the same bits.

Legend of shapes: B rows, T pieces in a row, U units in a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from komlm.masking.selection import Selection
from komlm.masking.units import Units, classes_of, units_of
from komlm.randomness import FRACTION_BITS, ONE, Purpose, draw
from komlm.text.tags import CLASSES

if TYPE_CHECKING:
    from komlm.data.rows import Rows

# The sort key holds, from the top: length (16 bits), hash (31), unit number (16). The widths do not
# depend on T, so a row's mask does not depend on how far the row is padded.
_NUMBER_BITS = 16
_HASH_BITS = 31
_DRAW_BITS = 63


def select_units(rows: Rows, begins: Tensor, settings: Selection) -> Tensor:
    """Hide whole units.

    Args:
        rows: the batch.
        begins: where units begin, bool, (B, T), from :func:`komlm.masking.units.begins`.
        settings: how much, with which weights, and for which draw.

    Returns:
        True where a piece is hidden, bool. *Shape:* (B, T)

    Example: with units ``[▁학교] [에] [▁갔] [다]`` and ratio 0.25, just one is hidden, each equally
    often.
    """
    units = units_of(rows, begins)
    chosen = sample(
        units.lengths, _probabilities(rows, units, settings), settings.keys(rows.numbers)
    )
    return chosen.gather(1, units.numbers)


def _probabilities(rows: Rows, units: Units, settings: Selection) -> Tensor:
    """Probability of each unit in units of 2**-FRACTION_BITS, int64; 0 where there is no unit."""
    exists = units.lengths.clamp(max=1)
    if all(weight == 1 for weight in settings.weights.values()):
        return exists.mul_(_fixed_point(settings.ratio))
    by_class = [_fixed_point(settings.ratio * settings.weights.get(name, 1.0)) for name in CLASSES]
    by_class.append(_fixed_point(settings.ratio))  # NO_CLASS
    table = torch.tensor(by_class, dtype=torch.int64, device=units.lengths.device)
    return exists.mul_(table[classes_of(rows, units)])


def _fixed_point(probability: float) -> int:
    return min(ONE, round(probability * ONE))


def sample(lengths: Tensor, probabilities: Tensor, keys: Tensor) -> Tensor:
    """Choose units by systematic sampling.

    A row whose probabilities sum to less than 1 hides exactly one unit, with chances in proportion
    to the probabilities; one whose probabilities are all 0 hides none.

    Args:
        lengths: pieces of each unit, int64, (B, U).
        probabilities: of each unit, int64, (B, U), in units of 2**-FRACTION_BITS, at most ONE.
        keys: of the rows, int64, (B,).

    Returns:
        True where a unit is hidden, bool. *Shape:* (B, U)

    Raises:
        ValueError: more than 65,535 units a row.

    Example: four units of probability ``ONE // 4`` -> exactly one of them.
    """
    most = (1 << _NUMBER_BITS) - 1
    if lengths.shape[1] > most:
        raise ValueError(f"rows of {lengths.shape[1]} pieces: wanted {most} or fewer; cut the rows")
    numbers = torch.arange(lengths.shape[1], device=lengths.device)
    packed = draw(keys[:, None], numbers, Purpose.SELECT_UNIT)
    packed &= ((1 << _HASH_BITS) - 1) << _NUMBER_BITS
    packed |= numbers
    packed |= lengths << (_HASH_BITS + _NUMBER_BITS)
    order = sorted_rows(packed)
    order &= most

    step = probabilities.gather(1, order)
    running = step.cumsum(1)
    running += _offsets(running[:, -1:], draw(keys[:, None], 0, Purpose.OFFSET))
    # floor(C + u) > floor(C - p + u), as p is at most 1: the fraction of C + u is below p.
    running &= ONE - 1
    crossed = running < step
    return torch.zeros_like(crossed).scatter_(1, order, crossed)


def _offsets(totals: Tensor, draws: Tensor) -> Tensor:
    """u of each row, in [0, ONE). *Shape:* (B, 1), as both arguments"""
    # Below 1 in all: with t uniform in [1, total] and u = 1 - t, the sum passes 1 just once.
    once = ONE - 1 - draws % totals.clamp(min=1)
    return torch.where(totals < ONE, once, draws >> (_DRAW_BITS - FRACTION_BITS))


def sorted_rows(values: Tensor) -> Tensor:
    """Each row in ascending order; on the CPU, ``values`` itself is sorted. *Shape:* kept

    numpy's sort on the CPU, as it is five times faster there than torch's; the keys of a row are
    all different, so both give the same.
    """
    if values.device.type == "cpu":
        values.numpy().sort(axis=1)
        return values
    return values.sort(dim=1).values
