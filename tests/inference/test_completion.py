from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import BertForMaskedLM, RobertaConfig, RobertaForMaskedLM

from komlm.inference import completion
from komlm.inference.fill_mask import Blank, FillMask
from komlm.text.analysis import Analyzer
from komlm.text.tokenizer import Tokenizer
from tests.inference.conftest import bert

MASK = 4


@torch.inference_mode()
def reference(
    model: BertForMaskedLM,
    tokenizer: Tokenizer,
    left: list[int],
    right: list[int],
    begins_word: bool,
    most: int,
) -> dict[str, float]:
    """Text -> its best joint probability, by going through all completions one by one."""
    marked = [piece.startswith("▁") for piece in tokenizer.pieces]
    found: dict[str, float] = {}

    def go_on(ids: list[int], score: float, pieces: int) -> None:
        if len(ids) == pieces:
            text = "".join(tokenizer.pieces[i] for i in ids).replace("▁", "")
            if text:
                found[text] = max(score, found.get(text, 0.0))
            return
        row = torch.tensor([[2, *left, *ids, *[MASK] * (pieces - len(ids)), *right, 3]])
        chances = model(input_ids=row).logits[0, 1 + len(left) + len(ids)].softmax(-1).tolist()
        for number in range(5, tokenizer.vocabulary_size):
            if marked[number] == (begins_word and not ids):
                go_on([*ids, number], score * chances[number], pieces)

    for pieces in range(1, most + 1):
        go_on([], 1.0, pieces)
    return found


@pytest.mark.parametrize("text", ["나는 [MASK]에 갔다.", "나는 학교[MASK] 갔다"])
def test_it_finds_what_going_through_all_completions_finds(
    fill_mask: FillMask, model: BertForMaskedLM, small: Tokenizer, text: str
) -> None:
    before, after = text.split("[MASK]")
    left = [small.pieces.index(piece) for piece in ("▁나", "는")]
    left += [small.pieces.index("▁학교")] if before.endswith("교") else []
    right = [small.pieces.index(piece) for piece in ("에", "▁갔", "다", ".") if piece[-1] in after]
    wanted = reference(model, small, left, right, before.endswith(" "), 2)
    (blank,) = fill_mask.fill(text, top_k=1_000, max_pieces=2)
    assert text[blank.start : blank.end] == "[MASK]"
    assert {c.text: c.score for c in blank.candidates} == pytest.approx(wanted, rel=1e-4)
    scores = [candidate.score for candidate in blank.candidates]
    assert scores == sorted(scores, reverse=True)
    top = fill_mask.fill(text, top_k=3, max_pieces=2)[0].candidates
    assert [c.text for c in top] == [c.text for c in blank.candidates[:3]]


def texts_of(blank: Blank) -> list[str]:
    return [candidate.text for candidate in blank.candidates]


def test_model_and_tokenizer_of_unlike_sizes(small: Tokenizer, analyzer: Analyzer) -> None:
    with pytest.raises(ValueError, match="the model has 20 entries .* has 30"):
        FillMask(bert(20), small, analyzer)


def test_padding_of_the_vocabulary_is_never_said(
    small: Tokenizer, model: BertForMaskedLM, fill_mask: FillMask, analyzer: Analyzer
) -> None:
    padded = bert(small.vocabulary_size)
    padded.resize_token_embeddings(64, mean_resizing=False)
    with torch.no_grad():
        padded.cls.predictions.bias[small.vocabulary_size :] = 50.0
    for text in ("[MASK]에 갔다", "나[MASK]"):
        got = FillMask(padded, small, analyzer).fill(text)
        wanted = fill_mask.fill(text)
        assert list(map(texts_of, got)) == list(map(texts_of, wanted))
        assert np.allclose(
            [c.score for c in got[0].candidates], [c.score for c in wanted[0].candidates]
        )


def test_the_head_at_one_place_says_what_it_says_at_all_places(
    fill_mask: FillMask, small: Tokenizer, analyzer: Analyzer, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(5)
    roberta = RobertaForMaskedLM(
        RobertaConfig(
            vocab_size=small.vocabulary_size,
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=12,
            pad_token_id=1,
        )
    )
    other = FillMask(roberta, small, analyzer)
    text = "나는 [MASK]에 갔다."
    at_one_place = [fill_mask.fill(text), other.fill(text)]
    with pytest.raises(ValueError, match="the model reads 10 at most"):
        other.fill(text + "에에")
    monkeypatch.setattr(completion, "_HEADS", {})
    at_all_places = [fill_mask.fill(text), other.fill(text)]
    for one, every in zip(at_one_place, at_all_places, strict=True):
        assert texts_of(one[0]) == texts_of(every[0])
        assert [c.score for c in one[0].candidates] == pytest.approx(
            [c.score for c in every[0].candidates],
            rel=1e-5,  # processors add the same numbers in other orders
        )
