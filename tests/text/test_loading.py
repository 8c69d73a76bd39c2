"""A tokenizer from whatever people have: places, files, hub ids, objects; and what is refused."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tokenizers
import transformers
from transformers import (
    BertTokenizer,
    CanineTokenizer,
    PLBartTokenizer,
    PreTrainedTokenizerFast,
    SiglipTokenizer,
)
from transformers.tokenization_utils_sentencepiece import SentencePieceBackend

from komlm import Aligner
from komlm.text.analysis import Analyzer
from komlm.text.loading import load_tokenizer
from komlm.text.tokenizer import Tokenizer
from tests.text.families import BUILDERS, source_of, tokenizer_of

TEXT = "나는 어제 학교에 갔다. It's 3 o'clock ㅋㅋ"


@pytest.fixture(scope="module")
def model_file() -> Path:
    path: Path = source_of("sentencepiece unigram")
    return path


@pytest.fixture(scope="module")
def wordpiece() -> tokenizers.Tokenizer:
    backend: tokenizers.Tokenizer = source_of("wordpiece, cased")
    return backend


def ids_of(source: Any) -> list[int]:
    ids: list[int] = load_tokenizer(source).encode(TEXT).ids.tolist()
    return ids


def test_a_sentencepiece_model_in_every_wrapping(model_file: Path, tmp_path: Path) -> None:
    """A file, a folder, and the objects that hold one: the ids are SentencePiece's own."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model_file))
    wanted = processor.encode(TEXT)
    shutil.copyfile(model_file, tmp_path / "spiece.model")
    slow = SentencePieceBackend(vocab_file=str(model_file), unk_token="<unk>", mask_token="<mask>")
    assert not slow.is_fast
    for source in (model_file, str(model_file), tmp_path, processor):
        assert ids_of(source) == wanted
        assert load_tokenizer(source).special_ids == {"unk": 0, "cls": 1, "sep": 2}
    assert ids_of(slow) == slow.encode(TEXT, add_special_tokens=False)
    assert load_tokenizer(slow).special_ids == {"unk": 0, "mask": slow.mask_token_id}
    assert load_tokenizer(slow).pieces[slow.mask_token_id] == "<mask>"


def test_the_ids_of_a_slow_tokenizer_are_its_own(model_file: Path) -> None:
    """PLBart shifts the ids of its model, as XLM-R does."""
    slow = PLBartTokenizer(vocab_file=str(model_file))
    wanted = slow.encode(TEXT, add_special_tokens=False)
    assert ids_of(slow) == wanted != ids_of(model_file)
    special = {"unk": 3, "pad": 1, "cls": 0, "sep": 2, "mask": slow.mask_token_id}
    assert load_tokenizer(slow).special_ids == special


def test_a_slow_tokenizer_that_does_more_than_its_model(model_file: Path) -> None:
    """Siglip takes punctuation and capitals away first."""
    slow = SiglipTokenizer(vocab_file=str(model_file), unk_token="<unk>")
    with pytest.raises(ValueError, match="SiglipTokenizer does more than its SentencePiece model"):
        load_tokenizer(slow)


def test_a_slow_tokenizer_without_offsets_is_refused() -> None:
    with pytest.raises(ValueError, match="CanineTokenizer cannot tell where.*AutoTokenizer"):
        load_tokenizer(CanineTokenizer())


def test_objects_with_a_backend(wordpiece: tokenizers.Tokenizer, tmp_path: Path) -> None:
    fast = PreTrainedTokenizerFast(
        tokenizer_object=wordpiece, unk_token="[UNK]", mask_token="[MASK]", pad_token="[PAD]"
    )
    wanted = fast(TEXT, add_special_tokens=False)["input_ids"]
    fast.save_pretrained(tmp_path)
    for source in (wordpiece, fast, tmp_path, tmp_path / "tokenizer.json"):
        assert ids_of(source) == wanted
    assert load_tokenizer(fast).special_ids == {"unk": 0, "pad": 1, "mask": 4}
    ours = load_tokenizer(fast)
    assert load_tokenizer(ours) is ours


