"""The model card of a checkpoint: README.md, as the Hugging Face hub shows it."""

from __future__ import annotations

from string import Template
from typing import Any

from komlm.config import Config

_CARD = Template("""\
---
language: ko
library_name: transformers
pipeline_tag: fill-mask
tags:
- masked-lm
- korean
- komlm
---

# Korean masked language model, $size, step $step of $steps

Trained with komlm. In training, pieces of text were hidden by whole $unit units, each with a
probability of $ratio$weights, and the model learnt to say what stood there
(objective `$objective`).

| | |
|---|---|
| model | $architecture, $layers layers, $width wide, $parameters parameters |
| vocabulary | $vocabulary pieces |
| longest row in training | $max_length pieces |
| rows in a step | $batch_rows |
$corpus
## Use

Plain transformers are enough; FOLDER is the folder of this file.

```python
from transformers import pipeline

fill = pipeline("fill-mask", model="FOLDER")
fill("나는 어제 [MASK]에 갔다.")
```

`AutoModelForMaskedLM.from_pretrained("FOLDER")` and `AutoTokenizer.from_pretrained("FOLDER")`
load its parts. Text that may hold a literal `[MASK]` which is not meant as the mask is encoded with
`split_special_tokens=True`.
""")


def model_card(step: int, model: Any, config: Config, manifest: dict[str, Any]) -> str:
    """The card of a model at a step; equal runs have equal cards.

    Args:
        step: updates done.
        model: a transformers model.
        config: the run.
        manifest: that of the shards; its counts are told where it has them.
    """
    weights = ", ".join(f"{name} x {value:g}" for name, value in config.masking.weights.items())
    return _CARD.substitute(
        step=step,
        steps=config.training.steps,
        size=config.model.size,
        unit=config.masking.unit,
        ratio=f"{config.masking.ratio:g}",
        weights=f" ({weights})" if weights else "",
        objective=config.objective,
        architecture=type(model).__name__,
        layers=model.config.num_hidden_layers,
        width=model.config.hidden_size,
        parameters=f"{model.num_parameters():,}",
        vocabulary=f"{model.config.vocab_size:,}",
        max_length=config.rows.max_length,
        batch_rows=config.training.batch_rows,
        corpus=_corpus(manifest.get("counts", {})),
    )


def _corpus(counts: dict[str, Any]) -> str:
    lines = [
        f"| {name} in the corpus | {counts[name]:,} |\n"
        for name in ("documents", "eojeols", "pieces")
        if isinstance(counts.get(name), int)
    ]
    pieces, straddles = counts.get("pieces"), counts.get("straddles")
    if isinstance(pieces, int) and isinstance(straddles, int) and pieces:
        lines.append(f"| pieces over a morpheme boundary | {straddles / pieces:.2%} |\n")
    return "".join(lines)
