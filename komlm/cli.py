"""The verbs of the command line. Imports stand inside the verbs, so that --help is quick."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from komlm import __version__

if TYPE_CHECKING:
    from komlm.corpus.source import Reading
    from komlm.text.alignment import Alignment

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Korean masked language models that hide whole morphemes and whole eojeols.\n\n"
    "`komlm pretrain` alone trains a small model on the embedded corpus in about two minutes.",
)
tokenizer_app = typer.Typer(no_args_is_help=True, help="Make a tokenizer folder.")
app.add_typer(tokenizer_app, name="tokenizer")

Corpus = Annotated[
    list[str],
    typer.Argument(
        metavar="CORPUS",
        help="A name from corpora/ (mini), a TOML file, or files and globs: .txt .jsonl .parquet, "
        "also .gz and .zst. Where a verb says so, the folder of an analysis.",
    ),
]
Text = Annotated[str | None, typer.Argument(help="One text; without it, lines from stdin.")]
TokenizerFolder = Annotated[Path, typer.Option("--tokenizer", help="A tokenizer folder.")]
Output = Annotated[Path, typer.Option("-o", "--output", help="Folder to make.")]
Workers = Annotated[int, typer.Option("--workers", min=1, help="Processes.")]
Dictionary = Annotated[
    Path | None,
    typer.Option("--dictionary", help="Kiwi user dictionary: form TAB tag TAB score a line."),
]
Json = Annotated[bool, typer.Option("--json", help="Answer in JSON, one object a line.")]
Column = Annotated[str, typer.Option("--column", help="Where .jsonl and .parquet keep the text.")]
Documents = Annotated[
    str,
    typer.Option("--documents", help="What is a document in a .txt: line, paragraph or file."),
]
Input = Annotated[str, typer.Option("--input", help='Lines of stdin: text, or jsonl {"text": ..}.')]
Unit = Annotated[str, typer.Option("--unit", help="piece, morpheme or eojeol.")]


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit


@tokenizer_app.command("train")
def tokenizer_train(
    corpus: Corpus,
    output: Output,
    vocab_size: Annotated[int, typer.Option(help="Entries, the five specials counted.")] = 8002,
    type_: Annotated[str, typer.Option("--type", help="unigram or bpe.")] = "unigram",
    plain: Annotated[bool, typer.Option("--plain", help="Without morpheme boundaries.")] = False,
    at_most: Annotated[bool, typer.Option("--at-most", help="Fewer entries are fine.")] = False,
    workers: Workers = 1,
    dictionary: Dictionary = None,
    column: Column = "text",
    documents: Documents = "line",
    as_json: Json = False,
) -> None:
    """Learn a vocabulary from a corpus, or from an analysis (`komlm analyze`).

    Unless --plain, no piece crosses a morpheme boundary of the training text, so that most morphemes
    are whole pieces. The analysis of a corpus is kept in OUTPUT.analysis; `komlm prepare` takes it.
    """
    from komlm.pipeline import train_tokenizer
    from komlm.terminal import bar

    entries = train_tokenizer(
        corpus, output, bar, vocab_size, type_, plain, at_most, workers, dictionary,
        _reading(column, documents),
    )  # fmt: skip
    _report({"tokenizer": str(output), "entries": entries}, as_json)


@tokenizer_app.command("import")
def tokenizer_import(
    model: Annotated[Path, typer.Argument(help="A SentencePiece .model (unigram or BPE).")],
    output: Output,
    vocab: Annotated[
        Path | None,
        typer.Option("--vocab", help="Vocabulary JSON that numbers the pieces, such as KoBERT's."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Turn a SentencePiece model into a tokenizer folder, with its own normalisation.

    Without --vocab the five specials come first and the model's pieces follow in its order.
    """
    from komlm.text.export import write_folder
    from komlm.text.sentencepiece_model import read_model, to_sentencepiece
    from komlm.text.vocabulary import read_order

    vocabulary = read_model(model.read_bytes(), str(model), read_order(vocab) if vocab else None)
    write_folder(vocabulary, to_sentencepiece(vocabulary), output)
    _report({"tokenizer": str(output), "entries": len(vocabulary.pieces)}, as_json)


