"""Each written derivative is autograd's of the plain equation."""

import pytest
import torch

from lookback.nn import Recurrence
from lookback.nn.kernels.derivatives import CELL_STEPS, LookBackward, energies_of, look_at

SIZE, BATCH = 3, 4


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("cell", CELL_STEPS)
def test_a_cells_update(cell: str):
    torch.manual_seed(0)
    layer = Recurrence(2, SIZE, cell).double()
    _, weight, _, bias = layer.network.all_weights[0]
    gates, before = random(BATCH, len(weight)), random(BATCH, layer.state_size)
    after = layer.step(gates, before)
    d_after = torch.randn_like(after)
    plain = torch.autograd.grad(after, (gates, before), d_after)

    step = CELL_STEPS[cell]
    with torch.no_grad():
        recurrent, activations, out = layer.hidden(before) @ weight.t() + bias, gates.clone(), torch.empty_like(after)
        step.forward(activations, recurrent, before, out)
        torch.testing.assert_close(out, after, rtol=0, atol=1e-14)
        d_gates, d_recurrent = torch.empty_like(gates), torch.empty_like(gates)
        d_before = step.backward(d_after, activations, recurrent, before, out, (d_gates, d_recurrent))
        d_before[:, :SIZE] += d_recurrent @ weight
    torch.testing.assert_close(d_gates, plain[0], rtol=0, atol=1e-14)
    torch.testing.assert_close(d_before, plain[1], rtol=0, atol=1e-14)


@pytest.mark.parametrize("is_additive", [True, False], ids=["additive", "bilinear"])
def test_looks_of_two_steps(is_additive: bool):
    torch.manual_seed(0)
    states, keys, queries = random(BATCH, 5, 2), random(BATCH, 5, SIZE), random(2, BATCH, SIZE)
    energy_weight = random(SIZE) if is_additive else None
    padding = torch.arange(5) >= torch.tensor([5, 1, 3, 4]).unsqueeze(1)

    found = (
        queries.unsqueeze(2).add(keys).tanh() @ energy_weight
        if energy_weight is not None
        else torch.einsum("tbk,bsk->tbs", queries, keys)
    )
    weights = found.masked_fill(padding, -torch.inf).softmax(-1)
    contexts = torch.einsum("tbs,bsm->tbm", weights, states)
    d_contexts, d_weights = torch.randn_like(contexts), torch.randn_like(weights)
    inputs = [states, queries, keys] + [energy_weight] * is_additive
    plain = torch.autograd.grad((contexts, weights), inputs, (d_contexts, d_weights))

    with torch.no_grad():
        energies = energies_of(keys, energy_weight)
        ours, looked = torch.empty_like(contexts), torch.empty_like(weights)
        for t in range(2):
            look_at(energies, queries[t], states, padding, out=(ours[t], looked[t]))
        torch.testing.assert_close(ours, contexts, rtol=0, atol=1e-14)
        assert not looked[:, padding].any()
        look = LookBackward(energies, states, looked, d_contexts, d_weights)
        d_queries = torch.stack([look.backward(t, queries[t]) for t in (1, 0)][::-1])
        d_keys, d_energy_weight = look.d_keys(queries)
        written = [look.d_states(), d_queries, d_keys] + [d_energy_weight] * is_additive
    for a, b in zip(written, plain, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-14)
