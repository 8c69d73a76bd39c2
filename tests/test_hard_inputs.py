"""The hard inputs that public bug reports tell of (../shared/cases/hard-inputs.jsonl).

Each case names checks; the functions ``check_*`` here are those checks. The case resume-rng of kind
train stands in tests/training/test_loop.py.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch
from transformers import AutoTokenizer, BertForMaskedLM

from komlm.corpus.analyze import analyze
from komlm.corpus.prepare import encode_documents, prepare
from komlm.corpus.source import find_source
from komlm.data.rows import RowSource
from komlm.data.shards import Shards, write_shard
from komlm.files import sha256_of, write_json
from komlm.masking import Selection
from komlm.masking.preview import hide
from komlm.models import build_mlm
from komlm.text.alignment import Alignment, Unit
from komlm.text.analysis import Analyzer
from komlm.text.export import write_folder
from komlm.text.normalize import Normalizer
from komlm.text.sentencepiece_model import read_model, to_sentencepiece
from komlm.text.tokenizer import Tokenizer
from komlm.text.vocabulary import plain_words_of, read_order, train
from komlm.types import Flag
from tests.text.families import FAMILIES, tokenizer_of
from tests.text.oracle import LONGEST_UNIT, unit_starts

CASES = Path(__file__).parent.parent.parent / "shared" / "cases" / "hard-inputs.jsonl"
KINDS = ("align", "mask", "export", "data", "spm-train", "train")


def cases(*kinds: str) -> list[Any]:
    """The cases of some kinds, or one that skips where the file is absent."""
    if not CASES.is_file():
        return [pytest.param(None, marks=pytest.mark.skip(reason="needs ../shared/cases"))]
    with CASES.open(encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    return [pytest.param(case, id=case["id"]) for case in found if case["kind"] in kinds]


@pytest.fixture(scope="module")
def kobert_folder(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kobert") / "tok"
    files = shared / "data" / "tokenizers" / "kobert"
    vocabulary = read_model(
        (files / "tokenizer_78b3253a26.model").read_bytes(),
        "KoBERT",
        read_order(files / "kobertvocab_f38b8a4d6d.json"),
    )
    write_folder(vocabulary, to_sentencepiece(vocabulary), folder)
    return folder


@pytest.fixture(params=["ours", "kobert"])
def any_tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    name = {"ours": "tokenizer_folder", "kobert": "kobert_folder"}[request.param]
    return Tokenizer.load(request.getfixturevalue(name))


def same_up_to_ties(tokenizer: Tokenizer, text: str) -> None:
    """Our ids, AutoTokenizer's, and SentencePiece's on the normalised text are the same."""
    ours = tokenizer.encode(text).ids.tolist()
    auto = AutoTokenizer.from_pretrained(tokenizer.folder)
    assert auto(text, add_special_tokens=False, split_special_tokens=True)["input_ids"] == ours
    model = sentencepiece.SentencePieceProcessor(
        model_file=str(tokenizer.folder / "tokenizer.model")
    )
    assert tokenizer.normalizer is not None
    theirs = model.encode(tokenizer.normalizer(text).text)
    if ours != theirs:
        surfaces = ["".join(tokenizer.pieces[n] for n in ids) for ids in (ours, theirs)]
        scores = [sum(model.get_score(n) for n in ids) for ids in (ours, theirs)]
        assert surfaces[0] == surfaces[1]
        assert scores[0] == pytest.approx(scores[1], abs=1e-3)


class Aligned:
    """An aligned text with the look-ups that the checks need."""

    def __init__(self, alignment: Alignment, tokenizer: Tokenizer) -> None:
        self.alignment, self.tokenizer = alignment, tokenizer
        self.pieces = alignment.pieces
        self.spans = [(p.start, p.end) for p in self.pieces]
        self.morpheme_spans = [(m.start, m.end) for m in alignment.morphemes]

    def pieces_of(self, span: list[int], empty_too: bool = False) -> set[int]:
        met = self.alignment.pieces_of((span[0], span[1]))
        return {p.number for p in met if empty_too or p.start < p.end}

    def units_of(self, span: list[int], level: str = "morpheme") -> list[Unit]:
        mine = self.pieces_of(span)
        return [u for u in self.alignment.units(level) if mine.intersection(u.numbers)]


def cuts_of(a: Aligned) -> int:
    """How many units begin because the one before would be too long, as it may be in bytes."""
    starts = [
        unit_starts(a.spans, a.morpheme_spans, a.alignment.eojeols, cap).eojeol
        for cap in (True, False)
    ]
    return len(starts[0]) - len(starts[1])


def check_partition(a: Aligned) -> None:
    for level in ("piece", "morpheme", "eojeol"):
        units = a.alignment.units(level)
        assert [n for unit in units for n in unit.numbers] == list(range(len(a.pieces)))


def check_cover(a: Aligned) -> None:
    text = a.alignment.text
    for level in ("morpheme", "eojeol"):
        for at, character in enumerate(text):
            dropped = (
                a.tokenizer.normalizer is not None and not a.tokenizer.normalizer(character).text
            )
            if not character.isspace() and not dropped:
                holds = [u for u in a.alignment.units(level) if u.start <= at < u.end]
                assert len(holds) == 1 or (len(holds) > 1 and cuts_of(a))


def check_slice(a: Aligned) -> None:
    starts = [p.start for p in a.pieces]
    assert starts == sorted(starts)
    assert all(0 <= p.start <= p.end <= len(a.alignment.text) for p in a.pieces)


def check_ids_equal_sp(a: Aligned) -> None:
    same_up_to_ties(a.tokenizer, a.alignment.text)


def check_same_unit(a: Aligned, span: list[int]) -> None:
    assert len(a.units_of(span)) == 1


def check_same_unit_pieces(a: Aligned, span: list[int]) -> None:
    mine = a.pieces_of(span, empty_too=True)
    if len(mine) > LONGEST_UNIT:
        assert cuts_of(a)  # one character of 33 bytes
        return
    assert len([u for u in a.alignment.units("morpheme") if mine.intersection(u.numbers)]) == 1


def check_split_unit(a: Aligned, one: list[int], other: list[int]) -> None:
    joined = {u.start for u in a.units_of(one)} & {u.start for u in a.units_of(other)}
    if joined:
        # Only a piece, or a chain of overlaps, may join them: then the graph says so too.
        graph = unit_starts(a.spans, a.morpheme_spans, a.alignment.eojeols)
        between = {n for n in range(min(a.pieces_of(one)) + 1, max(a.pieces_of(other)) + 1)}
        assert not between.intersection(graph.morpheme)


def check_split_unit_eojeol_mode(a: Aligned, one: list[int], other: list[int]) -> None:
    first, second = a.units_of(one, "eojeol"), a.units_of(other, "eojeol")
    shared_piece = a.pieces_of(one) & a.pieces_of(other)
    assert shared_piece or not {u.start for u in first} & {u.start for u in second}


def check_unit_morphs(a: Aligned, span: list[int], wanted: list[str]) -> None:
    (unit,) = a.units_of(span)
    found = {f"{m.form}/{m.tag}" for m in unit.morphemes}
    assert set(wanted) <= found


def check_eojeol_count(a: Aligned, wanted: int) -> None:
    words = a.alignment.eojeols
    assert len(words) == len(a.alignment.text.split())
    met = [{k for k, (s, e) in enumerate(words) if p.start < e and p.end > s} for p in a.pieces]
    less = sum(len(m) - 1 for m in met if len(m) > 1) + len(
        set(range(len(words))) - set().union(*met)
    )
    assert wanted == len(words)
    assert len(a.alignment.units("eojeol")) == wanted - less + cuts_of(a)


def check_units(a: Aligned, wanted: int) -> None:
    assert len(a.alignment.units("morpheme")) == len(a.alignment.units("eojeol")) == wanted


def check_no_raise(a: Aligned) -> None:
    assert a.alignment.text is not None


def check_no_empty_unit(a: Aligned) -> None:
    assert all(unit.pieces for unit in a.alignment.units("morpheme"))


def check_no_bare_space_unit(a: Aligned) -> None:
    for level in ("morpheme", "eojeol"):
        for unit in a.alignment.units(level):
            assert any(p.piece.strip("▁") for p in unit.pieces)


def check_no_special_id(a: Aligned) -> None:
    special = {n for role, n in a.tokenizer.special_ids.items() if role != "unk"}
    assert not special.intersection(p.id for p in a.pieces)


def check_partition_or_valueerror(a: Aligned, literal: str, offset: int) -> None:
    assert a.alignment.text[offset:].startswith(literal)
    check_partition(a)
    check_no_special_id(a)


@pytest.mark.parametrize("case", cases("align"))
def test_align(case: dict[str, Any], any_tokenizer: Tokenizer, analyzer: Analyzer) -> None:
    check_case(case, any_tokenizer, analyzer)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("case", cases("align"))
def test_align_of_every_family(case: dict[str, Any], family: str, analyzer: Analyzer) -> None:
    """What the ids of SentencePiece are is said of its own families, in test_families.py; a ▁ that
    is no unit is so to those families alone."""
    tokenizer = tokenizer_of(family)
    left_out = {"ids_equal_sp"} if tokenizer.normalizer else {"ids_equal_sp", "units"}
    musts = [must for must in case["must_hold"] if must["check"] not in left_out]
    check_case({**case, "must_hold": musts}, tokenizer, analyzer)


def check_case(case: dict[str, Any], tokenizer: Tokenizer, analyzer: Analyzer) -> None:
    text = case["input"]
    a = Aligned(Alignment(analyzer(text), tokenizer.encode(text), tokenizer.pieces), tokenizer)
    for must in case["must_hold"]:
        globals()[f"check_{must['check']}"](a, *must["args"])


@pytest.mark.parametrize("case", cases("export"))
def test_export(
    case: dict[str, Any], any_tokenizer: Tokenizer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    auto = AutoTokenizer.from_pretrained(any_tokenizer.folder)
    text = case["input"]
    for must in case["must_hold"]:
        match must["check"]:
            case "pipeline_ids_equal" | "fast_ids_equal_sp":
                same_up_to_ties(any_tokenizer, text)
            case "mask_ids":
                literal, times = must["args"]
                assert auto.mask_token == literal
                assert auto(text)["input_ids"].count(auto.mask_token_id) == times
            case "logits_equal" | "tied_after_reload":
                check_reload(any_tokenizer, tmp_path / must["check"])
            case "raises":
                with pytest.raises(ValueError, match=f"{len(auto) - 10:,}.*{len(auto):,}"):
                    any_tokenizer.check_fits(len(auto) - 10)
            case "autotokenizer_class_warning":
                assert "tokenizer class" not in caplog.text
            case "sizes_equal":
                assert len(auto) == any_tokenizer.vocabulary_size
            case other:
                pytest.fail(f"no such check: {other}")


def check_reload(tokenizer: Tokenizer, folder: Path) -> None:
    torch.manual_seed(0)
    model = build_mlm("mini", tokenizer.vocabulary_size, 64, tokenizer.special_ids).eval()
    model.save_pretrained(folder)
    again = BertForMaskedLM.from_pretrained(folder).eval()
    ids = torch.arange(5, 25)[None]
    with torch.inference_mode():
        assert torch.equal(model(ids).logits, again(ids).logits)
    embeddings = again.get_input_embeddings().weight
    assert again.get_output_embeddings().weight.data_ptr() == embeddings.data_ptr()


@pytest.mark.parametrize("case", cases("mask"))
def test_mask(
    case: dict[str, Any], tokenizer: Tokenizer, analyzer: Analyzer, tmp_path: Path
) -> None:
    text = case["input"]
    alignment = Alignment(analyzer(text), tokenizer.encode(text), tokenizer.pieces)
    for must in case["must_hold"]:
        match must["check"]:
            case "units_all_or_none":
                for seed in range(300):
                    hidden = set(_hidden(alignment, tokenizer, seed).hidden)
                    assert hidden
                    for unit in alignment.units("morpheme"):
                        assert len(hidden.intersection(unit.numbers)) in (0, len(unit.numbers))
            case "never_all_masked_at_p":
                draws = [_hidden(alignment, tokenizer, s, must["args"][0]) for s in range(300)]
                assert max(len(d.hidden) for d in draws) < len(alignment.pieces)
            case "labels_ignore" | "random_ids_not_special" | "loss_finite":
                check_padded_row(
                    text, case["pad_to"], tokenizer, analyzer, tmp_path / must["check"]
                )
            case other:
                pytest.fail(f"no such check: {other}")


def _hidden(alignment: Alignment, tokenizer: Tokenizer, seed: int, ratio: float = 0.15) -> Any:
    arrays = alignment.arrays
    return hide(
        alignment.encoded.ids,
        arrays.starts,
        arrays.tags,
        unit="morpheme",
        selection=Selection(ratio=ratio, seed=seed),
        special_ids=tokenizer.special_ids,
        vocabulary_size=tokenizer.vocabulary_size,
    )


def check_padded_row(
    text: str, length: int, tokenizer: Tokenizer, analyzer: Analyzer, folder: Path
) -> None:
    """A short text in a padded row, as training makes it, over many draws."""
    from komlm.config import Config, MaskingConfig, ModelConfig, RowsConfig
    from komlm.objectives.mlm import IGNORED, MaskedLanguageModel

    encoded = encode_documents([analyzer(text)], tokenizer)
    (folder / "train").mkdir(parents=True)
    part = folder / "train" / "part-00000.arrow"
    offsets = np.array([0, len(encoded.input_ids)])
    write_shard(
        part, encoded.input_ids, encoded.starts, encoded.tags, offsets, tokenizer.vocabulary_size
    )
    entry = {"sha256": sha256_of(part), "documents": 1, "pieces": int(offsets[1])}
    write_json(
        folder / "manifest.json",
        {
            "kind": "shards",
            "vocabulary_size": tokenizer.vocabulary_size,
            "special_ids": tokenizer.special_ids,
            "tokenizer": {},
            "identity": "one text",
            "counts": {},
            "parts": {"train/part-00000.arrow": entry},
        },
    )
    source = RowSource(Shards.open(folder, "train"), length, "eojeol")
    config = Config(
        masking=MaskingConfig(ratio=0.5), model=ModelConfig(size="mini"), rows=RowsConfig(length)
    )
    objective = MaskedLanguageModel(config, tokenizer.vocabulary_size, tokenizer.special_ids)
    torch.manual_seed(0)
    model = objective.build_model()
    rows = source.batch(np.zeros(64, dtype=np.int64))
    batch = objective.batch(rows, torch.arange(64))
    special = set(tokenizer.special_ids.values())
    labels = batch["labels"][batch["labels"] != IGNORED]
    assert len(labels)
    assert not special.intersection(labels.tolist())
    changed = batch["input_ids"][batch["input_ids"] != rows.input_ids]
    assert set(changed.tolist()).isdisjoint(special - {tokenizer.special_ids["mask"]})
    is_special = (rows.starts & int(Flag.SPECIAL)) != 0
    assert torch.equal(batch["input_ids"][is_special], rows.input_ids[is_special])
    assert torch.isfinite(objective.loss(model, batch)["mlm"].total)


@pytest.mark.parametrize("case", cases("data"))
def test_data(case: dict[str, Any], tokenizer_folder: Path, tmp_path: Path) -> None:
    """prepare() is the stage; a second run rewrites no part."""
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("나는 어제 학교에 갔다.\n감자샐러드를 먹었다.\n", encoding="utf-8")
    words = tmp_path / "words.tsv"
    words.write_text("감자샐러드\tNNP\t0.0\n", encoding="utf-8")
    dictionary = words if case["id"] == "map-hash/2" else None

    def run(dictionary: Path | None, name: str) -> dict[str, Any]:
        analyze(find_source(str(corpus)), tmp_path / f"{name}.analysis", dictionary=dictionary)
        return prepare(tmp_path / f"{name}.analysis", tokenizer_folder, tmp_path / name)

    def state() -> dict[str, tuple[int, int]]:
        files = [f for f in tmp_path.rglob("*") if f.is_file()]
        return {str(f): (f.stat().st_ino, f.stat().st_mtime_ns) for f in files}

    for must in case["must_hold"]:
        match must["check"]:
            case "second_run_cached":
                first = run(dictionary, "shards")
                before = state()
                assert run(dictionary, "shards") == first
                assert state() == before
            case "no_hash_warning":
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    run(dictionary, "shards")
            case "dictionary_in_fingerprint":
                plain, with_words = run(None, "plain"), run(words, "words")
                assert plain["identity"] != with_words["identity"]
            case other:
                pytest.fail(f"no such check: {other}")


@pytest.mark.parametrize("case", cases("spm-train"))
def test_train_vocabulary(case: dict[str, Any], tmp_path: Path) -> None:
    """Ours trains on what SentencePiece alone skips or chokes on."""
    words: dict[str, int] = {}
    for line in case["input"]:
        for word in plain_words_of(line, Normalizer.default()):
            words[word] = words.get(word, 0) + 1
    vocabulary = train(words, 60, kind="unigram", at_most=True)
    write_folder(vocabulary, to_sentencepiece(vocabulary), tmp_path / "tok")
    tokenizer = Tokenizer.load(tmp_path / "tok")
    for must in case["must_hold"]:
        match must["check"]:
            case "raises_or_trains":
                assert len(vocabulary.pieces) > 5
            case "piece_known":
                ids = tokenizer.encode(must["args"][0]).ids
                assert tokenizer.special_ids["unk"] not in ids
            case "model_loads":
                sentencepiece.SentencePieceProcessor(
                    model_file=str(tmp_path / "tok" / "tokenizer.model")
                )
            case "no_piece_with":
                assert not any(must["args"][0] in piece for piece in vocabulary.pieces)
            case other:
                pytest.fail(f"no such check: {other}")


def test_every_case_of_our_kinds_is_run() -> None:
    """No case is passed over; train's one case has a test of its own."""
    if not CASES.is_file():
        pytest.skip("needs ../shared/cases")
    here = {p.id for kind in KINDS[:-1] for p in cases(kind)}
    assert {p.id for p in cases(*KINDS)} == here | {"resume-rng/1"}
