"""The model sizes by name, and a BERT of a size from transformers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn
from transformers import BertConfig, BertForMaskedLM, PreTrainedModel
from transformers.utils import logging

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
    model = BertForMaskedLM(bert_config(size, vocabulary_size, max_length, special_ids, dropout))
    begin_with_waves(model.bert.embeddings.position_embeddings.weight)
    return model


@torch.no_grad()
def begin_with_waves(positions_PH: torch.Tensor) -> None:
    """Let learnt position embeddings begin as sines and cosines instead of noise.

    From noise, a head has to learn "the piece before" anew for each position; from waves (Vaswani
    et al., 2017) one rotation says it for all. They are learnt on from there as any weight. On the
    embedded corpus the held-out loss after 1,000 steps is 6.12 instead of 6.26 (BENCHMARKS.md).

    *Shape:* ``(positions, width)``, written in place. The shortest wave is 2 pi positions long, the
    longest a hundred times that: a row of 512 and some more.
    """
    positions, width = positions_PH.shape
    rates_W = _LONGEST_TO_SHORTEST ** -(torch.arange(0, width, 2) / width)
    angles_PW = torch.arange(positions)[:, None] * rates_W
    positions_PH[:, 0::2] = _WAVE_HEIGHT * angles_PW.sin()
    positions_PH[:, 1::2] = _WAVE_HEIGHT * angles_PW.cos()


_LONGEST_TO_SHORTEST = 100.0
_WAVE_HEIGHT = 0.05  # a piece embedding begins with a standard deviation of 0.02


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


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """No warnings and progress bars of transformers' own while a block runs."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
