"""Many arrays read as one flat sequence, in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Stream:
    """One column of all parts as one flat sequence of pieces, read in place.

    Attributes:
        chunks: one array a record batch, views of the mapped files.
        begins: *Shape:* ``(chunks + 1,)``, the number of pieces before each chunk, and the total.
    """

    chunks: Sequence[npt.NDArray[Any]]
    begins: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.begins[-1])

    def gather(
        self, begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
    ) -> npt.NDArray[Any]:
        """Copy the pieces of the slices ``[begin, end)``, one after the other.

        Example: over the pieces ``[5, 6, 7, 8, 9]``, wherever the parts are divided,
        ``gather([3, 0], [5, 2])`` -> ``[8, 9, 5, 6]``.
        """
        firsts = np.searchsorted(self.begins, begins, side="right") - 1
        slices = []
        for number, begin, end in zip(firsts.tolist(), begins.tolist(), ends.tolist(), strict=True):
            while begin < end:
                base, chunk = int(self.begins[number]), self.chunks[number]
                slices.append(chunk[begin - base : end - base])
                begin, number = base + len(chunk), number + 1
        return np.concatenate(slices) if slices else self.chunks[0][:0].copy()
