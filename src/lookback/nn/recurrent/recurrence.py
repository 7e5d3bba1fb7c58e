"""One layer of a gated recurrent network, read in one direction: the part that encoder and decoder share.

A state is one tensor whatever the cell, so nothing downstream asks which cell it is: ``h`` for a GRU, ``[h; c]`` for an
LSTM. The weights live in ``torch.nn.GRU`` / ``torch.nn.LSTM``, whose kernels run a whole sequence at once; ``step``
applies the same weights to one position, from input gates that may have been computed for all positions beforehand.
"""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from lookback.common.checks import Size, Width, checked

Cell = Literal["gru", "lstm", "gru_2014"]


@checked
class Recurrence(nn.Module):
    """A GRU or an LSTM layer.

    input_size, hidden_size: sizes of x_t and of h_t.
    cell: ``gru``: Cho et al. 2014, in the variant that resets after the product, as cuDNN computes it; ``gru_2014``: it
        resets before the product, as in the papers of 2014 and 2015 (Cho et al. 2014, eq. 8; Bahdanau et al. 2015, App.
        A.1.1), a position at a time; ``lstm``.
    """

    def __init__(self, input_size: Size, hidden_size: Width, cell: Cell = "gru") -> None:
        super().__init__()
        self.cell = cell
        self.hidden_size = hidden_size
        self.state_size = 2 * hidden_size if cell == "lstm" else hidden_size
        kind: type[nn.GRU] | type[nn.LSTM] = nn.LSTM if cell == "lstm" else nn.GRU
        self.network = kind(input_size, hidden_size, batch_first=True)

    def hidden(self, state: Float[Tensor, "*batch state"]) -> Float[Tensor, "*batch hidden"]:
        """The part of a state that others see: h."""
        return state[..., : self.hidden_size]

    def unroll(
        self, inputs: Float[Tensor, "batch time input"], state: Float[Tensor, "batch state"]
    ) -> Float[Tensor, "batch time hidden"]:
        """h_1 … h_T of a whole sequence, from the state before its first position."""
        if self.cell == "gru_2014":
            states = []
            for gates in self.gates(inputs).unbind(1):
                state = self.step(gates, state)
                states.append(state)
            return torch.stack(states, dim=1)
        state = state.unsqueeze(0).contiguous()
        if self.cell == "gru":
            return self.network(inputs, state)[0]
        h, c = state.chunk(2, dim=-1)
        return self.network(inputs, (h.contiguous(), c.contiguous()))[0]

    def gates(
        self, inputs: Float[Tensor, "*batch part"], first: int = 0, bias: bool = True
    ) -> Float[Tensor, "*batch gates"]:
        """What ``inputs`` add to the gates, where they are columns ``first …`` of x_t. The bias is to be added once."""
        weight, _, offset, _ = self.network.all_weights[0]
        return F.linear(inputs, weight[:, first : first + inputs.shape[-1]], offset if bias else None)

    def step(
        self, gates: Float[Tensor, "*batch gates"], state: Float[Tensor, "*batch state"]
    ) -> Float[Tensor, "*batch state"]:
        """The state after one position whose input adds ``gates`` (of all parts of x_t, summed)."""
        h = self.hidden(state)
        _, weight, _, offset = self.network.all_weights[0]
        if self.cell == "gru_2014":
            # r, z = σ(W x + U h);  n = tanh(W_n x + U_n (r ∘ h));  h' = n + z ∘ (h − n)
            size = 2 * self.hidden_size
            product = F.linear(h, weight[:size], offset[:size])
            reset, update = (gates[..., :size] + product).sigmoid_().chunk(2, dim=-1)
            candidate = torch.tanh(gates[..., size:] + F.linear(reset * h, weight[size:], offset[size:]))
            return torch.lerp(candidate, h.to(candidate.dtype), update)
        recurrent = F.linear(h, weight, offset)
        if self.cell == "gru":
            # r, z = σ(W x + U h);  n = tanh(W_n x + r ∘ (U_n h));  h' = n + z ∘ (h − n)
            size = 2 * self.hidden_size
            reset, update = (gates[..., :size] + recurrent[..., :size]).sigmoid_().chunk(2, dim=-1)
            candidate = torch.addcmul(gates[..., size:], reset, recurrent[..., size:]).tanh_()
            # under autocast the first state may still be float32, where the gates are not
            return torch.lerp(candidate, h.to(candidate.dtype), update)
        # i, f, o = σ(·);  g = tanh(·);  c' = f ∘ c + i ∘ g;  h' = o ∘ tanh(c')
        input_gate, forget_gate, candidate, output_gate = (gates + recurrent).chunk(4, dim=-1)
        cell = torch.addcmul(
            torch.sigmoid(forget_gate) * state[..., self.hidden_size :],
            torch.sigmoid(input_gate),
            torch.tanh(candidate),
        )
        return torch.cat([torch.sigmoid(output_gate) * torch.tanh(cell), cell], dim=-1)
