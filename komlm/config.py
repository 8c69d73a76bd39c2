"""The configuration of a pretraining run: dataclasses, read from TOML, with --set on top.

Each field is documented under itself and checked in ``__post_init__``. An unknown key is an error
that names the nearest known one. Source of the defaults: BERT (Devlin et al., 2019).
"""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from komlm.toml_values import from_dict, put, to_toml_value


def _check(condition: bool, key: str, value: object, wanted: str) -> None:
    if not condition:
        raise ValueError(f"{key} = {value!r}: wanted {wanted}")


@dataclass(frozen=True)
class DataConfig:
    """What is learnt from: either ready shards, or a corpus from which the run makes its own."""

    shards: str = ""
    """Folder that `komlm prepare` wrote."""
    corpus: str = ""
    """Without shards: a corpus (name, TOML file or path); the run makes its own shards from it."""
    vocabulary_size: int = 8002
    """Entries of the tokenizer made from `corpus`."""
    heldout: float = 0.01
    """Share of the documents of `corpus` that is kept out of training."""

    def __post_init__(self) -> None:
        _check(self.vocabulary_size >= 8, "data.vocabulary_size", self.vocabulary_size, "8 or more")
        _check(0 <= self.heldout < 1, "data.heldout", self.heldout, "a share from 0 up to 1")


@dataclass(frozen=True)
class MaskingConfig:
    """Which pieces are hidden."""

    unit: str = "morpheme"
    """What is hidden as a whole: a name in komlm.masking.STRATEGIES (piece, morpheme, eojeol)."""
    ratio: float = 0.15
    """Probability of a unit to be hidden."""
    replace: str = "unit"
    """80/10/10 (mask, random, kept) is drawn once for a whole `unit`, or for each `piece`."""
    weights: dict[str, float] = field(default_factory=dict)
    """Class of a unit -> factor on `ratio`; a missing class has 1. Example: {noun = 2.0}."""
    patterns: int = 0
    """0: a new mask each epoch; n: n fixed masks in turn (10 in the first BERT)."""

    def __post_init__(self) -> None:
        _check(0 < self.ratio < 1, "masking.ratio", self.ratio, "a share between 0 and 1")
        _check(self.replace in ("unit", "piece"), "masking.replace", self.replace, "unit or piece")
        _check(self.patterns >= 0, "masking.patterns", self.patterns, "0 or more")
        for name, weight in self.weights.items():
            _check(0 <= weight < math.inf, f"masking.weights.{name}", weight, "0 or more")


@dataclass(frozen=True)
class ModelConfig:
    """What is trained."""

    size: str = "kobert-base"
    """A name in komlm.models.SIZES (mini, tiny, small, kobert-base, large)."""
    dropout: float = 0.1
    """Dropout of hidden states and attention."""

    def __post_init__(self) -> None:
        _check(0 <= self.dropout < 1, "model.dropout", self.dropout, "0 or more and below 1")


@dataclass(frozen=True)
class RowsConfig:
    """How documents are cut into rows."""

    max_length: int = 512
    """Pieces in a row, [CLS] and [SEP] counted."""
    cut: str = "eojeol"
    """A row ends before an `eojeol`, or before a `sentence` (which costs padding)."""

    def __post_init__(self) -> None:
        # 16 pieces is the longest unit, with [CLS] and [SEP] a row must hold at least one.
        _check(18 <= self.max_length <= 65_535, "rows.max_length", self.max_length, "18 to 65,535")
        _check(self.cut in ("eojeol", "sentence"), "rows.cut", self.cut, "eojeol or sentence")


