"""What searches have in common: the sentences that they still work on, and the record of what they did."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from lookback.common.special_tokens import BOS
from lookback.nn import Network
from lookback.nn.kernels.columns import Columns
from lookback.nn.recurrent.laid_out import LaidOut
from lookback.search.next_words import NextWords

WORTH_LEAVING = 0.75
"""Done sentences are left when this share of the batch or less remains: leaving projects the others' keys again."""

GPU_PATIENCE = 8
"""Steps between two looks at who is done, where looking makes the processor wait for the GPU."""


class Translating:
    """The sentences of a batch that a search still works on. Those that are done leave, and cost nothing any more.

    sentences: their numbers in the batch.
    words: the last word of each of their hypotheses, ``n`` a sentence.
    """

    def __init__(
        self, network: Network, source: Int[Tensor, "batch source"], lengths: Int[Tensor, "batch"], n: int = 1
    ) -> None:
        self._network = network
        self._columns = network.columns if isinstance(network, LaidOut) else Columns(network.vocabulary_size)
        self._state = network.start(network.encode(source, lengths))
        self._steps: list[tuple[Tensor, ...]] = []
        self._left: list[tuple[Tensor, list[Tensor]]] = []
        self.sentences = torch.arange(len(source), device=source.device)
        self.words = torch.full((len(source), n), BOS, device=source.device)
        if n > 1:
            self._state = self._state.reorder(torch.zeros_like(self.words))

    def step(self) -> tuple[NextWords, Tensor]:
        """Read ``words``: the next words, and the weights α (sentences, n, source)."""
        self._state, vectors, weights = self._network.step(self._state, self.words)
        if isinstance(self._network, LaidOut):
            logits = self._network.arranged_logits(vectors)
        else:
            logits = self._columns.arranged(self._network.logits(vectors))
        return NextWords(logits, self._columns), weights

    def go_on(self, origin: Int[Tensor, "sentences m"], words: Int[Tensor, "sentences m"]) -> None:
        """Hypothesis k of a sentence is now its former hypothesis ``origin[k]``, extended by ``words[k]``."""
        self._state = self._state.reorder(origin)
        self.words = words

    def record(self, *values: Tensor) -> None:
        """What is to be known of this step when all is done, a row a sentence; of one shape at all steps."""
        self._steps.append(values)

    def leave(self, going_on: Bool[Tensor, "sentences"]) -> Int[Tensor, "some"] | None:
        """Leave the sentences that do not go on, if it is time for it: the rows that stay, or None if all do."""
        if going_on.is_cuda and len(self._steps) % GPU_PATIENCE:
            return None
        rows = going_on.nonzero().squeeze(1)
        if len(rows) > WORTH_LEAVING * len(going_on):
            return None
        self._close()
        self._state = self._state.of_sentences(rows)
        self.sentences, self.words = self.sentences[rows], self.words[rows]
        return rows

    def recorded(self) -> list[Tensor]:
        """Each value of ``record``, (batch, steps, …), on the CPU; 0 behind a sentence's last step."""
        self._close()
        batch = 1 + max(int(sentences.max()) for sentences, _ in self._left)
        steps = sum(values[0].shape[1] for _, values in self._left)
        results = [values.new_zeros(batch, steps, *values.shape[2:]) for values in self._left[0][1]]
        first = 0
        for sentences, values in self._left:
            last = first + values[0].shape[1]
            for result, value in zip(results, values, strict=True):
                result[sentences, first:last] = value
            first = last
        return results

    def _close(self) -> None:
        """Set aside what was recorded with the sentences as they are now."""
        if self._steps:
            values = [torch.stack(value, dim=1).cpu() for value in zip(*self._steps, strict=True)]
            self._left.append((self.sentences.cpu(), values))
            self._steps = []
