"""How much the proofs measure: the cheap half, or the whole with ``PROOF_SIZE=whole``."""

import os


def is_whole() -> bool:
    """Say whether ``PROOF_SIZE=whole`` asks for the whole proofs; any other word is refused.

    Example: ``rows = 200_000 if is_whole() else 20_000``
    """
    size = os.environ.get("PROOF_SIZE", "")
    if size not in ("", "whole"):
        raise ValueError(f"PROOF_SIZE is {size!r}: leave it out, or set it to 'whole'")
    return size == "whole"
