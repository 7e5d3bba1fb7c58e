"""Forced decoding: the score and the alignment of a given translation."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lookback.common.special_tokens import PAD
from lookback.nn import Network
from lookback.search.hypothesis import Hypothesis, LengthRule


@torch.inference_mode()
def force(
    network: Network,
    source: Int[Tensor, "batch source"],
    lengths: Int[Tensor, "batch"],
    target: Int[Tensor, "batch target"],
    length_normalization: float = 1.0,
) -> list[Hypothesis]:
    """The hypothesis of each given target, as a search that found it would return it.

    Args:
        network: that scores the targets.
        source: the tokens of the batch.
        lengths: how many tokens each sentence has, with its end mark.
        target: ``<s> w_1 … w_T </s>``, padded.
        length_normalization: see ``LengthRule``.
    """
    scores, weights = score(network, source, lengths, target)
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


def score(
    network: Network,
    source: Int[Tensor, "batch source"],
    lengths: Int[Tensor, "batch"],
    target: Int[Tensor, "batch target"],
) -> tuple[Float[Tensor, "batch time"], Float[Tensor, "batch time source"]]:
    """The log-probability of each target word and end mark (0 at padding), and the attention weights of each.

    They are float32 at least, so that a sum over a long sentence is precise.
    """
    vectors, weights = network.unroll(target[:, :-1], network.encode(source, lengths))
    outputs = target[:, 1:]
    logits = network.logits(vectors)
    wide = torch.promote_types(logits.dtype, torch.float32)
    chosen = torch.log_softmax(logits, dim=-1, dtype=wide).gather(-1, outputs.unsqueeze(-1)).squeeze(-1)
    return chosen.masked_fill(outputs == PAD, 0.0), weights
