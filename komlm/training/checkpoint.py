"""Saving and loading: a Hugging Face folder, and beside the model what an exact resume needs.

::

    step-1000/
      config.json model.safetensors        the model: AutoModelForMaskedLM loads it
      tokenizer.json tokenizer_config.json ...   a copy of the shards' tokenizer
      README.md                            the model card
      state/optimizer.safetensors          exp_avg.NAME and exp_avg_sq.NAME of each parameter
      state/state.json                     step, shards, config, the SHA-256 of every other file,
                                           and that of the lines of metrics.jsonl up to here

No pickle, time, host or path: equal states are equal bytes. A folder is written under another name
and renamed when whole, so a killed run or a full disk leaves the checkpoint before it.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from komlm.checkpoints import STATE, checkpoints, step_of
from komlm.files import UNFINISHED, folder_written_whole, read_json, sha256_of, write_json
from komlm.models import check_sizes, quiet_transformers
from komlm.training.card import model_card
from komlm.training.run_folder import check_metrics, metrics_sum
from komlm.training.settings import fixed_settings, refuse_other_settings
from komlm.training.state import RunState

OPTIMIZER = Path("state/optimizer.safetensors")
_MOMENTS = ("exp_avg", "exp_avg_sq")


def save(run_folder: Path, state: RunState) -> Path:
    """Write ``step-N`` whole, or leave the run folder as it was.

    Raises:
        OSError: the disk is full or the folder cannot be written; the message says what is left.

    Example: ``save(Path("run"), state)`` with ``state.step == 100`` -> ``run/step-100``.
    """
    folder = run_folder / f"step-{state.step}"
    try:
        if folder.exists():  # a damaged one, which the run comes past a second time
            shutil.rmtree(folder)
        with folder_written_whole(folder) as beside:
            _write(beside, state, metrics_sum(run_folder))
    except (OSError, SafetensorError) as error:
        whole = checkpoints(run_folder)
        left = f"The last checkpoint is {whole[-1]}" if whole else "There is no checkpoint yet"
        raise OSError(
            f"could not save {folder}: {error}. {left}; make room, then go on with --resume"
        ) from error
    return folder


def _write(folder: Path, state: RunState, metrics: dict[str, Any]) -> None:
    shards = state.shards
    for file in sorted(shards.tokenizer_folder.iterdir()):
        if file.is_file():
            shutil.copyfile(file, folder / file.name)
    with quiet_transformers():
        state.model.save_pretrained(folder)
    card = model_card(state.step, state.model, state.config, shards.manifest)
    (folder / "README.md").write_text(card, encoding="utf-8")
    (folder / "state").mkdir()
    save_file(optimizer_tensors(state.model, state.optimizer), folder / OPTIMIZER)
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    write_json(
        folder / STATE,
        {
            "kind": "checkpoint",
            "step": state.step,
            "shards": shards.identity,
            "vocabulary_size": shards.vocabulary_size,
            "config": fixed_settings(state.config),
            "metrics": metrics,
            "files": {file.relative_to(folder).as_posix(): sha256_of(file) for file in files},
        },
    )


def optimizer_tensors(model: Any, optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """The moments of AdamW by the names of the parameters; its step is the run's step.

    Example: ``"exp_avg.cls.predictions.bias"`` -> a tensor of shape ``(V,)``.
    """
    return {
        f"{moment}.{name}": optimizer.state[parameter][moment].detach().cpu().contiguous()
        for name, parameter in model.named_parameters()
        if parameter in optimizer.state
        for moment in _MOMENTS
    }


def load(folder: Path, state: RunState) -> None:
    """Put a checkpoint into a state that was just built.

    Raises:
        ValueError: the checkpoint comes from other shards or settings, its model or optimizer does
            not fit, or the lines of metrics.jsonl that it follows are damaged.
    """
    saved, shards = read_json(folder / STATE), state.shards
    if saved["shards"] != shards.identity:
        raise ValueError(
            f"{folder} was trained on shards {saved['shards'][:12]} (vocabulary of "
            f"{saved['vocabulary_size']}), and {shards.folder} holds shards {shards.identity[:12]} "
            f"(vocabulary of {shards.vocabulary_size}). Set data.shards to what the run began "
            "with, or begin another run with -o."
        )
    refuse_other_settings(folder, saved["config"], fixed_settings(state.config))
    check_metrics(folder.parent, saved["step"], saved.get("metrics"))
    with quiet_transformers():
        model = type(state.model).from_pretrained(
            folder, dtype=torch.float32, use_safetensors=True, local_files_only=True
        )
    check_sizes(model, shards.vocabulary_size)
    state.model.load_state_dict(model.state_dict())
    _load_optimizer(folder, saved["step"], state)
    state.step = saved["step"]


def _load_optimizer(folder: Path, step: int, state: RunState) -> None:
    tensors = load_file(folder / OPTIMIZER)
    for name, parameter in state.model.named_parameters():
        found = {moment: tensors.pop(f"{moment}.{name}", None) for moment in _MOMENTS}
        moments = {moment: tensor for moment, tensor in found.items() if tensor is not None}
        shapes = [tensor.shape for tensor in moments.values()]
        if shapes != [parameter.shape] * len(_MOMENTS):
            raise ValueError(
                f"{folder / OPTIMIZER} does not fit the model at {name}: was it made by another "
                "version of komlm? Begin another run with -o."
            )
        state.optimizer.state[parameter] = {
            "step": torch.tensor(float(step), device=parameter.device),
            **{moment: tensor.to(parameter.device) for moment, tensor in moments.items()},
        }


def prune(run_folder: Path, step: int, keep: int) -> None:
    """Delete all checkpoints up to ``step`` but the newest ``keep``; 0 keeps all.

    Later ones are damaged ones that a resumed run has skipped and will write again; they do not
    count.

    Example: at step 300, with checkpoints 100, 200, 300 and ``keep=2`` -> 200 and 300 are left.
    """
    past = [folder for folder in checkpoints(run_folder) if (step_of(folder) or 0) <= step]
    for folder in past[: -keep if keep else 0]:
        # Renamed first: a run killed in the middle leaves no folder that looks like a damaged one.
        beside = folder.with_name(folder.name + UNFINISHED)
        folder.rename(beside)
        shutil.rmtree(beside)
