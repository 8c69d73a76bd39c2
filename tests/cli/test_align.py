from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from komlm.text.aligner import Aligner
from komlm.text.analysis import Analyzer
from komlm.text.tokenizer import Tokenizer
from tests.cli.conftest import Run

TEXT = "나는 어제 학교에 갔다."


def test_the_json_has_the_keys_that_other_programs_rely_on(
    komlm: Run, tokenizer_folder: Path
) -> None:
    answer = komlm("align", TEXT, "--tokenizer", tokenizer_folder, "--json")
    assert (answer.code, answer.err) == (0, "")
    (said,) = answer.objects
    assert list(said) == ["text", "pieces", "morphemes", "units", "straddles"]
    assert said["text"] == TEXT
    assert all(list(piece) == ["id", "piece", "start", "end"] for piece in said["pieces"])
    assert all(list(m) == ["form", "tag", "start", "end"] for m in said["morphemes"])
    assert list(said["units"]) == ["piece", "morpheme", "eojeol"]
    for units in said["units"].values():
        for unit in units:
            assert list(unit) == ["pieces", "start", "end", "morphemes", "tag", "class"]
        numbers = [n for unit in units for n in unit["pieces"]]
        assert numbers == list(range(len(said["pieces"])))
    eojeols = [TEXT[unit["start"] : unit["end"]] for unit in said["units"]["eojeol"]]
    assert eojeols == TEXT.split()
    assert {"form": "학교", "tag": "NNG", "start": 6, "end": 8} in said["morphemes"]
    assert said["straddles"] == []


def test_it_says_what_the_alignment_holds(
    komlm: Run, tokenizer_folder: Path, analyzer: Analyzer, tokenizer: Tokenizer
) -> None:
    text = "난 추워서 안갔다ㅋㅋ 뭔데"
    alignment = Aligner(tokenizer, analyzer)(text)
    (said,) = komlm("align", text, "--tokenizer", tokenizer_folder, "--json").objects
    assert said["pieces"] == [
        {"id": p.id, "piece": p.piece, "start": p.start, "end": p.end} for p in alignment.pieces
    ]
    assert said["morphemes"] == [morpheme._asdict() for morpheme in alignment.morphemes]
    for level, units in said["units"].items():
        for unit, wanted in zip(units, alignment.units(level), strict=True):
            assert [said["pieces"][n] for n in unit["pieces"]] == [
                {"id": p.id, "piece": p.piece, "start": p.start, "end": p.end}
                for p in wanted.pieces
            ]
            assert [said["morphemes"][n] for n in unit["morphemes"]] == [
                m._asdict() for m in wanted.morphemes
            ]
            assert (unit["start"], unit["end"]) == (wanted.start, wanted.end)
            assert (unit["tag"], unit["class"]) == (wanted.tag, wanted.class_name)
    assert said["straddles"] == [piece.number for piece in alignment.straddles]


def test_the_table_shows_unit_pieces_morphemes_and_class(
    komlm: Run, tokenizer_folder: Path
) -> None:
    answer = komlm("align", TEXT, "--tokenizer", tokenizer_folder)
    lines = answer.out.splitlines()
    assert lines[0].split() == ["eojeol", "unit", "pieces", "morphemes", "class"]
    assert any(line.split()[1:] == ["학교", "▁학교", "학교/NNG", "noun"] for line in lines)
    assert "가/VV + 었/EP" in answer.out


def test_an_empty_text_has_empty_lists(komlm: Run, tokenizer_folder: Path) -> None:
    empty = {"piece": [], "morpheme": [], "eojeol": []}
    for text in ("", " \t ", "\u200b"):
        answer = komlm("align", text, "--tokenizer", tokenizer_folder, "--json")
        assert answer.code == 0
        said = answer.objects[0]
        assert said["text"] == text
        assert (said["pieces"], said["units"], said["straddles"]) == ([], empty, [])
    assert komlm("align", "", "--tokenizer", tokenizer_folder).out.startswith("eojeol")


