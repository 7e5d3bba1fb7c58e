"""Attention: how the decoder reads the memory. One class a way of reading; a new one is a class and a YAML file.

    e_ij = energy(query_i, key_j)      α_i = softmax over real source positions of e_i      c_i = Σ_j α_ij h_j

In today's words the decoder state is the query and the encoder states are keys (projected once) and values (as they
are). ``attention.over(memory)`` projects the keys once a batch and gives a reader, which is then asked for one step,
for all steps, or for all beams at once: ``reader(query) → context, weights``. Nothing is kept on the module.
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from lookback.common.checks import check_sizes
from lookback.nn.memory import Memory

Reader = Callable[[Tensor], tuple[Tensor, Tensor]]
"""query (batch, n, query) → context (batch, n, memory), weights (batch, n, source): n steps or n beams alike."""


class Attention(nn.Module):
    """The interface, and all that the soft attentions share.

    A subclass gives ``keys`` and ``energies``. ``query_size`` is the size of the decoder's state, ``memory_size`` that
    of an encoder state and so of the context.
    """

    looks_back = True
    """False where the context is the same whatever the query: then nothing needs to wait for the query."""

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__()
        check_sizes({"query_size": query_size, "memory_size": memory_size})
        self.query_size = query_size
        self.memory_size = memory_size

    def keys(self, states: Float[Tensor, "batch source memory"]) -> Float[Tensor, "batch source key"]:
        """What queries are compared with; computed once a batch."""
        raise NotImplementedError

    def energies(
        self, query: Float[Tensor, "batch n query"], keys: Float[Tensor, "batch source key"]
    ) -> Float[Tensor, "batch n source"]:
        """e: how well each query fits each key."""
        raise NotImplementedError

    def over(self, memory: Memory) -> Reader:
        """A reader of this memory."""
        keys = self.keys(memory.states)

        def read(query: Tensor) -> tuple[Tensor, Tensor]:
            weights = masked_softmax(self.energies(query, keys), memory.mask.unsqueeze(1))
            return torch.bmm(weights, memory.states), weights

        return read


class AdditiveAttention(Attention):
    """e_ij = vᵀ tanh(W s_{i-1} + U h_j)  (Bahdanau et al. 2015, App. A.1.2)."""

    def __init__(self, query_size: int, memory_size: int, attention_size: int) -> None:
        super().__init__(query_size, memory_size)
        check_sizes({"attention_size": attention_size})
        self.from_query = nn.Linear(query_size, attention_size, bias=False)
        self.from_memory = nn.Linear(memory_size, attention_size, bias=False)
        self.energy = nn.Linear(attention_size, 1, bias=False)

    def keys(self, states: Float[Tensor, "batch source memory"]) -> Float[Tensor, "batch source key"]:
        return self.from_memory(states)

    def energies(
        self, query: Float[Tensor, "batch n query"], keys: Float[Tensor, "batch source key"]
    ) -> Float[Tensor, "batch n source"]:
        # in place: by far the largest tensor of a step, and no gradient needs the sum itself
        return (self.from_query(query).unsqueeze(2) + keys.unsqueeze(1)).tanh_() @ self.energy.weight[0]


class GeneralAttention(Attention):
    """e_tj = h_tᵀ W h_j  (Luong et al. 2015, eq. 8, general)."""

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__(query_size, memory_size)
        self.from_memory = nn.Linear(memory_size, query_size, bias=False)

    def keys(self, states: Float[Tensor, "batch source memory"]) -> Float[Tensor, "batch source key"]:
        return self.from_memory(states)

    def energies(
        self, query: Float[Tensor, "batch n query"], keys: Float[Tensor, "batch source key"]
    ) -> Float[Tensor, "batch n source"]:
        return query @ keys.transpose(1, 2)


class DotAttention(Attention):
    """e_tj = h_tᵀ h_j  (Luong et al. 2015, eq. 8, dot). It has no parameters, so both sizes must be equal."""

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__(query_size, memory_size)
        if query_size != memory_size:
            raise ValueError(
                f"dot attention compares states of equal size, but the decoder's is query_size={query_size} and the "
                f"encoder's memory_size={memory_size}; set decoder.hidden_size={memory_size}, "
                "or use attention=general, which learns a projection"
            )

    def keys(self, states: Float[Tensor, "batch source memory"]) -> Float[Tensor, "batch source key"]:
        return states

    def energies(
        self, query: Float[Tensor, "batch n query"], keys: Float[Tensor, "batch source key"]
    ) -> Float[Tensor, "batch n source"]:
        return query @ keys.transpose(1, 2)


class FixedContext(Attention):
    """No attention: c_i = c, the encoder's final states, one a direction, at every step.

    Of a two-way encoder these are both ends, [h→_S; h←_1]: more than papers give it, so that an arm without attention
    has the encoder of those with one. With a one-way encoder c is the papers': c = h→_S, the last state, with
    ``direction="forward"`` (RNNencdec: Cho et al. 2014; Bahdanau et al. 2015, App. A.2.2), and the state that has read
    the source backwards with ``direction="backward"`` (Sutskever et al. 2014, whose decoder has it as its first state
    alone: ``context_to=["init"]``).

    Its weights say where it looks: nowhere in particular, so they are even over the real source positions.
    """

    looks_back = False

    def over(self, memory: Memory) -> Reader:
        context = memory.final.flatten(1).unsqueeze(1)
        mask = memory.mask.unsqueeze(1)
        even = masked_softmax(context.new_zeros(mask.shape), mask)

        def read(query: Tensor) -> tuple[Tensor, Tensor]:
            n = query.shape[1]
            return context.expand(-1, n, -1), even.expand(-1, n, -1)

        return read


def masked_softmax(
    energies: Float[Tensor, "batch n source"], mask: Bool[Tensor, "batch 1 source"]
) -> Float[Tensor, "batch n source"]:
    """Softmax over the last axis where ``mask`` is True; exactly 0 elsewhere, so all 0 in a row with nothing to see.

    At least float32 inside, whatever comes in: in half precision a large negative fill would overflow.
    """
    hidden = ~mask
    wide = energies.to(torch.promote_types(energies.dtype, torch.float32))
    weights = torch.softmax(wide.masked_fill(hidden, torch.finfo(wide.dtype).min), dim=-1)
    return weights.masked_fill(hidden, 0.0).to(energies.dtype)
