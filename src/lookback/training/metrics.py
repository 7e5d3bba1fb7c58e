"""BLEU as a torchmetrics metric: sums of sacrebleu's own counts, so that it adds up over batches and over ranks."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torchmetrics import Metric

from lookback.evaluation.bleu import COLUMNS, bleu, sentence_statistics


class CorpusBleu(Metric):
    """Corpus BLEU, 0 to 100, of all sentences since the last reset.

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
