"""A step of training against transformers' Trainer: same model, rows, precision and optimizer.

Both train a BERT of size tiny on the same 64 rows of 128, a step over all of them, on the GPU or on
all cores, with AdamW (fused), the same rates, decay and clipping, and the precision that `komlm
pretrain` would take. The model has 8,002 entries, komlm's default, where the tokenizer has fewer:
the output layer, which komlm runs at hidden pieces alone, takes time by their number.

The two train in turn; the first step of a turn is left out, so that building a Trainer does not
count. On a CPU the fastest step counts; on a GPU, where steps run into one another, the turn with
the best mean.
"""

from __future__ import annotations

import time

from komlm.bench.komlm_side import LENGTH, SIZE, KomlmSide
from komlm.bench.material import Material
from komlm.bench.report import Figure, Report
from komlm.models import quiet_transformers

TURNS = 2
"""Turns that each has at least."""


def measure(material: Material) -> Report:
    """Tokens a second of each, and how many times the Trainer's speed komlm has.

    Raises:
        ImportError: accelerate is not installed.
    """
    # Here and not above: importing the Trainer takes a second that other measurements can spare.
    from komlm.bench.trainer_side import TrainerSide

    ours = KomlmSide(material.shards)
    with quiet_transformers():
        theirs = TrainerSide(ours, str(material.new_folder()))
        best = {"komlm": float("inf"), "trainer": float("inf")}
        end, turns = time.perf_counter() + material.seconds, 0
        while turns < TURNS or time.perf_counter() < end:
            best["komlm"] = min(best["komlm"], ours.turn())
            best["trainer"] = min(best["trainer"], theirs.turn())
            turns += 1
    speed = {name: ours.tokens / seconds for name, seconds in best.items()}
    figures = (
        Figure("tokens_per_s.komlm", "komlm, tokens/s", speed["komlm"]),
        Figure("tokens_per_s.trainer", "Trainer, tokens/s", speed["trainer"]),
        Figure(
            "ratios.trainer",
            "komlm / Trainer",
            speed["komlm"] / speed["trainer"],
            "{:.2f} times",
            at_least=1.2,
        ),
    )
    state = ours.state
    note = (
        f"size {SIZE}, {len(ours.rows.numbers)} rows of {LENGTH} from {material.name}, "
        f"{state.objective.vocabulary_size:,} entries, {state.device.type}, "
        f"{str(state.precision).removeprefix('torch.')}"
    )
    return Report(figures, note)
