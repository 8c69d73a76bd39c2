from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from komlm.corpus import analysis_folder
from komlm.corpus import analyze as analyze_module
from komlm.corpus.analysis_folder import AnalysisFolder
from komlm.corpus.analyze import analyze
from komlm.corpus.prepare import encode_documents, prepare
from komlm.corpus.source import Source
from komlm.data.shards import Shards
from komlm.files import read_json
from komlm.text.aligner import Aligner
from komlm.text.analysis import Analyzer
from komlm.text.tags import TAG_CODE
from komlm.text.tokenizer import Tokenizer
from komlm.types import Flag
from tests.corpus.disk import contents, flip_a_bit, stamps

HARD = "나는 갔다.ㅋ①\n\u1112\u1161\u11ab\x00\u200b 뷁a1!㎏\t"


class Row(NamedTuple):
    """A document of a shard."""

    input_ids: list[int]
    starts: list[int]
    tags: list[int]


def rows_in(folder: Path, split: str) -> list[Row]:
    shards = Shards.open(folder, split)
    bounds = shards.offsets.tolist()
    return [
        Row(
            *(
                stream.gather(np.array([begin]), np.array([end])).tolist()
                for stream in (shards.input_ids, shards.starts, shards.tags)
            )
        )
        for begin, end in zip(bounds, bounds[1:], strict=False)
    ]


def row_alone(aligner: Aligner, text: str) -> tuple[Row, int]:
    """A document and its straddles, from the objects of a single alignment by plain loops."""
    alignment = aligner(text)
    pieces = alignment.pieces
    starts = alignment.arrays.starts.tolist()
    tags = [0] * len(pieces)
    for unit in alignment.units("morpheme"):
        for piece in unit.numbers:
            tags[piece] = TAG_CODE[unit.tag or ""]
    eojeols = [unit.numbers.start for unit in alignment.units("eojeol")]
    for sentence in alignment.analysis.sentence_starts.tolist():
        first = next((i for i in eojeols if pieces[i].start >= sentence), None)
        if first is not None:
            starts[first] |= Flag.SENTENCE
    if starts:
        starts[0] |= Flag.SENTENCE | Flag.DOCUMENT
    return Row([piece.id for piece in pieces], starts, tags), len(alignment.straddles)


def is_held_out(text: str, share: float) -> bool:
    first = hashlib.sha256(text.encode()).hexdigest()[:16]
    return int(first, 16) < share * 16**16


@pytest.fixture(scope="session")
def aligner(tokenizer: Tokenizer, analyzer: Analyzer) -> Aligner:
    return Aligner(tokenizer, analyzer)


def test_shards_hold_each_document_as_if_it_were_alone(
    shards: Path, aligner: Aligner, texts: list[str]
) -> None:
    for split in ("train", "heldout"):
        chosen = [t for t in texts if is_held_out(t, 0.3) == (split == "heldout") and t.strip()]
        wanted = [row_alone(aligner, text)[0] for text in chosen]
        assert rows_in(shards, split) == [row for row in wanted if row.input_ids]