@dataclass(frozen=True)
class TrainingConfig:
    """How it is trained."""

    steps: int = 100_000
    """Optimizer steps; the learning-rate schedule ends here."""
    batch_rows: int = 256
    """Rows in a step, all micro-batches together."""
    micro_batch_rows: int = 64
    """Rows that go through the model at once; must divide `batch_rows`."""
    learning_rate: float = 1e-4
    """Highest learning rate, reached at the end of the warm-up."""
    warmup_steps: int = 1_000
    """Steps in which the learning rate rises from 0."""
    weight_decay: float = 0.01
    """AdamW's decay; biases and layer norms have none."""
    beta2: float = 0.98
    """AdamW's second beta (RoBERTa's, steadier with large batches); the first is 0.9."""
    clip_norm: float = 1.0
    """The gradient is scaled down to this norm at most; 0 turns it off."""
    seed: int = 0
    """Weights, order of the rows, masks and dropout all follow from it."""
    precision: str = "auto"
    """`fp32`, `bf16`, or `auto`: bf16 on a GPU that has it, else fp32."""
    device: str = "auto"
    """`cpu`, `cuda`, or `auto`: cuda where there is one."""
    log_every: int = 10
    """Steps between two lines of metrics.jsonl."""
    evaluate_every: int = 1_000
    """Steps between two measurements on held-out rows; the last step is always measured."""
    evaluate_rows: int = 512
    """Held-out rows that a measurement reads at most."""
    checkpoint_every: int = 1_000
    """Steps between two checkpoints; the last step always leaves one."""
    keep_checkpoints: int = 3
    """Older ones are deleted; 0 keeps all."""
    stop_after_minutes: float = 0.0
    """Save and leave after so many minutes; 0: never. The schedule counts steps all the same."""

    def __post_init__(self) -> None:
        for name in ("steps", "batch_rows", "micro_batch_rows", "log_every", "evaluate_every"):
            _check(getattr(self, name) >= 1, f"training.{name}", getattr(self, name), "1 or more")
        for name in ("evaluate_rows", "checkpoint_every"):
            _check(getattr(self, name) >= 1, f"training.{name}", getattr(self, name), "1 or more")
        _check(self.weight_decay < math.inf, "training.weight_decay", self.weight_decay, "a number")
        for name in ("warmup_steps", "weight_decay", "clip_norm", "seed", "keep_checkpoints"):
            _check(getattr(self, name) >= 0, f"training.{name}", getattr(self, name), "0 or more")
        _check(self.seed < 2**63, "training.seed", self.seed, "less than 2 to the power of 63")
        rate = self.learning_rate
        _check(0 < rate < math.inf, "training.learning_rate", rate, "a number above 0")
        _check(0 < self.beta2 < 1, "training.beta2", self.beta2, "between 0 and 1")
        _check(
            self.batch_rows % self.micro_batch_rows == 0,
            "training.micro_batch_rows",
            self.micro_batch_rows,
            f"a divisor of training.batch_rows = {self.batch_rows}",
        )
        _check(
            self.precision in ("auto", "fp32", "bf16"),
            "training.precision",
            self.precision,
            "auto, fp32 or bf16",
        )
        _check(
            self.device in ("auto", "cpu", "cuda"),
            "training.device",
            self.device,
            "auto, cpu or cuda",
        )
        _check(
            self.stop_after_minutes >= 0,
            "training.stop_after_minutes",
            self.stop_after_minutes,
            "0 or more",
        )


@dataclass(frozen=True)
class Config:
    """A whole run.

    Example: ``load_config(path, ["masking.ratio=0.3"]).masking.ratio`` -> ``0.3``.
    """

    objective: str = "mlm"
    """What the model learns to do: a name in komlm.objectives.OBJECTIVES."""
    examples: list[str] = field(default_factory=list)
    """Sentences with [MASK] that are filled and shown when the run has ended."""
    data: DataConfig = field(default_factory=DataConfig)
    masking: MaskingConfig = field(default_factory=MaskingConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    rows: RowsConfig = field(default_factory=RowsConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)


def load_config(path: Path, settings: Sequence[str] = ()) -> Config:
    """Read a recipe and put ``settings`` ("key=value") on top.

    A value is read as TOML (``0.3``, ``true``, ``{noun = 2.0}``); where a text is wanted, as it
    stands, so that ``data.shards=shards`` needs no quotes.

    Raises:
        ValueError: an unknown key, a value of another type or out of range, or broken TOML; the
            message names the file or the key, and the nearest known key.
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not a TOML file: {error}") from error
    try:
        config: Config = from_dict(Config, values)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if settings:
        for setting in settings:
            put(values, setting)
        config = from_dict(Config, values)
    return config


def to_toml(config: Config) -> str:
    """The configuration as TOML that :func:`load_config` reads back to an equal one."""
    values = dataclasses.asdict(config)
    sections = {name: value for name, value in values.items() if name in _SECTIONS}
    lines = [
        f"{name} = {to_toml_value(value)}"
        for name, value in values.items()
        if name not in _SECTIONS
    ]
    for section, keys in sections.items():
        lines += ["", f"[{section}]"]
        lines += [f"{name} = {to_toml_value(value)}" for name, value in keys.items()]
    return "\n".join(lines) + "\n"


_SECTIONS = {
    f.name for f in dataclasses.fields(Config) if dataclasses.is_dataclass(f.default_factory)
}
