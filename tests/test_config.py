from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from komlm.config import (
    Config,
    DataConfig,
    MaskingConfig,
    ModelConfig,
    RowsConfig,
    TrainingConfig,
    load_config,
    to_toml,
)

TEXT = st.text(st.characters(codec="utf-8"))
SHARES = st.floats(min_value=0, max_value=1, exclude_min=True, exclude_max=True)
FLOATS = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
COUNTS = st.integers(min_value=1, max_value=10**9)
CONFIGS = st.builds(
    Config,
    objective=TEXT,
    examples=st.lists(TEXT),
    data=st.builds(
        DataConfig,
        shards=TEXT,
        corpus=TEXT,
        vocabulary_size=st.integers(min_value=8),
        heldout=SHARES,
    ),
    masking=st.builds(
        MaskingConfig,
        unit=TEXT,
        ratio=SHARES,
        replace=st.sampled_from(["unit", "piece"]),
        weights=st.dictionaries(TEXT, FLOATS, max_size=3),
        patterns=st.integers(min_value=0),
    ),
    model=st.builds(ModelConfig, size=TEXT, dropout=SHARES),
    rows=st.builds(
        RowsConfig,
        max_length=st.integers(min_value=18, max_value=65_535),
        cut=st.sampled_from(["eojeol", "sentence"]),
    ),
    training=st.builds(
        TrainingConfig,
        steps=COUNTS,
        batch_rows=COUNTS.map(lambda n: 64 * n),
        micro_batch_rows=st.sampled_from([1, 2, 32, 64]),
        learning_rate=FLOATS.filter(bool),
        weight_decay=FLOATS,
        beta2=SHARES,
        seed=st.integers(min_value=0, max_value=2**63 - 1),
        device=st.sampled_from(["auto", "cpu", "cuda"]),
        stop_after_minutes=FLOATS,
    ),
)


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.toml"
    path.write_text("[masking]\nratio = 0.2\n", encoding="utf-8")
    return path


@given(config=CONFIGS)
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, config: Config
) -> None:
    path = tmp_path_factory.getbasetemp() / "config.toml"
    path.write_text(to_toml(config), encoding="utf-8")
    assert load_config(path) == config


@given(text=TEXT)
def test_any_text_can_be_set(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "empty.toml"
    path.write_text("", encoding="utf-8")
    text = text.strip()
    if text[:1] not in ("'", '"'):  # a quoted text is read as TOML
        assert load_config(path, [f"data.shards={text}"]).data.shards == text


def test_an_empty_recipe_has_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "empty.toml"
    path.write_text("")
    assert load_config(path) == Config()
    assert load_config(path, []) == Config()


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        (["masking.ratio=0.3"], MaskingConfig(ratio=0.3)),
        ([" masking . ratio = 0.3 "], MaskingConfig(ratio=0.3)),
        (["masking.ratio=0.3", "masking.ratio=0.4"], MaskingConfig(ratio=0.4)),
        (["masking.weights={noun = 2, josa = 0.5}"], _w := MaskingConfig(
            ratio=0.2, weights={"noun": 2.0, "josa": 0.5}
        )),
        (["masking.weights.noun=2", "masking.weights.josa=0.5"], _w),
        (['masking={unit = "piece", ratio = 0.1}'], MaskingConfig(unit="piece", ratio=0.1)),
        (["masking.unit=piece"], MaskingConfig(unit="piece", ratio=0.2)),
        (["masking.unit='piece'"], MaskingConfig(unit="piece", ratio=0.2)),
    ],
)  # fmt: skip
def test_settings_go_on_top(recipe: Path, settings: list[str], wanted: MaskingConfig) -> None:
    assert load_config(recipe, settings).masking == wanted


@pytest.mark.parametrize(
    "text", ["1", "true", "2026-12-01", "run#2", "a=b", "C:\\shards", "[x]", "1 # two"]
)
def test_where_a_text_is_wanted_it_needs_no_quotes(recipe: Path, text: str) -> None:
    assert load_config(recipe, [f"data.shards={text}"]).data.shards == text