def test_counts(shards: Path, aligner: Aligner, texts: list[str], tokenizer: Tokenizer) -> None:
    kept = [text for text in texts if text.strip()]
    rows = [row_alone(aligner, text) for text in kept]
    manifest = read_json(shards / "manifest.json")
    assert manifest["counts"] == {
        "documents": sum(bool(row.input_ids) for row, _ in rows),
        "heldout_documents": sum(
            bool(row.input_ids) and is_held_out(text, 0.3)
            for text, (row, _) in zip(kept, rows, strict=True)
        ),
        "dropped_without_pieces": sum(not row.input_ids for row, _ in rows),
        "eojeols": sum(len(text.split()) for text in kept),
        "pieces": sum(len(row.input_ids) for row, _ in rows),
        "straddles": sum(straddles for _, straddles in rows),
        "unknown": sum(row.input_ids.count(tokenizer.special_ids["unk"]) for row, _ in rows),
    }
    assert min(manifest["counts"].values()) > 0
    assert manifest["vocabulary_size"] == tokenizer.vocabulary_size
    assert manifest["special_ids"] == tokenizer.special_ids


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.lists(
        st.one_of(
            st.text(
                st.sampled_from("나는 갔다.ㅋ①\n\u1112\u1161\u11ab\x00\u200b 뷁a1!㎏\t"),
                max_size=20,
            ),
            st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
            st.sampled_from(["", "학교에 갔다. 추워서 신난다.", "그건 뭔데? 줘."]),
        ),
        max_size=5,
    )
)
def test_documents_in_one_go_are_as_each_alone(aligner: Aligner, texts: list[str]) -> None:
    analyses = [aligner.analyzer(text, forms=False) for text in texts]
    encoded = encode_documents(analyses, aligner.tokenizer)
    rows, straddles = [], 0
    for text in texts:
        row, found = row_alone(aligner, text)
        rows.append(row)
        straddles += found
    assert encoded.lengths.tolist() == [len(row.input_ids) for row in rows]
    assert encoded.input_ids.tolist() == [i for row in rows for i in row.input_ids]
    assert encoded.starts.tolist() == [i for row in rows for i in row.starts]
    assert encoded.tags.tolist() == [i for row in rows for i in row.tags]
    assert encoded.straddles == straddles


