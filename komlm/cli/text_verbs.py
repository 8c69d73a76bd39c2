"""The verbs that answer for texts: align, mask, fill-mask."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from komlm.cli.answers import alignment_json, answer_each, blanks_json, check_input, to_json
from komlm.cli.options import Dictionary, Input, Json, Text, TokenizerFolder, Unit


def align(
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT|FILE",
            show_default=False,
            help="One text. Without it: a text a line from stdin. With --gold: treebanks, "
            "CoNLL-U (.conllu) or KLUE-DP (.tsv), also packed as .gz or .zst.",
        ),
    ] = None,
    tokenizers: Annotated[
        list[Path] | None,
        typer.Option(
            "--tokenizer",
            metavar="FOLDER",
            show_default=False,
            help="A tokenizer folder; with --gold any number of them, or none. [default: tok]",
        ),
    ] = None,
    gold: Annotated[
        bool, typer.Option("--gold", help="Score the alignment against treebanks.")
    ] = False,
    input_: Input = "text",
    dictionary: Dictionary = None,
    as_json: Json = False,
) -> None:
    """Show which pieces make up which morphemes and eojeols.

    \b
      komlm align "나는 어제 학교에 갔다." --tokenizer tok
      komlm align --tokenizer tok --json < lines.txt

    Or score that against treebanks: Kiwi's morpheme boundaries, forms and tags against the
    annotators', and how many of their morphemes are whole units of pieces. Where they are not: is
    it a contraction, a piece that crosses a boundary, or Kiwi?

    \b
      komlm align --gold dev.conllu klue-dp.tsv --tokenizer a --tokenizer b
    """
    from komlm.terminal import alignment_table
    from komlm.text.aligner import Aligner

    check_input(input_)
    if gold:
        from komlm.cli.align_gold import align_gold

        align_gold([Path(text) for text in texts or ()], tokenizers or (), dictionary, as_json)
        return
    text, tokenizer = _only_one(texts, tokenizers)
    aligner = Aligner.from_pretrained(tokenizer, dictionary)

    def answer(line: str, number: int) -> str:
        alignment = aligner(line)
        return to_json(alignment_json(alignment)) if as_json else alignment_table(alignment)

    answer_each(text, input_, as_json, answer)


def _only_one(texts: list[str] | None, tokenizers: list[Path] | None) -> tuple[str | None, Path]:
    if texts and len(texts) > 1:
        raise ValueError(
            f"{len(texts)} texts: wanted one, with quotes around it, or a text a line on stdin. "
            "Treebank files go with --gold"
        )
    if tokenizers and len(tokenizers) > 1:
        raise ValueError(f"{len(tokenizers)} tokenizers: wanted one; several go with --gold")
    return texts[0] if texts else None, tokenizers[0] if tokenizers else Path("tok")


def mask(
    text: Text = None,
    tokenizer: TokenizerFolder = Path("tok"),
    unit: Unit = "morpheme",
    ratio: Annotated[
        float, typer.Option(metavar="SHARE", help="Probability of a unit to be hidden.")
    ] = 0.15,
    seed: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Another seed hides other units."),
    ] = 0,
    replace: Annotated[
        str, typer.Option(metavar="KIND", help="Draw 80/10/10 by unit or by piece.")
    ] = "unit",
    input_: Input = "text",
    dictionary: Dictionary = None,
    as_json: Json = False,
) -> None:
    """Hide whole units of a text with the draws of pretraining.

    The text is shown with [MASK] for each hidden unit. --json also says what a model would be
    given: [MASK] for 80 % of the hidden units, random pieces for 10 %, the unit itself for 10 %.

    \b
      komlm mask "나는 어제 학교에 갔다." --tokenizer tok --unit eojeol --ratio 0.3
    """
    from komlm.masking import STRATEGIES, Selection
    from komlm.masking.preview import hide
    from komlm.names import pick
    from komlm.terminal import masked_text
    from komlm.text.aligner import Aligner

    # What is wrong with the command is said once, and not for each text.
    check_input(input_)
    pick("unit", unit, STRATEGIES)
    pick("kind of replacement", replace, {"unit": None, "piece": None})
    if seed >= 2**63:
        raise ValueError(f"--seed {seed}: wanted less than 2 to the power of 63")
    selection = Selection(ratio=ratio, seed=seed)
    aligner = Aligner.from_pretrained(tokenizer, dictionary)
    special_ids = aligner.tokenizer.specials_for("hiding units")

    def answer(line: str, number: int) -> str:
        alignment = aligner(line)
        hidden = hide(
            alignment.encoded.ids,
            alignment.arrays.starts,
            alignment.arrays.tags,
            unit=unit,
            selection=selection,
            by=replace,
            number=number,
            special_ids=special_ids,
            vocabulary_size=aligner.tokenizer.vocabulary_size,
        )
        if as_json:
            return to_json({**alignment_json(alignment), **asdict(hidden)})
        return masked_text(alignment, set(hidden.hidden), alignment.units(unit))

    answer_each(text, input_, as_json, answer)


def fill_mask(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A run folder, a step-N, or a Hugging Face folder."),
    ],
    text: Text = None,
    hide: Annotated[
        list[str] | None,
        typer.Option(
            "--hide", metavar="STRETCH", help="Hide the units that hold this; again for more."
        ),
    ] = None,
    unit: Unit = "morpheme",
    top_k: Annotated[
        int, typer.Option(metavar="N", min=1, help="Completions shown for each blank.")
    ] = 5,
    pieces: Annotated[
        int, typer.Option(metavar="N", min=1, max=8, help="Longest completion, in pieces.")
    ] = 3,
    input_: Input = "text",
    dictionary: Dictionary = None,
    as_json: Json = False,
) -> None:
    """Fill each [MASK] of a text, or what --hide hides.

    \b
      komlm fill-mask runs/mini "대한민국의 수도는 [MASK]이다."
      komlm fill-mask runs/mini "나는 어제 학교에 갔다." --hide 학교 --unit morpheme

    Completions have one to --pieces pieces and stay within their eojeol. The percentage is the
    joint probability of a completion's pieces, given how many they are. Lengths are taken to be
    equally likely: two pieces are compared as they are with a single one.
    """
    from komlm.inference.fill_mask import FillMask
    from komlm.names import pick
    from komlm.terminal import blanks_table, complain
    from komlm.types import LEVELS

    check_input(input_)
    pick("unit", unit, dict.fromkeys(LEVELS))
    model = FillMask.load(run, dictionary, complain)

    def answer(line: str, number: int) -> str:
        if hide:
            blanks = model.fill_hidden(line, hide, unit, top_k, pieces)
        else:
            blanks = model.fill(line, top_k, pieces)
        return to_json(blanks_json(line, blanks)) if as_json else blanks_table(line, blanks)

    answer_each(text, input_, as_json, answer)
