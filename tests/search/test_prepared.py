import gc
import weakref

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from lookback.nn import Seq2Seq
from lookback.search import BeamSearch, GreedySearch, force
from lookback.search.prepared import prepared
from support.same import assert_same
from support.toy import Architecture, architectures, source_batch, target_batch

SOURCES = [[4, 5, 6, 7], [], [8, 9]]
TARGETS = [[5, 9, 4], [6, 6, 7], []]


def assert_current(model: Seq2Seq) -> None:
    """What search says of its translations is what the model says of them now."""
    batch = source_batch(SOURCES)
    for search in (GreedySearch(1, 4), BeamSearch(2, 1, 1, 4)):
        for sentence, (found,) in zip(SOURCES, search(model, *batch), strict=True):
            if not found.truncated:
                assert_same([found], force(model, *source_batch([sentence]), target_batch([found.tokens])))


@given(architectures(), st.integers(0, 99), st.booleans())
def test_a_prepared_step_is_the_decoders_step(architecture, seed, is_tabled):
    model = architecture.build(seed)
    memory = model.encoder(*source_batch(SOURCES))
    reader = model.decoder.attention.over(memory)
    state = other = model.decoder.start(memory).reorder(torch.zeros(3, 2, dtype=torch.long))
    with pytest.MonkeyPatch.context() as patch, torch.inference_mode():
        if not is_tabled:
            patch.setattr("lookback.search.prepared.TABLE_BYTES", 0)
        decoder = prepared(model.decoder)
        assert (decoder._table is not None) == is_tabled
        for words in (torch.full((3, 2), 2), torch.tensor([[4, 5], [6, 7], [8, 9]])):
            state, vectors, weights = model.decoder.step(state, words, reader)
            other, next_words, other_weights = decoder.step(other, words, reader)
            torch.testing.assert_close(other.recurrent, state.recurrent, rtol=0, atol=1e-12)
            torch.testing.assert_close(other_weights, weights, rtol=0, atol=1e-12)
            expected = model.decoder.log_probabilities(vectors)
            for word in (1, 3, 10):
                found = next_words.log_probabilities(torch.full((3, 2), word))
                torch.testing.assert_close(found, expected[..., word], rtol=0, atol=1e-12)


def test_it_is_made_once_while_nothing_changes():
    model = Architecture().build()
    with torch.inference_mode():
        first = prepared(model.decoder)
        assert prepared(model.decoder) is first
        assert prepared(Architecture().build().decoder) is not first


@pytest.mark.parametrize("fused", [False, True])
def test_an_optimizers_step_is_seen(fused: bool):
    """Fused Adam changes weights without PyTorch counting it as a change."""
    model = Architecture().build(sharpness=2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.3, fused=fused)
    for _ in range(3):
        assert_current(model)
        model(*source_batch(SOURCES), target_batch(TARGETS)).loss.backward()
        optimizer.step()


def _names() -> list[str]:
    return [name for name, _ in Architecture().build().decoder.named_parameters()]


@pytest.mark.parametrize("name", _names())
def test_a_change_of_one_number_behind_pytorchs_back_is_seen(name: str):
    model = Architecture().build(sharpness=2)
    assert_current(model)
    parameter = model.decoder.get_parameter(name)
    version = parameter._version
    parameter.data.view(-1)[-1] += 3
    assert parameter._version == version
    assert_current(model)


@pytest.mark.parametrize("axis", [0, 1], ids=["rows", "columns"])
def test_numbers_that_change_places_are_seen(axis: int):
    model = Architecture().build(sharpness=2)
    assert_current(model)
    for weight in (model.decoder.vocabulary.weight, model.decoder.embedding.weight):
        weight.data.copy_(weight.data.roll(1, axis))
        assert_current(model)


@pytest.mark.parametrize("offset", [0, 1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_weights_may_be_parts_of_one_vector(dtype: torch.dtype, offset: int):
    """As some optimizers and averages keep them: then nothing says that a weight starts where eight bytes do."""
    decoder = Architecture().build(dtype=dtype).decoder
    weights = list(decoder.parameters())
    vector = torch.cat([torch.zeros(offset, dtype=dtype), parameters_to_vector(weights)]).detach()
    vector_to_parameters(vector[offset:], weights)
    with torch.inference_mode():
        first = prepared(decoder)
        assert prepared(decoder) is first
        vector[-1] += 1
        assert prepared(decoder) is not first


def test_loaded_assigned_and_replaced_weights_are_seen():
    model, other = Architecture().build(0, sharpness=2), Architecture().build(1, sharpness=2)
    assert_current(model)
    model.load_state_dict(other.state_dict())
    assert_current(model)
    model.load_state_dict(Architecture().build(2, sharpness=2).state_dict(), assign=True)
    assert_current(model)
    model.decoder.vocabulary = other.decoder.vocabulary
    assert_current(model)


def test_another_precision_is_another_preparation():
    model = Architecture().build(dtype=torch.float32)
    batch = source_batch(SOURCES)
    exact = GreedySearch(1, 4)(model, *batch)
    with torch.autocast("cpu", torch.bfloat16):
        coarse = GreedySearch(1, 4)(model, *batch)
    again = GreedySearch(1, 4)(model, *batch)
    assert [h[0].log_probability for h in again] == [h[0].log_probability for h in exact]
    assert [h[0].log_probability for h in coarse] != [h[0].log_probability for h in exact]
    assert_current(model.double())


def test_a_search_leaves_the_model_as_it_was_and_dies_with_it():
    model = Architecture().build()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    strides = {name: value.stride() for name, value in model.state_dict().items()}
    attributes = {name: set(vars(module)) for name, module in model.named_modules()}
    assert_current(model)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert {name: value.stride() for name, value in model.state_dict().items()} == strides
    assert {name: set(vars(module)) for name, module in model.named_modules()} == attributes
    assert not model.training
    made = weakref.ref(prepared(model.decoder))
    del model
    gc.collect()
    assert made() is None


def test_a_search_drops_nothing_and_leaves_dropout_to_training():
    model = Architecture().build(sharpness=2)
    model.decoder.dropout.p = 0.9
    assert_current(model)
    assert isinstance(model.decoder.dropout, torch.nn.Dropout)
    model.train()
    batch = (*source_batch(SOURCES), target_batch(TARGETS))
    assert model(*batch).loss != model(*batch).loss
