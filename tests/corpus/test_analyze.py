from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from komlm.corpus import analysis_folder
from komlm.corpus import analyze as analyze_module
from komlm.corpus.analysis_folder import AnalysisFolder, read_part, write_part
from komlm.corpus.analyze import analyze
from komlm.corpus.source import Source, find_source
from komlm.files import read_json, sha256_of
from komlm.text import analysis as analysis_module
from komlm.text.analysis import Analysis, Analyzer
from tests.corpus.disk import contents, flip_a_bit, stamps, write_jsonl

ARRAYS = ("starts", "ends", "tags", "sentence_starts")


def assert_equal(one: Analysis, other: Analysis) -> None:
    assert one.text == other.text
    for name in ARRAYS:
        got, wanted = getattr(one, name), getattr(other, name)
        assert got.dtype == wanted.dtype, name
        np.testing.assert_array_equal(got, wanted, name)
    assert one.forms is None


def copied(folder: Path, target: Path) -> Path:
    target.mkdir()
    for name, content in contents(folder).items():
        (target / name).write_bytes(content)
    return target


def test_what_is_on_disk_is_what_the_analyzer_says(
    analysis: Path, texts: list[str], analyzer: Analyzer
) -> None:
    wanted = [analyzer(text, forms=False) for text in texts if text.strip()]
    found = list(AnalysisFolder(analysis))
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert_equal(one, other)