def test_a_list_can_be_set(recipe: Path) -> None:
    assert load_config(recipe, ['examples=["가", "나"]']).examples == ["가", "나"]


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("masking.rato=0.3", "unknown key 'masking.rato'; did you mean 'masking.ratio'"),
        ("maskin.ratio=0.3", "unknown key 'maskin'; did you mean 'masking'"),
        ("ratio=0.3", "unknown key 'ratio'; did you mean 'masking.ratio'"),
        ("steps=3", "did you mean 'training.steps'"),
        ("masking.ratio", "wanted key=value"),
        ("=3", "wanted key=value"),
        (".ratio=3", "wanted key=value"),
        ("masking.=3", "wanted key=value"),
        ("masking=0.3", "masking = 0.3: wanted a section"),
        ("masking.ratio.x=3", "'ratio' holds a value, not a section"),
        ("masking.ratio=high", "masking.ratio = 'high': wanted a number"),
        ("masking.ratio=1.5", "masking.ratio = 1.5: wanted a share between 0 and 1"),
        ("masking.ratio=nan", "masking.ratio = nan"),
        ("masking.weights.noun=-1", "masking.weights.noun = -1.0: wanted 0 or more"),
        ("masking.weights.noun=inf", "masking.weights.noun = inf"),
        ("masking.weights.noun=x", "masking.weights.noun = 'x': wanted a number"),
        ("masking.weights=3", "masking.weights = 3: wanted a table"),
        ("training.steps=true", "training.steps = True: wanted a whole number"),
        ("training.steps=1.5", "training.steps = 1.5: wanted a whole number"),
        ("training.steps=0", "training.steps = 0: wanted 1 or more"),
        ("training.steps=1\nx=2", "training.steps = '1"),
        ("training.seed=9223372036854775808", "power of 63"),
        ("training.seed=-1", "training.seed = -1"),
        ("training.learning_rate=inf", "training.learning_rate = inf"),
        (f"training.learning_rate={'9' * 400}", "too large for a float"),
        ("training.micro_batch_rows=7", "a divisor of training.batch_rows = 256"),
        ("training.precision=fp16", "auto, fp32 or bf16"),
        ("training.device=tpu", "auto, cpu or cuda"),
        ("rows.max_length=8", "18 to 65,535"),
        ("rows.cut=word", "eojeol or sentence"),
        ("data.heldout=1", "data.heldout = 1.0"),
        ("data.shards=a\udcff", "lone surrogate"),
        ("examples=x", "examples = 'x': wanted a list"),
        ("examples=[1]", "examples = 1: wanted a text"),
    ],
)
def test_a_wrong_setting_is_told(recipe: Path, setting: str, told: str) -> None:
    with pytest.raises(ValueError, match="(?s).") as raised:
        load_config(recipe, [setting])
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[masking", "not a TOML file"),
        ("maskin = 1", "did you mean 'masking'"),
        ("[masking]\nratio = '0.3'", "masking.ratio = '0.3': wanted a number"),
        ("[training]\nsteps = 2024-01-01", "wanted a whole number"),
        ("masking = 3", "wanted a section"),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, content: str, told: str) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(content)
    with pytest.raises(ValueError, match="recipe.toml: ") as raised:
        load_config(path, ["masking.ratio=0.5"])
    assert told in str(raised.value)


def test_a_file_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_bytes("objective = '가'".encode("cp949"))
    with pytest.raises(ValueError, match="recipe.toml: not a TOML file"):
        load_config(path)


def test_infinity_is_written_as_toml(tmp_path: Path) -> None:
    config = Config(training=replace(TrainingConfig(), clip_norm=math.inf))
    path = tmp_path / "config.toml"
    path.write_text(to_toml(config))
    assert load_config(path) == config
