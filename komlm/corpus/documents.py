"""Opening corpus files: decompression, lines, and errors that name the place."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

COMPRESSIONS = (".gz", ".zst")


def plain_suffix(path: Path) -> str:
    """The suffix below the compression. Example: ``letters.jsonl.gz`` -> ``".jsonl"``."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked if it is .gz or .zst.

    Raises:
        ValueError: the file is empty, or its packing is damaged or cut short.
    """
    import pyarrow as pa

    if path.stat().st_size == 0:
        raise ValueError(f"{path}: the file is empty")
    try:
        if path.suffix.lower() == ".gz":
            with gzip.open(path, "rb") as unpacked:
                yield unpacked  # type: ignore[misc]
        elif path.suffix.lower() == ".zst":
            with pa.input_stream(str(path), compression="zstd") as stream:
                yield io.BufferedReader(stream)
        else:
            with path.open("rb") as file:
                yield file
    except (EOFError, zlib.error, OSError, pa.ArrowException) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise ValueError(f"{path}: cut short or damaged: {error}. Fetch the file again") from error


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Number and text of each line, from 1, without its line end.

    Lines end at LF or CR LF and nowhere else: U+2028 and the like are white space inside a text.

    Raises:
        ValueError: bytes that are not UTF-8 (the message names line and byte), or no line at all.
    """
    number = 0
    with opened(path) as file:
        for number, raw in enumerate(file, 1):
            line = decoded(raw, f"{path}, line {number}")
            if number == 1:
                line = line.removeprefix("\ufeff")
            yield number, line.removesuffix("\n").removesuffix("\r")
    if not number:
        raise ValueError(f"{path}: the file is empty")


def decoded(raw: bytes, place: str) -> str:
    """Bytes as text, or a ValueError that names the place and the first byte that is not UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{place}: byte 0x{raw[error.start]:02x} at byte {error.start} of the line is not "
            "UTF-8. Korean files are often CP949: convert them with `iconv -f cp949 -t utf-8`; a "
            "packed file may be damaged: fetch it again"
        ) from error
