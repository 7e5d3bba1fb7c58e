"""Training's loop over the target, as one function whose backward pass is written out.

Autograd would keep every intermediate value of every step, and would add to every weight's gradient once a step. Here
the loop does only what waits for the previous step, and

- the products of a step that read the same state are one product: the query's and the recurrent gates', and with input
  feeding the readout's;
- weights never wait: as dW = Σ_t d_tᵀ x_t, each gradient is a single product over all steps once the loop is over;
- the additive energies' tanh, which is B·S·A values a step, is computed again in the backward pass in one buffer, not
  kept. Memory grows with T·(B·H + B·S) instead of T·B·S·A.

What one step passes back is in ``lookback.nn.kernels.derivatives``. All is time first inside, (T, B, ·): a step is one
block.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from lookback.nn.kernels.derivatives import CELL_STEPS, Gru, LookBackward, Lstm, energies_of, look_at, tanh_backward
from lookback.nn.memory import Memory


@dataclass(frozen=True)
class Loop:
    """What a loop over the target begins with, whatever the order in which it looks and moves.

    gates: x, what is known of the gates before the loop, the input's bias included.
    start: the state before the first word: h, or [h; c].
    query_weight, energy_weight: W and v of additive energies; None for bilinear ones.
    """

    cell: str
    gates: Float[Tensor, "batch time gates"]
    start: Float[Tensor, "batch state"]
    memory: Memory
    keys: Float[Tensor, "batch source key"]
    recurrent_weight: Float[Tensor, "gates hidden"]
    recurrent_bias: Float[Tensor, "gates"]
    query_weight: Float[Tensor, "key hidden"] | None
    energy_weight: Float[Tensor, "key"] | None


def attend_then_update(
    loop: Loop, context_weight: Float[Tensor, "gates memory"]
) -> tuple[Float[Tensor, "batch time hidden"], Float[Tensor, "batch time memory"], Float[Tensor, "batch time source"]]:
    """Queries s_0 … s_{T-1}, contexts c_1 … c_T and weights α of  c_t = look(s_{t-1}),
    s_t = cell(x_t + W c_t, s_{t-1})  (Bahdanau et al. 2015, App. A.2.2).
    """
    weight, bias = loop.recurrent_weight, loop.recurrent_bias
    if loop.query_weight is not None:
        weight = torch.cat([loop.query_weight, weight])
        bias = torch.cat([bias.new_zeros(len(loop.query_weight)), bias])
    queries, contexts, weights = _run(_AttendThenUpdate, loop, weight, bias, context_weight)
    return queries, contexts, weights


def update_then_attend(
    loop: Loop,
    feed_weight: Float[Tensor, "gates readout"],
    readout_weight: Float[Tensor, "readout hidden"],
    readout_bias: Float[Tensor, "readout"],
    context_weight: Float[Tensor, "readout memory"],
    scale: Float[Tensor, "batch time readout"] | None,
) -> tuple[Float[Tensor, "batch time readout"], Float[Tensor, "batch time source"]]:
    """Vectors f_1 … f_T and weights α of  h_t = cell(x_t + W f_{t-1}, h_{t-1}),  c_t = look(h_t),
    f_t = m_t ∘ tanh(R h_t + C c_t + b), with f_0 = 0  (Luong et al. 2015, eq. 5 and § 3.3).

    scale: m, dropout's scaled mask; None drops nothing.
    """
    weight = torch.cat([loop.recurrent_weight, readout_weight])
    bias = torch.cat([loop.recurrent_bias, readout_bias])
    if loop.query_weight is not None:
        weight = torch.cat([weight, loop.query_weight])
        bias = torch.cat([bias, bias.new_zeros(len(loop.query_weight))])
    scale = None if scale is None else scale.transpose(0, 1)
    vectors, weights = _run(_UpdateThenAttend, loop, weight, bias, context_weight, feed_weight, scale)
    return vectors, weights


def look_step_by_step(
    queries: Float[Tensor, "batch time key"],
    keys: Float[Tensor, "batch source key"],
    energy_weight: Float[Tensor, "key"],
    memory: Memory,
) -> tuple[Float[Tensor, "batch time memory"], Float[Tensor, "batch time source"]]:
    """Contexts c_1 … c_T and weights α of  c_t = look(q_t)  with additive energies, where no query waits for a context:
    not for speed but for memory.

    queries: W s_t.
    """
    inputs = _in_one_type(queries.transpose(0, 1), memory.states, keys, energy_weight)
    contexts, weights = _LookStepByStep.apply(~memory.mask, *inputs)
    return contexts.transpose(0, 1), weights.transpose(0, 1)


def _run(function: type[Function], loop: Loop, *weights: Tensor | None) -> tuple[Tensor, ...]:
    """The function's outputs, batch first."""
    inputs = [loop.gates.transpose(0, 1), loop.start, loop.memory.states, loop.keys, loop.energy_weight, *weights]
    outputs = function.apply(CELL_STEPS[loop.cell], ~loop.memory.mask, *_in_one_type(*inputs))
    return tuple(output.transpose(0, 1) for output in outputs)


