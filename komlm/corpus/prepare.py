"""The stage ``prepare``: an analysis and a tokenizer -> token shards for training."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from komlm.corpus.analysis_folder import AnalysisFolder, read_part
from komlm.corpus.stage import Record, StageFolder, working_on
from komlm.data.shards import id_type, write_shard
from komlm.files import folder_written_whole, sha256_of
from komlm.processes import Advance, run_parts
from komlm.text.analysis import Analysis
from komlm.text.tokenizer import Pieces, Tokenizer
from komlm.text.units import align_arrays
from komlm.types import Flag

SPLITS = ("train", "heldout")
_TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
)
"""What is copied of a tokenizer's folder, which may be a model's and hold its weights too."""


@dataclass(frozen=True)
class _Task:
    number: int
    analysis: Path
    sha256: str
    tokenizer: Path
    folder: Path
    heldout: float


class _Encoded(NamedTuple):
    """Documents of one batch as a shard keeps them, laid end to end."""

    input_ids: np.ndarray
    starts: np.ndarray
    tags: np.ndarray
    lengths: np.ndarray
    """Pieces of each document."""
    straddles: int

    def narrowed(self, vocabulary_size: int) -> _Encoded:
        """With ids as narrow as on disk, for keeping."""
        return self._replace(input_ids=self.input_ids.astype(id_type(vocabulary_size)))


_NOTHING = _Encoded(
    input_ids=np.zeros(0, np.int64),
    starts=np.zeros(0, np.uint8),
    tags=np.zeros(0, np.uint8),
    lengths=np.zeros(0, np.int64),
    straddles=0,
)


def prepare(
    analysis: Path,
    tokenizer: Path,
    folder: Path,
    workers: int = 1,
    heldout: float = 0.01,
    advance: Advance = lambda amount: None,
) -> dict[str, Any]:
    """Cut an analysed corpus into pieces, align them, write shards, and return the manifest.

    A run that was killed goes on with the parts that are missing; a second run of the same changes
    no file.

    Args:
        heldout: share of the documents that go to ``heldout/``, chosen by a hash of their text.
        advance: told the eojeols that were done.

    Raises:
        FileNotFoundError: no analysis or no tokenizer there.
        ValueError: a damaged analysis, or a folder that holds something else.
        OSError: the disk is full, or cannot be written to.

    Example: ``prepare(Path("analysis"), Path("tok"), Path("shards"))["counts"]["straddles"]``.
    """
    check_heldout(heldout)
    source = AnalysisFolder(analysis)
    loaded = Tokenizer.load(tokenizer)
    recipe = {
        "analysis": source.manifest["identity"],
        "analysis_parts": [sha256 for _, sha256 in source.parts],
        "tokenizer": sha256_of(tokenizer / "tokenizer.json"),
        "special_ids": loaded.special_ids,
        "heldout": heldout,
    }
    with working_on(folder):
        return _prepare(source, loaded, folder, workers, recipe, advance)


def check_heldout(heldout: float) -> None:
    """Raise a ValueError for a share of held-out documents that is none."""
    if not 0 <= heldout < 1:
        raise ValueError(f"--heldout {heldout}: wanted a share from 0 up to 1")


def _prepare(
    source: AnalysisFolder,
    tokenizer: Tokenizer,
    folder: Path,
    workers: int,
    recipe: dict[str, Any],
    advance: Advance,
) -> dict[str, Any]:
    stage = StageFolder(folder, "shards", recipe)
    for split in SPLITS:
        (folder / split).mkdir(exist_ok=True)
    _copy_tokenizer(tokenizer.folder, folder / "tokenizer")
    tasks = [
        _Task(number, path, sha256, folder / "tokenizer", folder, recipe["heldout"])
        for number, (path, sha256) in enumerate(source.parts)
    ]
    for task in tasks:
        if task.number in stage.records:
            advance(stage.records[task.number].counts["eojeols"])
    todo = [task for task in tasks if task.number not in stage.records]
    for record in run_parts(_prepare_part, todo, workers, advance):
        stage.finish_part(record)
    return stage.finish(
        len(tasks),
        {
            "vocabulary_size": tokenizer.vocabulary_size,
            "special_ids": tokenizer.special_ids,
            "tokenizer": {
                path.name: sha256_of(path) for path in sorted((folder / "tokenizer").iterdir())
            },
        },
    )


def _copy_tokenizer(tokenizer: Path, target: Path) -> None:
    """Training writes this copy into its checkpoints, wherever the original has gone by then."""
    names = [name for name in _TOKENIZER_FILES if (tokenizer / name).is_file()]
    if target.is_dir():
        if all(
            (target / name).is_file() and sha256_of(target / name) == sha256_of(tokenizer / name)
            for name in names
        ):
            return
        print(f"{target}: damaged, making it again", file=sys.stderr)
        shutil.rmtree(target)
    with folder_written_whole(target) as beside:
        for name in names:
            shutil.copyfile(tokenizer / name, beside / name)


@lru_cache(maxsize=1)
def _tokenizer(folder: Path, checksum: str) -> Tokenizer:
    return Tokenizer.load(folder)


_COUNTS = (
    "documents",
    "heldout_documents",
    "dropped_without_pieces",
    "eojeols",
    "pieces",
    "straddles",
    "unknown",
)


def _prepare_part(task: _Task, advance: Advance) -> Record:
    tokenizer = _tokenizer(task.tokenizer, sha256_of(task.tokenizer / "tokenizer.json"))
    counts = Counter(dict.fromkeys(_COUNTS, 0))
    held: dict[str, list[_Encoded]] = {split: [] for split in SPLITS}
    for analyses in read_part(task.analysis, task.sha256):
        for split, chosen in _split(analyses, task.heldout).items():
            encoded = encode_documents(chosen, tokenizer)
            held[split].append(encoded.narrowed(tokenizer.vocabulary_size))
            counts["straddles"] += encoded.straddles
            counts["unknown"] += int((encoded.input_ids == tokenizer.special_ids["unk"]).sum())
            counts["dropped_without_pieces"] += int((encoded.lengths == 0).sum())
        eojeols = sum(len(analysis.eojeol_starts) for analysis in analyses)
        counts["eojeols"] += eojeols
        advance(eojeols)
    files = {}
    for split, batches in held.items():
        name = f"{split}/part-{task.number:05d}.arrow"
        documents, pieces = _write(task.folder / name, batches, tokenizer.vocabulary_size)
        sha256 = sha256_of(task.folder / name)
        files[name] = {"sha256": sha256, "documents": documents, "pieces": pieces}
        counts["documents"] += documents
        counts["pieces"] += pieces
        counts["heldout_documents"] += documents if split == "heldout" else 0
    return Record(task.number, files, dict(sorted(counts.items())))


def _split(analyses: Sequence[Analysis], heldout: float) -> dict[str, list[Analysis]]:
    chosen: dict[str, list[Analysis]] = {split: [] for split in SPLITS}
    for analysis in analyses:
        digest = hashlib.sha256(analysis.text.encode()).digest()
        share = int.from_bytes(digest[:8], "big") / 2**64
        chosen["heldout" if share < heldout else "train"].append(analysis)
    return chosen


def _write(path: Path, batches: list[_Encoded], vocabulary_size: int) -> tuple[int, int]:
    batches = batches or [_NOTHING]
    input_ids, starts, tags, lengths = (
        np.concatenate([getattr(batch, name) for batch in batches])
        for name in ("input_ids", "starts", "tags", "lengths")
    )
    lengths = lengths[lengths > 0]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    write_shard(path, input_ids, starts, tags, offsets, vocabulary_size)
    return len(lengths), int(offsets[-1])


def encode_documents(analyses: Sequence[Analysis], tokenizer: Tokenizer) -> _Encoded:
    """Cut and align many documents in one go."""
    return align_documents(
        analyses, tokenizer.encode_batch([analysis.text for analysis in analyses])
    )


def align_documents(analyses: Sequence[Analysis], encoded: Sequence[Pieces]) -> _Encoded:
    """Align many documents in one go: their offsets are shifted to follow one another.

    Args:
        encoded: the pieces of each document.
    """
    lengths = np.array([len(pieces.ids) for pieces in encoded], dtype=np.int64)
    # One code point between two documents, so that no span touches the next document's.
    shifts = np.cumsum([0] + [len(analysis.text) + 1 for analysis in analyses])[:-1]

    def joined(arrays: Iterator[np.ndarray], dtype: type = np.int64) -> np.ndarray:
        held = list(arrays)
        return np.concatenate(held) if held else np.zeros(0, dtype=dtype)

    def shifted(arrays: Iterator[np.ndarray]) -> np.ndarray:
        return joined(array + shift for array, shift in zip(arrays, shifts, strict=True))

    pieces = Pieces(
        ids=joined(p.ids for p in encoded),
        starts=shifted(p.starts for p in encoded),
        ends=shifted(p.ends for p in encoded),
        bare=joined((p.bare for p in encoded), bool),
    )
    units = align_arrays(
        pieces,
        shifted(analysis.starts for analysis in analyses),
        shifted(analysis.ends for analysis in analyses),
        joined((analysis.tags for analysis in analyses), np.uint8),
        shifted(analysis.eojeol_starts for analysis in analyses),
    )
    sentences = shifted(analysis.sentence_starts for analysis in analyses)
    starts = units.starts.copy()
    _flag_sentences(starts, pieces, sentences)
    first = (np.cumsum(lengths) - lengths)[lengths > 0]
    starts[first] |= np.uint8(Flag.SENTENCE | Flag.DOCUMENT)
    return _Encoded(pieces.ids, starts, units.tags, lengths, int(units.straddles.sum()))


def _flag_sentences(starts: np.ndarray, pieces: Pieces, sentences: np.ndarray) -> None:
    """A sentence begins at the first eojeol unit that begins no earlier than it does."""
    eojeols = np.flatnonzero(starts & Flag.EOJEOL)
    at = np.searchsorted(pieces.starts[eojeols], sentences, side="left")
    starts[eojeols[np.unique(at[at < len(eojeols)])]] |= np.uint8(Flag.SENTENCE)
