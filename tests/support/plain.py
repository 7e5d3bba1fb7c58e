"""The equations of recurrent cells and of softmax in plain NumPy, one position at a time, for tests to compare with."""

import numpy as np
import torch
from torch import Tensor

from lookback.nn import Recurrence

Array = np.ndarray


def array(tensor: Tensor) -> Array:
    return tensor.detach().numpy()


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softmax(energies: list[float] | Array) -> Array:
    exponentials = np.exp(np.asarray(energies))
    return exponentials / exponentials.sum()


def cell_step(recurrence: Recurrence, x: Array, state: Array) -> Array:
    """The next state: h of a GRU, [h; c] of an LSTM."""
    network = recurrence.network
    if recurrence.cell == "gru_2014":
        return gru_2014_step(network, x, state)
    if isinstance(network, torch.nn.GRU):
        return gru_step(network, x, state)
    return np.concatenate(lstm_step(network, x, *np.split(state, 2)))


def gru_step(network: torch.nn.GRU, x: Array, h: Array) -> Array:
    """r = σ(W_r x + U_r h), z = σ(W_z x + U_z h), n = tanh(W_n x + r ∘ U_n h), h' = (1 − z) ∘ n + z ∘ h."""
    w_r, w_z, w_n = np.split(array(network.weight_ih_l0), 3)
    u_r, u_z, u_n = np.split(array(network.weight_hh_l0), 3)
    a_r, a_z, a_n = np.split(array(network.bias_ih_l0), 3)
    b_r, b_z, b_n = np.split(array(network.bias_hh_l0), 3)
    r = sigmoid(w_r @ x + a_r + u_r @ h + b_r)
    z = sigmoid(w_z @ x + a_z + u_z @ h + b_z)
    n = np.tanh(w_n @ x + a_n + r * (u_n @ h + b_n))
    return (1 - z) * n + z * h


def gru_2014_step(network: torch.nn.GRU, x: Array, h: Array) -> Array:
    """The same but for n = tanh(W_n x + U_n (r ∘ h))."""
    w_r, w_z, w_n = np.split(array(network.weight_ih_l0), 3)
    u_r, u_z, u_n = np.split(array(network.weight_hh_l0), 3)
    b_r, b_z, b_n = np.split(array(network.bias_ih_l0) + array(network.bias_hh_l0), 3)
    r = sigmoid(w_r @ x + u_r @ h + b_r)
    z = sigmoid(w_z @ x + u_z @ h + b_z)
    n = np.tanh(w_n @ x + u_n @ (r * h) + b_n)
    return (1 - z) * n + z * h


def lstm_step(network: torch.nn.LSTM, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
    """i, f, o = σ(W x + U h), g = tanh(W_g x + U_g h), c' = f ∘ c + i ∘ g, h' = o ∘ tanh(c')."""
    w_i, w_f, w_g, w_o = np.split(array(network.weight_ih_l0), 4)
    u_i, u_f, u_g, u_o = np.split(array(network.weight_hh_l0), 4)
    b_i, b_f, b_g, b_o = np.split(array(network.bias_ih_l0) + array(network.bias_hh_l0), 4)
    i = sigmoid(w_i @ x + u_i @ h + b_i)
    f = sigmoid(w_f @ x + u_f @ h + b_f)
    g = np.tanh(w_g @ x + u_g @ h + b_g)
    o = sigmoid(w_o @ x + u_o @ h + b_o)
    new_c = f * c + i * g
    return o * np.tanh(new_c), new_c