def test_lines_are_answered_in_order_and_the_refused_ones_told(
    komlm: Run, tokenizer_folder: Path
) -> None:
    lines = ["\ufeff갔다".encode(), b"", "가\x00나\r".encode(), b"\xb0\xa1", "끝\u2028끝".encode()]
    answer = komlm("align", "--tokenizer", tokenizer_folder, "--json", stdin=b"\n".join(lines))
    assert answer.code == 1
    assert answer.err == ""
    assert [said.get("text") for said in answer.objects] == [
        "갔다",
        "",
        "가\x00나",
        None,
        "끝\u2028끝",
    ]
    (error,) = answer.objects[3].values()
    assert "line 4" in error
    assert "0xb0" in error
    assert list(answer.objects[3]) == ["error"]


def test_json_lines(komlm: Run, tokenizer_folder: Path) -> None:
    stdin = "\n".join(
        ['{"text": "갔다", "n": 1}', "[]", '{"txt": ""}', '{"text": "\\ud800가"}', "{"]
    )
    answer = komlm(
        "align", "--tokenizer", tokenizer_folder, "--input", "jsonl", "--json", stdin=stdin.encode()
    )
    assert answer.code == 1
    said = answer.objects
    assert len(said) == 5
    assert said[0]["text"] == "갔다"
    assert [list(one) for one in said[1:]] == [["error"]] * 4
    assert "Keys there: txt" in said[2]["error"]
    assert "line 3" in said[2]["error"]
    assert "0" in said[3]["error"]
    assert "surrogate" in said[3]["error"]


def test_a_refused_text_without_json_goes_to_stderr_alone(
    komlm: Run, tokenizer_folder: Path
) -> None:
    answer = komlm("align", "--tokenizer", tokenizer_folder, stdin="\udcb0\n".encode(
        "utf-8", "surrogateescape"
    ))  # fmt: skip
    assert answer.code == 1
    assert answer.out == ""
    assert answer.err.startswith("komlm: line 1: byte 0xb0")
    assert answer.err.count("\n") == 1
    surrogate = komlm("align", "가\udcff", "--tokenizer", tokenizer_folder)
    assert (surrogate.code, surrogate.out) == (1, "")
    assert "surrogate" in surrogate.err


def test_a_megabyte_in_one_line_is_kept_whole(komlm: Run, tokenizer_folder: Path) -> None:
    text = "ab 12 " * 5_000 + "가나다" * 500
    stdin = json.dumps({"text": text}).encode()
    (said,) = komlm(
        "align", "--tokenizer", tokenizer_folder, "--input", "jsonl", "--json", stdin=stdin
    ).objects
    assert said["text"] == text
    assert said["pieces"][-1]["end"] == len(text)
    assert len(said["units"]["eojeol"]) >= len(text.split())


def test_a_dictionary_of_the_user_is_taken(
    komlm: Run, tokenizer_folder: Path, tmp_path: Path
) -> None:
    dictionary = tmp_path / "words.txt"
    dictionary.write_text("칸칸토리\tNNP\t5.0\n", encoding="utf-8")
    (said,) = komlm(
        "align", "칸칸토리에", "--tokenizer", tokenizer_folder, "--dictionary", dictionary, "--json"
    ).objects
    assert said["morphemes"][0] == {"form": "칸칸토리", "tag": "NNP", "start": 0, "end": 4}


def test_user_text_cannot_move_the_cursor(komlm: Run, tokenizer_folder: Path) -> None:
    text = "가\x1b[31m나 [bold]다[/bold] \x07\u202e"
    for verb in ("align", "mask"):
        answer = komlm(verb, text, "--tokenizer", tokenizer_folder)
        assert answer.code == 0
        assert not {"\x1b", "\x07", "\u202e"} & set(answer.out)
    assert "\\x1b" in komlm("mask", text, "--tokenizer", tokenizer_folder, "--ratio", "0.01").out


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(st.characters(codec="utf-8"), max_size=20), max_size=4))
@pytest.mark.parametrize("verb", ["align", "mask"])
def test_any_text_is_answered_with_its_own_words(
    komlm: Run, tokenizer_folder: Path, verb: str, texts: list[str]
) -> None:
    stdin = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    answer = komlm(verb, "--tokenizer", tokenizer_folder, "--input", "jsonl", "--json", stdin=stdin)
    assert (answer.code, answer.err) == (0, "")
    # One object a line, whatever line ends the texts hold.
    said = [json.loads(line) for line in answer.out.split("\n")[:-1]]
    assert [one["text"] for one in said] == texts
    table = komlm(verb, "--tokenizer", tokenizer_folder, "--input", "jsonl", stdin=stdin)
    assert all(c.isprintable() or c == "\n" for c in table.out)
