"""The manifest of a folder of shards, and the tokenizer that it vouches for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from komlm.files import DamagedError, read_json, sha256_of

_REQUIRED = ("vocabulary_size", "special_ids", "identity", "tokenizer", "parts")

AGAIN = "Run the `komlm prepare` command that made it again; it makes what is missing or damaged."


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder of shards.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is damaged, or of another kind of folder.

    Example: ``read_manifest(Path("shards"))["vocabulary_size"]`` -> ``8002``.
    """
    path = folder / "manifest.json"
    make = "`komlm prepare CORPUS --tokenizer TOKENIZER -o {}`"
    if not folder.is_dir():
        raise FileNotFoundError(f"no shards at {folder}. Make them: {make.format(folder)}")
    if not path.exists():
        raise FileNotFoundError(
            f"{folder} holds no whole shards: manifest.json is missing. "
            f"Make them, or let a stopped run go on: {make.format(folder)}"
        )
    try:
        manifest = read_json(path)
    except DamagedError as error:
        raise error.advising(AGAIN) from error
    kind = manifest.get("kind")
    if kind == "analysis":
        raise ValueError(
            f"{folder} is an analysis, not shards. Make shards from it: "
            f"`komlm prepare {folder} --tokenizer TOKENIZER -o SHARDS`"
        )
    if kind != "shards":
        raise ValueError(f"{folder} is no folder of shards: the manifest says kind = {kind!r}")
    missing = [key for key in _REQUIRED if key not in manifest]
    if missing:
        raise ValueError(f"{path} lacks {', '.join(missing)}: made by another version. {AGAIN}")
    return manifest


def check_tokenizer(folder: Path, manifest: dict[str, Any]) -> None:
    """The copy of the tokenizer must be the one that cut the text: checkpoints get it too."""
    for name, wanted in manifest["tokenizer"].items():
        path = folder / "tokenizer" / name
        if not path.is_file():
            raise FileNotFoundError(f"{path} is missing. {AGAIN}")
        if sha256_of(path) != wanted:
            raise ValueError(
                f"{path} is damaged, or not of the tokenizer that made the shards. {AGAIN}"
            )
