"""The verbs that turn text into what training reads: tokenizer, analyze, prepare."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from komlm.cli.answers import to_json
from komlm.cli.options import (
    Column,
    Corpus,
    CorpusOrAnalysis,
    Dictionary,
    Documents,
    Json,
    Output,
    TokenizerFolder,
    Workers,
)

if TYPE_CHECKING:
    from komlm.corpus.source import Reading


def tokenizer_train(
    corpus: CorpusOrAnalysis,
    output: Output,
    vocab_size: Annotated[
        int, typer.Option(metavar="N", min=8, help="Entries, the five specials counted.")
    ] = 8002,
    type_: Annotated[
        str, typer.Option("--type", metavar="TYPE", help="unigram or bpe.")
    ] = "unigram",
    plain: Annotated[
        bool, typer.Option("--plain", help="Let pieces cross morpheme boundaries.")
    ] = False,
    at_most: Annotated[
        bool, typer.Option("--at-most", help="Take fewer entries where the text gives no more.")
    ] = False,
    workers: Workers = 1,
    dictionary: Dictionary = None,
    column: Column = "text",
    documents: Documents = "line",
    as_json: Json = False,
) -> None:
    """Learn a vocabulary from a corpus or an analysis.

    Unless --plain, no piece crosses a morpheme boundary of the text: 학교에 is 학교 and 에. The
    analysis of a corpus is kept in OUTPUT.analysis, and `komlm prepare` can take it from there.

    \b
      komlm tokenizer train "소설/*.txt" -o tok --vocab-size 8002
    """
    from komlm.pipeline import train_tokenizer
    from komlm.terminal import bar

    entries = train_tokenizer(
        corpus,
        output,
        bar,
        size=vocab_size,
        kind=type_,
        plain=plain,
        at_most=at_most,
        workers=workers,
        dictionary=dictionary,
        reading=_reading(column, documents),
    )
    _report({"tokenizer": str(output), "entries": entries}, as_json)


def tokenizer_import(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A SentencePiece .model, unigram or BPE.")
    ],
    output: Output,
    vocab: Annotated[
        Path | None,
        typer.Option(
            "--vocab", metavar="FILE", help="JSON that numbers the pieces, such as KoBERT's."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Turn a SentencePiece model into a tokenizer folder.

    The tokenizer keeps the normalisation of the model. Without --vocab the five specials come
    first and the model's pieces follow in its order.

    \b
      komlm tokenizer import KOBERT.model --vocab KOBERT.json -o tok
      komlm align "나는 어제 학교에 갔다." --tokenizer tok
    """
    from komlm.text.export import write_folder
    from komlm.text.sentencepiece_model import read_model, to_sentencepiece
    from komlm.text.vocabulary import read_order

    vocabulary = read_model(model.read_bytes(), str(model), read_order(vocab) if vocab else None)
    write_folder(vocabulary, to_sentencepiece(vocabulary), output)
    _report({"tokenizer": str(output), "entries": len(vocabulary.pieces)}, as_json)


def analyze(
    corpus: Corpus,
    output: Output,
    workers: Workers = 1,
    dictionary: Dictionary = None,
    column: Column = "text",
    documents: Documents = "line",
    as_json: Json = False,
) -> None:
    """Find the morphemes of a corpus with Kiwi: the slow step.

    Done once for all tokenizers; about 45,000 characters a second and worker. A run that was
    stopped goes on when the same command is given again; the result does not depend on the number
    of workers.

    \b
      komlm analyze "소설/*.txt" -o analysis --workers 8
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


def prepare(
    corpus: CorpusOrAnalysis,
    tokenizer: TokenizerFolder,
    output: Output,
    heldout: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the documents kept out of training.")
    ] = 0.01,
    workers: Workers = 1,
    dictionary: Dictionary = None,
    column: Column = "text",
    documents: Documents = "line",
    as_json: Json = False,
) -> None:
    """Cut a corpus into the pieces and units that training reads.

    CORPUS may be the folder of an analysis; the analysis of a corpus is kept in OUTPUT.analysis.
    A run that was stopped goes on when the same command is given again.

    \b
      komlm prepare "소설/*.txt" --tokenizer tok -o shards --heldout 0.02
    """
    from komlm.pipeline import prepare_corpus
    from komlm.terminal import bar, complain

    manifest = prepare_corpus(
        corpus, tokenizer, output, bar, workers, heldout, dictionary, _reading(column, documents)
    )
    counts = manifest["counts"]
    if not counts["heldout_documents"]:
        complain("no document was held out: give a larger --heldout to measure on")
    rates = {
        "straddle_rate": round(counts["straddles"] / max(counts["pieces"], 1), 5),
        "pieces_an_eojeol": round(counts["pieces"] / max(counts["eojeols"], 1), 3),
    }
    _report({"shards": str(output), **counts, **rates}, as_json)


def _reading(column: str, documents: str) -> Reading:
    from komlm.corpus.source import Reading

    return Reading(column, documents)


def _report(values: dict[str, Any], as_json: bool) -> None:
    """What was made, a value a line, or all in one line of JSON."""
    from komlm.terminal import shown

    if as_json:
        print(to_json(values))
        return
    for name, value in values.items():
        number = f"{value:,}" if isinstance(value, int) else shown(str(value))
        print(f"{name.replace('_', ' ')}: {number}")
