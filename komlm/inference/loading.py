"""Loading a masked language model: safetensors only, whole, and no code from its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from komlm.models import quiet_transformers


def load_model(folder: Path) -> Any:
    """The model of a Hugging Face folder, in float32 and ready to predict.

    Raises:
        ValueError: no safetensors, weights that are damaged or missing, or a model of another kind;
            the message names the folder and what to do.

    Example: ``load_model(Path("runs/mini/step-500"))`` -> a ``BertForMaskedLM``.
    """
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForMaskedLM

    if not any(folder.glob("*.safetensors")):
        pickled = sorted(path.name for path in folder.glob("*.bin"))
        why = f"only {pickled[0]}, a pickle, which can run code when it is read" if pickled else ""
        raise ValueError(
            f"{folder} holds no weights as safetensors{': ' if why else ''}{why}. Load them where "
            "you trust them and write them anew with model.save_pretrained(FOLDER)"
        )
    try:
        with quiet_transformers():
            model, told = AutoModelForMaskedLM.from_pretrained(
                folder,
                dtype=torch.float32,
                use_safetensors=True,
                local_files_only=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
    except (OSError, RuntimeError, ValueError, KeyError, SafetensorError) as error:
        # transformers lists every class it knows in some of these messages.
        reason = " ".join(str(error).split())
        reason = reason if len(reason) < 200 else reason[:200] + "..."
        raise ValueError(f"{folder}: no masked language model to load: {reason}") from error
    if missing := sorted(told["missing_keys"]):
        raise ValueError(
            f"{folder} lacks weights of a masked language model, such as {missing[0]}: it would "
            "answer by chance. Was it saved from a model of another kind?"
        )
    return model.eval()


def positions_of(model: Any) -> int:
    """How many pieces the model reads at most, [CLS] and [SEP] counted.

    Example: 512 for BERT; 512 for a RoBERTa of 514, whose positions begin after its padding id.
    """
    positions = int(getattr(model.config, "max_position_embeddings", 0) or 0) or 1_000_000
    for name, module in model.named_modules():
        padding = getattr(module, "padding_idx", None)
        if name.endswith("position_embeddings") and padding is not None:
            return positions - int(padding) - 1
    return positions
