"""What `align --gold` does: score treebank files, with tokenizers or without."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def align_gold(
    treebanks: Sequence[Path],
    tokenizers: Sequence[Path],
    dictionary: Path | None,
    as_json: bool,
) -> None:
    """Score Kiwi, and the units of each tokenizer, against treebanks.

    Everything is opened before the first text is analysed, so that a wrong name costs no time.

    Raises:
        ValueError: no treebank, or two treebanks or tokenizers that cannot be told apart.
    """
    from komlm.cli.answers import print_json
    from komlm.evaluation.gold import read_treebank
    from komlm.evaluation.gold.scores import score_treebank
    from komlm.evaluation.gold.table import table
    from komlm.terminal import bar, shown
    from komlm.text.analysis import Analyzer
    from komlm.text.loading import load_tokenizer

    if not treebanks:
        raise ValueError("--gold wants treebank files: komlm align --gold FILE.conllu FILE.tsv")
    opened = {name: load_tokenizer(path) for name, path in _named(tokenizers).items()}
    read = {name: read_treebank(path) for name, path in _named(treebanks).items()}
    analyzer = Analyzer(dictionary)
    scores = []
    for name, sentences in read.items():
        with bar(shown(name), len(sentences), "sentences") as advance:
            scores.append(score_treebank(name, sentences, analyzer, opened, advance))
        if as_json:
            print_json(scores[-1].to_json())
    if not as_json:
        print("\n".join(shown(line) for line in table(scores).split("\n")))


def _named(paths: Sequence[Path]) -> dict[str, Path]:
    """A short name for each path: its last part, or as many as no other path ends with.

    Example: ``x.tsv``, ``a/vocab.txt`` and ``b/vocab.txt`` keep their names, ``c/tok`` is ``tok``.
    """
    distinct = list(dict.fromkeys(paths))
    return {_name(path, distinct): path for path in distinct}


def _name(path: Path, paths: Sequence[Path]) -> str:
    for count in range(1, len(path.parts)):
        last = path.parts[-count:]
        if sum(other.parts[-count:] == last for other in paths) == 1:
            return "/".join(last)
    return str(path)
