"""The arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Corpus = Annotated[
    list[str],
    typer.Argument(
        metavar="CORPUS",
        show_default=False,
        help="A name from corpora/ (mini), a TOML file, or files and globs: .txt .jsonl .parquet, "
        "also packed as .gz or .zst.",
    ),
]
CorpusOrAnalysis = Annotated[
    list[str],
    typer.Argument(
        metavar="CORPUS",
        show_default=False,
        help="A name from corpora/ (mini), a TOML file, or files and globs: .txt .jsonl .parquet, "
        "also packed as .gz or .zst. Or the folder that `komlm analyze` wrote.",
    ),
]
Text = Annotated[
    str | None,
    typer.Argument(metavar="TEXT", help="One text. Without it: a text a line from stdin."),
]
TokenizerFolder = Annotated[
    Path, typer.Option("--tokenizer", metavar="FOLDER", help="A tokenizer folder.")
]
Output = Annotated[
    Path, typer.Option("-o", "--output", metavar="FOLDER", help="The folder to make.")
]
Workers = Annotated[
    int, typer.Option("--workers", metavar="N", min=1, help="Processes that work at once.")
]
Dictionary = Annotated[
    Path | None,
    typer.Option(
        "--dictionary",
        metavar="FILE",
        help="User dictionary for Kiwi; a line holds form, tag and score with TABs between.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Answer in JSON, one object a line.")]
Column = Annotated[
    str,
    typer.Option("--column", metavar="NAME", help="Where .jsonl and .parquet keep the text."),
]
Documents = Annotated[
    str,
    typer.Option(
        "--documents", metavar="KIND", help="A document of a .txt: line, paragraph or file."
    ),
]
Input = Annotated[
    str,
    typer.Option(
        "--input", metavar="KIND", help='Lines of stdin: text, or jsonl such as {"text": "..."}.'
    ),
]
Unit = Annotated[
    str, typer.Option("--unit", metavar="UNIT", help="Hide by piece, morpheme or eojeol.")
]
