from itertools import product
from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lookback.common.special_tokens import EOS
from lookback.nn import RecurrentEncoder
from lookback.nn.recurrent.encoder import Direction
from lookback.nn.recurrent.recurrence import Cell
from support.plain import Array, array, cell_step
from support.toy import STACKS, Architecture, architectures, sentences, source_batch

SENTENCES = [[4, 5, 6, 7, 8], [], [9, 4, 4], [10]]


def read(layer: torch.nn.Module, inputs: list[Array]) -> list[Array]:
    """h_1 … h_S of one layer that reads ``inputs`` in the order in which they are given, from the state 0."""
    state, outputs = np.zeros(layer.state_size), []
    for x in inputs:
        state = cell_step(layer, x, state)
        outputs.append(state[: layer.hidden_size])
    return outputs


def encode(encoder: RecurrentEncoder, words: list[int], direction: str) -> tuple[list[Array], list[Array]]:
    """Annotations of one sentence, alone and unpadded, and the state of each direction that has read all of it."""
    states = [array(encoder.embedding.weight)[word] for word in words]
    for depth, layers in enumerate(encoder.layers):
        if direction == "both":
            forward, backward = read(layers[0], states), read(layers[1], states[::-1])[::-1]
            new = [np.concatenate([f, b]) for f, b in zip(forward, backward, strict=True)]
        elif direction == "forward":
            new = read(layers[0], states)
        else:
            new = read(layers[0], states[::-1])[::-1]
        states = [h + x for h, x in zip(new, states, strict=True)] if encoder.residual and depth > 0 else new
    size = encoder.layers[0][0].hidden_size
    final = {
        "both": [states[-1][:size], states[0][size:]],
        "forward": [states[-1]],
        "backward": [states[0]],
    }
    return states, final[direction]


@pytest.mark.parametrize(("cell", "direction", "stack"), list(product(get_args(Cell), get_args(Direction), STACKS)))
def test_the_encoder_is_its_equations_and_final_states_stand_at_true_lengths(
    cell: str, direction: str, stack: tuple[int, bool]
):
    layers, residual = stack
    encoder = Architecture(cell=cell, direction=direction, layers=layers, residual=residual).build().encoder
    source, lengths = source_batch(SENTENCES, extra=2)
    memory = encoder(source, lengths)
    for b, sentence in enumerate(SENTENCES):
        states, final = encode(encoder, [*sentence, EOS], direction)
        np.testing.assert_allclose(array(memory.states[b, : lengths[b]]), np.stack(states), rtol=0, atol=1e-12)
        np.testing.assert_allclose(array(memory.final[b]), np.stack(final), rtol=0, atol=1e-12)
        assert not memory.states[b, lengths[b] :].any()
        assert memory.mask[b].tolist() == [i <= len(sentence) for i in range(source.shape[1])]


@given(architectures(), sentences(), st.integers(0, 3))
def test_a_sentence_is_encoded_alike_alone_and_in_any_batch(architecture, batch, extra):
    encoder = architecture.build().encoder
    memory = encoder(*source_batch(batch, extra))
    for b, sentence in enumerate(batch):
        alone = encoder(*source_batch([sentence]))
        length = len(sentence) + 1
        torch.testing.assert_close(memory.states[b, :length], alone.states[0], rtol=0, atol=1e-12)
        torch.testing.assert_close(memory.final[b], alone.final[0], rtol=0, atol=1e-12)


@given(architectures())
def test_what_stands_in_the_padding_is_never_read(architecture):
    encoder = architecture.build().encoder
    source, lengths = source_batch(SENTENCES)
    rubbish = torch.where(torch.arange(source.shape[1]) < lengths.unsqueeze(1), source, 7)
    clean, dirty = encoder(source, lengths), encoder(rubbish, lengths)
    assert torch.equal(clean.states, dirty.states)
    assert torch.equal(clean.final, dirty.final)


def test_reading_backward_is_reading_the_reversed_source_forward():
    backward = Architecture(direction="backward").build(seed=4).encoder
    forward = Architecture(direction="forward").build(seed=4).encoder
    words = torch.tensor([[4, 5, 6, EOS]])
    lengths = torch.tensor([4])
    reversed_memory = forward(words.flip(1), lengths)
    memory = backward(words, lengths)
    torch.testing.assert_close(memory.states.flip(1), reversed_memory.states, rtol=0, atol=1e-12)
    torch.testing.assert_close(memory.final, reversed_memory.final, rtol=0, atol=1e-12)


def test_dropout_is_at_the_input_of_each_layer_and_nowhere_else():
    encoder = Architecture(direction="forward", layers=3, residual=True).build().encoder
    encoder.dropout = _Halve()
    first, second, third = (layers[0] for layers in encoder.layers)
    source, lengths = source_batch([[4, 5, 6]])
    zero = torch.zeros(1, encoder.final_size).double()
    one = first.unroll(encoder.embedding(source) / 2, zero)
    two = second.unroll(one / 2, zero) + one
    three = third.unroll(two / 2, zero) + two
    torch.testing.assert_close(encoder(source, lengths).states, three, rtol=0, atol=1e-12)


class _Halve(torch.nn.Module):
    """In dropout's place: says where it acts, without chance."""

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return values / 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"direction": "up"}, "direction=up: expected one of both, forward, backward"),
        ({"layers": 0}, "layers=0: expected a whole number, 1 to 100"),
        ({"hidden_size": 0}, "hidden_size=0: expected a whole number, 1 to 65,536"),
        ({"embedding_size": -1}, "embedding_size=-1: expected a whole number, 1 to 65,536"),
        ({"dropout": 1.0}, r"dropout=1\.0: expected a number, 0 up to 1"),
        ({"cell": "rnn"}, "cell=rnn: expected one of gru, lstm"),
    ],
)
def test_a_bad_argument_is_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        RecurrentEncoder(10, **{"embedding_size": 4, "hidden_size": 4, **arguments})
