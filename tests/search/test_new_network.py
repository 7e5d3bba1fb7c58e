"""A network is what `Network` says: one that is not recurrent, and not of this package, searches, aligns, is scored."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from lookback.common.special_tokens import BOS, EOS, PAD
from lookback.nn import Memory, Network, length_mask
from lookback.search import BeamSearch, GreedySearch, SamplingSearch, force
from support.same import assert_same
from support.toy import VOCABULARY, source_batch, target_batch


@dataclass(frozen=True)
class Position:
    """The step, and the source that the hypotheses of a sentence share."""

    step: Tensor
    memory: Memory

    def reorder(self, index: Tensor) -> "Position":
        return Position(self.step.gather(1, index), self.memory)

    def of_sentences(self, rows: Tensor) -> "Position":
        return Position(self.step[rows], self.memory.of_sentences(rows))


class Copier(nn.Module):
    """Writes word t of the source at step t, or what it has learned instead of it: no state but the step's number."""

    looks_back = True
    vocabulary_size = VOCABULARY

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.table = nn.Parameter(3 * torch.randn(VOCABULARY, VOCABULARY, generator=generator).double())

    def encode(self, source: Tensor, lengths: Tensor) -> Memory:
        states = nn.functional.one_hot(source, VOCABULARY).double()
        return Memory(states, length_mask(lengths, source.shape[1]), states[:, :1])

    def start(self, memory: Memory) -> Position:
        return Position(torch.zeros(len(memory.states), 1, dtype=torch.long), memory)

    def step(self, state: Position, words: Tensor) -> tuple[Position, Tensor, Tensor]:
        vectors, weights = self._look(state.step, words, state.memory)
        return Position(state.step + 1, state.memory), vectors, weights

    def unroll(self, words: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        steps = torch.arange(words.shape[1]).expand(words.shape)
        return self._look(steps, words, memory)

    def logits(self, vectors: Tensor) -> Tensor:
        return vectors @ self.table

    def _look(self, steps: Tensor, words: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        last = memory.mask.sum(1, keepdim=True) - 1
        weights = nn.functional.one_hot(steps.clamp(max=last), memory.states.shape[1]).double()
        previous = nn.functional.one_hot(words, VOCABULARY).double()
        return weights @ memory.states + 0.3 * previous, weights


SENTENCES = [[4, 5, 6, 7], [9], [], [8, 9, 10, 4, 5, 6, 7, 8]]
SEARCHES = (GreedySearch(1.0, 4), BeamSearch(4, 4, 1.0, 4), SamplingSearch(3, limit_factor=1.0, limit_extra=4))


def test_it_offers_what_a_network_does() -> None:
    assert isinstance(Copier(), Network)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
def test_it_is_searched_alone_as_in_any_batch(search, seed: int) -> None:
    network = Copier(seed)
    for sentence, hypotheses in zip(SENTENCES, search(network, *source_batch(SENTENCES)), strict=True):
        assert_same(hypotheses, search(network, *source_batch([sentence]))[0])
        for hypothesis in hypotheses:
            if not hypothesis.truncated:
                assert_same([hypothesis], force(network, *source_batch([sentence]), target_batch([hypothesis.tokens])))


def test_a_wide_beam_finds_the_likeliest_translation_of_all() -> None:
    network = Copier(2)
    source = source_batch([[4, 5]])
    ((best, *_),) = BeamSearch(60, 1, 0.5, 2, 0.0)(network, *source)
    words = [word for word in range(VOCABULARY) if word not in (PAD, BOS, EOS)]
    every = [[], *([w] for w in words), *([v, w] for v in words for w in words)]
    scored = force(network, source[0].expand(len(every), -1), source[1].expand(len(every)), target_batch(every))
    whole = [hypothesis for hypothesis in scored if len(hypothesis.tokens) <= 2]
    likeliest = max(whole, key=lambda hypothesis: hypothesis.log_probability)
    assert best.tokens == likeliest.tokens
    assert best.log_probability == pytest.approx(likeliest.log_probability, abs=1e-10)


def test_it_learns_to_copy_and_aligns_word_by_word() -> None:
    network = Copier()
    with torch.no_grad():
        network.table.copy_(8 * torch.eye(VOCABULARY))
    for sentence, ((hypothesis,)) in zip(SENTENCES, GreedySearch()(network, *source_batch(SENTENCES)), strict=True):
        assert hypothesis.tokens == sentence
        assert hypothesis.alignment.argmax(1).tolist() == [*range(len(sentence) + 1)]
