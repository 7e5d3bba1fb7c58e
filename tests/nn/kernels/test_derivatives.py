"""Each written derivative is autograd's of the plain equation."""

import pytest
import torch

from lookback.nn import Recurrence
from lookback.nn.kernels.derivatives import CELL_STEPS, AdditiveEnergies, LookBackward, energies_of, look_at

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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("query", [-1e4, -90.0, -30.0, 0.0, 1e-3, 30.0, 90.0, 1e4])
def test_energies_of_large_numbers_are_those_of_tanh(query: float, dtype: torch.dtype):
    """Exponentials of keys and queries overflow where tanh of their sum does not."""
    large = torch.tensor([90.0, 1e4], dtype=dtype)
    keys = torch.cat([torch.tensor([-30.0, -1.0, 0.0, 1.0, 30.0], dtype=dtype), large if query >= 0 else -large])
    queries, weight = torch.full((1, 1), query, dtype=dtype), torch.ones(1, dtype=dtype)
    energies = AdditiveEnergies(keys.view(1, -1, 1), weight)
    found = energies(queries) - 1  # the same for all positions
    torch.testing.assert_close(found[0], torch.tanh(keys + query), rtol=0, atol=8 * torch.finfo(dtype).eps)
    energies.start_backward()
    assert energies.backward(queries, torch.ones(1, len(keys), dtype=dtype)).isfinite().all()


@pytest.mark.parametrize("offset", [0.0, 50.0, -300.0, 1e4])
def test_energies_of_large_keys_and_opposite_queries_are_those_of_tanh(offset: float):
    """What they share, with opposite signs, leaves their sum small, and its tanh far from ±1."""
    torch.manual_seed(2)
    keys, queries = torch.randn(2, 5, 3).double() + offset, torch.randn(2, 3).double() - offset
    weight = torch.randn(3).double()
    energies = AdditiveEnergies(keys, weight)
    expected = torch.tanh(keys + queries.unsqueeze(1)) @ weight
    torch.testing.assert_close(energies(queries) - weight.sum(), expected, rtol=0, atol=1e-10)


def test_an_unknown_energy_stays_unknown():
    """NaN in a key is NaN in its energy: a training that has gone wrong must not look well."""
    keys = torch.tensor([[[1.0], [torch.nan], [2.0]]])
    found = AdditiveEnergies(keys, torch.ones(1))(torch.zeros(1, 1))
    assert found.isnan().tolist() == [[False, True, False]]
