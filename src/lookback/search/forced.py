"""Forced decoding: the score and the alignment of a translation that is given."""

import torch
from jaxtyping import Int
from torch import Tensor

from lookback.common.special_tokens import PAD
from lookback.nn import Seq2Seq
from lookback.search.hypothesis import Hypothesis, LengthRule


@torch.inference_mode()
def force(
    model: Seq2Seq,
    source: Int[Tensor, "batch source"],
    lengths: Int[Tensor, "batch"],
    target: Int[Tensor, "batch target"],
    length_normalization: float = 1.0,
) -> list[Hypothesis]:
    """The hypothesis that each target ``<s> w_1 … w_T </s>`` (padded) is: what a search that found it would return."""
    scores, weights = model.score(source, lengths, target)
    rule = LengthRule(length_normalization=length_normalization)
    hypotheses = []
    for b, length in enumerate(lengths.tolist()):
        size = int((target[b, 1:] != PAD).sum())
        log_probability = float(scores[b, :size].double().sum())
        hypotheses.append(
            Hypothesis(
                target[b, 1:size].tolist(),
                log_probability,
                rule.score(log_probability, size),
                weights[b, :size, :length].cpu(),
                truncated=False,
            )
        )
    return hypotheses
