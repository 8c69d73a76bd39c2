"""The verb that trains: pretrain."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from komlm.config import Config


def pretrain(
    recipe: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE", help="mini, tiny, small, kobert-base, large, or a TOML file."
        ),
    ] = "mini",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FOLDER", help="The run folder.  [default: runs/RECIPE]"
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="On top of the recipe; again for more."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on after the last whole checkpoint.")
    ] = False,
    workers: Annotated[
        int,
        typer.Option(
            "--workers", metavar="N", min=1, help="Processes that make shards from data.corpus."
        ),
    ] = 1,
) -> None:
    """Train a masked language model.

    Without arguments: the mini recipe on the embedded corpus, about two minutes on two cores. On
    your own text, after `komlm prepare`:

    \b
      komlm pretrain tiny --set data.shards=shards -o run
      komlm fill-mask run "나는 어제 [MASK]에 갔다."

    The keys of --set stand in RUN/config.toml, each with its value: masking.ratio, model.size,
    rows.max_length, training.steps, training.stop_after_minutes and others.

    SIGTERM and Ctrl-C save a checkpoint and leave; --resume goes on to the same bits.
    """
    from komlm.config import load_config
    from komlm.files import beside
    from komlm.pipeline import with_shards
    from komlm.recipes import find_recipe
    from komlm.terminal import TrainingBar, bar, shown
    from komlm.training.loop import pretrain as run
    from komlm.training.recovery_table import table
    from komlm.training.run_folder import check_run_folder

    path = find_recipe(recipe)
    config = load_config(path, settings or [])
    _check_names(config)
    folder = output or Path("runs") / path.stem
    check_run_folder(folder, config, resume)
    config = with_shards(config, beside(folder, ".data"), bar, workers)
    progress = TrainingBar()
    try:
        result = run(config, folder, resume, progress)
    finally:
        progress.close()
    if result.stopped:
        if result.signal is not None:
            raise typer.Exit(128 + result.signal)
        return
    if result.heldout:
        print(table(result.heldout, tags=False))
    _show_examples(result.checkpoint, config.examples)
    command = f"komlm fill-mask {shlex.quote(str(folder))}"
    print(shown(f"The model is in {result.checkpoint}. Try:"))
    print(shown(f'  {command} "나는 어제 [MASK]에 갔다."'))


def _check_names(config: Config) -> None:
    """A name that does not exist is told before minutes of work and not after them."""
    from komlm.masking import STRATEGIES, Selection
    from komlm.models import SIZES
    from komlm.names import pick
    from komlm.objectives import OBJECTIVES

    pick("objective", config.objective, OBJECTIVES)
    pick("unit", config.masking.unit, STRATEGIES)
    pick("model.size", config.model.size, SIZES)
    Selection(config.masking.ratio, config.masking.weights)
    for example in config.examples:
        if "[MASK]" not in example:
            raise ValueError(f"examples: no [MASK] in {example!r}")


def _show_examples(checkpoint: Path, examples: list[str]) -> None:
    from komlm.inference.fill_mask import FillMask
    from komlm.terminal import blanks_table

    print()
    if not examples:
        return
    model = FillMask.load(checkpoint)
    mask = model.tokenizer.pieces[model.tokenizer.special_ids["mask"]]
    for example in examples:
        text = example.replace("[MASK]", mask)
        print(f"{blanks_table(text, model.fill(text, top_k=3))}\n")
