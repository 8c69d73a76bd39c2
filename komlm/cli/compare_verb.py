"""The verb that sets runs beside one another: compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from komlm.cli.options import Json


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN", show_default=False, help="Run folders, two or more."),
    ],
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Also draw the curves of loss into a PNG."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare runs: loss and recovery by level, class, tag.

    Does it help to hide whole morphemes? Train by each unit on the same shards, then compare:

    \b
      for unit in piece morpheme eojeol; do
        komlm pretrain tiny --set data.shards=shards \\
          --set masking.unit=$unit -o runs/$unit
      done
      komlm compare runs/piece runs/morpheme runs/eojeol --plot curves.png

    Every run measures all three levels on the same held-out pieces, whatever it hides in training.
    """
    from komlm.cli.answers import print_json
    from komlm.evaluation.compare import differences, read_runs
    from komlm.evaluation.comparison_table import table
    from komlm.evaluation.curves import plot as draw
    from komlm.terminal import shown

    if len(runs) < 2:
        raise ValueError(f"compare {runs[0]}: wanted two runs or more")
    histories = read_runs(runs)
    if plot:
        draw(histories, plot)
    if as_json:
        found = {run.name: {"step": run.measured[-1][0], "heldout": run.last} for run in histories}
        print_json({"differences": differences(histories), "runs": found})
        return
    print("\n".join(shown(line) for line in table(histories).split("\n")))
    if plot:
        print("\n" + shown(f"The curves are in {plot}."))
