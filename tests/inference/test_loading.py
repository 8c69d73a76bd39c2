from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, normalizers, pre_tokenizers
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertModel,
    DistilBertConfig,
    DistilBertForMaskedLM,
    PreTrainedTokenizerFast,
)

from komlm.inference.fill_mask import FillMask
from komlm.inference.loading import load_model, positions_of
from komlm.text.analysis import Analyzer

WORDS = [
    "나",
    "학교",
    "집",
    "어제",
    "갔다",
    "에",
    "서",
    ".",
    "##는",
    "##에",
    "##에서",
    "##다",
]
SPECIALS = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]"]
SIZES = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}


def config(entries: int) -> BertConfig:
    return BertConfig(
        vocab_size=entries,
        intermediate_size=32,
        max_position_embeddings=40,
        initializer_range=0.7,
        **SIZES,
    )


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as others make it: a WordPiece tokenizer and a BERT."""
    folder = tmp_path_factory.mktemp("models") / "wordpiece"
    vocabulary = {word: number for number, word in enumerate(SPECIALS + WORDS)}
    backend = Backend(models.WordPiece(vocabulary, unk_token="[UNK]"))
    backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    named = {f"{name.strip('[]').lower()}_token": name for name in SPECIALS}
    PreTrainedTokenizerFast(tokenizer_object=backend, **named).save_pretrained(folder)
    torch.manual_seed(2)
    BertForMaskedLM(config(len(vocabulary))).save_pretrained(folder)
    return folder


@pytest.fixture
def mine(foreign: Path, tmp_path: Path) -> Path:
    """A copy that may be changed."""
    return shutil.copytree(foreign, tmp_path / "mine")


@pytest.fixture(autouse=True)
def one_kiwi(monkeypatch: pytest.MonkeyPatch, analyzer: Analyzer) -> None:
    monkeypatch.setattr("komlm.inference.fill_mask.Analyzer", lambda dictionary: analyzer)


def test_a_wordpiece_folder_is_filled(foreign: Path) -> None:
    model = FillMask.load(foreign)
    first, inside = model.fill("[MASK]에 학교[MASK] 갔다", top_k=100)
    pieces = model.tokenizer.pieces
    assert {pieces[c.ids[0]] for c in first.candidates} == {w for w in WORDS if w[0] != "#"}
    # Punctuation has no mark in such a vocabulary, wherever it stands.
    assert {pieces[c.ids[0]] for c in inside.candidates} == {w for w in WORDS if w[0] == "#"} | {
        "."
    }
    for candidate in first.candidates + inside.candidates:
        plain = "".join(pieces[i].removeprefix("##") for i in candidate.ids)
        assert candidate.text == plain
    (hidden,) = model.fill_hidden("나는 학교에 갔다.", ["학교"], "eojeol", top_k=100)
    assert hidden.original is not None
    assert hidden.original.text == "학교에"
    assert [pieces[i] for i in hidden.original.ids] == ["학교", "##에"]


def test_another_kind_of_model_is_filled(mine: Path) -> None:
    sizes = {"dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 32}
    entries = len(SPECIALS + WORDS)
    other = DistilBertForMaskedLM(
        DistilBertConfig(vocab_size=entries, max_position_embeddings=12, **sizes)
    )
    other.save_pretrained(mine)
    model = FillMask.load(mine)
    assert len(model.fill("나는 [MASK]에 갔다")[0].candidates) == 5
    with pytest.raises(ValueError, match="the model reads 12 at most"):
        model.fill("나는 [MASK]에 갔다" * 4)


def test_half_precision_is_read_as_float32(mine: Path) -> None:
    load_model(mine).to(torch.bfloat16).save_pretrained(mine)
    assert load_model(mine).dtype == torch.float32


def test_positions(mine: Path) -> None:
    assert positions_of(load_model(mine)) == 40


def test_only_pickled_weights_are_refused(mine: Path) -> None:
    model = load_model(mine)
    (mine / "model.safetensors").unlink()
    with pytest.raises(ValueError, match="holds no weights as safetensors. Load them"):
        FillMask.load(mine)
    torch.save(model.state_dict(), mine / "pytorch_model.bin")
    with pytest.raises(ValueError, match="only pytorch_model.bin, a pickle.*save_pretrained"):
        FillMask.load(mine)


@pytest.mark.parametrize("length", [0, 4, 100, -1])
def test_weights_that_were_cut_short_are_refused(mine: Path, length: int) -> None:
    weights = mine / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:length])
    with pytest.raises(ValueError, match="mine: no masked language model to load"):
        FillMask.load(mine)


def test_a_model_without_a_head_is_refused(mine: Path) -> None:
    BertModel(config(len(SPECIALS + WORDS))).save_pretrained(mine)
    with pytest.raises(ValueError, match="lacks weights of a masked language model.*by chance"):
        FillMask.load(mine)


def test_a_model_of_another_kind_is_refused_in_one_sentence(mine: Path) -> None:
    (mine / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    with pytest.raises(ValueError, match="no masked language model to load") as raised:
        FillMask.load(mine)
    assert len(str(raised.value)) < 400
    for content in ("{}", "{", "[]"):
        (mine / "config.json").write_text(content)
        with pytest.raises(ValueError, match="no masked language model to load"):
            FillMask.load(mine)


def test_code_from_the_folder_is_not_run(mine: Path, tmp_path: Path) -> None:
    settings = json.loads((mine / "config.json").read_text())
    settings |= {"model_type": "mine", "auto_map": {"AutoModelForMaskedLM": "evil.Model"}}
    (mine / "config.json").write_text(json.dumps(settings))
    (mine / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(ValueError, match="no masked language model to load"):
        FillMask.load(mine)
    assert not (tmp_path / "ran").exists()


def test_a_tokenizer_of_another_model_is_refused(mine: Path) -> None:
    BertForMaskedLM(config(500)).save_pretrained(mine)
    with pytest.raises(ValueError, match="the model has 500 entries and the tokenizer .* has 17"):
        FillMask.load(mine)


def test_a_folder_without_a_tokenizer_is_refused(mine: Path) -> None:
    (mine / "tokenizer.json").unlink()
    with pytest.raises(FileNotFoundError, match="no tokenizer in"):
        FillMask.load(mine)


def test_a_folder_that_is_not_there_is_no_name_on_a_hub() -> None:
    with pytest.raises(FileNotFoundError, match="no model in klue/bert-base"):
        FillMask.load(Path("klue/bert-base"))
