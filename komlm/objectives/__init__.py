"""What a model learns to do with the pieces that a masking strategy hides: one class a file.

To add an objective, write ``komlm/objectives/NAME.py`` and add one line to ``OBJECTIVES``.
"""

from __future__ import annotations

from komlm.objectives.mlm import MaskedLanguageModel
from komlm.objectives.terms import Term

OBJECTIVES = {
    "mlm": MaskedLanguageModel,
}

__all__ = ["OBJECTIVES", "MaskedLanguageModel", "Term"]
