from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from komlm import terminal
from komlm.inference.fill_mask import Blank, Candidate
from komlm.terminal import alignment_table, blanks_table, masked_text, shown
from komlm.text.aligner import Aligner
from komlm.text.analysis import Analyzer, Morpheme
from komlm.text.tokenizer import Tokenizer

TEXT = st.text(max_size=30)


@given(text=TEXT)
def test_what_is_shown_can_be_printed(text: str) -> None:
    assert shown(text).isprintable()
    if text.isprintable():
        assert shown(text) == text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("\x1b[31m가", "\\x1b[31m가"),
        ("\x9b31m", "\\x9b31m"),
        ("가\r\n", "가\\r\\n"),
        ("\u202e", "\\u202e"),
        ("\udcff", "\\udcff"),
        ("[bold]가[/bold]", "[bold]가[/bold]"),
    ],
)
def test_what_moves_the_cursor_is_escaped(text: str, escaped: str) -> None:
    assert shown(text) == escaped


def test_a_straddle_is_marked(analyzer: Analyzer, tokenizer: Tokenizer) -> None:
    alignment = Aligner(tokenizer, analyzer)("나는 어제 학교에 갔다.")
    table = alignment_table(alignment)
    assert "straddle" not in table
    assert table.count("\n") == len(alignment.units("morpheme"))


def test_units_that_are_hidden_become_masks(analyzer: Analyzer, tokenizer: Tokenizer) -> None:
    alignment = Aligner(tokenizer, analyzer)(" 나는  어제 학교에 갔다. ")
    units = alignment.units("morpheme")
    hidden = {number for unit in units if unit.class_name == "noun" for number in unit.numbers}
    assert masked_text(alignment, hidden, units) == " [MASK]는  어제 [MASK]에 갔다. "
    assert masked_text(alignment, set(), units) == alignment.text


def test_a_vocabulary_cannot_move_the_cursor() -> None:
    morphemes = (Morpheme("\x1b[2J", "SW", 0, 1),)
    blank = Blank(0, 6, (Candidate("\x1b[31m빨강", 0.25, (7,), morphemes),))
    table = blanks_table("[MASK]\x07", [blank])
    assert table == "____\\x07\n 25.00 %  \\x1b[31m빨강  \\x1b[2J/SW"
    assert blanks_table("[MASK]", [Blank(0, 6, ())]) == "____\n(no completion)"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("a\n  b\x1b"), "komlm: a b\\x1b\n"),
        (FileNotFoundError(2, "No such file", "a.txt"), "komlm: a.txt: No such file\n"),
        (FileNotFoundError("no model"), "komlm: no model\n"),
        ("a warning", "komlm: a warning\n"),
    ],
)  # fmt: skip
def test_an_error_is_one_line(capsys: pytest.CaptureFixture[str], error: object, line: str) -> None:
    terminal.complain(error)
    assert capsys.readouterr() == ("", line)


def test_bars_and_messages_go_to_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    err = io.StringIO()
    monkeypatch.setattr("sys.stderr", err)
    with terminal.bar("analyze", 10, "characters") as advance:
        advance(4)
        advance(6)
    bar = terminal.TrainingBar()
    for step in range(5, 8):
        bar.on_step(step, 7, 6.25, 1234.5)
    bar.on_message("kept step-7\x1b[2J")
    bar.close()
    assert "analyze: 100%" in err.getvalue()
    assert "7/7" in err.getvalue()
    assert "loss 6.250, 1,234 tokens/s" in err.getvalue()
    assert "kept step-7\\x1b[2J" in err.getvalue()
