"""komlm: Korean masked language models that hide whole morphemes and whole eojeols."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from komlm.collator import UnitMaskingCollator, mean_over_step
    from komlm.inference.fill_mask import FillMask
    from komlm.pooling import pool
    from komlm.text.aligner import Aligner
    from komlm.text.alignment import Alignment

__version__ = "0.1.0"
__all__ = [
    "Aligner",
    "Alignment",
    "FillMask",
    "UnitMaskingCollator",
    "__version__",
    "mean_over_step",
    "pool",
]

_HOMES = {
    "Aligner": "komlm.text.aligner",
    "Alignment": "komlm.text.alignment",
    "FillMask": "komlm.inference.fill_mask",
    "UnitMaskingCollator": "komlm.collator",
    "mean_over_step": "komlm.collator",
    "pool": "komlm.pooling",
}


def __getattr__(name: str) -> object:
    # Imported when asked for: `komlm --help` should not wait for torch.
    if name not in _HOMES:
        raise AttributeError(f"module 'komlm' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
