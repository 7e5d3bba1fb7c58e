"""The encoder: source words in, a Memory out."""

from collections.abc import Sequence
from typing import Any, Literal, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd import Function

from lookback.common.checks import Depth, PartialShare, Size, Width, checked
from lookback.common.special_tokens import PAD
from lookback.nn.memory import Memory, length_mask
from lookback.nn.recurrent.recurrence import Cell, Recurrence

Direction = Literal["both", "forward", "backward"]
_REVERSALS: dict[Direction, tuple[bool, ...]] = {"both": (False, True), "forward": (False,), "backward": (True,)}


@checked
class RecurrentEncoder(nn.Module):
    """A stack of recurrent layers over the source; one layer in both directions is Bahdanau et al. 2015, App. A.2.1.

    direction: ``both``; ``forward``; or ``backward``, which reads x_S … x_1: the reversed source of Sutskever et al.
        2014. States are always given in the order of the source, so an alignment means the same whatever the direction.
    residual: layer l > 1 adds its input to its output (Wu et al. 2016, eq. 4): s^l = RNN^l(s^{l-1}) + s^{l-1}.
    dropout: share of values dropped from the input of each layer, in training.

    final_size and memory_size are the sizes of a final state of one direction, ``hidden_size``, and of a memory state,
    ``hidden_size`` a direction.
    """

    def __init__(
        self,
        vocabulary_size: Size,
        embedding_size: Width,
        hidden_size: Width,
        cell: Cell = "gru",
        layers: Depth = 1,
        direction: Direction = "both",
        residual: bool = False,
        dropout: PartialShare = 0.0,
    ) -> None:
        super().__init__()
        self.reversals = _REVERSALS[direction]
        self.residual = residual
        self.final_size = hidden_size
        self.memory_size = hidden_size * len(self.reversals)
        self.embedding = nn.Embedding(vocabulary_size, embedding_size, padding_idx=PAD)
        stack = nn.ModuleList(
            nn.ModuleList(
                Recurrence(embedding_size if layer == 0 else self.memory_size, hidden_size, cell)
                for _ in self.reversals
            )
            for layer in range(layers)
        )
        self.layers = cast(Sequence[Sequence[Recurrence]], stack)
        self.dropout = nn.Dropout(dropout)

    def forward(self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, "batch"]) -> Memory:
        """Encode padded sentences of true ``lengths`` (≥ 1, end mark included).

        One-way kernels with the reversal done by a gather give what packed sequences give, at a fraction of their time
        on the CPU: padding stands after the sentence in either reading order, so no real position ever sees it.
        """
        mask = length_mask(lengths, source.shape[1])
        rows = _reversal(lengths, source.shape[1])
        states = self.embedding(source)
        for depth, directions in enumerate(self.layers):
            inputs = self.dropout(states)
            outputs = []
            for recurrence, is_reversed in zip(directions, self.reversals, strict=True):
                start = inputs.new_zeros(len(inputs), recurrence.state_size)
                if is_reversed:
                    outputs.append(_Reversed.apply(recurrence.unroll(_Reversed.apply(inputs, rows), start), rows))
                else:
                    outputs.append(recurrence.unroll(inputs, start))
            hidden = torch.cat(outputs, dim=-1)
            states = hidden + states if self.residual and depth > 0 else hidden
        states = states * mask.unsqueeze(-1)

        by_direction = states.unflatten(-1, (len(self.reversals), -1))
        sentences = torch.arange(len(lengths), device=lengths.device)
        final = [
            by_direction[:, 0, k] if is_reversed else by_direction[sentences, lengths - 1, k]
            for k, is_reversed in enumerate(self.reversals)
        ]
        return Memory(states, mask, torch.stack(final, dim=1))


def _reversal(lengths: Int[Tensor, "batch"], size: int) -> Int[Tensor, "rows"]:
    """The rows of (batch · size) that read each sentence backwards and leave its padding where it is.

    Its own inverse.
    """
    positions = torch.arange(size, device=lengths.device).expand(len(lengths), size)
    mirrored = lengths.unsqueeze(1) - 1 - positions
    first = torch.arange(len(lengths), device=lengths.device).unsqueeze(1) * size
    return (first + torch.where(mirrored >= 0, mirrored, positions)).flatten()


class _Reversed(Function):
    """Values in the order of ``rows``, an order that is its own inverse: so gradients are gathered, not scattered."""

    @staticmethod
    def forward(
        ctx: Any, values: Float[Tensor, "batch time size"], rows: Int[Tensor, "rows"]
    ) -> Float[Tensor, "batch time size"]:
        ctx.save_for_backward(rows)
        return values.flatten(0, 1).index_select(0, rows).view_as(values)

    @staticmethod
    def backward(ctx: Any, d_values: Float[Tensor, "batch time size"]) -> tuple[Tensor, None]:
        return _Reversed.apply(d_values, *ctx.saved_tensors), None
