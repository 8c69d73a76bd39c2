from __future__ import annotations

from pathlib import Path

import pytest

from komlm.corpus import read_documents
from komlm.corpus.analyze import take_inventory
from komlm.corpus.source import Reading, find_source, known_corpora
from komlm.files import sha256_of
from tests.corpus.disk import write_jsonl


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Some files, in the working directory."""
    monkeypatch.chdir(tmp_path)
    for name in ("b.txt", "a.txt", "c.jsonl", "sub/d.txt", "odd[1].txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text('{"text": "나는 갔다"}\n', encoding="utf-8")
    return tmp_path


def toml(folder: Path, content: str) -> str:
    path = folder / "letters.toml"
    path.write_text(content, encoding="utf-8")
    return str(path)


def test_every_corpus_that_is_shipped_is_read() -> None:
    assert "mini" in known_corpora()
    for name in known_corpora():
        source = find_source(name)
        assert take_inventory(source).documents > 0


def test_the_mini_corpus_is_as_large_as_promised() -> None:
    inventory = take_inventory(find_source("mini"))
    assert inventory.characters >= 80_000
    texts = [document.text for document in read_documents(find_source("mini"))]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    ("corpus", "files"),
    [
        ("a.txt", ["a.txt"]),
        (["b.txt", "a.txt"], ["b.txt", "a.txt"]),
        ("[ab].txt", ["a.txt", "b.txt"]),
        (["c.*", "?.txt"], ["c.jsonl", "a.txt", "b.txt"]),
        ("**/d.txt", ["sub/d.txt"]),
        ("odd[1].txt", ["odd[1].txt"]),
    ],
)
def test_paths_and_globs(folder: Path, corpus: str | list[str], files: list[str]) -> None:
    assert [str(path) for path in find_source(corpus).files] == files


def test_a_name_is_the_corpus_whatever_lies_in_the_working_directory(folder: Path) -> None:
    (folder / "mini").write_text("가", encoding="utf-8")
    assert [path.name for path in find_source("mini").files] == ["mini.jsonl"]


def test_unknown_corpus_names_the_nearest(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match="did you mean 'mini'"):
        find_source("minni")


@pytest.mark.parametrize("pattern", ["*.parquet", "gone.txt"])
def test_nothing_matches(folder: Path, pattern: str) -> None:
    with pytest.raises(FileNotFoundError, match="no file matches"):
        find_source(["a.txt", pattern])


def test_a_folder_is_not_a_corpus(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"sub is a folder: .*'sub/\*.txt'"):
        find_source("sub")


@pytest.mark.parametrize("name", ["a.csv", "a.gz", "a", "a.jsonl.bz2"])
def test_unknown_suffix_names_the_known(folder: Path, name: str) -> None:
    (folder / name).write_text("가", encoding="utf-8")
    with pytest.raises(ValueError, match=rf"{name}: no reader .*\.jsonl, \.parquet, \.txt"):
        find_source(name)


def test_a_name_does_not_stand_among_paths(folder: Path) -> None:
    with pytest.raises(ValueError, match="mini is a whole corpus by itself"):
        find_source(["a.txt", "mini"])


def test_unknown_kind_of_document_names_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean 'paragraph'"):
        Reading(documents="paragraphs")


@pytest.mark.parametrize("name", ["plain", "odd [x]"])
def test_toml(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    path = folder / "a.txt"
    path.write_text("하나\n둘\n\n셋", encoding="utf-8")
    content = 'title = "t"\nfiles = ["*.txt"]\ndocuments = "paragraph"\n[sha256]\n"a.txt" = '
    source = find_source(toml(folder, content + f'"{sha256_of(path)}"'))
    assert [document.text for document in read_documents(source)] == ["하나\n둘", "셋"]
    assert take_inventory(source).documents == 2


def test_toml_with_another_file_than_promised(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("가", encoding="utf-8")
    source = find_source(toml(tmp_path, 'files = ["a.txt"]\n[sha256]\n"a.txt" = "00ff"'))
    with pytest.raises(ValueError, match=r"a\.txt: not the file .*wanted 00ff"):
        take_inventory(source)


def test_toml_is_read_as_it_says(folder: Path) -> None:
    corpus = toml(folder, 'files = ["a.txt"]\ndocuments = "file"')
    assert find_source(corpus, Reading()).reading == Reading(documents="file")
    assert find_source(corpus, Reading(documents="file")).reading == Reading(documents="file")
    with pytest.raises(ValueError, match="leave out --column and --documents"):
        find_source(corpus, Reading(documents="paragraph"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("files = [", "not a TOML file"),
        ("files = ['\udcff']".encode("utf-8", "surrogateescape"), "not a TOML file"),
        ('files = ["a.txt"]\ncolum = "x"', "unknown key 'colum'; did you mean 'column'"),
        ('title = "x"', "wanted files ="),
        ("files = []", "wanted files ="),
        ('files = "a.txt"', "wanted files ="),
        ('files = ["a.txt"]\ncolumn = 7', "wanted strings"),
        ('files = ["a.txt"]\ndocuments = "lines"', "did you mean 'line'"),
        ('files = ["a.txt"]\nsha256 = "00"', r"wanted a table \[sha256\]"),
        ('files = ["a.txt"]\n[sha256]\n"A.txt" = "00"', "not in files: A.txt"),
    ],
)
def test_toml_that_is_wrong(folder: Path, content: str | bytes, message: str) -> None:
    (folder / "x.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=rf"x\.toml: {message}|x\.toml: .*{message}"):
        find_source("x.toml")


def test_toml_that_is_missing_or_names_a_missing_file(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"gone\.toml"):
        find_source("gone.toml")
    with pytest.raises(FileNotFoundError, match=r"no file matches 'gone\.txt' in "):
        find_source(toml(folder, 'files = ["gone.txt"]'))


def test_inventory_counts_and_checks(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", ["나는 갔다", "", "  ", "집"])
    inventory = take_inventory(find_source(str(path)))
    assert (inventory.documents, inventory.characters, inventory.parts) == (4, 8, 1)
    path.write_text('{"text": "가"}\n{"text": "나는 \\ud800 갔다"}\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.jsonl:2: lone surrogate U\+D800 at offset 3"):
        take_inventory(find_source(str(path)))
    write_jsonl(path, ["", " \t", "\n"])
    with pytest.raises(ValueError, match=r"a\.jsonl: no text in it"):
        take_inventory(find_source(str(path)))


def test_the_recipe_tells_neither_path_nor_time(tmp_path: Path) -> None:
    recipes = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        path = write_jsonl(tmp_path / name / f"{name}.jsonl", ["나는 갔다"])
        recipes.append(take_inventory(find_source(str(path))).recipe)
    assert recipes[0] == recipes[1]
