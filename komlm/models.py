"""The model sizes by name, and a BERT of a size from transformers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import nn
from transformers import BertConfig, BertForMaskedLM, PreTrainedModel

from komlm.names import pick


@dataclass(frozen=True)
class Size:
    """The shape of an encoder.

    Attributes:
        width: of the hidden states; each attention head has ``width / heads`` of it.
        intermediate: width inside the feed-forward layers.
    """

    layers: int
    width: int
    heads: int
    intermediate: int


# Four times the width inside the feed-forward layers and 64 a head, as in BERT (Devlin et al.,
# 2019). `kobert-base` is BERT-base, `large` is BERT-large; `small` has ELECTRA-small's depth and
# width (Clark et al., 2020), `tiny` those of the BERT-mini of Turc et al. (2019).
SIZES = {
    "mini": Size(layers=2, width=128, heads=2, intermediate=512),
    "tiny": Size(layers=4, width=256, heads=4, intermediate=1024),
    "small": Size(layers=12, width=256, heads=4, intermediate=1024),
    "kobert-base": Size(layers=12, width=768, heads=12, intermediate=3072),
    "large": Size(layers=24, width=1024, heads=16, intermediate=4096),
}

LEAST_POSITIONS = 512
"""Positions that a model has at least: one trained on shorter rows can go on with longer ones."""


def bert_config(
    size: str,
    vocabulary_size: int,
    max_length: int,
    special_ids: Mapping[str, int],
    dropout: float = 0.1,
) -> BertConfig:
    """The transformers configuration of a size.

    Args:
        size: a name in ``SIZES``.
        vocabulary_size: entries of the tokenizer.
        max_length: the longest row; the model has this many positions, and 512 at least.
        special_ids: the ids of unk, pad, cls, sep and mask.
        dropout: of hidden states and of attention.

    Raises:
        ValueError: an unknown size; the message names the nearest known one.

    Example: ``bert_config("tiny", 8002, 128, {"pad": 1, ...}).num_hidden_layers`` -> ``4``.
    """
    shape = pick("model size", size, SIZES)
    return BertConfig(
        vocab_size=vocabulary_size,
        hidden_size=shape.width,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=shape.intermediate,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
        max_position_embeddings=max(LEAST_POSITIONS, max_length),
        pad_token_id=special_ids["pad"],
    )


def build_mlm(
    size: str,
    vocabulary_size: int,
    max_length: int,
    special_ids: Mapping[str, int],
    dropout: float = 0.1,
) -> BertForMaskedLM:
    """A masked language model with fresh weights; arguments as in :func:`bert_config`.

    The output layer is tied to the piece embeddings. The weights follow from torch's seed.

    Example::

        torch.manual_seed(0)
        model = build_mlm("mini", 2000, 64, {"pad": 1, ...})
        sum(weight.numel() for weight in model.parameters())     # 737_360
    """
    return BertForMaskedLM(bert_config(size, vocabulary_size, max_length, special_ids, dropout))


def check_sizes(model: PreTrainedModel, vocabulary_size: int) -> None:
    """Compare a model with the tokenizer it is to be used with.

    Raises:
        ValueError: the model has more or fewer piece embeddings than the tokenizer has entries.

    Example: ``check_sizes(model, 8002)`` is silent for a model built with 8,002 entries.
    """
    embeddings = model.get_input_embeddings()
    if not isinstance(embeddings, nn.Embedding):
        raise ValueError(f"{type(model).__name__} has no embedding of pieces")
    if embeddings.num_embeddings != vocabulary_size:
        raise ValueError(
            f"the model has {embeddings.num_embeddings} piece embeddings, the tokenizer "
            f"{vocabulary_size} entries: they do not belong together. "
            "Use the tokenizer that the model was trained with."
        )
