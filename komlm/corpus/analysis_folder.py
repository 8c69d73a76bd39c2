"""Analyses on disk: an Arrow stream file a part, a row a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from komlm.corpus.stage import MANIFEST, MANIFEST_COPY, PLAN, open_manifest
from komlm.files import sha256_of, written_whole
from komlm.text.analysis import Analysis

_SCHEMA = pa.schema(
    {
        "text": pa.large_string(),
        "starts": pa.large_list(pa.int32()),
        "ends": pa.large_list(pa.int32()),
        "tags": pa.large_list(pa.uint8()),
        "sentence_starts": pa.large_list(pa.int32()),
    }
)
_BATCH_CHARACTERS = 1_000_000
MAKE = "komlm analyze CORPUS -o FOLDER"


def write_part(path: Path, analyses: Iterable[Analysis]) -> None:
    """Write analyses, in batches of about a million characters so that memory stays flat."""
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with (
        written_whole(path) as beside,
        pa.OSFile(str(beside), "wb") as file,
        pa.ipc.new_stream(file, _SCHEMA, options=options) as writer,
    ):
        held: list[Analysis] = []
        characters = 0
        for analysis in analyses:
            held.append(analysis)
            characters += len(analysis.text)
            if characters >= _BATCH_CHARACTERS:
                writer.write_batch(_batch(held))
                held, characters = [], 0
        if held:
            writer.write_batch(_batch(held))


def _batch(analyses: list[Analysis]) -> pa.RecordBatch:
    columns = [pa.array([a.text for a in analyses], _SCHEMA.field("text").type)]
    for name in ("starts", "ends", "tags", "sentence_starts"):
        values = [getattr(a, name) for a in analyses]
        kind = _SCHEMA.field(name).type
        offsets = np.concatenate([[0], np.cumsum([len(v) for v in values])]).astype(np.int64)
        flat = np.concatenate(values).astype(kind.value_type.to_pandas_dtype())
        columns.append(pa.LargeListArray.from_arrays(offsets, flat))
    return pa.record_batch(columns, schema=_SCHEMA)


def read_part(path: Path, sha256: str) -> Iterator[list[Analysis]]:
    """The analyses of a part, a list for each batch of about a million characters.

    Raises:
        ValueError: the file is missing, or its bytes are not those that were written.
    """
    if not path.is_file() or sha256_of(path) != sha256:
        raise ValueError(f"{path} is damaged or missing: run its `{MAKE}` again, it mends the part")
    with pa.memory_map(str(path)) as file, pa.ipc.open_stream(file) as reader:
        for batch in reader:
            yield _analyses(batch)


def _analyses(batch: pa.RecordBatch) -> list[Analysis]:
    texts = batch.column(0).to_pylist()

    def rows_of(name: str, dtype: type) -> list[np.ndarray]:
        column = batch.column(name)
        flat = column.values.to_numpy().astype(dtype)
        return np.split(flat, column.offsets.to_numpy()[1:-1])

    starts, ends = rows_of("starts", np.int64), rows_of("ends", np.int64)
    tags, sentences = rows_of("tags", np.uint8), rows_of("sentence_starts", np.int64)
    return [Analysis(*row) for row in zip(texts, starts, ends, tags, sentences, strict=True)]


class AnalysisFolder:
    """A finished analysis.

    Example::

        for analysis in AnalysisFolder(Path("analysis")):
            print(analysis.text, len(analysis.tags))
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest: dict[str, Any] = open_manifest(folder, "analysis", MAKE)

    @property
    def parts(self) -> list[tuple[Path, str]]:
        """Path and checksum of each part, in order."""
        parts = self.manifest["parts"]
        return [(self.folder / name, file["sha256"]) for name, file in parts.items()]

    def __iter__(self) -> Iterator[Analysis]:
        for path, sha256 in self.parts:
            for analyses in read_part(path, sha256):
                yield from analyses


def is_analysis(folder: Path) -> bool:
    """Whether a path is a folder of this kind, finished or not."""
    return any((folder / name).is_file() for name in (MANIFEST, MANIFEST_COPY, PLAN))
