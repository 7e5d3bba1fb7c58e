"""Where a model looks, epoch by epoch, as it learns."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lightning
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback

from lookback.data import Tokenizer
from lookback.data.words import count_words
from lookback.evaluation import BOUNDS, atomic_write, merge_to_words
from lookback.search import force
from lookback.training.module import TranslationModule, data_of


class AlignmentSnapshots(Callback):
    """Where the model looks when it is made to write the reference, for a fixed sample of the test set, epoch by epoch.

    The sample is stratified: the first ``per_bucket`` sentences of each length bucket, in the test set's order. What
    tokens look at is merged to words of the raw text, whatever the tokenizers. Written to ``path``
    (test/alignments.npz) after each validation:

        ids, source, target     (sentences,) row in the test set; the words of its raw text, with a space between them
        epochs                  (epochs,) epochs of training behind each snapshot
        offsets, rows, columns  (sentences,) sentence i is weights[e, offsets[i]:][: rows[i] · columns[i]], row-major
        weights                 (epochs, cells) float16: a row a target word, a column a source word, end marks last
    """

    def __init__(self, path: Path | str, per_bucket: int = 3) -> None:
        if per_bucket < 1:
            raise ValueError(f"per_bucket={per_bucket}: expected 1 or more")
        self.path = Path(path)
        self.per_bucket = per_bucket
        self.epochs: list[int] = []
        self.weights: list[torch.Tensor] = []

    def on_validation_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        if trainer.sanity_checking:
            return
        assert isinstance(module, TranslationModule)
        data = data_of(trainer)
        texts = data.texts("test")
        ids = stratified_sample(count_words(texts["source"]).tolist(), self.per_bucket)
        batch = data.test_dataloader().dataset[np.array(ids)].to(module.device)
        found = force(module.model, batch.source, batch.source_length, batch.target)
        sources = [_Words(module.source_tokenizer, texts[i]["source"]) for i in ids]
        targets = [_Words(module.target_tokenizer, texts[i]["target"]) for i in ids]
        merged = [
            merge_to_words(best.alignment.double().numpy(), target.of, source.of, target.count, source.count)
            for best, target, source in zip(found, targets, sources, strict=True)
        ]
        self.epochs.append(trainer.current_epoch + 1)
        self.weights.append(torch.from_numpy(np.concatenate([weights.ravel() for weights in merged])).to(torch.float16))
        shapes = np.array([weights.shape for weights in merged])
        cells = shapes.prod(axis=1)
        with atomic_write(self.path) as file:
            np.savez_compressed(
                file,
                ids=np.array(ids),
                source=np.array([source.text for source in sources]),
                target=np.array([target.text for target in targets]),
                epochs=np.array(self.epochs),
                offsets=np.cumsum(cells) - cells,
                rows=shapes[:, 0],
                columns=shapes[:, 1],
                weights=torch.stack(self.weights).numpy(),
            )

    def state_dict(self) -> dict[str, Any]:
        return {"epochs": self.epochs, "weights": self.weights}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.epochs = state_dict["epochs"]
        self.weights = state_dict["weights"]


class _Words:
    """One side of a pair, its end mark the last of its words: their text, their count, the word of each token."""

    def __init__(self, tokenizer: Tokenizer, text: str) -> None:
        words = tokenizer.alignment_words(text)
        self.text = " ".join(words)
        self.count = len(words) + 1
        self.of = [*tokenizer.pieces(text)[1], len(words)]


def stratified_sample(lengths: Sequence[int], per_bucket: int) -> list[int]:
    """Rows of the first ``per_bucket`` sentences in each length bucket, shortest bucket first."""
    buckets = np.searchsorted(np.array(BOUNDS), np.array(lengths), side="left")
    return [int(row) for bucket in np.unique(buckets) for row in np.flatnonzero(buckets == bucket)[:per_bucket]]
