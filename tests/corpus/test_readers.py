from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from komlm.corpus import READERS, read_documents
from komlm.corpus.documents import plain_suffix
from komlm.corpus.source import Reading, Source
from tests.corpus.disk import pack

PACKINGS = ["", ".gz", ".zst"]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., list[tuple[str, str]]]:
    """Write bytes to a file and read its documents back: (text, id) of each."""

    def read_back(name: str, content: bytes, **reading: str) -> list[tuple[str, str]]:
        path = tmp_path / name
        path.write_bytes(content)
        documents = read_documents(Source((path,), Reading(**reading)))
        return [(document.text, document.id) for document in documents]

    return read_back


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("a.txt", ".txt"),
        ("a.TXT.GZ", ".txt"),
        ("a.b.jsonl.zst", ".jsonl"),
        ("a.gz", ""),
        ("a.gz.txt", ".txt"),
        ("a", ""),
    ],
)
def test_suffix_below_the_compression(name: str, suffix: str) -> None:
    assert plain_suffix(Path(name)) == suffix


@pytest.mark.parametrize("packing", PACKINGS)
def test_lines(read: Callable[..., list[tuple[str, str]]], packing: str) -> None:
    name = f"a.txt{packing}"
    content = codecs.BOM_UTF8 + "나는\r\n\n  갔다 \u2028 또\x85\x0b\n끝".encode()
    assert read(name, pack(content, packing)) == [
        ("나는", f"{name}:1"),
        ("", f"{name}:2"),
        ("  갔다 \u2028 또\x85\x0b", f"{name}:3"),
        ("끝", f"{name}:4"),
    ]


def test_paragraphs(read: Callable[..., list[tuple[str, str]]]) -> None:
    content = "\n \n하나\n둘\r\n\t\n\n셋\n".encode()
    found = read("a.txt", content, documents="paragraph")
    assert found == [("하나\n둘", "a.txt:3"), ("셋", "a.txt:7")]


def test_a_file_as_one_document(read: Callable[..., list[tuple[str, str]]]) -> None:
    found = read("a.txt", "하나\r\n\n둘\n".encode(), documents="file")
    assert found == [("하나\n\n둘", "a.txt:1")]


@pytest.mark.parametrize("packing", PACKINGS)
def test_json_lines(read: Callable[..., list[tuple[str, str]]], packing: str) -> None:
    name = f"a.jsonl{packing}"
    lines = '{"body": "나는 \\n갔다", "n": 1}\r\n\n{"body": null}\n{"body": "\\ud83d\\ude00\u2028"}'
    content = pack(codecs.BOM_UTF8 + lines.encode(), packing)
    assert read(name, content, column="body") == [
        ("나는 \n갔다", f"{name}:1"),
        ("", f"{name}:3"),
        ("😀\u2028", f"{name}:4"),
    ]


@in_one_folder
@given(st.lists(TEXT, min_size=1), st.sampled_from(PACKINGS))
def test_json_lines_give_back_what_was_written(
    read: Callable[..., list[tuple[str, str]]], texts: list[str], packing: str
) -> None:
    lines = "\n".join(json.dumps({"text": text}, ensure_ascii=False) for text in texts)
    found = read(f"a.jsonl{packing}", pack(lines.encode(), packing))
    assert [text for text, _ in found] == texts


@in_one_folder
@given(TEXT.filter(lambda text: text.removeprefix("\ufeff") != ""))
def test_text_lines_are_cut_at_line_feeds_alone(
    read: Callable[..., list[tuple[str, str]]], text: str
) -> None:
    wanted = text.removeprefix("\ufeff").split("\n")
    wanted = [line.removesuffix("\r") for line in wanted]
    if text.endswith("\n"):
        wanted.pop()
    assert [line for line, _ in read("a.txt", text.encode())] == wanted


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("kind", sorted(READERS))
def test_an_empty_file_is_an_error(
    read: Callable[..., list[tuple[str, str]]], kind: str, packing: str
) -> None:
    name = f"a{kind}{packing}"
    with pytest.raises(ValueError, match=rf"{name}: the file is empty"):
        read(name, b"")


