"""Reader of Parquet files."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from komlm.corpus.documents import COMPRESSIONS, opened
from komlm.corpus.source import Reading
from komlm.types import Document


def read(path: Path, reading: Reading) -> Iterator[Document]:
    """A document a row: the string in the column ``reading.column``; null is an empty text.

    Raises:
        ValueError: no such column, a column that holds no strings, or a file that is damaged or cut
            short; the message names what is there.

    Example: a row with text = "나는 갔다" -> ``Document("나는 갔다", "a.parquet:0")``.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    with _seekable(path) as plain:
        try:
            with pq.ParquetFile(plain) as file:
                _check_column(file.schema_arrow, reading.column, path)
                for batch in file.iter_batches(batch_size=256, columns=[reading.column]):
                    for value in batch.column(0):
                        yield Document(value.as_py() or "", f"{path.name}:{number}")
                        number += 1
        except (pa.ArrowException, OSError) as error:
            raise ValueError(
                f"{path}: cut short or damaged after {number:,} rows: {error}. Fetch the file again"
            ) from error
        except UnicodeDecodeError as error:
            raise ValueError(f"{path}, row {number}: not UTF-8: {error}") from error


@contextmanager
def _seekable(path: Path) -> Iterator[BinaryIO]:
    """The bytes of the file; unpacked to a temporary file first if it is .gz or .zst."""
    with opened(path) as file:
        if path.suffix.lower() not in COMPRESSIONS:
            yield file
            return
        with tempfile.TemporaryFile() as plain:
            shutil.copyfileobj(file, plain, 2**20)
            plain.seek(0)
            yield plain


def _check_column(schema: object, column: str, path: Path) -> None:
    import pyarrow as pa

    names = schema.names  # type: ignore[attr-defined]
    if column not in names:
        raise ValueError(f"{path}: no column '{column}'. Columns there: {', '.join(names)}")
    kind = schema.field(column).type  # type: ignore[attr-defined]
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise ValueError(f"{path}: column '{column}' holds {kind}, wanted strings")