@app.command()
def align(
    text: Text = None,
    tokenizer: TokenizerFolder = Path("tok"),
    input_: Input = "text",
    dictionary: Dictionary = None,
    as_json: Json = False,
) -> None:
    """Show which pieces make up which morphemes and eojeols.

    Example: komlm align "나는 어제 학교에 갔다." --tokenizer tok
    """
    from komlm.terminal import alignment_table

    def answer(alignment: Alignment, number: int) -> tuple[dict[str, Any], str]:
        return (_alignment_json(alignment) if as_json else {}), alignment_table(alignment)

    _answer_each(text, input_, tokenizer, dictionary, as_json, answer)


@app.command()
def mask(
    text: Text = None,
    tokenizer: TokenizerFolder = Path("tok"),
    unit: Unit = "morpheme",
    ratio: Annotated[float, typer.Option(help="Probability of a unit to be hidden.")] = 0.15,
    seed: Annotated[int, typer.Option(help="Another seed hides other units.")] = 0,
    replace: Annotated[str, typer.Option(help="Draw 80/10/10 by unit or by piece.")] = "unit",
    input_: Input = "text",
    dictionary: Dictionary = None,
    as_json: Json = False,
) -> None:
    """Hide whole units of a text as pretraining does: 80 % [MASK], 10 % random, 10 % kept.

    Example: komlm mask "나는 어제 학교에 갔다." --tokenizer tok --unit eojeol --ratio 0.3
    """
    from komlm.masking.preview import hide
    from komlm.terminal import masked_text
    from komlm.text.tokenizer import Tokenizer

    loaded = Tokenizer.load(tokenizer)

    def answer(alignment: Alignment, number: int) -> tuple[dict[str, Any], str]:
        arrays = alignment.arrays
        hidden = hide(
            alignment.encoded.ids, arrays.starts, arrays.tags, unit, ratio, seed, number, replace,
            loaded.special_ids, loaded.vocabulary_size,
        )  # fmt: skip
        content = {**_alignment_json(alignment), **asdict(hidden)} if as_json else {}
        return content, masked_text(alignment, set(hidden.hidden), alignment.units(unit))

    _answer_each(text, input_, tokenizer, dictionary, as_json, answer)


@app.command()
def analyze(
    corpus: Corpus,
    output: Output,
    workers: Workers = 1,
    dictionary: Dictionary = None,
    column: Column = "text",
    documents: Documents = "line",
    as_json: Json = False,
) -> None:
    """Find the morphemes of a corpus with Kiwi: the slow step, done once for every tokenizer.

    About 45,000 characters a second and worker. A run that was stopped goes on when it is started
    again; the result does not depend on the number of workers.
    """
    from komlm.corpus.analyze import analyze as run
    from komlm.corpus.analyze import take_inventory
    from komlm.corpus.source import find_source
    from komlm.terminal import bar

    source = find_source(corpus, _reading(column, documents))
    inventory = take_inventory(source, dictionary)
    with bar("analyze", inventory.characters, "characters") as advance:
        manifest = run(source, output, workers, dictionary, inventory, advance)
    _report({"analysis": str(output), **manifest["counts"]}, as_json)


