"""The side of transformers' Trainer in the measurement of a training step.

It has its own `DataCollatorForLanguageModeling` and gets the rows as a list of dicts of ids with
their ``special_tokens_mask``, which spares it work; on a GPU also a process that makes batches
ahead, as komlm has a thread for it. It saves, logs and evaluates nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from transformers import (
    AutoTokenizer,
    BertForMaskedLM,
    DataCollatorForLanguageModeling,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)
from transformers.trainer_callback import PrinterCallback

from komlm.bench.komlm_side import LENGTH, SIZE
from komlm.bench.mask import as_examples
from komlm.bench.timing import Watch
from komlm.models import bert_config

if TYPE_CHECKING:
    from komlm.bench.komlm_side import KomlmSide


class TrainerSide:
    """transformers' steps on the rows of komlm's side, with a model of the same configuration.

    Args:
        folder: where the Trainer may write.

    Raises:
        ImportError: accelerate is not installed.
    """

    def __init__(self, ours: KomlmSide, folder: str) -> None:
        state = ours.state
        training = state.config.training
        self._tokenizer = AutoTokenizer.from_pretrained(
            state.shards.tokenizer_folder, local_files_only=True, trust_remote_code=False
        )
        self._collator = DataCollatorForLanguageModeling(
            self._tokenizer, mlm_probability=state.config.masking.ratio
        )
        self.model = BertForMaskedLM(
            bert_config(
                SIZE,
                state.objective.vocabulary_size,
                LENGTH,
                state.shards.special_ids,
                state.config.model.dropout,
            )
        )
        self._examples = as_examples(ours.rows)
        self._steps, self._on_gpu = ours.steps, ours.on_gpu
        self._arguments = TrainingArguments(
            output_dir=folder,
            max_steps=ours.steps,
            per_device_train_batch_size=len(self._examples),
            learning_rate=training.learning_rate,
            warmup_steps=training.warmup_steps,
            weight_decay=training.weight_decay,
            adam_beta2=training.beta2,
            max_grad_norm=training.clip_norm,
            optim="adamw_torch_fused",
            bf16=state.precision == torch.bfloat16,
            use_cpu=not ours.on_gpu,
            dataloader_num_workers=1 if ours.on_gpu else 0,
            # All rows in each step, as on the other side.
            train_sampling_strategy="sequential",
            # Else the Trainer drops the special_tokens_mask, and the collator makes it again.
            remove_unused_columns=False,
            save_strategy="no",
            logging_strategy="no",
            report_to="none",
            disable_tqdm=True,
        )
        # Of several GPUs it would take all, with a batch for each; komlm's side takes one.
        self._arguments._n_gpu = min(self._arguments.n_gpu, 1)

    def turn(self) -> float:
        """Train some steps; seconds a step."""
        watch = Watch(self._steps, self._on_gpu)
        self.trainer(watch).train()
        return watch.seconds_a_step

    def trainer(self, watch: Watch) -> Trainer:
        """A Trainer for one turn, which tells ``watch`` of its steps."""
        trainer = Trainer(
            model=self.model,
            args=self._arguments,
            data_collator=self._collator,
            train_dataset=self._examples * self._steps,  # a list will do
            callbacks=[_Told(watch)],
        )
        trainer.remove_callback(PrinterCallback)  # it writes to stdout
        return trainer


class _Told(TrainerCallback):
    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self._watch.step_done()
