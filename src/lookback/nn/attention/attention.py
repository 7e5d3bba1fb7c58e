"""The contract of every attention: how a decoder reads the source. A new one is a class and a YAML file.

    e_ij = energy(query_i, key_j)      α_i = softmax over real source positions of e_i      c_i = Σ_j α_ij h_j

In today's words the decoder state is the query and the encoder states are keys (projected once) and values (as they
are). ``attention.over(memory)`` projects the keys once a batch. The reader it gives is then asked for one step, for all
steps, or for all beams at once: ``reader.read(query, state) → Look(context, weights, state)``. Nothing is kept on the
module.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from lookback.common.checks import Size, checked
from lookback.nn.memory import Memory

AttentionState = tuple[Tensor, ...]
"""What one look leaves for the next, such as how much was looked at so far: tensors (batch, n, …), which a search
reorders with its hypotheses. Empty for an attention that remembers nothing."""


@dataclass(frozen=True)
class Look:
    """What an attention found: context (batch, n, memory), weights (batch, n, source), and the state after it.

    heads: (batch, n, heads, source), the weights of each head, where there are several; ``weights`` are their mean.
    """

    context: Tensor
    weights: Tensor
    state: AttentionState
    heads: Tensor | None = None

    @staticmethod
    def of_steps(looks: Sequence["Look"]) -> "Look":
        """One look of all steps, from a look a step; its state is the last one's."""
        heads = [look.heads for look in looks if look.heads is not None]
        return Look(
            torch.cat([look.context for look in looks], dim=1),
            torch.cat([look.weights for look in looks], dim=1),
            looks[-1].state,
            torch.cat(heads, dim=1) if heads else None,
        )


@dataclass(frozen=True)
class Scorer:
    """What the kernels need to know of energies: W and v of additive ones, None for a plain product q · k."""

    query_weight: Tensor | None
    energy_weight: Tensor | None


@checked
class Attention(nn.Module):
    """The contract, and all that the soft attentions share.

    A subclass gives ``keys`` and ``energies``. One that remembers what it has looked at sets ``remembers`` and gives
    ``start`` and ``read``. ``query_size`` is the size of the decoder's state, ``memory_size`` that of an encoder state
    and so of the context.
    """

    default_query: ClassVar[Literal["previous", "current"]] = "current"
    """The decoder state that its paper looks with: ``previous``, s_{i-1}, or ``current``, s_i"""
    looks_back: ClassVar[bool] = True
    """False where the context is the same whatever the query: then nothing needs to wait for the query."""
    remembers: ClassVar[bool] = False
    """True where a look depends on what the looks before it found: then steps are taken one after the other. One that
    only counts its steps has a state, but does not remember: it gives ``read_all`` too."""

    sums_to_one: ClassVar[bool] = True
    """False where the weights of a look may sum to less than 1."""
    heads: int = 1
    """How many looks it takes at once, each with weights of its own."""
    projects: ClassVar[bool] = False
    """True where its context is a projection of its own, False where it is a sum of encoder states."""

    def __init__(self, query_size: Size, memory_size: Size) -> None:
        super().__init__()
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

    def start(self, memory: Memory) -> AttentionState:
        """The state before the first look, n = 1."""
        return ()

    def read(self, query: Float[Tensor, "batch n query"], keys: Tensor, memory: Memory, state: AttentionState) -> Look:
        """Look with each query: at n steps at once where nothing is remembered, at one step of n hypotheses always."""
        energies = self.energies(query, keys)
        _expect(self, "energies", energies, (*query.shape[:2], memory.mask.shape[1]))
        weights = masked_softmax(energies, memory.mask.unsqueeze(1))
        return Look(torch.bmm(weights, memory.states), weights, state)

    def read_all(self, query: Float[Tensor, "batch time query"], keys: Tensor, memory: Memory) -> Look:
        """Look with the queries of all steps, the first step first."""
        if self.remembers:
            raise ValueError(f"{type(self).__name__} remembers its looks: its steps cannot be taken at once")
        return self.read(query, keys, memory, ())

    def context(
        self, query: Float[Tensor, "batch time query"], keys: Tensor, memory: Memory
    ) -> Float[Tensor, "batch time memory"]:
        """The contexts of all steps, where nobody asks for the weights."""
        return self.read_all(query, keys, memory).context

    def over(self, memory: Memory) -> "Reader":
        """A reader of this memory."""
        return Reader(self, memory, self.keys(memory.states))

    def scorer(self) -> Scorer | None:
        """What a backward pass that is written out needs of the energies; None where there is none for them."""
        return None

    def reset(self) -> None:
        """First values of what is neither a matrix, drawn by its width, nor a bias, 0 at first."""

    def draw(self, deviation: float) -> None:
        """First values as its paper draws them, with this deviation; nothing where it says none."""