def test_what_the_user_gave_is_left_as_it_is(wordpiece: tokenizers.Tokenizer) -> None:
    mine = tokenizers.Tokenizer.from_str(wordpiece.to_str())
    mine.enable_padding(length=40)
    mine.enable_truncation(5)
    assert ids_of(mine) == ids_of(wordpiece)
    assert mine.padding is not None
    assert mine.truncation is not None
    assert len(mine.encode(TEXT).ids) == 40


@pytest.mark.parametrize("name", ["kcbert", "koelectra"])
def test_a_vocab_alone_is_read_as_its_model_was_trained(shared: Path, name: str) -> None:
    """These two keep capitals and accents, and say so in a configuration that is not here."""
    folder = shared / "data" / "tokenizers" / name
    theirs = BertTokenizer(vocab=str(folder / "vocab.txt"), do_lower_case=False)
    text = TEXT + " É 漢字 [MASK] ‘뷁’ 한국어\u200b는 Ａ가"
    wanted = theirs(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    for source in (folder, folder / "vocab.txt"):
        assert load_tokenizer(source).encode(text).ids.tolist() == wanted


def test_a_configuration_beside_a_vocab_counts(tmp_path: Path) -> None:
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "<m>", "abc", "é", "e", "가"]
    (tmp_path / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    tokenizer = load_tokenizer(tmp_path)
    # No capital letters: made small. Hangul syllables: accents stay, or 가 would be taken apart.
    assert tokenizer.encode("ABC É 가").ids.tolist() == [5, 6, 8]
    assert "mask" not in tokenizer.special_ids
    config = {"do_lower_case": True, "mask_token": {"content": "<m>"}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    tokenizer = load_tokenizer(tmp_path)
    assert tokenizer.encode("ABC É 가").ids.tolist() == [5, 7, 1]
    assert tokenizer.special_ids["mask"] == 4
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}', encoding="utf-8")
    assert load_tokenizer(tmp_path).encode("ABC").ids.tolist() == [1]


def test_a_hub_id_goes_to_transformers(
    wordpiece: tokenizers.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def from_pretrained(name: str, **options: Any) -> PreTrainedTokenizerFast:
        asked.append((name, options))
        if name == "nobody/nothing":
            raise OSError("nobody/nothing is not a local folder\nand so on, for a page")
        return PreTrainedTokenizerFast(tokenizer_object=wordpiece, unk_token="[UNK]")

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", from_pretrained)
    assert ids_of("klue/bert-base") == ids_of(wordpiece)
    options = {"trust_remote_code": False, "local_files_only": False}
    assert asked == [("klue/bert-base", options)]
    with pytest.raises(FileNotFoundError, match="hub gave none: nobody/nothing is not .* folder$"):
        load_tokenizer("nobody/nothing")


@pytest.mark.parametrize(
    "source", [Path("klue/bert-base"), "./klue", "some/where/else", "x.model", "/klue/bert"]
)
def test_a_place_that_is_not_there_is_not_looked_for_on_the_hub(source: Any) -> None:
    with pytest.raises(FileNotFoundError, match="no tokenizer in .*klue|some|x"):
        load_tokenizer(source)


def test_a_folder_of_a_class_that_only_transformers_knows(
    model_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """XLM-R's ids are not those of its model: nothing is guessed."""
    shutil.copyfile(model_file, tmp_path / "sentencepiece.bpe.model")
    config = {"tokenizer_class": "XLMRobertaTokenizer"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    wanted = theirs(TEXT, add_special_tokens=False)["input_ids"]
    assert ids_of(tmp_path) == wanted
    assert wanted != ids_of(model_file)


@pytest.mark.parametrize("kind", ["BertTokenizerFast", "BertJapaneseTokenizer"])
def test_a_vocab_of_another_class_is_no_wordpiece(
    kind: str,
    wordpiece: tokenizers.Tokenizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def from_pretrained(name: str, **options: Any) -> PreTrainedTokenizerFast:
        asked.append((name, options["local_files_only"]))
        return PreTrainedTokenizerFast(tokenizer_object=wordpiece)

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", from_pretrained)
    (tmp_path / "vocab.txt").write_text("[UNK]\n가\n", encoding="utf-8")
    config = json.dumps({"tokenizer_class": kind, "do_lower_case": False})
    (tmp_path / "tokenizer_config.json").write_text(config, encoding="utf-8")
    tokenizer = load_tokenizer(tmp_path)
    theirs = kind == "BertJapaneseTokenizer"
    assert asked == ([(str(tmp_path), True)] if theirs else [])
    assert (tokenizer.vocabulary_size > 2) == theirs


def test_what_is_no_tokenizer_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no tokenizer in .*: wanted a folder with"):
        load_tokenizer(tmp_path)
    (tmp_path / "a.model").write_bytes(b"not one")
    with pytest.raises(ValueError, match="a.model: (not a|wanted a) SentencePiece model"):
        load_tokenizer(tmp_path)
    (tmp_path / "b.model").write_bytes(b"")
    with pytest.raises(ValueError, match=r"several models \(a.model, b.model\)"):
        load_tokenizer(tmp_path)
    (tmp_path / "vocab.txt").write_text("가\n나\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"vocab.txt: no \[UNK\]"):
        load_tokenizer(tmp_path)
    (tmp_path / "vocab.txt").write_bytes(b"\xb0\xa1")
    with pytest.raises(ValueError, match="vocab.txt: not UTF-8"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ValueError, match="not a tokenizer"):
        load_tokenizer(tmp_path)
    with pytest.raises(TypeError, match="made of a int: wanted a folder"):
        load_tokenizer(3)


def test_a_part_written_in_python_cannot_be_copied(wordpiece: tokenizers.Tokenizer) -> None:
    class Part:
        def pre_tokenize(self, text: tokenizers.PreTokenizedString) -> None: ...

    mine = tokenizers.Tokenizer.from_str(wordpiece.to_str())
    mine.pre_tokenizer = tokenizers.pre_tokenizers.PreTokenizer.custom(Part())
    with pytest.raises(ValueError, match="a part of its own making"):
        load_tokenizer(mine)


@pytest.mark.parametrize("option", ["treat_whitespace_as_suffix", "escape"])
def test_a_model_whose_pieces_end_with_the_space(option: str, model_file: Path) -> None:
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(model_file.read_bytes())
    if option == "escape":
        model.normalizer_spec.escape_whitespaces = False
    else:
        model.trainer_spec.treat_whitespace_as_suffix = True
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())
    with pytest.raises(ValueError, match="its pieces do not begin with a space"):
        load_tokenizer(processor)


def test_a_tokenizer_without_a_mask_aligns(analyzer: Analyzer, model_file: Path) -> None:
    tokenizer = load_tokenizer(model_file)
    alignment = Aligner(tokenizer, analyzer)(TEXT)
    assert [u.text for u in alignment.units("eojeol")] == TEXT.split()
    with pytest.raises(ValueError, match=r"no \[PAD\] \(pad_token\), and training needs all"):
        tokenizer.specials_for("training")
    with pytest.raises(ValueError, match="komlm tokenizer import"):
        _ = tokenizer.folder


@pytest.mark.parametrize("family", BUILDERS)
def test_a_tokenizer_travels(family: str) -> None:
    """Pickled and back, as to a worker process."""
    import pickle

    mine = tokenizer_of(family)
    again: Tokenizer = pickle.loads(pickle.dumps(mine))
    assert again.encode(TEXT).ids.tolist() == mine.encode(TEXT).ids.tolist()
    assert (again.special_ids, again.pieces, again.name) == (
        mine.special_ids,
        mine.pieces,
        mine.name,
    )


def test_a_local_tokenizer_needs_no_torch(model_file: Path, tokenizer_folder: Path) -> None:
    code = (
        "import sys\nfrom komlm import Aligner\nfrom komlm.text.loading import load_tokenizer\n"
        f"for place in ({str(model_file)!r}, {str(tokenizer_folder)!r}): load_tokenizer(place)\n"
        "print(*sorted({'torch', 'transformers', 'datasets'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
