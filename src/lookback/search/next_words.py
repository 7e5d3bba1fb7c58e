"""Chooses the next word of each hypothesis from logits, without computing the log-probability of every word.

    log p(w) = (logit_w − m) − log Σ_v exp(logit_v − m),    m the largest logit

The logarithm of the sum is one number for each hypothesis. Beside it, only the logits of the words that may be chosen
are needed. They are found in one pass: the vocabulary is divided into ``GROUPS`` groups, and the n best words are in
the n groups with the best first words. ``topk`` over the whole vocabulary takes ten times as long.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from lookback.nn.kernels.columns import GROUPS, TAIL, Columns

CACHED_VALUES = 2**17
"""How many exponentials are computed at a time on the CPU. They are then still in its cache when they are summed."""


class NextWords:
    """The distributions of the next word of ``n`` hypotheses of each sentence.

    Args:
        logits: of the next word, in the order of ``columns``.
        columns: the order of the vocabulary in the logits.
    """

    def __init__(self, logits: Float[Tensor, "batch n columns"], columns: Columns) -> None:
        self.columns = columns
        self._least = columns.nothing(logits.dtype) / 2
        # float32 at least, so that a sum over a long sentence is precise
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        self._members = logits[..., :-TAIL].unflatten(-1, (columns.depth, GROUPS))
        self._best_of_group = self._members.amax(-2)
        tail = logits[..., -TAIL:].amax(-1, keepdim=True)
        self._largest = torch.maximum(self._best_of_group.amax(-1, keepdim=True), tail)
        self._log_sum = _sum_of_exponentials(logits, self._largest).log_()

    def best(
        self, totals: Float[Tensor, "batch n"], count: int
    ) -> tuple[Float[Tensor, "batch best"], Int[Tensor, "batch best"], Int[Tensor, "batch best"]]:
        """The ``count`` likeliest extensions of each sentence's hypotheses by one word.

        Args:
            totals: the log-probabilities of the hypotheses.
            count: how many extensions.

        Returns:
            The log-probability, the hypothesis and the word of each extension, best first. If there are fewer than
            ``count``, the rest have the log-probability -inf, and their hypotheses and words have no meaning.
        """
        sentences, n = totals.shape
        depth = self.columns.depth
        offsets = totals.unsqueeze(-1) - self._log_sum
        rank = ((self._best_of_group - self._largest) + offsets).flatten(1).topk(min(count, n * GROUPS)).indices
        origin, group = rank // GROUPS, rank % GROUPS
        row = origin + n * torch.arange(sentences, device=rank.device).unsqueeze(1)
        members = self._members.flatten(0, 1)[row, :, group]
        largest, offsets = self._largest.view(-1)[row], offsets.view(-1)[row]
        candidates = ((members - largest.unsqueeze(-1)) + offsets.unsqueeze(-1)).flatten(1)
        if (missing := count - candidates.shape[1]) > 0:
            candidates = F.pad(candidates, (0, missing), value=-math.inf)
        best, place = candidates.topk(count)
        place = place.clamp_(max=rank.shape[1] * depth - 1)
        within = place // depth
        word = (place % depth * GROUPS + group.gather(1, within)).clamp_(max=self.columns.vocabulary_size - 1)
        return best.masked_fill(best < self._least, -math.inf), origin.gather(1, within), word

    def likeliest(self) -> Int[Tensor, "batch n"]:
        """The likeliest word of each hypothesis."""
        group = self._best_of_group.argmax(-1, keepdim=True)
        index = group.unsqueeze(-1).expand(-1, -1, self.columns.depth, -1)
        return (self._members.gather(-1, index).argmax(-2) * GROUPS + group).squeeze(-1)

    def log_probabilities(self, words: Int[Tensor, "batch n"]) -> Float[Tensor, "batch n"]:
        """The log-probability of one given word of each hypothesis."""
        index = words.unsqueeze(-1)
        chosen = self._members.flatten(-2).gather(-1, index)
        return self._log_probability(chosen).squeeze(-1)

    def logits(self) -> Float[Tensor, "batch n vocabulary"]:
        """The logits of all words. Padding and the start mark have a very small one, so that they are never chosen."""
        return self._members.flatten(-2)[..., : self.columns.vocabulary_size]

    def _log_probability(self, logits: Float[Tensor, "batch n any"]) -> Float[Tensor, "batch n any"]:
        return (logits - self._largest) - self._log_sum


def _sum_of_exponentials(
    logits: Float[Tensor, "batch n columns"], largest: Float[Tensor, "batch n 1"]
) -> Float[Tensor, "batch n 1"]:
    rows, shifts = logits.flatten(0, 1), largest.flatten(0, 1)
    at_once = len(rows) if logits.is_cuda else max(1, CACHED_VALUES // rows.shape[1])
    parts = zip(rows.split(at_once), shifts.split(at_once), strict=True)
    return torch.cat([(row - shift).exp_().sum(-1, keepdim=True) for row, shift in parts]).view_as(largest)
