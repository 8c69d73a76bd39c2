from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest
import torch

from komlm.config import Config, load_config, to_toml
from komlm.models import SIZES, bert_config, build_mlm

SPECIAL_IDS = {"unk": 0, "pad": 1, "cls": 2, "sep": 3, "mask": 4}
FOLDER = Path(str(files("komlm") / "recipes"))
NAMES = ["mini", "tiny", "small", "kobert-base", "large"]


@pytest.fixture(params=NAMES)
def recipe(request: pytest.FixtureRequest) -> Config:
    return load_config(FOLDER / f"{request.param}.toml")


def test_there_is_one_recipe_for_each_size() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.toml")) == sorted(NAMES)
    assert [load_config(FOLDER / f"{name}.toml").model.size for name in NAMES] == list(SIZES)


def test_its_model_can_be_built(recipe: Config) -> None:
    arguments = (
        recipe.model.size,
        recipe.data.vocabulary_size,
        recipe.rows.max_length,
        SPECIAL_IDS,
        recipe.model.dropout,
    )
    config = bert_config(*arguments)
    with torch.device("meta"):
        model = build_mlm(*arguments)
    assert model.config.hidden_size == config.hidden_size == SIZES[recipe.model.size].width
    assert config.max_position_embeddings >= recipe.rows.max_length


def test_it_says_what_is_hidden_and_how(recipe: Config) -> None:
    assert recipe.objective == "mlm"
    assert recipe.masking.unit == "morpheme"
    # The mini recipe hides more, so that its few rows teach more.
    assert recipe.masking.ratio == (0.4 if recipe.model.size == "mini" else 0.15)
    assert recipe.training.warmup_steps < recipe.training.steps
    assert recipe.training.evaluate_every <= recipe.training.steps
    assert recipe.training.checkpoint_every <= recipe.training.steps
    assert len(recipe.examples) == 3
    assert all(text.count("[MASK]") == 1 for text in recipe.examples)


def test_a_setting_goes_on_top_and_the_whole_is_read_back(tmp_path: Path, recipe: Config) -> None:
    name = recipe.model.size
    changed = load_config(FOLDER / f"{name}.toml", ["data.shards=shards", "training.seed=7"])
    assert (changed.data.shards, changed.training.seed) == ("shards", 7)
    (tmp_path / "config.toml").write_text(to_toml(changed), encoding="utf-8")
    assert load_config(tmp_path / "config.toml") == changed


def test_only_mini_brings_its_own_corpus() -> None:
    recipes = {name: load_config(FOLDER / f"{name}.toml") for name in NAMES}
    assert {name: recipe.data.corpus for name, recipe in recipes.items() if recipe.data.corpus} == {
        "mini": "mini"
    }
    assert not any(recipe.data.shards for recipe in recipes.values())
    assert recipes["kobert-base"].data.vocabulary_size == 8002
    assert recipes["kobert-base"].rows.max_length == 512


@pytest.mark.parametrize("name", NAMES[1:])
def test_its_comments_tell_the_number_of_weights(name: str) -> None:
    recipe = load_config(FOLDER / f"{name}.toml")
    with torch.device("meta"):
        model = build_mlm(recipe.model.size, 8002, recipe.rows.max_length, SPECIAL_IDS)
    millions = sum(weight.numel() for weight in model.parameters()) / 1e6
    text = (FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    told = f"{millions:.1f}" if millions < 20 else f"{millions:.0f}"
    assert f"{told} million weights" in text
