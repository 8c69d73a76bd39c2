"""The verb that measures: bench."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from komlm.cli.answers import to_json
from komlm.cli.options import Column, Documents, Json

if TYPE_CHECKING:
    from komlm.bench import Report


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            show_default=False,
            help="mask, align, batch, analyze, prepare, vocabulary, collator, step. Without one: "
            "all of them.",
        ),
    ] = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            "--corpus",
            metavar="CORPUS",
            help="What `komlm analyze` takes, or the folder that it wrote; again for more files.  "
            "[default: mini]",
        ),
    ] = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option(
            "--tokenizer",
            metavar="FOLDER",
            help="A tokenizer folder. Without it: one of 2,000 entries, trained on the corpus.",
        ),
    ] = None,
    column: Column = "text",
    documents: Documents = "line",
    as_json: Json = False,
) -> None:
    """Measure komlm side by side with what it competes with.

    Both sides run in turn, in one process and on the same text, and what counts are the ratios;
    seconds are those of this machine. All of it takes less than three minutes on two cores; a
    larger corpus takes longer.

    \b
      komlm bench
      komlm bench mask --json
      komlm bench align --corpus "소설/*.txt" --tokenizer tok
    """
    from tempfile import TemporaryDirectory

    from komlm.bench import BENCHES, Material
    from komlm.bench.machine import busy, machine_line
    from komlm.corpus.source import Reading
    from komlm.names import pick
    from komlm.terminal import bar, complain

    chosen = {name: pick("measurement", name, BENCHES) for name in names or BENCHES}
    for name, one in chosen.items():
        if names and (missing := one.missing()):
            raise ValueError(f"`komlm bench {name}` {missing}")
    answers: dict[str, dict[str, Any]] = {}
    with TemporaryDirectory(prefix="komlm-bench-") as folder:
        reading = Reading(column, documents)
        material = Material(Path(folder), bar, corpus or ["mini"], reading, tokenizer)
        # The machine belongs to the tables; a program that reads JSON finds it on stderr.
        print(machine_line(), file=sys.stderr if as_json else sys.stdout, flush=True)
        if warning := busy():
            complain(warning)
        for name, one in chosen.items():
            if missing := one.missing():
                complain(f"`komlm bench {name}` {missing}; left out")
                continue
            print(f"bench {name}: {one.title}", file=sys.stderr, flush=True)
            report = one.measure(material)
            answers[name] = report.values
            if not as_json:
                print(f"\n{_table(name, one.title, report)}", flush=True)
    if as_json:
        print(to_json(answers[names[0]] if names and len(chosen) == 1 else answers))


def _table(name: str, title: str, report: Report) -> str:
    from komlm.terminal import columns, shown

    return f"{name}: {title}\n{shown(report.note)}\n{columns(report.rows)}"