@app.command()
def prepare(
    corpus: Corpus,
    tokenizer: TokenizerFolder,
    output: Output,
    heldout: Annotated[float, typer.Option(help="Share of the documents kept out.")] = 0.01,
    workers: Workers = 1,
    dictionary: Dictionary = None,
    column: Column = "text",
    documents: Documents = "line",
    as_json: Json = False,
) -> None:
    """Cut a corpus or an analysis into pieces and units: the shards that training reads.

    The analysis of a corpus is kept in OUTPUT.analysis.
    """
    from komlm.pipeline import prepare_corpus
    from komlm.terminal import bar

    manifest = prepare_corpus(
        corpus, tokenizer, output, bar, workers, heldout, dictionary, _reading(column, documents)
    )
    counts = manifest["counts"]
    if not counts["heldout_documents"]:
        print("no document was held out: give a larger --heldout to measure on", file=sys.stderr)
    rates = {
        "straddle_rate": round(counts["straddles"] / max(counts["pieces"], 1), 5),
        "pieces_an_eojeol": round(counts["pieces"] / max(counts["eojeols"], 1), 3),
    }
    _report({"shards": str(output), **counts, **rates}, as_json)


@app.command()
def pretrain(
    recipe: Annotated[str, typer.Argument(help="mini, tiny, small, kobert-base, large, or a TOML.")] = "mini",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Run folder; runs/RECIPE unless given.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="KEY=VALUE on top of the recipe; again for more.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on after the last whole checkpoint.")] = False,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Processes for making shards from data.corpus.")] = 1,
) -> None:  # fmt: skip
    """Train a masked language model.

    Without arguments: the mini recipe on the embedded corpus, two minutes on two cores. On your own
    text: `komlm prepare` first, then

    komlm pretrain tiny --set data.shards=shards --set masking.unit=eojeol -o run

    SIGTERM and Ctrl-C save a checkpoint and leave; --resume goes on to the same bits.
    """
    from komlm.config import load_config
    from komlm.pipeline import with_shards
    from komlm.recipes import find_recipe
    from komlm.terminal import TrainingBar, bar
    from komlm.training.loop import pretrain as run
    from komlm.training.recovery_table import table
    from komlm.training.run_folder import check_run_folder

    path = find_recipe(recipe)
    config = load_config(path, settings or [])
    folder = output or Path("runs") / path.stem
    check_run_folder(folder, config, resume)
    config = with_shards(config, folder.with_name(folder.name + ".data"), bar, workers)
    progress = TrainingBar()
    try:
        result = run(config, folder, resume, progress)
    finally:
        progress.close()
    if result.heldout and not result.stopped:
        print(table(result.heldout, tags=False))
    if result.stopped:
        if result.signal is not None:
            raise typer.Exit(128 + result.signal)
        return
    if config.examples:
        from komlm.inference.fill_mask import FillMask
        from komlm.terminal import blanks_table

        model = FillMask.load(result.checkpoint)
        for example in config.examples:
            print(f"\n{blanks_table(example, model.fill(example, top_k=3))}")
    print(
        f'\nThe model is in {result.checkpoint}. Try: komlm fill-mask {folder} "나는 [MASK]에 갔다."'
    )


