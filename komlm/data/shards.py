"""Token shards: an Arrow stream file a part, a row a document, four bytes a piece.

Columns, lists of one length in each row: ``input_ids`` (uint16; uint32 where the vocabulary needs
it), ``starts`` (uint8, see :class:`komlm.types.Flag`), ``tags`` (uint8, see komlm.text.tags).
Reading maps the files into memory: whatever the size of the corpus, only the document offsets
(8 bytes a document) are held.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from komlm.data.manifest import AGAIN, check_tokenizer, read_manifest
from komlm.data.stream import Stream
from komlm.files import sha256_of, written_whole
from komlm.names import pick
from komlm.types import Flag

COLUMNS = ("input_ids", "starts", "tags")
SPLITS = {"train": "training", "heldout": "held-out"}
BATCH_DOCUMENTS = 65_536
BATCH_PIECES = 2**24
"""Bounds of a record batch. Whoever goes through a corpus needs memory for one batch at a time."""

_LONGEST_DOCUMENT = 2**31 - 1  # int32 list offsets, which `datasets` reads everywhere
_FIRST_PIECE = Flag.MORPHEME | Flag.EOJEOL | Flag.SENTENCE | Flag.DOCUMENT


def _is_allowed(flags: int) -> bool:
    if flags & Flag.SPECIAL:
        return False
    if flags & (Flag.SENTENCE | Flag.DOCUMENT) and not flags & Flag.EOJEOL:
        return False
    return flags == 0 or bool(flags & Flag.MORPHEME)


_ALLOWED = np.array([_is_allowed(flags) for flags in range(256)])


def id_type(vocabulary_size: int) -> type[np.uint16] | type[np.uint32]:
    """The narrowest type that holds every id.

    Example: ``id_type(8002)`` -> ``np.uint16``; ``id_type(65_537)`` -> ``np.uint32``.
    """
    return np.uint16 if vocabulary_size <= 2**16 else np.uint32


def write_shard(
    path: Path,
    input_ids: npt.NDArray[Any],
    starts: npt.NDArray[Any],
    tags: npt.NDArray[Any],
    offsets: npt.NDArray[Any],
    vocabulary_size: int,
) -> None:
    """Write one part; equal arrays give equal bytes, and the file is there whole or not at all.

    Args:
        path: the file, such as ``shards/train/part-00000.arrow``; its folder must exist.
        input_ids, starts, tags: *Shape:* ``(pieces,)``, the documents one after the other.
        offsets: *Shape:* ``(documents + 1,)``, where each document begins, and the end.
        vocabulary_size: entries of the tokenizer; every id is below it.

    Raises:
        ValueError: arrays that do not fit together, an id outside the vocabulary, or flags that
            break their contract (see :class:`komlm.types.Flag`).

    Example: the documents [7, 8, 9] and [7] are ``input_ids=[7, 8, 9, 7]``, ``offsets=[0, 3, 4]``,
    and their starts, three one-piece eojeols and one, ``[15, 3, 3, 15]``.
    """
    offsets = np.asarray(offsets, dtype=np.int64)
    _check_flat(path, input_ids, starts, tags, offsets, vocabulary_size)
    columns = (
        np.ascontiguousarray(input_ids, dtype=id_type(vocabulary_size)),
        np.ascontiguousarray(starts, dtype=np.uint8),
        np.ascontiguousarray(tags, dtype=np.uint8),
    )
    types = [pa.list_(pa.from_numpy_dtype(column.dtype)) for column in columns]
    schema = pa.schema(list(zip(COLUMNS, types, strict=True)))
    with written_whole(path) as beside, pa.ipc.new_stream(str(beside), schema) as writer:
        for first, last in _batches(offsets):
            begin, end = offsets[first], offsets[last]
            local = pa.array((offsets[first : last + 1] - begin).astype(np.int32))
            lists = [
                pa.ListArray.from_arrays(local, pa.array(column[begin:end])) for column in columns
            ]
            writer.write_batch(pa.record_batch(lists, schema=schema))


def _batches(offsets: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """The documents ``first`` to ``last - 1`` of each record batch."""
    first, documents = 0, len(offsets) - 1
    while first < documents:
        last = int(np.searchsorted(offsets, offsets[first] + BATCH_PIECES, side="right")) - 1
        last = min(max(last, first + 1), first + BATCH_DOCUMENTS, documents)
        yield first, last
        first = last


def _check_flat(
    path: Path,
    input_ids: npt.NDArray[Any],
    starts: npt.NDArray[Any],
    tags: npt.NDArray[Any],
    offsets: npt.NDArray[np.int64],
    vocabulary_size: int,
) -> None:
    def require(holds: bool, what: str) -> None:
        if not holds:
            raise ValueError(f"{path} not written: {what}")

    pieces = len(input_ids)
    require(
        len(starts) == pieces and len(tags) == pieces,
        f"{pieces} ids, {len(starts)} starts and {len(tags)} tags; wanted one of each a piece",
    )
    lengths = np.diff(offsets)
    require(
        len(offsets) > 0
        and offsets[0] == 0
        and offsets[-1] == pieces
        and bool((lengths >= 0).all()),
        f"offsets must rise from 0 to the number of pieces, {pieces}",
    )
    if pieces == 0:
        return
    require(int(lengths.max()) <= _LONGEST_DOCUMENT, "a document has 2^31 pieces or more; cut it")
    least, most = int(input_ids.min()), int(input_ids.max())
    require(
        least >= 0 and most < vocabulary_size,
        f"ids from {least} to {most}; wanted 0 to {vocabulary_size - 1} for this tokenizer",
    )
    firsts = offsets[:-1][lengths > 0]
    require(
        bool(((starts[firsts] & _FIRST_PIECE) == _FIRST_PIECE).all())
        and int(np.count_nonzero(starts & Flag.DOCUMENT)) == len(firsts),
        f"the first piece of each document, and no other, must hold the flags {_FIRST_PIECE!r}",
    )
    wrong = starts[~_ALLOWED[starts]]
    require(
        len(wrong) == 0,
        f"flags {wrong[:1].tolist()} at a piece; an eojeol start is a morpheme start, a sentence "
        "start an eojeol start, the other flags stand at morpheme starts, and SPECIAL nowhere",
    )


class _Batch(NamedTuple):
    """One record batch of a part: its columns (views) and its offsets from 0."""

    input_ids: npt.NDArray[Any]
    starts: npt.NDArray[np.uint8]
    tags: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Shards:
    """One split of the shards that `komlm prepare` wrote, opened for reading.

    Attributes:
        offsets: *Shape:* ``(documents + 1,)``, where each document begins in the streams.

    Example::

        shards = Shards.open(Path("shards"), "train")
        shards.documents, shards.pieces                      # (31_250, 9_804_117)
        begin, end = shards.offsets[7:8], shards.offsets[8:9]
        shards.input_ids.gather(begin, end)                  # the pieces of document 7
    """

    folder: Path
    split: str
    manifest: dict[str, Any]
    input_ids: Stream
    starts: Stream
    tags: Stream
    offsets: npt.NDArray[np.int64]

    @classmethod
    def open(cls, folder: Path, split: str = "train", verify: bool = True) -> Shards:
        """Open a split; ``verify`` reads every part once and compares its checksum.

        Files that the manifest does not list (left by a killed run) are not looked at.

        Raises:
            FileNotFoundError: no shards in ``folder``, or a part is missing.
            ValueError: another kind of folder, a damaged part or manifest, or an empty split. The
                message names the file and the command that makes it.
        """
        folder = Path(folder)
        pick("split", split, SPLITS)
        manifest = read_manifest(folder)
        check_tokenizer(folder, manifest)
        parts = sorted(name for name in manifest["parts"] if name.startswith(f"{split}/"))
        batches: list[_Batch] = []
        for name in parts:
            batches += _open_part(folder, name, manifest, verify)
        lengths = [len(batch.input_ids) for batch in batches]
        begins = np.cumsum([0, *lengths], dtype=np.int64)
        if begins[-1] == 0:
            more = " or a larger --heldout" if split == "heldout" else ""
            raise ValueError(
                f"{folder}: the {SPLITS[split]} split holds no text. "
                f"Run `komlm prepare` with more documents{more}."
            )
        ends = [batch.offsets[1:] + begins[n] for n, batch in enumerate(batches)]
        return cls(
            folder=folder,
            split=split,
            manifest=manifest,
            input_ids=Stream([batch.input_ids for batch in batches], begins),
            starts=Stream([batch.starts for batch in batches], begins),
            tags=Stream([batch.tags for batch in batches], begins),
            offsets=np.concatenate([np.zeros(1, np.int64), *ends]),
        )

    def has_documents(self, split: str) -> bool:
        """Whether a split of these shards holds any document, as the manifest has it."""
        parts = self.manifest["parts"].items()
        return any(part["documents"] for name, part in parts if name.startswith(f"{split}/"))

    @property
    def documents(self) -> int:
        return len(self.offsets) - 1

    @property
    def pieces(self) -> int:
        return int(self.offsets[-1])

    @property
    def vocabulary_size(self) -> int:
        """Entries of the tokenizer that the shards were made with."""
        return int(self.manifest["vocabulary_size"])

    @property
    def special_ids(self) -> dict[str, int]:
        """The ids of unk, pad, cls, sep and mask."""
        return dict(self.manifest["special_ids"])

    @property
    def identity(self) -> str:
        """The SHA-256 of what the shards were made from."""
        return str(self.manifest["identity"])

    @property
    def tokenizer_folder(self) -> Path:
        """The copy of the tokenizer beside the parts."""
        return self.folder / "tokenizer"

    def counts(self) -> npt.NDArray[np.int64]:
        """How often each id occurs. *Shape:* ``(vocabulary_size,)``.

        Raises:
            ValueError: an id outside the vocabulary.
        """
        counts = np.zeros(self.vocabulary_size, np.int64)
        for chunk in self.input_ids.chunks:
            # bincount copies what it reads to int64: by the million, not by the record batch.
            for begin in range(0, len(chunk), 2**20):
                part = np.bincount(chunk[begin : begin + 2**20], minlength=len(counts))
                if len(part) > len(counts):
                    raise ValueError(
                        f"{self.folder}: id {len(part) - 1} in a vocabulary of {len(counts)} "
                        f"entries. {AGAIN}"
                    )
                counts += part
        return counts

    def __reduce__(self) -> tuple[Any, ...]:
        # Worker processes map the files again; the default would copy the corpus to each.
        return Shards.open, (self.folder, self.split, False)


def _open_part(folder: Path, name: str, manifest: dict[str, Any], verify: bool) -> list[_Batch]:
    """The record batches of one part, as views of the mapped file."""
    path, listed = folder / name, manifest["parts"][name]
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing. {AGAIN}")
    if verify and sha256_of(path) != listed["sha256"]:
        raise ValueError(f"{path} is damaged: its checksum does not fit. {AGAIN}")
    try:
        # The views outlive the file object: they keep the mapping, not the open file.
        with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as reader:
            batches = [_columns(batch) for batch in reader]
    except (pa.ArrowException, OSError, KeyError) as error:
        raise ValueError(f"{path} is damaged: {error}. {AGAIN}") from error
    documents = sum(len(batch.offsets) - 1 for batch in batches)
    pieces = sum(len(batch.input_ids) for batch in batches)
    if (documents, pieces) != (listed["documents"], listed["pieces"]):
        raise ValueError(
            f"{path} is damaged: {documents} documents and {pieces} pieces; the manifest lists "
            f"{listed['documents']} and {listed['pieces']}. {AGAIN}"
        )
    return batches


def _columns(batch: pa.RecordBatch) -> _Batch:
    lists = [batch.column(name) for name in COLUMNS]
    offsets = [column.offsets.to_numpy() for column in lists]
    if any(column.null_count for column in lists) or not all(
        np.array_equal(offsets[0], other) for other in offsets[1:]
    ):
        raise pa.ArrowInvalid("input_ids, starts and tags differ in length")
    ids, starts, tags = (column.flatten().to_numpy(zero_copy_only=True) for column in lists)
    return _Batch(ids, starts, tags, offsets[0] - offsets[0][0])
