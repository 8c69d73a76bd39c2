"""Making, comparing and damaging files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa


def write_jsonl(path: Path, texts: list[str]) -> Path:
    """One text a line."""
    lines = (json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts)
    path.write_text("".join(lines), encoding="utf-8")
    return path


def pack(content: bytes, suffix: str) -> bytes:
    """The content as a file with this suffix holds it."""
    if suffix == ".gz":
        return gzip.compress(content)
    if suffix == ".zst":
        packed: bytes = pa.compress(content, codec="zstd", asbytes=True)
        return packed
    return content


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """What changes when a file is written again, even with the same bytes."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_ino)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def flip_a_bit(path: Path, at: float = 0.5) -> bytes:
    """Damage a file at a share of its length; returns what it was."""
    whole = path.read_bytes()
    damaged = bytearray(whole)
    damaged[int(at * (len(whole) - 1))] ^= 4
    path.write_bytes(damaged)
    return whole
