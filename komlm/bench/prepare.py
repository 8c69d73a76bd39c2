"""The stage prepare from an analysis: eojeols a second on one core, and bytes a token on disk.

The whole stage is timed, in this process: opening the analysis, cutting, aligning, the shards and
the manifest on disk. It is processor time: waiting for the disk is left out. Bytes are those of the
Arrow files of both splits; for documents of 200 pieces or longer they are those of a part that
holds just these.
"""

from __future__ import annotations

import numpy as np

from komlm.bench.material import Material
from komlm.bench.report import Figure, Report
from komlm.bench.timing import in_turn, one_core
from komlm.corpus.analysis_folder import AnalysisFolder
from komlm.corpus.prepare import prepare
from komlm.data.shards import Shards, write_shard

LONG = 200
"""Pieces of a document from which on it is long."""


def measure(material: Material) -> Report:
    """Eojeols a second, and bytes a token of all documents and of the long ones."""
    eojeols = AnalysisFolder(material.analysis).manifest["counts"]["eojeols"]
    tokenizer = material.tokenizer_folder
    with one_core():
        seconds = in_turn(
            {"komlm": lambda: prepare(material.analysis, tokenizer, material.new_folder())},
            material.seconds,
            warm_up=False,
        )
    shards = material.shards
    size = sum((shards.folder / name).stat().st_size for name in shards.manifest["parts"])
    figures = (
        Figure(
            "eojeols_per_s",
            "komlm, eojeols/s",
            eojeols / seconds["komlm"],
            at_least=60_000,
        ),
        Figure("bytes_a_token.all", "bytes a token", size / shards.pieces, "{:.3f}"),
        Figure(
            "bytes_a_token.long",
            f"bytes a token, documents of {LONG} pieces or longer",
            bytes_of_long_documents(shards, material),
            "{:.3f}",
            at_most=4.08,
            why="no such document",
        ),
    )
    return Report(figures, f"{eojeols:,} eojeols of {material.name}, processor time")


def bytes_of_long_documents(shards: Shards, material: Material) -> float | None:
    """Bytes a token of a part with the long documents alone; None where there are none."""
    lengths = np.diff(shards.offsets)
    long = np.flatnonzero(lengths >= LONG)
    if not len(long):
        return None
    begins, ends = shards.offsets[long], shards.offsets[long + 1]
    input_ids, starts, tags = (
        column.gather(begins, ends) for column in (shards.input_ids, shards.starts, shards.tags)
    )
    offsets = np.concatenate([[0], np.cumsum(lengths[long])])
    path = material.new_folder().with_suffix(".arrow")
    write_shard(path, input_ids, starts, tags, offsets, shards.vocabulary_size)
    return path.stat().st_size / int(offsets[-1])
