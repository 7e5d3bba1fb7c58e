from typing import get_args

import numpy as np
import pytest
import torch

from lookback.nn import Recurrence
from lookback.nn.recurrent.recurrence import Cell
from support.plain import array, gru_2014_step, gru_step, lstm_step


def layer(cell: str, input_size: int = 4, hidden_size: int = 3) -> Recurrence:
    recurrence = Recurrence(input_size, hidden_size, cell).double()
    for parameter in recurrence.parameters():
        torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(parameter.numel()))
    return recurrence


def test_a_gru_step_is_its_equation():
    gru = layer("gru")
    x, h = torch.randn(2, 1, 4).double(), torch.randn(2, 1, 3).double()
    stepped = gru.step(gru.gates(x), h)
    for b in range(2):
        expected = gru_step(gru.network, array(x[b, 0]), array(h[b, 0]))
        np.testing.assert_allclose(array(stepped[b, 0]), expected, rtol=0, atol=1e-12)


def test_the_gru_of_the_papers_resets_before_the_product():
    gru = layer("gru_2014")
    x, h = torch.randn(2, 1, 4).double(), torch.randn(2, 1, 3).double()
    stepped = gru.step(gru.gates(x), h)
    for b in range(2):
        expected = gru_2014_step(gru.network, array(x[b, 0]), array(h[b, 0]))
        np.testing.assert_allclose(array(stepped[b, 0]), expected, rtol=0, atol=1e-12)
        assert not np.allclose(expected, gru_step(gru.network, array(x[b, 0]), array(h[b, 0])), atol=1e-3)


def test_an_lstm_step_is_its_equation_and_its_state_is_h_then_c():
    lstm = layer("lstm")
    x, state = torch.randn(2, 1, 4).double(), torch.randn(2, 1, 6).double()
    stepped = lstm.step(lstm.gates(x), state)
    for b in range(2):
        h, c = lstm_step(lstm.network, array(x[b, 0]), array(state[b, 0, :3]), array(state[b, 0, 3:]))
        np.testing.assert_allclose(array(stepped[b, 0]), np.concatenate([h, c]), rtol=0, atol=1e-12)
        np.testing.assert_allclose(array(lstm.hidden(stepped)[b, 0]), h, rtol=0, atol=1e-12)


@pytest.mark.parametrize("cell", get_args(Cell))
def test_unroll_is_step_after_step(cell: str):
    recurrence = layer(cell)
    inputs = torch.randn(2, 5, 4).double()
    state = torch.randn(2, recurrence.state_size).double()
    unrolled = recurrence.unroll(inputs, state)
    for i in range(5):
        state = recurrence.step(recurrence.gates(inputs[:, i]), state)
        torch.testing.assert_close(recurrence.hidden(state), unrolled[:, i], rtol=0, atol=1e-12)


@pytest.mark.parametrize("cell", get_args(Cell))
def test_gates_of_the_parts_of_an_input_sum_to_the_gates_of_the_whole(cell: str):
    recurrence = layer(cell)
    x = torch.randn(2, 4).double()
    parts = recurrence.gates(x[:, :3]) + recurrence.gates(x[:, 3:], first=3, bias=False)
    torch.testing.assert_close(parts, recurrence.gates(x), rtol=0, atol=1e-12)


def test_an_unknown_cell_is_refused_by_name():
    with pytest.raises(ValueError, match="cell=rnn: expected one of gru, lstm, gru_2014"):
        Recurrence(2, 2, "rnn")
