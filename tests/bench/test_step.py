from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from komlm.bench import Material, komlm_side, timing
from komlm.bench import step as bench_step
from komlm.bench.komlm_side import KomlmSide
from komlm.bench.step import measure
from komlm.bench.timing import Watch

pytest.importorskip("accelerate", reason="the Trainer needs it: pip install 'komlm[bench]'")


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(komlm_side, "ROWS", 4)
    monkeypatch.setattr(bench_step, "TURNS", 1)


def test_the_report(material: Material, capsys: pytest.CaptureFixture[str]) -> None:
    values = measure(material).values
    assert values.keys() == {"tokens_per_s", "ratios"}
    speed = values["tokens_per_s"]
    assert values["ratios"]["trainer"] == pytest.approx(speed["komlm"] / speed["trainer"], rel=1e-4)
    assert capsys.readouterr().out == ""


def test_both_sides_train_on_the_same(material: Material, tmp_path: Path) -> None:
    """As many steps of as many tokens, over the same rows, and models and optimizers alike."""
    from komlm.bench.trainer_side import TrainerSide

    ours = KomlmSide(material.shards)
    theirs = TrainerSide(ours, str(tmp_path))
    models = (ours.state.model, theirs.model)
    assert models[0].config.to_diff_dict() == models[1].config.to_diff_dict()
    assert models[0].config.vocab_size == 8002
    seen: list[list[int]] = [[], []]
    labels: list[int] = []
    for model, tokens in zip(models, seen, strict=True):

        def note(_: Any, args: Any, kwargs: Any, tokens: list[int] = tokens) -> None:
            tokens.append(int(kwargs["attention_mask"].sum()))

        model.bert.register_forward_pre_hook(note, with_kwargs=True)
    theirs.model.register_forward_pre_hook(
        lambda _, args, kwargs: labels.append(int((kwargs["labels"] != -100).sum())),
        with_kwargs=True,
    )
    ours.turn()
    theirs.turn()
    assert seen[0] == seen[1] == [ours.tokens] * ours.steps
    assert sum(labels) / sum(seen[1]) == pytest.approx(0.15, abs=0.04)

    trainer = theirs.trainer(Watch(ours.steps, on_gpu=False))
    their_groups = trainer.create_optimizer().param_groups
    our_groups = ours.state.optimizer.param_groups
    assert type(ours.state.optimizer) is type(trainer.optimizer) is torch.optim.AdamW
    for our_group, their_group in zip(our_groups, their_groups, strict=True):
        assert len(our_group["params"]) == len(their_group["params"])
        for key in ("weight_decay", "betas", "eps", "fused"):
            assert our_group[key] == their_group[key], key


def test_the_watch_leaves_the_first_step_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for on_gpu, wanted, waits in ((False, 4.0, 0), (True, 4.5, 2)):
        times = iter([100.0, 105.0, 109.0])
        waited: list[int] = []
        monkeypatch.setattr(timing.time, "perf_counter", times.__next__)
        monkeypatch.setattr(torch.cuda, "synchronize", lambda waited=waited: waited.append(1))
        watch = Watch(3, on_gpu)
        for _ in range(3):
            watch.step_done()
        assert watch.seconds_a_step == wanted
        assert len(waited) == waits
