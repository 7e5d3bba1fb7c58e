"""Metrics of training for torchmetrics. They keep sums, which add up over batches and over processes."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torchmetrics import Metric

from lookback.evaluation import bleu, sentence_statistics
from lookback.evaluation.scores.bleu import COLUMNS


class CorpusBleu(Metric):
    """Corpus BLEU, 0 to 100, of all sentences since the last reset.

    Args:
        tokenize: sacrebleu's tokenizer.
    """

    full_state_update = False
    statistics: Tensor

    def __init__(self, tokenize: str) -> None:
        super().__init__()
        self.tokenize = tokenize
        self.add_state("statistics", torch.zeros(COLUMNS, dtype=torch.long), dist_reduce_fx="sum")

    def update(self, hypotheses: Sequence[str], references: Sequence[str]) -> None:
        counts = sentence_statistics(hypotheses, references, self.tokenize).sum(0)
        self.statistics += torch.from_numpy(np.asarray(counts, np.int64)).to(self.statistics.device)

    def compute(self) -> Tensor:
        return torch.tensor(float(bleu(self.statistics.cpu().numpy())))


class TokenMean(Metric):
    """The mean loss of a token, in nats, of all batches since the last reset: Σ nats / Σ tokens.

    The sentences of a batch have about the same length, so a mean over batches would give the words of short sentences
    more weight. The mean is NaN if a loss is NaN, and if there was no token.
    """

    full_state_update = False
    nats: Tensor
    tokens: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("nats", torch.zeros(()), dist_reduce_fx="sum")
        self.add_state("tokens", torch.zeros((), dtype=torch.long), dist_reduce_fx="sum")

    def update(self, nats: Tensor | float, tokens: int) -> None:
        self.nats += nats
        self.tokens += tokens

    def compute(self) -> Tensor:
        return self.nats / self.tokens

    def sums(self) -> tuple[float, int]:
        """The arguments of ``update`` that restore this mean, which is over all ranks, from an empty one."""
        with self.sync_context():
            return float(self.nats), int(self.tokens)
