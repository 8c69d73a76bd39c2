from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from komlm.config import Config, DataConfig
from komlm.corpus import analyze as analyze_module
from komlm.data.shards import Shards
from komlm.files import read_json
from komlm.pipeline import analysis_of, prepare_corpus, train_tokenizer, with_shards
from komlm.processes import Advance
from komlm.text.analysis import Analyzer
from komlm.text.tokenizer import Tokenizer
from tests.corpus.disk import contents, stamps, write_jsonl

TEXTS = [
    f"{place}에 갔다가 {thing}를 샀다. {place}에서 먹은 {thing}가 맛있었다."
    for place in ("학교", "시장", "바다", "가게", "공원", "서울", "부산", "도서관")
    for thing in ("사과", "포도", "모자", "의자", "커피", "피자")
]


class Bars:
    """In place of progress bars: what was shown, and how far it came."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.missed: list[int] = []

    @contextmanager
    def __call__(self, what: str, total: int, unit: str) -> Iterator[Advance]:
        done = 0

        def advance(amount: int, /) -> None:
            nonlocal done
            done += amount

        self.shown.append(what)
        yield advance
        self.missed.append(total - done)


@pytest.fixture
def bars() -> Bars:
    return Bars()


@pytest.fixture(autouse=True)
def _one_kiwi(analyzer: Analyzer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyze_module, "_analyzer", lambda dictionary, sha256: analyzer)
    monkeypatch.setattr(analyze_module, "DOCUMENTS_IN_A_PART", 10)


@pytest.fixture
def corpus(tmp_path: Path) -> list[str]:
    half = len(TEXTS) // 2
    write_jsonl(tmp_path / "a.jsonl", TEXTS[:half])
    write_jsonl(tmp_path / "b.jsonl", TEXTS[half:])
    return [str(tmp_path / "*.jsonl")]


def test_a_tokenizer_of_a_corpus_is_that_of_its_analysis(
    corpus: list[str], tmp_path: Path, bars: Bars
) -> None:
    assert train_tokenizer(corpus, tmp_path / "one", bars, 80) == 80
    assert bars.shown == ["analyze", "count words"]
    assert bars.missed == [0, 0]
    analysis = tmp_path / "one.analysis"
    assert train_tokenizer([str(analysis)], tmp_path / "two", bars, 80) == 80
    assert not (tmp_path / "two.analysis").exists()
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert Tokenizer.load(tmp_path / "one").vocabulary_size == 80


def test_a_plain_tokenizer_needs_no_analysis(corpus: list[str], tmp_path: Path, bars: Bars) -> None:
    train_tokenizer(corpus, tmp_path / "plain", bars, 90, "bpe", plain=True)
    assert bars.shown == ["count words"]
    assert bars.missed == [0]
    assert not (tmp_path / "plain.analysis").exists()
    train_tokenizer(corpus, tmp_path / "aware", bars, 90, "bpe")
    analysis = [str(tmp_path / "aware.analysis")]
    train_tokenizer(analysis, tmp_path / "two", bars, 90, "bpe", plain=True)
    assert contents(tmp_path / "plain") == contents(tmp_path / "two")
    # What is plain runs over morpheme boundaries: 갔 + 다가.
    plain, aware = (set(Tokenizer.load(tmp_path / name).pieces) for name in ("plain", "aware"))
    assert "▁갔다가" in plain
    assert "▁갔다가" not in aware


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "bpee"}, "unknown type 'bpee'; did you mean 'bpe'"),
        ({"size": 100_000}, "a vocabulary of 100,000 is too large for this corpus"),
    ],
)
def test_a_tokenizer_that_cannot_be_made(
    corpus: list[str], tmp_path: Path, bars: Bars, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        train_tokenizer(corpus, tmp_path / "tok", bars, **changes)
    assert not (tmp_path / "tok").exists()
    assert ("analyze" in bars.shown) == ("size" in changes)


def test_an_existing_folder_is_refused(corpus: list[str], tmp_path: Path, bars: Bars) -> None:
    (tmp_path / "tok").mkdir()
    with pytest.raises(ValueError, match="tok exists already: choose another -o"):
        train_tokenizer(corpus, tmp_path / "tok", bars)
    assert not bars.shown


def test_prepare_keeps_the_analysis_of_a_corpus(
    corpus: list[str], tmp_path: Path, bars: Bars, tokenizer_folder: Path
) -> None:
    manifest = prepare_corpus(corpus, tokenizer_folder, tmp_path / "one", bars, heldout=0.2)
    assert bars.shown == ["analyze", "prepare"]
    assert bars.missed == [0, 0]
    assert manifest["counts"]["documents"] == len(TEXTS)
    analysis = tmp_path / "one.analysis"
    assert read_json(analysis / "manifest.json")["identity"] == manifest["recipe"]["analysis"]
    prepare_corpus([str(analysis)], tokenizer_folder, tmp_path / "two", bars, heldout=0.2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert not (tmp_path / "two.analysis").exists()

    before = stamps(tmp_path)
    prepare_corpus(corpus, tokenizer_folder, tmp_path / "one", bars, heldout=0.2)
    assert stamps(tmp_path) == before
    assert set(bars.missed) == {0}


def test_what_would_stop_prepare_is_said_before_the_analysis(
    corpus: list[str], tmp_path: Path, bars: Bars, tokenizer_folder: Path
) -> None:
    with pytest.raises(FileNotFoundError, match="no tokenizer in"):
        prepare_corpus(corpus, tmp_path / "gone", tmp_path / "shards", bars)
    with pytest.raises(ValueError, match="--heldout 2"):
        prepare_corpus(corpus, tokenizer_folder, tmp_path / "shards", bars, heldout=2)
    with pytest.raises(ValueError, match="holds other files"):
        prepare_corpus(corpus, tokenizer_folder, tmp_path, bars)
    assert not bars.shown


def test_a_dictionary_comes_too_late_for_an_analysis(
    corpus: list[str], tmp_path: Path, bars: Bars
) -> None:
    folder = analysis_of(corpus, tmp_path / "analysis", bars)
    assert folder == tmp_path / "analysis"
    assert analysis_of([str(folder)], tmp_path / "unused", bars) == folder
    with pytest.raises(ValueError, match="analysed already: --dictionary belongs to `komlm anal"):
        analysis_of([str(folder)], tmp_path / "unused", bars, dictionary=tmp_path / "words.tsv")


def test_shards_given_to_analyze_or_prepare_are_told_apart(
    corpus: list[str], tmp_path: Path, bars: Bars, tokenizer_folder: Path
) -> None:
    prepare_corpus(corpus, tokenizer_folder, tmp_path / "shards", bars)
    with pytest.raises(ValueError, match="holds shards, wanted analysis"):
        prepare_corpus([str(tmp_path / "shards")], tokenizer_folder, tmp_path / "two", bars)


def test_a_run_makes_its_own_shards(corpus: list[str], tmp_path: Path, bars: Bars) -> None:
    data = DataConfig(corpus=corpus[0], vocabulary_size=80, heldout=0.2)
    config = Config(data=data)
    made = with_shards(config, tmp_path / "data", bars)
    assert made.data.shards == str(tmp_path / "data" / "shards")
    assert made.data.corpus == corpus[0]
    assert bars.shown == ["analyze", "count words", "prepare"]
    shards = Shards.open(Path(made.data.shards))
    assert shards.vocabulary_size == 80
    before = stamps(tmp_path / "data")
    assert with_shards(config, tmp_path / "data", bars) == made
    assert stamps(tmp_path / "data") == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocabulary_size": 70}, "has 80 entries, and data.vocabulary_size is 70"),
        ({"heldout": 0.4}, r"\(other heldout\)"),
        ({"corpus": "mini"}, r"\(other inputs\)"),
    ],
)
def test_a_run_of_other_settings_does_not_take_the_old_data(
    corpus: list[str], tmp_path: Path, bars: Bars, changes: dict[str, Any], message: str
) -> None:
    given: dict[str, Any] = {"corpus": corpus[0], "vocabulary_size": 80, "heldout": 0.2}
    with_shards(Config(data=DataConfig(**given)), tmp_path / "data", bars)
    with pytest.raises(ValueError, match=message):
        with_shards(Config(data=DataConfig(**{**given, **changes})), tmp_path / "data", bars)


def test_a_run_that_has_shards_stays_as_it_is(tmp_path: Path, bars: Bars) -> None:
    config = Config(data=DataConfig(shards="shards", corpus="mini"))
    assert with_shards(config, tmp_path / "data", bars) is config
    with pytest.raises(ValueError, match="nothing to learn from"):
        with_shards(Config(data=DataConfig()), tmp_path / "data", bars)
    assert not list(tmp_path.iterdir())
