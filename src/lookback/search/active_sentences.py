"""What all searches share: the sentences that are not finished yet, and a record of every step."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from lookback.common.special_tokens import BOS
from lookback.nn import Network
from lookback.nn.kernels.columns import Columns
from lookback.nn.laid_out import LaidOut
from lookback.search.next_words import NextWords

DROP_AT = 0.75
"""Finished sentences are dropped when at most this share is unfinished: dropping computes the others' keys again."""

GPU_CHECK_INTERVAL = 8
"""On a GPU, check every so many steps which sentences are finished, because the check waits for the GPU."""


class ActiveSentences:
    """The sentences of a batch that a search has not finished. Finished ones are dropped and take no more time.

    Args:
        network: whose steps are taken.
        source: the tokens of the batch.
        lengths: how many tokens each sentence has, with its end mark.
        n: how many hypotheses each sentence has.

    Attributes:
        sentences: the numbers of the active sentences in the batch.
        words: (sentences, n), the last word of each hypothesis.
    """

    def __init__(
        self, network: Network, source: Int[Tensor, "batch source"], lengths: Int[Tensor, "batch"], n: int = 1
    ) -> None:
        self._network = network
        self._columns = network.columns if isinstance(network, LaidOut) else Columns(network.vocabulary_size)
        self._state = network.start(network.encode(source, lengths))
        self._steps: list[tuple[Tensor, ...]] = []
        self._recorded: list[tuple[Tensor, list[Tensor]]] = []
        """For each period without a drop: the active sentences, and the values of ``record``, (sentences, steps, …)."""
        self.sentences = torch.arange(len(source), device=source.device)
        self.words = torch.full((len(source), n), BOS, device=source.device)
        if n > 1:
            self._state = self._state.reorder(torch.zeros_like(self.words))

    def step(self) -> tuple[NextWords, Tensor]:
        """Takes a decoder step from ``words``.

        Returns:
            The distributions of the next words, and the attention weights α (sentences, n, source).
        """
        self._state, vectors, weights = self._network.step(self._state, self.words)
        if isinstance(self._network, LaidOut):
            logits = self._network.arranged_logits(vectors)
        else:
            logits = self._columns.arranged(self._network.logits(vectors))
        return NextWords(logits, self._columns), weights

    def advance(self, origin: Int[Tensor, "sentences m"], words: Int[Tensor, "sentences m"]) -> None:
        """Replaces hypothesis k of each sentence by its former hypothesis ``origin[k]``, extended by ``words[k]``."""
        self._state = self._state.reorder(origin)
        self.words = words

    def record(self, *values: Tensor) -> None:
        """Keeps values of this step for ``recorded``: a row for each active sentence, one shape for all steps."""
        self._steps.append(values)

    def drop_finished(self, unfinished: Bool[Tensor, "sentences"]) -> Int[Tensor, "some"] | None:
        """Drops the finished sentences, if there are enough of them.

        Args:
            unfinished: which of the active sentences are not finished.

        Returns:
            The rows that stay, or None if all stay.
        """
        if unfinished.is_cuda and len(self._steps) % GPU_CHECK_INTERVAL:
            return None
        rows = unfinished.nonzero().squeeze(1)
        if len(rows) > DROP_AT * len(unfinished):
            return None
        self._end_period()
        self._state = self._state.of_sentences(rows)
        self.sentences, self.words = self.sentences[rows], self.words[rows]
        return rows

    def recorded(self) -> list[Tensor]:
        """All values of ``record``, each (batch, steps, …), on the CPU. After a sentence's last step they are 0."""
        self._end_period()
        batch = 1 + max(int(sentences.max()) for sentences, _ in self._recorded)
        steps = sum(values[0].shape[1] for _, values in self._recorded)
        results = [values.new_zeros(batch, steps, *values.shape[2:]) for values in self._recorded[0][1]]
        first = 0
        for sentences, values in self._recorded:
            last = first + values[0].shape[1]
            for result, value in zip(results, values, strict=True):
                result[sentences, first:last] = value
            first = last
        return results

    def _end_period(self) -> None:
        """Moves the steps since the last drop to ``_recorded``, with the sentences that were active in them."""
        if self._steps:
            values = [torch.stack(value, dim=1).cpu() for value in zip(*self._steps, strict=True)]
            self._recorded.append((self.sentences.cpu(), values))
            self._steps = []
