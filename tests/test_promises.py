"""Promises that a fresh reader found broken once: each error comes early and says what to do."""

from __future__ import annotations

import errno
import shutil
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import BertForMaskedLM

from komlm.config import Config, load_config
from komlm.corpus.analyze import analyze
from komlm.corpus.prepare import prepare
from komlm.corpus.source import find_source
from komlm.data.shards import Shards
from komlm.files import beside
from komlm.inference.fill_mask import FillMask
from komlm.masking import Selection
from komlm.models import bert_config
from komlm.recipes import find_recipe
from komlm.text.analysis import Analyzer
from komlm.text.export import write_folder
from komlm.text.normalize import Normalizer
from komlm.text.sentencepiece_model import to_sentencepiece
from komlm.text.tags import CLASSES
from komlm.text.tokenizer import Tokenizer
from komlm.text.vocabulary import plain_words_of, read_order, train
from komlm.training.loop import NotFiniteError, pretrain


@pytest.fixture(scope="module")
def shards(tokenizer_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("promises")
    lines = [f"나는 어제 {number}시에 학교에 갔다.\n" for number in range(40)]
    (folder / "corpus.txt").write_text("".join(lines), encoding="utf-8")
    analyze(find_source(str(folder / "corpus.txt")), folder / "analysis")
    prepare(folder / "analysis", tokenizer_folder, folder / "shards", heldout=0.3)
    return folder / "shards"


@pytest.fixture
def small(shards: Path) -> Config:
    recipe = find_recipe("mini")
    rows = ["training.batch_rows=2", "training.micro_batch_rows=2", "training.evaluate_rows=2"]
    return load_config(recipe, [f"data.shards={shards}", "training.steps=2", *rows])


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json", "tokenizer.model"])
def test_shards_vouch_for_their_tokenizer(shards: Path, name: str, tmp_path: Path) -> None:
    """It goes into every checkpoint: one flipped bit, or another tokenizer, is told."""
    copy = tmp_path / "shards"
    shutil.copytree(shards, copy)
    path = copy / "tokenizer" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match=rf"{name}.*komlm prepare"):
        Shards.open(copy)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=rf"{name} is missing.*komlm prepare"):
        Shards.open(copy)


def test_a_damaged_manifest_names_the_command(shards: Path, tmp_path: Path) -> None:
    copy = tmp_path / "shards"
    shutil.copytree(shards, copy)
    path = copy / "manifest.json"
    path.write_text(path.read_text().replace('"pieces"', '"pjeces"', 1))
    with pytest.raises(ValueError, match="komlm prepare"):
        Shards.open(copy)


def test_a_full_disk_while_a_tokenizer_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = dict.fromkeys(plain_words_of("가나 다라 마바", Normalizer.default()), 2)
    vocabulary = train(words, 20, at_most=True)
    model = to_sentencepiece(vocabulary)

    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        write_folder(vocabulary, model, tmp_path / "tok")
    assert not list(tmp_path.iterdir())


def test_a_failed_first_try_blocks_nothing(tmp_path: Path) -> None:
    """Mend the dictionary and run the same command again."""
    corpus, words = tmp_path / "corpus.txt", tmp_path / "words.tsv"
    corpus.write_text("감자를 먹었다.\n", encoding="utf-8")
    words.write_text("감자\tXYZ\t0.0\n", encoding="utf-8")
    source = find_source(str(corpus))
    with pytest.raises(ValueError, match=r"words\.tsv"):
        analyze(source, tmp_path / "analysis", dictionary=words)
    words.write_text("감자\tNNP\t0.0\n", encoding="utf-8")
    assert analyze(source, tmp_path / "analysis", dictionary=words)["counts"]["documents"] == 1


def test_spoilt_weights_are_not_saved(small: Config, tmp_path: Path) -> None:
    spoilt = replace(
        small, training=replace(small.training, learning_rate=1e39, warmup_steps=0, steps=1)
    )
    with pytest.raises(NotFiniteError, match="learning_rate"):
        pretrain(spoilt, tmp_path / "run")
    assert not list((tmp_path / "run").glob("step-*"))


def test_a_run_that_never_began_takes_other_settings(small: Config, tmp_path: Path) -> None:
    spoilt = replace(
        small, training=replace(small.training, learning_rate=1e39, warmup_steps=0, steps=1)
    )
    with pytest.raises(NotFiniteError):
        pretrain(spoilt, tmp_path / "run")
    with pytest.raises(ValueError, match="--resume"):
        pretrain(small, tmp_path / "run")
    assert pretrain(small, tmp_path / "run", resume=True).step == 2


@pytest.fixture(scope="module")
def filler(tokenizer: Tokenizer, analyzer: Analyzer) -> FillMask:
    torch.manual_seed(0)
    config = bert_config("mini", tokenizer.vocabulary_size, 64, tokenizer.special_ids)
    return FillMask(BertForMaskedLM(config).eval(), tokenizer, analyzer)


def test_a_mask_and_something_to_hide(filler: FillMask) -> None:
    with pytest.raises(ValueError, match="one or the other"):
        filler.fill_hidden("나는 어제 [MASK]에 갔다.", ["어제"])


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("hide", ["NFC", "NFD"])
def test_what_is_hidden_is_found_in_any_form(filler: FillMask, form: str, hide: str) -> None:
    text = unicodedata.normalize(form, "나는 학교에 갔다.")
    (blank,) = filler.fill_hidden(text, [unicodedata.normalize(hide, "학교")], "morpheme", 1, 1)
    assert unicodedata.normalize("NFC", text[blank.start : blank.end]) == "학교"


@pytest.mark.parametrize("content", ["[]", "{", "[" * 100_000])
def test_a_broken_tokenizer_config(tokenizer_folder: Path, content: str, tmp_path: Path) -> None:
    folder = tmp_path / "tok"
    shutil.copytree(tokenizer_folder, folder)
    (folder / "tokenizer_config.json").write_text(content)
    with pytest.raises(ValueError, match=r"tokenizer_config\.json"):
        Tokenizer.load(folder)
    (tmp_path / "vocab.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match=r"vocab\.json"):
        read_order(tmp_path / "vocab.json")


def test_a_folder_beside_the_one_we_stand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert beside(Path("shards"), ".analysis") == Path("shards.analysis")
    assert beside(Path("."), ".analysis") == tmp_path.with_name(tmp_path.name + ".analysis")


def test_settings_that_would_teach_nothing(small: Config) -> None:
    with pytest.raises(ValueError, match="nothing would be hidden"):
        Selection(0.15, dict.fromkeys(CLASSES, 0.0))
    recipe = find_recipe("mini")
    for setting in ("rows.max_length=100000", "training.weight_decay=inf"):
        with pytest.raises(ValueError, match=setting.partition("=")[0]):
            load_config(recipe, [setting])


def test_scores_that_are_no_numbers(filler: FillMask) -> None:
    broken = BertForMaskedLM(filler._completer._model.config)
    with torch.no_grad():
        broken.bert.embeddings.word_embeddings.weight.fill_(torch.nan)
    with pytest.raises(ValueError, match="not finite"):
        FillMask(broken.eval(), filler.tokenizer, filler.aligner.analyzer).fill("[MASK]")


def test_the_readme_is_finished() -> None:
    root = Path(__file__).parent.parent
    for name in ("README.md", "CONTRIBUTING.md", "BENCHMARKS.md"):
        text = (root / name).read_text(encoding="utf-8")
        assert not [word for word in text.split() if word.startswith("@") and word.endswith("@")]
