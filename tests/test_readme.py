"""The Python of the README, run as it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM

from komlm.text import aligner as aligner_module
from komlm.text.analysis import Analyzer
from komlm.text.tokenizer import Tokenizer

README = Path(__file__).parent.parent / "README.md"
RECIPES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
TEXTS = "나는 어제 학교에 갔다.\n아이들이 마당에서 논다.\n\n할머니는 시장에서 사과를 사셨다.\n"


@pytest.fixture(scope="module")
def home(tokenizer_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a user has it: tok, run/step-20000, texts/."""
    home = tmp_path_factory.mktemp("home")
    (home / "tok").symlink_to(tokenizer_folder)
    tokenizer = Tokenizer.load(tokenizer_folder)
    torch.manual_seed(0)
    model = BertForMaskedLM(
        BertConfig(
            vocab_size=tokenizer.vocabulary_size,
            hidden_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=64,
            pad_token_id=tokenizer.special_ids["pad"],
        )
    )
    folder = home / "run" / "step-20000"
    model.save_pretrained(folder)
    for path in tokenizer_folder.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (home / "texts").mkdir()
    (home / "texts" / "a.txt").write_text(TEXTS, encoding="utf-8")
    return home


@pytest.fixture(autouse=True)
def as_at_home(home: Path, analyzer: Analyzer, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.chdir(home)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(home / "cache"))
    # Kiwi takes seconds to build.
    monkeypatch.setattr(aligner_module, "Analyzer", lambda dictionary: analyzer)
    yield
    torch.set_num_threads(threads)


def test_there_are_recipes() -> None:
    for wanted in ("label_pieces", "UnitMaskingCollator", "pool(", "straddles.update"):
        assert sum(wanted in recipe for recipe in RECIPES) == 1


@pytest.mark.parametrize("number", range(len(RECIPES)))
def test_a_recipe_runs(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {"__name__": "recipe"}
    exec(compile(RECIPES[number], f"README recipe {number}", "exec"), names)
    out = capsys.readouterr().out
    if "label_pieces" in RECIPES[number]:
        assert "LabelledSpan(start=0, end=3, label='PER')" in out
        assert "LabelledSpan(start=11, end=13, label='LOC')" in out
    elif "units" in RECIPES[number] or "straddles" in RECIPES[number]:
        assert out.strip()
