import math

import pytest
import torch
from torch import Tensor

from lookback.nn import Recurrence
from lookback.nn.recurrence import CELLS


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def affine(weight: Tensor, bias: Tensor, x: list[float]) -> list[float]:
    return [sum(w * v for w, v in zip(row, x, strict=True)) + b for row, b in zip(weight.tolist(), bias.tolist(), strict=True)]


def gru_step(network: torch.nn.GRU, x: list[float], h: list[float]) -> list[float]:
    """r = σ(W_r x + U_r h), z = σ(W_z x + U_z h), n = tanh(W_n x + r ∘ U_n h), h' = (1 − z) ∘ n + z ∘ h; biases in W and U."""
    size = len(h)
    from_x = affine(network.weight_ih_l0, network.bias_ih_l0, x)
    from_h = affine(network.weight_hh_l0, network.bias_hh_l0, h)
    new = []
    for k in range(size):
        r = sigmoid(from_x[k] + from_h[k])
        z = sigmoid(from_x[size + k] + from_h[size + k])
        n = math.tanh(from_x[2 * size + k] + r * from_h[2 * size + k])
        new.append((1 - z) * n + z * h[k])
    return new


def lstm_step(network: torch.nn.LSTM, x: list[float], h: list[float], c: list[float]) -> tuple[list[float], list[float]]:
    """i, f, o = σ(W x + U h), g = tanh(W_g x + U_g h), c' = f ∘ c + i ∘ g, h' = o ∘ tanh(c'); rows in the order i, f, g, o."""
    size = len(h)
    from_x = affine(network.weight_ih_l0, network.bias_ih_l0, x)
    from_h = affine(network.weight_hh_l0, network.bias_hh_l0, h)
    total = [a + b for a, b in zip(from_x, from_h, strict=True)]
    new_h, new_c = [], []
    for k in range(size):
        i, f = sigmoid(total[k]), sigmoid(total[size + k])
        g, o = math.tanh(total[2 * size + k]), sigmoid(total[3 * size + k])
        new_c.append(f * c[k] + i * g)
        new_h.append(o * math.tanh(new_c[-1]))
    return new_h, new_c


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
        expected = gru_step(gru.network, x[b, 0].tolist(), h[b, 0].tolist())
        torch.testing.assert_close(stepped[b, 0].tolist(), expected, rtol=0, atol=1e-12)


def test_an_lstm_step_is_its_equation_and_its_state_is_h_then_c():
    lstm = layer("lstm")
    x, state = torch.randn(2, 1, 4).double(), torch.randn(2, 1, 6).double()
    stepped = lstm.step(lstm.gates(x), state)
    for b in range(2):
        h, c = lstm_step(lstm.network, x[b, 0].tolist(), state[b, 0, :3].tolist(), state[b, 0, 3:].tolist())
        torch.testing.assert_close(stepped[b, 0].tolist(), h + c, rtol=0, atol=1e-12)
        torch.testing.assert_close(lstm.hidden(stepped)[b, 0].tolist(), h, rtol=0, atol=1e-12)


@pytest.mark.parametrize("cell", CELLS)
def test_unroll_is_step_after_step(cell: str):
    recurrence = layer(cell)
    inputs = torch.randn(2, 5, 4).double()
    state = torch.randn(2, recurrence.state_size).double()
    unrolled = recurrence.unroll(inputs, state)
    for i in range(5):
        state = recurrence.step(recurrence.gates(inputs[:, i]), state)
        torch.testing.assert_close(recurrence.hidden(state), unrolled[:, i], rtol=0, atol=1e-12)


@pytest.mark.parametrize("cell", CELLS)
def test_gates_of_the_parts_of_an_input_sum_to_the_gates_of_the_whole(cell: str):
    recurrence = layer(cell)
    x = torch.randn(2, 4).double()
    parts = recurrence.gates(x[:, :3]) + recurrence.gates(x[:, 3:], first=3, bias=False)
    torch.testing.assert_close(parts, recurrence.gates(x), rtol=0, atol=1e-12)


def test_an_unknown_cell_is_refused_by_name():
    with pytest.raises(ValueError, match="cell='rnn': expected one of gru, lstm"):
        Recurrence(2, 2, "rnn")