@pytest.mark.parametrize("packing", [".gz", ".zst"])
@pytest.mark.parametrize("kind", [".txt", ".jsonl"])
def test_a_packed_file_without_content_is_an_error(
    read: Callable[..., list[tuple[str, str]]], kind: str, packing: str
) -> None:
    with pytest.raises(ValueError, match="the file is empty"):
        read(f"a{kind}{packing}", pack(b"", packing))


def test_bytes_that_are_not_utf8(read: Callable[..., list[tuple[str, str]]]) -> None:
    content = "첫 줄\n나는 ".encode() + "학교".encode("cp949") + b"\n"
    with pytest.raises(ValueError, match=r"a\.txt, line 2: byte 0xc7 at byte 7 .*iconv -f cp949"):
        read("a.txt", content)
    with pytest.raises(ValueError, match=r"a\.jsonl, line 1: byte 0xff at byte 0 "):
        read("a.jsonl", b'\xff\xfe{"text": "a"}')
    with pytest.raises(ValueError, match="line 1: byte 0xff at byte 3 "):
        read("a.txt", codecs.BOM_UTF8 + b"\xff")
    with pytest.raises(ValueError, match="byte 0xed at byte 0 "):
        read("a.txt", "\ud800".encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{oops}", "not JSON"),
        ('{"text": "a"', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('["a"]', "wanted a JSON object"),
        ('"text"', "wanted a JSON object"),
        ('{"title": "a", "body": "b"}', "no text under 'text'. Keys there: body, title"),
        ("{}", "no text under 'text'. Keys there: none"),
        ('{"text": 7}', "'text' holds 7, wanted a string"),
        ('{"text": ["a"]}', "'text' holds .*wanted a string"),
    ],
)
def test_lines_that_are_no_document(
    read: Callable[..., list[tuple[str, str]]], line: str, message: str
) -> None:
    with pytest.raises(ValueError, match=rf"a\.jsonl, line 3: {message}"):
        read("a.jsonl", b'{"text": "a"}\n\n' + line.encode() + b"\n")


@pytest.mark.parametrize("kind", [".txt", ".jsonl"])
@pytest.mark.parametrize("packing", [".gz", ".zst"])
def test_packed_files_that_were_cut_short(
    read: Callable[..., list[tuple[str, str]]], kind: str, packing: str
) -> None:
    lines = [json.dumps({"text": f"{n * n} 번째"}, ensure_ascii=False) for n in range(5000)]
    packed = pack("\n".join(lines).encode(), packing)
    for length in (1, 5, len(packed) // 2, len(packed) - 1):
        with pytest.raises(ValueError, match=rf"a{kind}{packing}: cut short or damaged"):
            read(f"a{kind}{packing}", packed[:length])


@pytest.mark.parametrize("packing", [".gz", ".zst"])
def test_a_damaged_packing_is_a_value_error(
    read: Callable[..., list[tuple[str, str]]], packing: str
) -> None:
    packed = pack("\n".join(f"{n * n} 번째" for n in range(5000)).encode(), packing)
    places = range(len(packed) // 10, len(packed), len(packed) // 10)
    refused = 0
    for at in places:
        damaged = bytearray(packed)
        damaged[at] ^= 0xFF
        try:
            read(f"a.txt{packing}", bytes(damaged))
        except ValueError:  # and no other type
            refused += 1
    # A .zst without a checksum may give other text instead.
    assert refused == len(places) or packing == ".zst"


@pytest.mark.parametrize("packing", PACKINGS)
def test_packings_in_several_frames(
    read: Callable[..., list[tuple[str, str]]], packing: str
) -> None:
    content = pack("하나\n".encode(), packing) + pack("둘\n".encode(), packing)
    assert [text for text, _ in read(f"a.txt{packing}", content)] == ["하나", "둘"]