def _in_one_type(*tensors: Tensor | None) -> list[Tensor | None]:
    """Under autocast everything in its type, once: casts inside a loop would eat its gain."""
    on = next(tensor.device.type for tensor in tensors if tensor is not None)
    if not torch.is_autocast_enabled(on):
        return list(tensors)
    return [None if tensor is None else tensor.to(torch.get_autocast_dtype(on)) for tensor in tensors]


class _AttendThenUpdate(Function):
    @staticmethod
    def forward(
        ctx: Any,
        cell: type[Gru] | type[Lstm],
        padding: Tensor,
        gates: Tensor,
        start: Tensor,
        states: Tensor,
        keys: Tensor,
        energy_weight: Tensor | None,
        weight: Tensor,
        bias: Tensor,
        context_weight: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        steps, batch, _ = gates.shape
        size, energies = weight.shape[1], energies_of(keys, energy_weight)
        asks = energies.projected
        recurrent = gates.new_empty(steps, batch, start.shape[1])
        products = gates.new_empty(steps, batch, len(weight))
        activations = gates.new_empty(gates.shape)
        contexts = gates.new_empty(steps, batch, states.shape[2])
        weights = gates.new_empty(steps, batch, states.shape[1])
        recurrent[0] = start
        columns, context_columns = _transposed(weight), _transposed(context_weight)
        for t in range(steps):
            hidden, product = recurrent[t, :, :size], products[t]
            torch.addmm(bias, hidden, columns, out=product)
            look_at(energies, product[:, :asks] if asks else hidden, states, padding, out=(contexts[t], weights[t]))
            if t + 1 < steps:  # nothing reads the state behind the last word
                torch.addmm(gates[t], contexts[t], context_columns, out=activations[t])
                cell.forward(activations[t], product[:, asks:], recurrent[t], out=recurrent[t + 1])
        ctx.cell = cell
        ctx.save_for_backward(
            states, keys, weight, context_weight, energy_weight, recurrent, products, activations, contexts, weights
        )
        ctx.set_materialize_grads(False)
        return recurrent[:, :, :size], contexts, weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_queries: Tensor | None, d_contexts: Tensor | None, d_weights: Tensor | None) -> Any:
        (states, keys, weight, context_weight, energy_weight, recurrent, products, activations, contexts, weights) = (
            ctx.saved_tensors
        )
        steps, size, energies = len(weights), weight.shape[1], energies_of(keys, energy_weight)
        asks = energies.projected
        d_contexts = (
            torch.zeros_like(contexts)
            if d_contexts is None
            else d_contexts.clone(memory_format=torch.contiguous_format)
        )
        look = LookBackward(energies, states, weights, d_contexts, d_weights)
        d_gates, d_products = torch.empty_like(activations), torch.empty_like(products)
        d_gates[-1], d_products[-1] = 0, 0
        d_state = torch.zeros_like(recurrent[0])
        for t in reversed(range(steps)):
            hidden, product, d_product = recurrent[t, :, :size], products[t], d_products[t]
            if t + 1 < steps:
                out = d_gates[t], d_product[:, asks:]
                d_state = ctx.cell.backward(
                    d_state, activations[t], product[:, asks:], recurrent[t], recurrent[t + 1], out
                )
                look.d_contexts[t].addmm_(d_gates[t], context_weight)
            d_hidden = d_state[:, :size]
            d_query = look.backward(t, product[:, :asks] if asks else hidden)
            if asks:
                d_product[:, :asks] = d_query
            else:
                d_hidden += d_query
            d_hidden.addmm_(d_product, weight)
            if d_queries is not None:
                d_hidden += d_queries[t]
        hidden = recurrent[:, :, :size]
        d_keys, d_energy_weight = look.d_keys(products[:, :, :asks] if asks else hidden)
        return (
            *(None, None, d_gates, d_state, look.d_states(), d_keys, d_energy_weight),
            *(_over_steps(d_products, hidden), d_products.sum((0, 1)), _over_steps(d_gates, contexts)),
        )


