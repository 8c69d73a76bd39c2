from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import BertForMaskedLM

from komlm.models import SIZES, bert_config, build_mlm, check_sizes

SPECIAL_IDS = {"unk": 0, "pad": 1, "cls": 2, "sep": 3, "mask": 4}


def parameters(
    layers: int, width: int, intermediate: int, vocabulary_size: int, positions: int
) -> int:
    """How many weights a BERT for masked language modelling has, by hand."""
    norm = 2 * width
    embeddings = (vocabulary_size + positions + 2) * width + norm
    attention = 4 * (width * width + width) + norm
    feed_forward = (width + 1) * intermediate + (intermediate + 1) * width + norm
    head = width * width + width + norm + vocabulary_size  # the output layer adds but its bias
    return embeddings + layers * (attention + feed_forward) + head


@pytest.mark.parametrize("size", SIZES)
def test_parameter_counts_equal_arithmetic(size: str) -> None:
    with torch.device("meta"):
        model = build_mlm(size, 8002, 128, SPECIAL_IDS)
    shape = SIZES[size]
    wanted = parameters(shape.layers, shape.width, shape.intermediate, 8002, 512)
    assert sum(weight.numel() for weight in model.parameters()) == wanted
    assert shape.intermediate == 4 * shape.width
    assert shape.width == 64 * shape.heads


def test_parameter_count_of_bert_base() -> None:
    # The published one has 110 million with a vocabulary of 30,522, its pooler counted.
    pooler = 768 * 768 + 768
    assert parameters(12, 768, 3072, 30_522, 512) + pooler == 110_104_890


def test_the_worked_example() -> None:
    model = build_mlm("mini", 2000, 64, SPECIAL_IDS)
    assert sum(weight.numel() for weight in model.parameters()) == 737_360


def test_the_shapes_asked_for() -> None:
    shapes = {name: (size.layers, size.width) for name, size in SIZES.items()}
    assert shapes == {
        "mini": (2, 128),
        "tiny": (4, 256),
        "small": (12, 256),
        "kobert-base": (12, 768),
        "large": (24, 1024),
    }


def test_weights_are_tied_and_stay_so(tmp_path: Path) -> None:
    model = build_mlm("mini", 100, 64, SPECIAL_IDS)
    model.save_pretrained(tmp_path)
    for each in (model, BertForMaskedLM.from_pretrained(tmp_path)):
        output = each.get_output_embeddings()
        assert output.weight is each.get_input_embeddings().weight
    assert model.get_input_embeddings().padding_idx == SPECIAL_IDS["pad"]


def test_configuration() -> None:
    config = bert_config("tiny", 2000, 64, SPECIAL_IDS, dropout=0.25)
    assert config.hidden_dropout_prob == config.attention_probs_dropout_prob == 0.25
    assert config.max_position_embeddings == 512
    assert config.pad_token_id == 1
    assert bert_config("tiny", 2000, 1024, SPECIAL_IDS).max_position_embeddings == 1024


def test_equal_seeds_give_equal_weights() -> None:
    models = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        models.append(build_mlm("mini", 100, 64, SPECIAL_IDS).state_dict())
    assert all(torch.equal(models[0][name], models[1][name]) for name in models[0])
    assert not all(torch.equal(models[0][name], models[2][name]) for name in models[0])


def test_padding_changes_nothing() -> None:
    model = build_mlm("mini", 100, 64, SPECIAL_IDS).eval()
    ids = torch.tensor([[2, 9, 8, 7, 3, 1, 1]])
    with torch.no_grad():
        padded = model(input_ids=ids, attention_mask=ids != 1).logits[:, :5]
        plain = model(input_ids=ids[:, :5]).logits
    torch.testing.assert_close(padded, plain)


def test_unknown_size_names_the_nearest() -> None:
    with pytest.raises(ValueError, match="unknown model size 'kobert'; did you mean 'kobert-base'"):
        bert_config("kobert", 8002, 512, SPECIAL_IDS)


def test_check_sizes_names_both() -> None:
    model = build_mlm("mini", 100, 64, SPECIAL_IDS)
    check_sizes(model, 100)
    with pytest.raises(ValueError, match="100 piece embeddings, the tokenizer 8002 entries"):
        check_sizes(model, 8002)