@app.command("fill-mask")
def fill_mask(
    run: Annotated[Path, typer.Argument(help="A run folder, a step-N, or a Hugging Face folder.")],
    text: Text = None,
    hide: Annotated[
        list[str] | None, typer.Option("--hide", help="Hide the units that hold this; again for more.")
    ] = None,
    unit: Unit = "morpheme",
    top_k: Annotated[int, typer.Option(min=1, help="Completions shown for each blank.")] = 5,
    pieces: Annotated[int, typer.Option(min=1, max=8, help="Longest completion in pieces.")] = 3,
    input_: Input = "text",
    dictionary: Dictionary = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Fill each [MASK], or what --hide hides, with completions of one to three pieces.

    The percentage is the joint probability of a completion's pieces given how many they are; lengths
    are taken to be equally likely and compared as they are.

    Example: komlm fill-mask runs/mini "세종대왕은 [MASK]을 만들었다."
    """
    from komlm.inference.fill_mask import FillMask
    from komlm.terminal import blanks_table

    model = FillMask.load(run, dictionary)

    def answer(line: str, number: int) -> tuple[dict[str, Any], str]:
        if hide:
            blanks = model.fill_hidden(line, hide, unit, top_k, pieces)
        else:
            blanks = model.fill(line, top_k, pieces)
        content = {"text": line, "masks": [_blank_json(asdict(blank)) for blank in blanks]}
        return content, blanks_table(line, blanks)

    _each(text, input_, as_json, answer)


def _reading(column: str, documents: str) -> Reading:
    from komlm.corpus.source import Reading

    return Reading(column, documents)


def _report(values: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(values, ensure_ascii=False))
        return
    for name, value in values.items():
        print(f"{name.replace('_', ' ')}: {value:,}" if type(value) is int else
              f"{name.replace('_', ' ')}: {value}")  # fmt: skip


def _answer_each(
    text: str | None,
    input_: str,
    tokenizer: Path,
    dictionary: Path | None,
    as_json: bool,
    answer: Callable[[Alignment, int], tuple[dict[str, Any], str]],
) -> None:
    from komlm.text.alignment import Aligner

    aligner = Aligner.load(tokenizer, dictionary)
    _each(text, input_, as_json, lambda line, number: answer(aligner(line), number))


def _each(
    text: str | None,
    input_: str,
    as_json: bool,
    answer: Callable[[str, int], tuple[dict[str, Any], str]],
) -> None:
    """Answer each text in order; one that is refused gets its error, and the exit code is 1."""
    refused = False
    for number, line in enumerate(_texts(text, input_)):
        try:
            if isinstance(line, ValueError):
                raise line
            content, shown = answer(line, number)
        except ValueError as error:
            refused = True
            print(
                json.dumps({"error": str(error)}, ensure_ascii=False) if as_json else "",
                end="\n" if as_json else "",
            )
            if not as_json:
                print(f"komlm: {error}", file=sys.stderr)
            continue
        print(json.dumps(content, ensure_ascii=False) if as_json else shown, flush=as_json)
    if refused:
        raise typer.Exit(1)


def _texts(text: str | None, input_: str) -> Iterator[str | ValueError]:
    if text is not None:
        yield text
        return
    if input_ not in ("text", "jsonl"):
        raise ValueError(f"--input {input_}: wanted text or jsonl")
    from komlm.corpus.documents import decoded
    from komlm.corpus.jsonl_files import text_of

    for number, raw in enumerate(sys.stdin.buffer, 1):
        place = f"line {number}"
        try:
            line = decoded(raw, place).rstrip("\r\n")
            yield text_of(line, "text", place) if input_ == "jsonl" else line
        except ValueError as error:
            yield error


def _alignment_json(alignment: Alignment) -> dict[str, Any]:
    from komlm.text.alignment import LEVELS

    units = {
        level: [
            {
                "pieces": unit.pieces,
                "start": unit.start,
                "end": unit.end,
                "morphemes": unit.morphemes,
                "tag": unit.tag,
                "class": unit.class_name,
            }
            for unit in alignment.units(level)
        ]
        for level in LEVELS
    }
    return {
        "text": alignment.text,
        "pieces": [piece._asdict() for piece in alignment.pieces],
        "morphemes": [morpheme._asdict() for morpheme in alignment.morphemes],
        "units": units,
        "straddles": alignment.straddles,
    }


def _blank_json(blank: dict[str, Any]) -> dict[str, Any]:
    for candidate in [*blank["candidates"], *([blank["original"]] if blank["original"] else [])]:
        candidate["morphemes"] = [{"form": m.form, "tag": m.tag} for m in candidate["morphemes"]]
    if blank["original"] is None:
        del blank["original"]
    return blank


def main() -> None:
    """Run the command line: an error is a sentence on stderr and exit code 1."""
    for stream in (sys.stdout, sys.stderr):
        # Whatever the locale: Korean goes out as UTF-8, and what is no text as escapes.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    try:
        app()
    except BrokenPipeError:
        # The reader (`| head`) has gone; nothing is left to say, also not at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (ValueError, OSError) as error:
        print(f"komlm: {error}", file=sys.stderr)
        sys.exit(1)