class _UpdateThenAttend(Function):
    @staticmethod
    def forward(
        ctx: Any,
        cell: type[Gru] | type[Lstm],
        padding: Tensor,
        gates: Tensor,
        start: Tensor,
        states: Tensor,
        keys: Tensor,
        energy_weight: Tensor | None,
        weight: Tensor,
        bias: Tensor,
        context_weight: Tensor,
        feed_weight: Tensor,
        scale: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        steps, batch, width = gates.shape
        size, energies = weight.shape[1], energies_of(keys, energy_weight)
        reads = slice(width, width + len(context_weight))  # the columns of a product behind the gates: the readout's,
        asks = slice(reads.stop, None)  # and the query's
        # a product stands beside the state that it was made from: both have one more than there are steps
        recurrent = gates.new_empty(steps + 1, batch, start.shape[1])
        products = gates.new_empty(steps + 1, batch, len(weight))
        activations = gates.new_empty(gates.shape)
        contexts = gates.new_empty(steps, batch, states.shape[2])
        weights = gates.new_empty(steps, batch, states.shape[1])
        vectors = gates.new_empty(steps, batch, len(context_weight))
        fed = vectors if scale is None else torch.empty_like(vectors)
        recurrent[0] = start
        columns, context_columns, feed_columns = map(_transposed, (weight, context_weight, feed_weight))
        torch.addmm(bias, start[:, :size], columns, out=products[0])
        for t in range(steps):
            if t == 0:
                activations[0] = gates[0]
            else:
                torch.addmm(gates[t], fed[t - 1], feed_columns, out=activations[t])
            cell.forward(activations[t], products[t, :, :width], recurrent[t], out=recurrent[t + 1])
            hidden, product = recurrent[t + 1, :, :size], products[t + 1]
            torch.addmm(bias, hidden, columns, out=product)
            query = product[:, asks] if energies.projected else hidden
            look_at(energies, query, states, padding, out=(contexts[t], weights[t]))
            torch.addmm(product[:, reads], contexts[t], context_columns, out=vectors[t]).tanh_()
            if scale is not None:
                torch.mul(vectors[t], scale[t], out=fed[t])
        ctx.cell = cell
        ctx.save_for_backward(
            *(states, keys, weight, feed_weight, context_weight, energy_weight, scale),
            *(recurrent, products, activations, contexts, weights, vectors, fed),
        )
        ctx.set_materialize_grads(False)
        return fed, weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_fed: Tensor | None, d_weights: Tensor | None) -> Any:
        states, keys, weight, feed_weight, context_weight, energy_weight, scale, *values = ctx.saved_tensors
        recurrent, products, activations, contexts, weights, vectors, fed = values
        steps, _, width = activations.shape
        size, energies = weight.shape[1], energies_of(keys, energy_weight)
        reads = slice(width, width + len(context_weight))
        asks = slice(reads.stop, None)
        look = LookBackward(energies, states, weights, torch.empty_like(contexts), d_weights)
        d_gates, d_products = torch.empty_like(activations), torch.empty_like(products)
        d_products[-1, :, :width], d_products[0, :, width:] = 0, 0
        d_state = torch.zeros_like(recurrent[0])
        for t in reversed(range(steps)):
            hidden, d_hidden = recurrent[t + 1, :, :size], d_state[:, :size]
            product, d_product = products[t + 1], d_products[t + 1]
            d_vector = torch.zeros_like(vectors[t]) if d_fed is None else d_fed[t]
            if t + 1 < steps:
                d_vector = torch.addmm(d_vector, d_gates[t + 1], feed_weight)
            if scale is not None:
                d_vector = d_vector * scale[t]
            d_product[:, reads] = tanh_backward(d_vector, vectors[t])
            torch.mm(d_product[:, reads], context_weight, out=look.d_contexts[t])
            d_query = look.backward(t, product[:, asks] if energies.projected else hidden)
            if energies.projected:
                d_product[:, asks] = d_query
            else:
                d_hidden += d_query
            d_hidden.addmm_(d_product, weight)
            out = d_gates[t], d_products[t, :, :width]
            d_state = ctx.cell.backward(
                d_state, activations[t], products[t, :, :width], recurrent[t], recurrent[t + 1], out
            )
        d_state[:, :size].addmm_(d_products[0], weight)
        hidden = recurrent[:, :, :size]
        d_keys, d_energy_weight = look.d_keys(products[1:, :, asks] if energies.projected else hidden[1:])
        return (
            *(None, None, d_gates, d_state, look.d_states(), d_keys, d_energy_weight),
            *(_over_steps(d_products, hidden), d_products.sum((0, 1))),
            *(_over_steps(d_products[1:, :, reads], contexts), _over_steps(d_gates[1:], fed[:-1]), None),
        )