def test_counts(analysis: Path, texts: list[str], analyzer: Analyzer) -> None:
    manifest = read_json(analysis / "manifest.json")
    kept = [analyzer(text) for text in texts if text.strip()]
    assert manifest["counts"] == {
        "documents": len(kept),
        "dropped_empty": len(texts) - len(kept),
        "characters": sum(len(one.text) for one in kept),
        "eojeols": sum(len(one.text.split()) for one in kept),
        "morphemes": sum(len(one.morphemes) for one in kept),
        "sentences": sum(len(one.sentence_starts) for one in kept),
    }
    assert manifest["kind"] == "analysis"
    assert len(manifest["parts"]) == -(-len(texts) // 5)
    documents = [part["documents"] for part in manifest["parts"].values()]
    blank = [sum(bool(text.strip()) for text in texts[n : n + 5]) for n in range(0, len(texts), 5)]
    assert documents == blank
    assert 0 in documents


@pytest.mark.slow
def test_two_workers_write_the_same_bytes(
    source: Source, analysis: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analyze_module, "DOCUMENTS_IN_A_PART", 5)
    amounts: list[int] = []
    analyze(source, tmp_path / "a", workers=2, advance=amounts.append)
    assert contents(tmp_path / "a") == contents(analysis)
    assert sum(amounts) == analyze_module.take_inventory(source).characters


@pytest.mark.usefixtures("small_parts")
def test_a_second_run_rewrites_no_file(source: Source, analysis: Path) -> None:
    before = stamps(analysis)
    amounts: list[int] = []
    manifest = analyze(source, analysis, advance=amounts.append)
    assert stamps(analysis) == before
    assert manifest == read_json(analysis / "manifest.json")
    assert sum(amounts) == analyze_module.take_inventory(source).characters


@pytest.mark.usefixtures("small_parts")
def test_a_user_dictionary_is_part_of_what_an_analysis_is(
    source: Source, analysis: Path, tmp_path: Path, texts: list[str]
) -> None:
    dictionary = tmp_path / "words.tsv"
    dictionary.write_text("학교에서집\tNNP\t10\n", encoding="utf-8")
    without = read_json(analysis / "manifest.json")
    with pytest.raises(ValueError, match=r"made from something else \(other analyzer\.dictionary"):
        analyze(source, analysis, dictionary=dictionary)

    manifest = analyze(source, tmp_path / "a", dictionary=dictionary)
    assert manifest["identity"] != without["identity"]
    before = stamps(tmp_path / "a")
    moved = dictionary.rename(tmp_path / "moved.tsv")
    assert analyze(source, tmp_path / "a", dictionary=moved) == manifest
    assert stamps(tmp_path / "a") == before

    text = "학교에서집이라는 가게에 갔다."
    assert text in texts
    spans = [
        {(int(a), int(b)) for a, b in zip(one.starts, one.ends, strict=True)}
        for folder in (analysis, tmp_path / "a")
        for one in AnalysisFolder(folder)
        if one.text == text
    ]
    assert [(0, 5) in found for found in spans] == [False, True]


def test_a_changed_dictionary_is_loaded_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analyze_module, "Analyzer", lambda dictionary: object())
    analyze_module._analyzer.cache_clear()
    first = analyze_module._analyzer(tmp_path / "words.tsv", "aa")
    assert analyze_module._analyzer(tmp_path / "words.tsv", "aa") is first
    assert analyze_module._analyzer(tmp_path / "words.tsv", "bb") is not first
    analyze_module._analyzer.cache_clear()


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("name", ["part-00000.arrow", "part-00003.arrow", "manifest.json"])
def test_what_is_damaged_is_made_again(
    source: Source,
    analysis: Path,
    tmp_path: Path,
    name: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = copied(analysis, tmp_path / "a")
    flip_a_bit(folder / name)
    before = stamps(folder)
    analyze(source, folder)
    assert contents(folder) == contents(analysis)
    assert f"{name}: damaged, making it again" in capsys.readouterr().err
    if name != "manifest.json":
        after = stamps(folder)
        assert {path for path in after if after[path] != before[path]} == {name}


@pytest.mark.usefixtures("small_parts")
def test_another_corpus_in_the_same_folder_is_refused(
    analysis: Path, tmp_path: Path, texts: list[str]
) -> None:
    other = find_source(str(write_jsonl(tmp_path / "other.jsonl", [*texts, "하나 더"])))
    with pytest.raises(ValueError, match=r"made from something else \(other inputs\)"):
        analyze(other, analysis)


def test_a_folder_of_others_is_refused_and_left_alone(source: Source, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "a web page"}', encoding="utf-8")
    (tmp_path / "thesis.unfinished").write_text("years of work", encoding="utf-8")
    before = stamps(tmp_path)
    with pytest.raises(ValueError, match="choose another -o"):
        analyze(source, tmp_path)
    assert stamps(tmp_path) == before


@pytest.mark.usefixtures("small_parts")
def test_a_full_disk_is_explained_and_nothing_half_is_kept(
    source: Source, analysis: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, written = analysis_folder._batch, 0

    def batch(analyses: Any) -> Any:
        nonlocal written
        written += 1
        if written == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return whole(analyses)

    monkeypatch.setattr(analysis_folder, "_batch", batch)
    with pytest.raises(OSError, match="the disk under .* is full. .*run the same command again"):
        analyze(source, tmp_path / "a")
    parts = ["part-00000.arrow", "part-00001.arrow"]
    assert sorted(path.name for path in (tmp_path / "a").glob("*.arrow*")) == parts
    before = stamps(tmp_path / "a")
    analyze(source, tmp_path / "a")
    assert contents(tmp_path / "a") == contents(analysis)
    assert [stamps(tmp_path / "a")[part] for part in parts] == [before[part] for part in parts]


@pytest.mark.usefixtures("small_parts")
def test_long_documents_make_short_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyze_module, "CHARACTERS_IN_A_PART", 10)
    texts = ["가나 다라", "마바 사아", "집", "이십 글자가 넘는 아주 긴 글입니다", "끝"]
    source = find_source(str(write_jsonl(tmp_path / "a.jsonl", texts)))
    manifest = analyze(source, tmp_path / "a")
    assert [part["documents"] for part in manifest["parts"].values()] == [2, 2, 1]
    assert [one.text for one in AnalysisFolder(tmp_path / "a")] == texts


@pytest.mark.usefixtures("small_parts")
def test_a_line_of_a_megabyte_is_cut_for_kiwi_alone(
    tmp_path: Path, analyzer: Analyzer, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "나는 집에 갔다. " * 50_000
    assert len(text.encode()) > 1_000_000
    path = tmp_path / "long.txt"
    path.write_text(text + "\n짧은 글\n", encoding="utf-8")
    lengths: set[int] = set()

    class Recorder:
        """Kiwi's place, taken by one that finds nothing but notes what it gets."""

        def tokenize(self, chunk: str) -> list[Any]:
            lengths.add(len(chunk))
            return []

    monkeypatch.setattr(analyzer, "_kiwi", Recorder())
    manifest = analyze(find_source(str(path)), tmp_path / "a")
    assert manifest["counts"]["documents"] == 2
    assert [one.text for one in AnalysisFolder(tmp_path / "a")] == [text, "짧은 글"]
    assert max(lengths) <= analysis_module.MAX_CHUNK


@st.composite
def analyses(draw: st.DrawFn) -> list[Analysis]:
    """Texts with arrays of any content."""
    numbers = st.lists(st.integers(0, 2**31 - 1), max_size=6)
    found = []
    for text in draw(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=6)):
        starts = draw(numbers)
        sentences = draw(numbers)
        found.append(
            Analysis(
                text,
                np.array(starts, np.int64),
                np.array(starts[::-1], np.int64),
                np.array([start % 256 for start in starts], np.uint8),
                np.array(sentences, np.int64),
            )
        )
    return found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(analyses(), st.integers(1, 40))
def test_parts_give_back_what_was_written(
    tmp_path: Path, given_analyses: list[Analysis], characters: int
) -> None:
    part = tmp_path / "part-00000.arrow"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(analysis_folder, "_BATCH_CHARACTERS", characters)
        write_part(part, iter(given_analyses))
    batches = list(
        read_part(tmp_path / "part-00000.arrow", sha256_of(tmp_path / "part-00000.arrow"))
    )
    found = [one for batch in batches for one in batch]
    assert len(found) == len(given_analyses)
    for one, other in zip(found, given_analyses, strict=True):
        assert_equal(one, other)
    # A batch is closed by the document that fills it.
    for batch in batches:
        assert sum(len(one.text) for one in batch[:-1]) < characters


def test_a_damaged_or_missing_part_is_named(analysis: Path, tmp_path: Path) -> None:
    folder = copied(analysis, tmp_path / "a")
    flip_a_bit(folder / "part-00001.arrow")
    (folder / "part-00002.arrow").unlink()
    for name, sha256 in AnalysisFolder(folder).parts[1:3]:
        with pytest.raises(ValueError, match=rf"{name.name} is damaged or missing: run its"):
            list(read_part(name, sha256))
