import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lookback.common.special_tokens import EOS
from lookback.search import force
from support.toy import Architecture, architectures, source_batch, target_batch

SOURCES = [[4, 5, 6, 7], [], [8, 9]]
TARGETS = [[5, 9, 4], [6, 6, 7, 10, 4], []]


@pytest.mark.parametrize("length_normalization", [0.0, 1.0, 0.5])
def test_a_forced_translation_has_the_models_probability_and_weights(length_normalization: float):
    model = Architecture().build()
    source, lengths = source_batch(SOURCES)
    forced = force(model, source, lengths, target_batch(TARGETS), length_normalization)
    for b, hypothesis in enumerate(forced):
        words = [*TARGETS[b], EOS]
        memory = model.encoder(source[b : b + 1, : lengths[b]], lengths[b : b + 1])
        state, word, total = model.decoder.start(memory), torch.tensor([[2]]), 0.0
        for i, next_word in enumerate(words):
            state, vector, weights = model.decoder.step(state, word)
            total += torch.softmax(model.decoder.logits(vector[0, 0]), dim=-1)[next_word].log().item()
            torch.testing.assert_close(hypothesis.alignment[i], weights[0, 0], rtol=0, atol=1e-10)
            word = torch.tensor([[next_word]])
        assert hypothesis.tokens == TARGETS[b]
        assert hypothesis.log_probability == pytest.approx(total, abs=1e-10)
        assert hypothesis.score == pytest.approx(total / len(words) ** length_normalization, abs=1e-10)
        assert hypothesis.alignment.shape == (len(words), lengths[b])
        assert not hypothesis.truncated


@given(architectures(), st.integers(0, 2), st.integers(0, 2))
def test_a_forced_translation_is_the_same_alone_and_in_a_padded_batch(architecture, source_extra, target_extra):
    model = architecture.build()
    together = force(model, *source_batch(SOURCES, source_extra), target_batch(TARGETS, target_extra))
    for b, hypothesis in enumerate(together):
        (alone,) = force(model, *source_batch(SOURCES[b : b + 1]), target_batch(TARGETS[b : b + 1]))
        assert hypothesis.tokens == alone.tokens
        assert hypothesis.log_probability == pytest.approx(alone.log_probability, abs=1e-10)
        torch.testing.assert_close(hypothesis.alignment, alone.alignment, rtol=0, atol=1e-10)
