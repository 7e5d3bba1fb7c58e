"""The next word of each hypothesis, chosen from logits without ever writing a log-probability for each word.

    log p(w) = (logit_w − m) − log Σ_v exp(logit_v − m),    m the largest logit

so one number a hypothesis, the logarithm of that sum, is all that must be known beside the logits of the few words that
may be chosen. Those are found in one pass: words are dealt into ``GROUPS`` groups, and the n best words of all are in
the n groups whose best words are best. ``topk`` over the whole vocabulary takes ten times as long.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from lookback.common.special_tokens import BOS, PAD

GROUPS = 128
"""A multiple of the processor's vectors, and about √(2 · 8,000): finding groups costs what looking into them does."""

TAIL = 16
"""Columns of what is never chosen; as many as keep each row at the start of a cache line."""

CACHED_VALUES = 2**17
"""Exponentials taken at a time on the CPU, so that they are still in its cache when they are summed."""


@dataclass(frozen=True)
class Columns:
    """How the logits of a vocabulary stand side by side: word w in column w, then unused columns, then a tail.

    Column g + GROUPS · i is number i of group g. Padding and the start mark have a probability but are never chosen:
    their logits stand in the tail, behind all groups. What is unused or never chosen is ``nothing`` in the groups.
    """

    vocabulary_size: int

    @property
    def depth(self) -> int:
        """Words a group."""
        return math.ceil(self.vocabulary_size / GROUPS)

    def projection(
        self, weight: Float[Tensor, "vocabulary readout"], bias: Float[Tensor, "vocabulary"]
    ) -> Float[Tensor, "readout+1 columns"]:
        """What a readout vector and a 1 behind it are multiplied by."""
        words = torch.cat([weight.t(), bias.unsqueeze(0)])
        groups = GROUPS * self.depth
        result = words.new_zeros(len(words), groups + TAIL)
        result[-1] = self.nothing(words.dtype)
        result[:, : self.vocabulary_size] = words
        for place, mark in enumerate((PAD, BOS)):
            result[:, groups + place] = words[:, mark]
            result[:-1, mark] = 0
            result[-1, mark] = self.nothing(words.dtype)
        return result

    @staticmethod
    def nothing(dtype: torch.dtype) -> float:
        """The logit of no word. Not -inf: products of reduced precision may split numbers in two, and -inf into NaN."""
        return torch.finfo(dtype).min / 2


class NextWords:
    """The distributions of the next word of ``n`` hypotheses a sentence."""

    def __init__(self, logits: Float[Tensor, "batch n columns"], columns: Columns) -> None:
        self.columns = columns
        self._least = columns.nothing(logits.dtype) / 2
        # a sum over a long sentence needs its digits
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        self._members = logits[..., :-TAIL].unflatten(-1, (columns.depth, GROUPS))
        self._best_of_group = self._members.amax(-2)
        tail = logits[..., -TAIL:].amax(-1, keepdim=True)
        self._largest = torch.maximum(self._best_of_group.amax(-1, keepdim=True), tail)
        self._log_sum = _sum_of_exponentials(logits, self._largest).log_()

    def best(
        self, totals: Float[Tensor, "batch n"], count: int
    ) -> tuple[Float[Tensor, "batch best"], Int[Tensor, "batch best"], Int[Tensor, "batch best"]]:
        """The ``count`` likeliest one-word extensions of each sentence's hypotheses, whose log-probabilities are
        ``totals``: the log-probability, the hypothesis and the word of each, best first. Where there are not so many,
        the rest have -inf and mean nothing.
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
        """log p of a word of each hypothesis."""
        index = words.unsqueeze(-1)
        chosen = self._members.flatten(-2).gather(-1, index)
        return self._log_probability(chosen).squeeze(-1)

    def logits(self) -> Float[Tensor, "batch n vocabulary"]:
        """Of all words; of padding and the start mark, next to nothing."""
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
