"""Single flipped bits, and files cut short, emptied or replaced: found, mended, or harmless.

A thousand bits with ``PROOF_SIZE=whole``. Whoever reads a damaged file must say which one and what
to do, or give what the undamaged one gives.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from komlm.checkpoints import last_whole
from komlm.corpus.analyze import analyze
from komlm.corpus.prepare import prepare
from komlm.corpus.stage import MANIFEST, MANIFEST_COPY, StageFolder, _records_in
from komlm.data.rows import RowSource
from komlm.data.shards import SPLITS, Shards
from komlm.files import read_json
from komlm.inference.fill_mask import FillMask
from komlm.training.loop import pretrain
from komlm.training.metrics import TIME_FIELDS, read_metrics
from tests.corpus.disk import contents
from tests.proof_size import is_whole
from tests.proofs.conftest import STEPS, STOPPED, Silent, World
from tests.proofs.damage import Damage, Tally, files_of, flips, fresh_copy, outcome, siblings

pytestmark = pytest.mark.slow


def damages(folder: Path, names: list[str], whole: int, small: int, seed: int) -> Any:
    """Flipped bits, ``whole`` or ``small`` of them, and a third as many siblings."""
    number = whole if is_whole() else small
    others = siblings(folder, names, number // 3, seed)
    return chain(flips(folder, names, number, seed), others)


def test_shards(world: World, tmp_path: Path) -> None:
    """Read as training reads them, then prepared again."""
    whole, whole_contents = rows_of(world.shards), contents(world.shards)
    read, mended = Tally("shards, read"), Tally("shards, prepared again")
    for damage in damages(world.shards, files_of(world.shards), 300, 18, seed=1):
        copy = fresh_copy(world.shards, tmp_path / "shards")
        damage.do(copy)
        read.add(outcome(lambda copy=copy: rows_of(copy), whole, damage))

        def again(copy: Path = copy) -> dict[str, bytes]:
            prepare(world.analysis, world.tokenizer, copy, heldout=0.3)
            return contents(copy)

        mended.add(outcome(again, whole_contents, damage).replace("unharmed", "whole again"))
    read.show()
    mended.show()


def rows_of(folder: Path) -> str:
    """The SHA-256 of all that training takes from shards."""
    digest = hashlib.sha256()
    for split in SPLITS:
        shards = Shards.open(folder, split)
        source = RowSource(shards, 32)
        rows = source.batch(np.arange(len(source)))
        for tensor in (rows.input_ids, rows.starts, rows.tags, rows.attention_mask):
            digest.update(tensor.numpy().tobytes())
        digest.update(shards.counts().tobytes())
        digest.update(repr((shards.special_ids, shards.identity, shards.manifest)).encode())
    for path in sorted((folder / "tokenizer").iterdir()):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def test_analysis(world: World, tmp_path: Path) -> None:
    """Prepared, then analysed again."""
    whole, whole_shards = contents(world.analysis), contents(world.shards)
    read, mended = Tally("analysis, prepared"), Tally("analysis, analysed again")
    for damage in damages(world.analysis, files_of(world.analysis), 200, 12, seed=2):
        copy = fresh_copy(world.analysis, tmp_path / "analysis")
        damage.do(copy)

        def prepared(copy: Path = copy) -> dict[str, bytes]:
            target = tmp_path / "shards"
            prepare(copy, world.tokenizer, fresh_copy(copy, target) / "new", heldout=0.3)
            return contents(target / "new")

        read.add(outcome(prepared, whole_shards, damage))
        mended.add(analysed_again(world, copy, whole, damage))
    read.show()
    mended.show()


def test_unfinished_analysis(world: World, tmp_path: Path) -> None:
    """Killed before its last part: plan and records are damaged too."""
    whole = contents(world.analysis)
    unfinished = fresh_copy(world.analysis, tmp_path / "unfinished")
    for name in (MANIFEST, MANIFEST_COPY):
        (unfinished / name).unlink()
    manifest = read_json(world.analysis / MANIFEST)
    *records, last = _records_in(manifest)
    (unfinished / next(iter(last.files))).unlink()
    for path in unfinished.iterdir():
        path.rename(tmp_path / path.name)
    stage = StageFolder(unfinished, "analysis", manifest["recipe"])
    for record in records:
        for name in record.files:
            (tmp_path / name).rename(unfinished / name)
        stage.finish_part(record)
    mended = Tally("unfinished analysis, gone on with")
    for damage in damages(unfinished, files_of(unfinished), 120, 8, seed=3):
        copy = fresh_copy(unfinished, tmp_path / "analysis")
        damage.do(copy)
        mended.add(analysed_again(world, copy, whole, damage))
    mended.show()


def analysed_again(world: World, copy: Path, whole: dict[str, bytes], damage: Damage) -> str:
    def again() -> dict[str, bytes]:
        analyze(world.source, copy)
        return contents(copy)

    return outcome(again, whole, damage).replace("unharmed", "whole again")


def test_checkpoints(world: World, tmp_path: Path) -> None:
    """The newest checkpoint of a run is damaged: looked for, loaded by fill-mask, gone on from."""
    filled = {step: fill(world.stopped / f"step-{step}") for step in (STOPPED - 2, STOPPED)}
    assert filled[STOPPED - 2] != filled[STOPPED]
    name = f"step-{STOPPED}"
    names = [f"{name}/{file}" for file in files_of(world.stopped / name)]
    tally = Tally("checkpoints, loaded and gone on from")
    for damage in damages(world.stopped, names, 300, 16, seed=4):
        copy = fresh_copy(world.stopped, tmp_path / "run")
        damage.do(copy)
        said: list[str] = []
        found = last_whole(copy, said.append)
        loaded = outcome(lambda copy=copy: fill(copy / name), filled[STOPPED], damage)
        if found == copy / name:
            assert loaded == "unharmed"
        else:
            assert found == copy / f"step-{STOPPED - 2}"
            assert len(said) == 1, damage
            assert Path(damage.name).name in said[0], damage
            assert loaded == "found"
            assert fill(copy) == filled[STOPPED - 2]
        assert gone_on(world, copy) == told_by(world.unbroken), damage
        tally.add(loaded)
    tally.show()


def fill(folder: Path) -> Any:
    """What a model says of a gap."""
    return FillMask.load(folder, say=lambda message: None).fill("시장에 [MASK].", top_k=3)


def told_by(run_folder: Path) -> dict[str, Any]:
    """All that a run leaves, but times."""
    told: dict[str, Any] = dict(contents(run_folder))
    lines = read_metrics(run_folder / "metrics.jsonl")
    told["metrics.jsonl"] = [
        {key: value for key, value in line.items() if key not in TIME_FIELDS} for line in lines
    ]
    return told


def gone_on(world: World, run_folder: Path) -> dict[str, Any]:
    assert pretrain(world.config, run_folder, resume=True, progress=Silent()).step == STEPS
    return told_by(run_folder)


def test_run_folder(world: World, tmp_path: Path) -> None:
    """The settings and the metrics of a run, which goes on; a refused one has lost nothing."""
    tally = Tally("config.toml and metrics.jsonl, gone on with")
    for damage in damages(world.stopped, ["config.toml", "metrics.jsonl"], 80, 6, seed=5):
        copy = fresh_copy(world.stopped, tmp_path / "run")
        damage.do(copy)
        tally.add(outcome(resuming(world, copy), told_by(world.unbroken), damage))
        kept = contents(copy)
        for name, content in contents(world.stopped).items():
            assert not name.startswith("step-") or kept[name] == content
    tally.show()


def resuming(world: World, copy: Path) -> Callable[[], dict[str, Any]]:
    return lambda: gone_on(world, copy)
