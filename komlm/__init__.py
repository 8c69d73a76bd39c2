"""komlm: Korean masked language models that hide whole morphemes and whole eojeols."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from komlm.inference.fill_mask import FillMask
    from komlm.text.alignment import Aligner, Alignment

__version__ = "0.1.0"
__all__ = ["Aligner", "Alignment", "FillMask", "__version__"]

_HOMES = {
    "Aligner": "komlm.text.alignment",
    "Alignment": "komlm.text.alignment",
    "FillMask": "komlm.inference.fill_mask",
}


def __getattr__(name: str) -> object:
    # Imported when asked for: `komlm --help` should not wait for torch.
    if name not in _HOMES:
        raise AttributeError(f"module 'komlm' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
