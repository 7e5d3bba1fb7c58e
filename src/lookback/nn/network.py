"""What every translator's network offers: search, forced decoding, validation and alignment use nothing else of it."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor

from lookback.nn.memory import Memory


class State(Protocol):
    """All that a network remembers between two steps of its hypotheses, ``n`` a sentence."""

    def reorder(self, index: Int[Tensor, "batch m"]) -> Any:
        """The state of hypotheses ``index[b]`` of each sentence."""
        ...

    def of_sentences(self, rows: Int[Tensor, "some"]) -> Any:
        """The state of some of the sentences, all of their hypotheses."""
        ...


@runtime_checkable
class Network(Protocol):
    """A translator's network: recurrent or not, one or several that vote."""

    @property
    def vocabulary_size(self) -> int:
        """Of the target."""
        ...

    @property
    def looks_back(self) -> bool:
        """False where its weights say nothing, as it reads the source as a whole."""
        ...

    def encode(self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, "batch"]) -> Memory:
        """Read padded sentences of true ``lengths`` (≥ 1, end mark included)."""
        ...

    def start(self, memory: Memory) -> Any:
        """The `State` before the first word, n = 1."""
        ...

    def step(
        self, state: Any, words: Int[Tensor, "batch n"]
    ) -> tuple[Any, Float[Tensor, "batch n readout"], Float[Tensor, "batch n source"]]:
        """Read one word a hypothesis: the next state, the vector that predicts the next word, and the weights α."""
        ...

    def unroll(
        self, words: Int[Tensor, "batch time"], memory: Memory
    ) -> tuple[Float[Tensor, "batch time readout"], Float[Tensor, "batch time source"]]:
        """Read a known target <s> w_1 … w_{T-1}: the vectors that predict w_1 … w_T, and the weights α."""
        ...

    def logits(self, vectors: Float[Tensor, "*batch readout"]) -> Float[Tensor, "*batch vocabulary"]:
        """Scores of the next word, before the softmax."""
        ...