class _LookStepByStep(Function):
    @staticmethod
    def forward(
        ctx: Any, padding: Tensor, queries: Tensor, states: Tensor, keys: Tensor, energy_weight: Tensor
    ) -> tuple[Tensor, Tensor]:
        energies = energies_of(keys, energy_weight)
        contexts = queries.new_empty(*queries.shape[:2], states.shape[2])
        weights = queries.new_empty(*queries.shape[:2], states.shape[1])
        for query, context, weight in zip(queries, contexts, weights, strict=True):
            look_at(energies, query, states, padding, out=(context, weight))
        ctx.save_for_backward(queries, states, keys, energy_weight, weights)
        ctx.set_materialize_grads(False)
        return contexts, weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_contexts: Tensor | None, d_weights: Tensor | None) -> Any:
        queries, states, keys, energy_weight, weights = ctx.saved_tensors
        if d_contexts is None:
            d_contexts = weights.new_zeros(*weights.shape[:2], states.shape[2])
        look = LookBackward(energies_of(keys, energy_weight), states, weights, d_contexts, d_weights)
        d_queries = torch.empty_like(queries)
        for t, query in enumerate(queries):
            d_queries[t] = look.backward(t, query)
        return None, d_queries, look.d_states(), *look.d_keys(queries)


def _transposed(weight: Float[Tensor, "out in"]) -> Float[Tensor, "in out"]:
    """The transposed weight, laid out for products of few rows, which take a third longer with a view of it.

    The rows are padded: a power of two apart, they would fall on the same lines of the cache.
    """
    return weight.new_empty(weight.shape[1], len(weight) + 16)[:, : len(weight)].copy_(weight.t())


def _over_steps(
    d_outputs: Float[Tensor, "time batch out"], inputs: Float[Tensor, "time batch in"]
) -> Float[Tensor, "out in"]:
    """A weight's gradient: one product over all steps."""
    return d_outputs.reshape(-1, d_outputs.shape[2]).t() @ inputs.reshape(-1, inputs.shape[2])
