"""The command line, a line a verb. Imports stand inside the verbs, so that --help is quick."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Annotated

import typer

from komlm import __version__
from komlm.cli.bench_verb import bench
from komlm.cli.compare_verb import compare
from komlm.cli.corpus_verbs import analyze, prepare, tokenizer_import, tokenizer_train
from komlm.cli.pretrain_verb import pretrain
from komlm.cli.text_verbs import align, fill_mask, mask

# Plain help: what a user typed comes back in errors, and must not be taken for markup.
app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
tokenizer_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Make a tokenizer folder: train one, or import one.",
)

app.command()(pretrain)
app.command()(compare)
app.command("fill-mask")(fill_mask)
app.command()(align)
app.command()(mask)
app.add_typer(tokenizer_app, name="tokenizer")
tokenizer_app.command("train")(tokenizer_train)
tokenizer_app.command("import")(tokenizer_import)
app.command()(analyze)
app.command()(prepare)
app.command()(bench)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def komlm(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Korean masked language models that hide whole morphemes and whole eojeols.

    A first model, from the embedded corpus, in about two minutes:

    \b
      komlm pretrain
      komlm fill-mask runs/mini "대한민국의 수도는 [MASK]이다."

    From your own text:

    \b
      komlm analyze "text/*.txt" -o analysis
      komlm tokenizer train analysis -o tok
      komlm prepare analysis --tokenizer tok -o shards
      komlm pretrain tiny --set data.shards=shards -o run
    """


def main() -> None:
    """Run the command line: an error is a sentence on stderr and exit code 1."""
    for stream in (sys.stdout, sys.stderr):
        # Whatever the locale: Korean goes out as UTF-8, and what is no text as escapes.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    try:
        try:
            app(prog_name="komlm")
        finally:
            # Here and not at exit, where an error could no longer be told.
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader (`| head`) has gone: nothing is left to say.
        _close_stdout()
        sys.exit(1)
    except (ValueError, OSError) as error:
        from komlm.terminal import complain

        complain(error)
        _close_stdout()
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _close_stdout() -> None:
    """Send what is left in the buffer, if it can be sent, so that Python does not try at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