@dataclass(frozen=True)
class Reader:
    """An attention over one memory, whose keys are projected."""

    attention: Attention
    memory: Memory
    keys: Tensor

    def start(self) -> AttentionState:
        """The state before the first look, n = 1."""
        state = self.attention.start(self.memory)
        kind = type(self.attention)
        if state and not kind.remembers and kind.read_all is Attention.read_all:
            raise ValueError(f"{kind.__name__}: start gives a state, expected remembers = True or read_all beside it")
        return state

    def read(self, query: Float[Tensor, "batch n query"], state: AttentionState) -> Look:
        """See ``Attention.read``. Raises ValueError for a look of another shape, which would broadcast in silence."""
        return self._checked(self.attention.read(query, self.keys, self.memory, state), query)

    def _checked(self, look: Any, query: Tensor) -> Look:
        found = type(self.attention).__name__
        if not isinstance(look, Look):
            raise ValueError(f"{found}: read gives {type(look).__name__}, expected a Look")
        _expect(self.attention, "weights", look.weights, (*query.shape[:2], self.memory.states.shape[1]))
        _expect(self.attention, "context", look.context, (*query.shape[:2], self.attention.memory_size))
        if not isinstance(look.state, tuple) or not all(isinstance(part, Tensor) for part in look.state):
            raise ValueError(f"{found}: read gives a state {look.state!r}, expected a tuple of tensors")
        return look

    def read_all(self, query: Float[Tensor, "batch time query"]) -> Look:
        """See ``Attention.read_all``."""
        return self._checked(self.attention.read_all(query, self.keys, self.memory), query)

    def context(self, query: Float[Tensor, "batch time query"]) -> Float[Tensor, "batch time memory"]:
        """See ``Attention.context``."""
        context = self.attention.context(query, self.keys, self.memory)
        _expect(self.attention, "context", context, (*query.shape[:2], self.attention.memory_size))
        return context

    def of_sentences(self, rows: Tensor) -> "Reader":
        """A reader of some of the sentences."""
        return Reader(self.attention, self.memory.of_sentences(rows), self.keys[rows])


def _expect(attention: Attention, name: str, found: Tensor, shape: tuple[int, ...]) -> None:
    if not isinstance(found, Tensor) or found.shape != shape:
        given = f"shape {tuple(found.shape)}" if isinstance(found, Tensor) else type(found).__name__
        raise ValueError(f"{type(attention).__name__}: {name} of {given}, expected {shape}")


def masked_softmax(
    energies: Float[Tensor, "batch n source"], mask: Bool[Tensor, "batch #n source"]
) -> Float[Tensor, "batch n source"]:
    """Softmax over the last axis where ``mask`` is True; exactly 0 elsewhere, so all 0 in a row with nothing to see.

    At least float32 inside, whatever comes in: in half precision a large negative fill would overflow.
    """
    padding = ~mask
    wide = energies.to(torch.promote_types(energies.dtype, torch.float32))
    weights = torch.softmax(wide.masked_fill(padding, torch.finfo(wide.dtype).min), dim=-1)
    return weights.masked_fill(padding, 0.0).to(energies.dtype)
