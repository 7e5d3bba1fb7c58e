"""The loss of a large vocabulary without its logits: projection and cross-entropy by chunks of rows.

B·T·V logits are by far the largest tensor of a training step. Here one chunk of them lives at a time: its loss and its
gradient (softmax − target, in closed form) are taken at once in the forward pass, and only the gradients of the inputs
are kept. ``torch.nn.functional.linear_cross_entropy`` does the like in newer releases, but gives no unsmoothed loss
beside the smoothed one, which perplexity needs.
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

CHUNK_VALUES = 4_000_000
"""Logits alive at a time: 16 MB in float32."""


class TokenLoss(NamedTuple):
    """Sums over the target tokens of a batch, in nats.

    loss: what training minimises: cross-entropy with the smoothed target.
    nll: negative log-likelihood, unsmoothed: what perplexity is made of. Carries no gradient.
    tokens: how many.
    coverage: the coverage loss (`coverage_loss`), where it is part of ``loss``; 0 elsewhere. Carries no gradient.
    """

    loss: Float[Tensor, ""]
    nll: Float[Tensor, ""]
    tokens: int
    coverage: Float[Tensor, ""]


def projected_cross_entropy(
    vectors: Float[Tensor, "rows readout"],
    weight: Float[Tensor, "vocabulary readout"],
    bias: Float[Tensor, "vocabulary"],
    targets: Int[Tensor, "rows"],
    smoothing: float = 0.0,
) -> TokenLoss:
    """Cross-entropy of softmax(vectors · weightᵀ + bias) against ``targets``, summed over rows.

    smoothing: ε of Szegedy et al. 2016, § 7: the target is 1 − ε on the right word plus ε / V on every word.
    """
    loss, nll = _ProjectedCrossEntropy.apply(vectors, weight, bias, targets, smoothing, torch.is_grad_enabled())
    return TokenLoss(loss, nll, len(targets), torch.zeros_like(nll))


def coverage_loss(weights: Float[Tensor, "batch time source"]) -> Float[Tensor, "batch time"]:
    """Σ_j min(α_tj, Σ_{k<t} α_kj) of each step: what is looked at again  (See et al. 2017, eq. 12)."""
    before = weights.cumsum(1) - weights
    return torch.minimum(weights, before).sum(-1)


class _ProjectedCrossEntropy(Function):
    @staticmethod
    def forward(
        ctx: Any, vectors: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float, is_training: bool
    ) -> tuple[Tensor, Tensor]:
        # needs_input_grad alone is true of parameters even under no_grad, where gradients would be work for nothing
        wants_gradient = is_training and any(ctx.needs_input_grad[:3])
        # products in the type of the vectors, or autocast's; the softmax and all sums in float32 at least
        on = vectors.device.type
        narrow = torch.get_autocast_dtype(on) if torch.is_autocast_enabled(on) else vectors.dtype
        wide = torch.promote_types(narrow, torch.float32)
        inputs, matrix, offset = vectors.to(narrow), weight.to(narrow), bias.to(narrow)
        loss, nll = vectors.new_zeros((), dtype=wide), vectors.new_zeros((), dtype=wide)
        if wants_gradient:
            d_vectors, d_weight, d_bias = torch.empty_like(inputs), torch.zeros_like(weight), torch.zeros_like(bias)
        rows = max(1, min(CHUNK_VALUES // len(weight), len(vectors)))
        buffer = vectors.new_empty(rows, len(weight), dtype=wide)
        for start in range(0, len(vectors), rows):
            part = slice(start, start + rows)
            values = buffer[: len(inputs[part])]
            if narrow == wide:
                torch.mm(inputs[part], matrix.t(), out=values).add_(offset)  # addmm would copy the bias there first
            else:
                values.copy_(F.linear(inputs[part], matrix, offset))
            right = targets[part].unsqueeze(1)
            # with m the largest logit: log Σ exp l = m − log max p, as max p = exp(m) / Σ exp l, and is never tiny
            largest, chosen = values.amax(1), values.gather(1, right).squeeze(1)
            mean = values.mean(1) if smoothing else None
            torch.softmax(values, dim=1, out=values)
            normalizer = largest - values.amax(1).log()
            part_nll = (normalizer - chosen).sum()
            nll += part_nll
            loss += part_nll if mean is None else (1 - smoothing) * part_nll + smoothing * (normalizer - mean).sum()
            if wants_gradient:
                values.scatter_add_(1, right, values.new_full(right.shape, smoothing - 1))
                if smoothing:
                    values -= smoothing / len(weight)
                d_bias += torch.mv(values.t(), values.new_ones(len(values)))  # twice as fast as a sum down the rows
                d_logits = values.to(narrow)
                torch.mm(d_logits, matrix, out=d_vectors[part])
                if narrow == weight.dtype:
                    d_weight.addmm_(d_logits.t(), inputs[part])
                else:
                    d_weight += d_logits.t() @ inputs[part]
        if wants_gradient:
            ctx.save_for_backward(d_vectors.to(vectors.dtype), d_weight, d_bias)
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_loss: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        d_vectors, d_weight, d_bias = ctx.saved_tensors
        # in the tensors' own types: a float32 scale would widen a bfloat16 gradient
        scale = [d_loss.to(gradient.dtype) for gradient in (d_vectors, d_weight, d_bias)]
        return d_vectors * scale[0], d_weight * scale[1], d_bias * scale[2], None, None, None
