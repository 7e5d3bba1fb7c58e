"""The attention of a model during its training: pictures for the report, and numbers for the logs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import lightning
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback
from numpy.typing import NDArray

from lookback.common.checks import Size, checked
from lookback.data import Batch
from lookback.data.batches.loading import BatchLoader
from lookback.data.corpora.columns import word_counts
from lookback.data.corpora.gold_alignment import Gold
from lookback.data.units import count_words
from lookback.evaluation import BOUNDS
from lookback.evaluation.alignment.attention_quality import AttentionQuality, gold_of
from lookback.runs.alignments import AlignedSentence, Alignments, write_alignments
from lookback.tracking.tolerance import tolerated
from lookback.training.callbacks.cost import Cost
from lookback.training.module import TranslationModule, data_of

_BATCH = 64
"""Sentences that are decoded together. It changes no number."""


@checked
class AlignmentSnapshots(Callback):
    """Measures and saves the attention at several moments of a training, most of them early, when alignment forms.

    At each moment the model is forced to write the references of two samples:

    - the first pairs of the validation set, those that are translated for BLEU: the loggers get the means of the
      diagnostics and, if the pairs have gold links, the alignment error rate, as ``attention/…``;
    - the first ``per_bucket`` sentences of each length bucket of the test set: the weights themselves, merged to words
      of the raw text, are written to ``path`` (see ``lookback.runs.alignments``); those of each layer and head too,
      where there are several, as they are at the last moment.

    The time that this takes is not part of ``cost``. A model that does not look back has no moments.

    Args:
        path: the file.
        cost: the callback whose clock stops meanwhile.
        moments: how many moments at most.
        per_bucket: how many test sentences of each length bucket.
    """

    def __init__(self, path: Path | str, cost: Cost, moments: Size = 16, per_bucket: Size = 3) -> None:
        self.path = Path(path)
        self.cost = cost
        self.moments = moments
        self.per_bucket = per_bucket
        self.epochs: list[float] = []
        self.updates: list[int] = []
        self.weights: list[torch.Tensor] = []
        self._due_updates: list[int] = []
        self._validation_samples: list[_Sample] = []
        self._test_samples: list[_Sample] = []

    def on_train_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        assert isinstance(module, TranslationModule)
        if not module.model.looks_back:
            return
        self._due_updates = snapshot_updates(int(trainer.estimated_stepping_batches), self.moments)
        data = data_of(trainer)
        pairs = min(module.validation_sentences, len(data.texts("validation")))
        self._validation_samples = _samples(data.val_dataloader(), data.texts("validation"), list(range(pairs)))
        ids = stratified_sample(word_counts(data.texts("test"), "source").tolist(), self.per_bucket)
        self._test_samples = _samples(data.test_dataloader(), data.texts("test"), ids)

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        if trainer.global_step in self._due_updates:
            progress = trainer.current_epoch + (batch_idx + 1) / trainer.num_training_batches
            self._take_snapshot(trainer, module, progress)

    def on_train_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        if self._due_updates:  # a training may end earlier than planned
            self._take_snapshot(trainer, module, float(trainer.current_epoch))

    def state_dict(self) -> dict[str, Any]:
        return {"epochs": self.epochs, "updates": self.updates, "weights": self.weights}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.epochs = state_dict["epochs"]
        self.updates = state_dict["updates"]
        self.weights = state_dict["weights"]

    def _take_snapshot(self, trainer: lightning.Trainer, module: lightning.LightningModule, epochs: float) -> None:
        if trainer.global_step in self.updates:
            return
        assert isinstance(module, TranslationModule)
        with self.cost.paused():
            trains = module.training
            module.eval()
            quality = AttentionQuality()
            for sample in self._validation_samples:
                for row, weights in zip(sample.rows, sample.attention(module), strict=True):
                    quality.add(row["id"], row["words"], weights, gold_of(row, weights.shape))
            test_weights = [weights for sample in self._test_samples for weights in sample.attention(module)]
            looks = self._looks(module)
            module.train(trains)
            self.epochs.append(epochs)
            self.updates.append(trainer.global_step)
            self.weights.append(torch.from_numpy(np.concatenate([w.ravel() for w in test_weights])).to(torch.float16))
            # all ranks measure alike, and one writes
            with tolerated(str(self.path), "the report has the alignments of the moments before"):
                if trainer.is_global_zero:
                    self._write([weights.shape for weights in test_weights], module, looks)
        for logger in trainer.loggers:
            # Lightning counts steps from 0: the first update is step 0
            logger.log_metrics(quality.metrics(), step=trainer.global_step - 1)

    def _looks(self, module: TranslationModule) -> list[NDArray[np.float16] | None]:
        """Of each test sentence the weights of every layer and head; empty where one alone looks."""
        if not module.model.look_names:
            return []
        of_samples = [
            module.word_weights.by_look(sample.batch.to(module.device), sample.rows) for sample in self._test_samples
        ]
        return [
            np.stack(of_looks).astype(np.float16)
            for by_look in of_samples
            for of_looks in zip(*by_look.values(), strict=True)
        ]

    def _write(
        self, shapes: Sequence[tuple[int, ...]], module: TranslationModule, looks: Sequence[NDArray[np.float16] | None]
    ) -> None:
        rows = [row for sample in self._test_samples for row in sample.rows]
        ends = np.cumsum([height * width for height, width in shapes])[:-1]
        of_sentences = np.split(torch.stack(self.weights).numpy(), ends, axis=1)
        of_rows = looks or [None] * len(rows)  # one alone looks
        sentences = [
            AlignedSentence(
                id=row["id"],
                source=tuple(module.source_tokenizer.alignment_words(row["source"])),
                target=tuple(module.target_tokenizer.alignment_words(row["target"])),
                weights=weights.reshape(-1, *shape),
                sure=tuple(gold.sure),
                possible=tuple(gold.possible),
                looks=of_looks,
            )
            for row, weights, shape, of_looks in zip(rows, of_sentences, shapes, of_rows, strict=True)
            for gold in (gold_of(row, shape) or Gold([], []),)
        ]
        has_gold = "alignment" in rows[0]
        moments, names = (tuple(self.epochs), tuple(self.updates)), module.model.look_names
        write_alignments(self.path, Alignments(*moments, has_gold, tuple(sentences), names))


class _Sample(NamedTuple):
    """A batch of sentences whose attention is measured at every moment.

    Attributes:
        batch: the encoded pairs.
        rows: the rows of the corpus, each with ``id``, its place in the split, and ``words``, the number of words of
            its source.
    """

    batch: Batch
    rows: list[dict[str, Any]]

    def attention(self, module: TranslationModule) -> list[NDArray[np.float64]]:
        return module.word_weights(self.batch.to(module.device), self.rows)


def _samples(loader: BatchLoader, texts: Any, ids: Sequence[int]) -> list[_Sample]:
    samples = []
    for start in range(0, len(ids), _BATCH):
        chosen = list(ids[start : start + _BATCH])
        rows = [texts[i] for i in chosen]
        lengths = count_words([row["source"] for row in rows]).tolist()
        rows = [{**row, "id": i, "words": length} for row, i, length in zip(rows, chosen, lengths, strict=True)]
        samples.append(_Sample(loader.dataset[np.array(chosen)], rows))
    return samples


def snapshot_updates(updates: int, moments: int) -> list[int]:
    """The updates after which snapshots are taken, at most ``moments``: the k-th at (k / moments)² of ``updates``."""
    return sorted({max(1, round(updates * (k / moments) ** 2)) for k in range(1, moments + 1)})


def stratified_sample(lengths: Sequence[int], per_bucket: int) -> list[int]:
    """The row numbers of the first ``per_bucket`` sentences of each length bucket, shortest bucket first."""
    buckets = np.searchsorted(np.array(BOUNDS), np.array(lengths), side="left")
    return [int(row) for bucket in np.unique(buckets) for row in np.flatnonzero(buckets == bucket)[:per_bucket]]