@pytest.mark.usefixtures("small_parts")
def test_the_split_depends_on_neither_parts_nor_workers(
    source: Source,
    analysis: Path,
    shards: Path,
    tokenizer_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prepare(analysis, tokenizer_folder, tmp_path / "two", workers=2, heldout=0.3)
    assert contents(tmp_path / "two") == contents(shards)

    monkeypatch.setattr(analyze_module, "DOCUMENTS_IN_A_PART", 512)
    monkeypatch.setattr(analysis_folder, "_BATCH_CHARACTERS", 100)
    analyze(source, tmp_path / "analysis")
    manifest = prepare(tmp_path / "analysis", tokenizer_folder, tmp_path / "one", heldout=0.3)
    assert manifest["counts"] == read_json(shards / "manifest.json")["counts"]
    for split in ("train", "heldout"):
        assert rows_in(tmp_path / "one", split) == rows_in(shards, split)


def test_a_second_run_rewrites_no_file(
    analysis: Path, tokenizer_folder: Path, shards: Path
) -> None:
    before = stamps(shards)
    amounts: list[int] = []
    manifest = prepare(analysis, tokenizer_folder, shards, heldout=0.3, advance=amounts.append)
    assert stamps(shards) == before
    assert sum(amounts) == manifest["counts"]["eojeols"]
    # The copy of the tokenizer is the tokenizer.
    assert prepare(analysis, shards / "tokenizer", shards, heldout=0.3) == manifest
    assert stamps(shards) == before


@pytest.mark.parametrize(
    "name",
    [
        "manifest.json",
        "train/part-00000.arrow",
        "heldout/part-00002.arrow",
        "tokenizer/tokenizer.json",
        "tokenizer/tokenizer.model",
    ],
)
def test_what_is_damaged_is_made_again(
    analysis: Path,
    tokenizer_folder: Path,
    shards: Path,
    tmp_path: Path,
    name: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(shards, tmp_path / "a")
    flip_a_bit(tmp_path / "a" / name)
    prepare(analysis, tokenizer_folder, tmp_path / "a", heldout=0.3)
    assert contents(tmp_path / "a") == contents(shards)
    told = "tokenizer" if name.startswith("tokenizer") else name
    assert f"{told}: damaged, making it again" in capsys.readouterr().err


def test_only_the_tokenizer_is_copied_of_a_models_folder(
    analysis: Path, tokenizer_folder: Path, tmp_path: Path, shards: Path
) -> None:
    model = tmp_path / "step-10"
    shutil.copytree(tokenizer_folder, model)
    (model / "model.safetensors").write_bytes(b"\0" * 100)
    prepare(analysis, model, tmp_path / "shards", heldout=0.3)
    assert contents(tmp_path / "shards") == contents(shards)


def other_tokenizer(folder: Path, target: Path) -> Path:
    """The same pieces, but [UNK] is called by another one's name."""
    shutil.copytree(folder, target)
    path = target / "tokenizer.json"
    path.write_text(path.read_text("utf-8").replace('"[UNK]"', '"[NUL]"'), encoding="utf-8")
    path = target / "tokenizer_config.json"
    path.write_text(path.read_text("utf-8").replace('"[UNK]"', '"[NUL]"'), encoding="utf-8")
    return target


@pytest.mark.usefixtures("small_parts")
def test_shards_of_something_else_are_refused(
    source: Source, analysis: Path, tokenizer_folder: Path, shards: Path, tmp_path: Path
) -> None:
    before = stamps(shards)
    other = other_tokenizer(tokenizer_folder, tmp_path / "tok")
    with pytest.raises(ValueError, match=r"made from something else \(other tokenizer\)"):
        prepare(analysis, other, shards, heldout=0.3)
    with pytest.raises(ValueError, match=r"\(other heldout\)"):
        prepare(analysis, tokenizer_folder, shards, heldout=0.2)
    dictionary = tmp_path / "words.tsv"
    dictionary.write_text("학교에서집\tNNP\t10\n", encoding="utf-8")
    analyze(source, tmp_path / "analysis", dictionary=dictionary)
    with pytest.raises(ValueError, match=r"\(other analysis, analysis_parts\)"):
        prepare(tmp_path / "analysis", tokenizer_folder, shards, heldout=0.3)
    with pytest.raises(ValueError, match="holds analysis: choose another -o"):
        prepare(analysis, tokenizer_folder, analysis)
    assert stamps(shards) == before


@pytest.mark.parametrize("workers", [1, 2])
def test_a_damaged_analysis_is_named(
    analysis: Path, tokenizer_folder: Path, shards: Path, tmp_path: Path, workers: int
) -> None:
    folder = tmp_path / "analysis"
    shutil.copytree(analysis, folder)
    whole = flip_a_bit(folder / "part-00002.arrow")
    with pytest.raises(ValueError, match=r"part-00002\.arrow is damaged .*komlm analyze"):
        prepare(folder, tokenizer_folder, tmp_path / "shards", workers, heldout=0.3)
    assert not (tmp_path / "shards" / "manifest.json").exists()
    (folder / "part-00002.arrow").write_bytes(whole)
    prepare(folder, tokenizer_folder, tmp_path / "shards", heldout=0.3)
    assert contents(tmp_path / "shards") == contents(shards)


@pytest.mark.parametrize("heldout", [-0.1, 1, 1.5])
def test_no_share(analysis: Path, tokenizer_folder: Path, tmp_path: Path, heldout: float) -> None:
    with pytest.raises(ValueError, match=f"--heldout {heldout}: wanted a share from 0 up to 1"):
        prepare(analysis, tokenizer_folder, tmp_path / "shards", heldout=heldout)
    assert not (tmp_path / "shards").exists()


def test_nothing_held_out(analysis: Path, tokenizer_folder: Path, tmp_path: Path) -> None:
    manifest = prepare(analysis, tokenizer_folder, tmp_path / "shards", heldout=0)
    assert manifest["counts"]["heldout_documents"] == 0
    assert Shards.open(tmp_path / "shards").documents == manifest["counts"]["documents"]
    with pytest.raises(ValueError, match="the held-out split holds no text"):
        Shards.open(tmp_path / "shards", "heldout")


def test_a_missing_tokenizer_or_analysis(
    analysis: Path, tokenizer_folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError, match="no tokenizer in"):
        prepare(analysis, tmp_path, tmp_path / "shards")
    with pytest.raises(FileNotFoundError, match="no analysis in"):
        prepare(tmp_path, tokenizer_folder, tmp_path / "shards")


def test_an_analysis_is_read_batch_by_batch(analysis: Path, texts: list[str]) -> None:
    assert [one.text for one in AnalysisFolder(analysis)] == [t for t in texts if t.strip()]
