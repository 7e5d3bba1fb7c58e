"""Test scores at several moments of one training, which show what a smaller budget would have reached."""

from pathlib import Path
from typing import Any

import lightning
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback
from numpy.typing import NDArray

from lookback.common.checks import FilePath, Size, checked
from lookback.data import Batch
from lookback.data.corpora.columns import word_counts
from lookback.evaluation import sentence_statistics
from lookback.runs.budgets import Budgets, write_budgets
from lookback.tracking.tolerance import tolerated
from lookback.training.callbacks.alignment_snapshots import stratified_sample
from lookback.training.callbacks.cost import Cost
from lookback.training.callbacks.progress import in_terminal
from lookback.training.module import TranslationModule, data_of

SHARES = (0.125, 0.25, 0.5, 1.0)
"""The shares of a training's updates after which it is scored."""
_BATCH = 64
"""Sentences that are translated together. It changes no number."""


@checked
class BudgetScores(Callback):
    """Translates a sample of the test set after an eighth, a quarter, half and all of a training's updates.

    The sample has the first ``per_bucket`` sentences of each length bucket. All moments are measured in the same way:
    greedy search, with the weights of that moment, in float32. So the last moment differs from the test, which uses
    another search and the best checkpoint. The statistics that BLEU needs of each sentence are written to ``path`` (see
    ``lookback.runs.budgets``).

    A moment is not the same as a shorter training. If the schedule lowers the learning rate, the rate was still high at
    that moment. A training that ended there, with its own schedule, may score much higher. A training that ends earlier
    than planned has its last moment at its end, with a smaller share. Scoring does not change the training, and the
    time that it takes is not part of ``Cost``.

    Args:
        path: the file.
        per_bucket: how many test sentences of each length bucket.

    Raises:
        ValueError: if ``per_bucket`` is less than 1.
    """

    def __init__(self, path: FilePath, per_bucket: Size) -> None:
        self.path = Path(path)
        self.per_bucket = per_bucket
        self.updates: list[int] = []
        self.target_tokens: list[int] = []
        self.statistics: list[torch.Tensor] = []
        self._ids: list[int] | None = None
        """The ids of the sentences that were scored so far."""
        self._due_updates: dict[int, float] = {}
        self._planned = 0
        self._rows: list[dict[str, Any]] = []
        self._batches: list[Batch] = []

    def on_train_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self._planned = int(trainer.estimated_stepping_batches)
        self._due_updates = scored_updates(self._planned)
        # a resumed training may be planned longer: keep the moments that the new plan has too
        kept = [place for place, at in enumerate(self.updates) if at in self._due_updates]
        self.updates = [self.updates[place] for place in kept]
        self.target_tokens = [self.target_tokens[place] for place in kept]
        self.statistics = [self.statistics[place] for place in kept]
        data = data_of(trainer)
        texts = data.texts("test")
        lengths = word_counts(texts, "source")
        ids = stratified_sample(lengths.tolist(), self.per_bucket)
        if self._ids not in (None, ids):
            print("note: callbacks.budgets.per_bucket has changed: scores of earlier moments are dropped", flush=True)
            self.updates, self.target_tokens, self.statistics = [], [], []
        self._ids = ids
        self._rows = [{**texts[i], "id": i, "words": int(lengths[i])} for i in ids]
        dataset = data.test_dataloader().dataset
        self._batches = [dataset[np.array(ids[start : start + _BATCH])] for start in range(0, len(ids), _BATCH)]

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        if trainer.global_step in self._due_updates:
            self._score(trainer, module)

    def on_train_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self._score(trainer, module)  # a training may end earlier than planned

    def state_dict(self) -> dict[str, Any]:
        return {
            "ids": self._ids,
            "updates": self.updates,
            "target_tokens": self.target_tokens,
            "statistics": self.statistics,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._ids = state_dict.get("ids")  # checkpoints of earlier versions do not have it
        self.updates = state_dict["updates"]
        self.target_tokens = state_dict["target_tokens"]
        self.statistics = state_dict["statistics"]

    def _score(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        if not self._rows or trainer.global_step in (0, *self.updates):
            return
        assert isinstance(module, TranslationModule)
        cost = next(callback for callback in trainer.callbacks if isinstance(callback, Cost))  # type: ignore[attr-defined]
        with cost.paused():
            if not in_terminal():
                print(f"scoring {len(self._rows):,} test sentences at update {trainer.global_step:,}", flush=True)
            hypotheses = self._translated(module)
            references = [row["target"] for row in self._rows]
            statistics = sentence_statistics(hypotheses, references, data_of(trainer).corpus.bleu_tokenize)
            self.updates.append(trainer.global_step)
            self.target_tokens.append(cost.target_tokens)
            self.statistics.append(torch.from_numpy(statistics))
            if trainer.is_global_zero:  # all ranks score alike, and one writes
                self._write()

    def _translated(self, module: TranslationModule) -> list[str]:
        trains = module.training
        module.eval()
        hypotheses: list[str] = []
        with torch.autocast(module.device.type, enabled=False):  # mixed precision is for training only
            laid_out = module.model.laid_out()
            for batch in self._batches:
                rows = self._rows[len(hypotheses) : len(hypotheses) + len(batch)]
                moved = batch.to(module.device)
                found = module.validation_search(laid_out, moved.source, moved.source_length)
                hypotheses += [
                    module.writer.text(row["source"], best) for row, (best, *_) in zip(rows, found, strict=True)
                ]
        module.train(trains)
        return hypotheses

    def _write(self) -> None:
        budgets = Budgets(
            ids=self._column("id"),
            source_length=self._column("words"),
            updates=tuple(self.updates),
            shares=tuple(self._due_updates.get(at, at / self._planned) for at in self.updates),
            target_tokens=tuple(self.target_tokens),
            statistics=torch.stack(self.statistics).numpy(),
        )
        with tolerated(str(self.path), "the report has the scores of the moments before"):
            write_budgets(self.path, budgets)

    def _column(self, name: str) -> NDArray[np.int64]:
        return np.array([row[name] for row in self._rows], dtype=np.int64)


def scored_updates(updates: int) -> dict[int, float]:
    """The updates after which a training is scored, each with its share of all ``updates`` (see ``SHARES``).

    A moment is at the nearest whole update. If a short training has two moments at one update, the larger share counts.
    """
    return {max(1, int(updates * share + 0.5)): share for share in SHARES}
