from __future__ import annotations

from pathlib import Path

import pytest

from komlm.bench import BENCHES, Material
from komlm.corpus.source import Reading
from tests.bench.conftest import DOCUMENTS, no_bar


def test_what_is_made_of_a_corpus(material: Material) -> None:
    assert len(material.texts) == DOCUMENTS
    texts = [analysis.text for batch in material.analyses() for analysis in batch]
    assert texts == material.texts
    assert material.shards.documents == DOCUMENTS
    assert material.shards.vocabulary_size == 2000


def test_an_analysis_stands_for_its_corpus(material: Material, tmp_path: Path) -> None:
    again = Material(tmp_path, no_bar, [str(material.analysis)])
    assert again.texts == material.texts
    assert again.analysis == material.analysis
    assert not list(tmp_path.iterdir())


def test_a_tokenizer_is_trained_where_none_is_given(material: Material, tmp_path: Path) -> None:
    """Of 2,000 entries, or as many as so little text gives."""
    again = Material(tmp_path, no_bar, [str(material.analysis)])
    assert again.tokenizer_folder.is_relative_to(tmp_path)
    assert 500 < again.shards.vocabulary_size <= 2000


def test_wrong_names_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no file matches"):
        Material(tmp_path, no_bar, ["nosuch.txt"])
    with pytest.raises(FileNotFoundError, match="no tokenizer"):
        Material(tmp_path, no_bar, tokenizer=tmp_path / "nosuch")
    (tmp_path / "blank.txt").write_text(" \n", encoding="utf-8")
    blank = Material(tmp_path, no_bar, [str(tmp_path / "blank.txt")], Reading())
    with pytest.raises(ValueError, match="no text in it"):
        _ = blank.texts


def test_a_missing_package_is_told_with_its_command() -> None:
    from dataclasses import replace

    one = BENCHES["step"]
    assert one.needs == ("accelerate",)
    missing = replace(one, needs=("json", "nosuchpackage")).missing()
    assert missing == "needs nosuchpackage: pip install 'komlm[bench]'"
    assert replace(one, needs=("json",)).missing() == ""
