import gc
import weakref

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lookback.nn import LaidOut, Network, Seq2Seq
from lookback.search import BeamSearch, GreedySearch, force
from lookback.search.next_words import NextWords
from support.same import assert_same
from support.toy import Architecture, architectures, source_batch, target_batch

SOURCES = [[4, 5, 6, 7], [], [8, 9]]
TARGETS = [[5, 9, 4], [6, 6, 7], []]


def assert_true_of(network: Network, model: Seq2Seq) -> None:
    """What a search of ``network`` says of its translations is what ``model`` says of them."""
    batch = source_batch(SOURCES)
    for search in (GreedySearch(1, 4), BeamSearch(2, 1, 1, 4)):
        for sentence, (found,) in zip(SOURCES, search(network, *batch), strict=True):
            if not found.truncated:
                assert_same([found], force(model, *source_batch([sentence]), target_batch([found.tokens])))


@given(architectures(), st.integers(0, 99), st.booleans())
def test_a_laid_out_step_is_the_networks_step(architecture, seed, is_tabled):
    model = architecture.build(seed)
    memory = model.encode(*source_batch(SOURCES))
    state = other = model.start(memory).reorder(torch.zeros(3, 2, dtype=torch.long))
    with pytest.MonkeyPatch.context() as patch, torch.inference_mode():
        if not is_tabled:
            patch.setattr("lookback.nn.recurrent.tabled.TABLE_BYTES", 0)
        network = model.laid_out()
        if "decoder" not in architecture.transformer:
            assert (network._decoder._table is not None) == is_tabled
        for words in (torch.full((3, 2), 2), torch.tensor([[4, 5], [6, 7], [8, 9]])):
            state, vectors, weights = model.step(state, words)
            other, other_vectors, other_weights = network.step(other, words)
            torch.testing.assert_close(other_vectors, vectors, rtol=0, atol=1e-12)
            torch.testing.assert_close(other_weights, weights, rtol=0, atol=1e-12)
            expected = model.logits(vectors).log_softmax(-1)
            next_words = NextWords(network.arranged_logits(other_vectors), network.columns)
            plain = NextWords(network.columns.arranged(model.logits(vectors)), network.columns)
            for word in (1, 3, 10):
                for found in (next_words, plain):
                    given = found.log_probabilities(torch.full((3, 2), word))
                    torch.testing.assert_close(given, expected[..., word], rtol=0, atol=1e-12)


@given(architectures(), st.integers(0, 99))
def test_a_search_finds_the_same_with_and_without_it(architecture, seed):
    model = architecture.build(seed, sharpness=2)
    batch = source_batch(SOURCES)
    for search in (GreedySearch(1, 4), BeamSearch(3, 3, 1, 4)):
        for plain, laid_out in zip(search(model, *batch), search(model.laid_out(), *batch), strict=True):
            assert_same(laid_out, plain)


def test_it_keeps_the_weights_that_it_was_made_with():
    model = Architecture().build(sharpness=2)
    before, network = Architecture().build(sharpness=2), model.laid_out()
    with torch.no_grad():
        for weight in (*model.decoder.readout.parameters(), *model.decoder.layers.parameters()):
            weight += 1
    assert_true_of(network, before)
    assert_true_of(model.laid_out(), model)


def test_another_precision_is_another_layout():
    model = Architecture().build(dtype=torch.float32)
    batch = source_batch(SOURCES)
    exact = GreedySearch(1, 4)(model.laid_out(), *batch)
    with torch.autocast("cpu", torch.bfloat16):
        coarse = GreedySearch(1, 4)(model.laid_out(), *batch)
    again = GreedySearch(1, 4)(model.laid_out(), *batch)
    assert [h[0].log_probability for h in again] == [h[0].log_probability for h in exact]
    assert [h[0].log_probability for h in coarse] != [h[0].log_probability for h in exact]
    assert_true_of(model.double().laid_out(), model)


def test_it_leaves_the_network_as_it_was_and_nothing_keeps_it():
    model = Architecture().build()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    strides = {name: value.stride() for name, value in model.state_dict().items()}
    attributes = {name: set(vars(module)) for name, module in model.named_modules()}
    network = model.laid_out()
    assert_true_of(network, model)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert {name: value.stride() for name, value in model.state_dict().items()} == strides
    assert {name: set(vars(module)) for name, module in model.named_modules()} == attributes
    assert not model.training
    made: weakref.ref[LaidOut] = weakref.ref(network)
    del model, network
    gc.collect()
    assert made() is None


def test_a_search_drops_nothing_and_leaves_dropout_to_training():
    model = Architecture().build(sharpness=2)
    model.decoder.dropout.p = 0.9
    assert_true_of(model.laid_out(), model)
    assert isinstance(model.decoder.dropout, torch.nn.Dropout)
    model.train()
    batch = (*source_batch(SOURCES), target_batch(TARGETS))
    assert model(*batch).loss != model(*batch).loss
