"""In which order a decoder looks and moves: that of Bahdanau et al. 2015, of Luong et al. 2015, or of Nematus.

Each order says what one step is, which states look where all steps are taken at once, and how the loop is unrolled
whose backward pass is written out (``lookback.nn.kernels.unroll``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lookback.nn.attention import Look
from lookback.nn.kernels.unroll import Loop, attend_then_update, update_then_attend
from lookback.nn.recurrent.readout import AttentionalReadout

if TYPE_CHECKING:
    from lookback.nn.recurrent.decoder import RecurrentDecoder
    from lookback.nn.recurrent.recurrence import Recurrence
    from lookback.nn.recurrent.state import DecoderState


class LookThenMove:
    """Bahdanau et al. 2015, App. A.2.2:

    c_i = look(s_{i-1})      s_i = RNN(s_{i-1}, [y_{i-1}; c_i])      t_i = readout(s_{i-1}, y_{i-1}, c_i)
    """

    def step(
        self, decoder: RecurrentDecoder, state: DecoderState, gates: Float[Tensor, "batch n gates"]
    ) -> tuple[Float[Tensor, "batch n layers state"], Float[Tensor, "batch n hidden"], Look]:
        """The recurrent state after the step, the state that looked, and what it found."""
        first, query = decoder.layers[0], decoder.output(state.recurrent)
        asks = first.hidden(state.recurrent[:, :, 0]) if decoder.bottom_looks else query
        look = state.reader.read(asks, state.attention)
        if decoder.context_enters_step:
            gates = gates + first.gates(look.context, first=decoder.embedding_size, bias=False)
        moved = first.step(gates, state.recurrent[:, :, 0])
        above = look.context if decoder.bottom_looks else None
        return decoder.advance_above(moved, state.recurrent, above), query, look

    def queries(
        self, start: Float[Tensor, "batch 1 hidden"], outputs: Float[Tensor, "batch time hidden"]
    ) -> Float[Tensor, "batch time hidden"]:
        """s_0 … s_{T-1}, from s_0 and s_1 … s_T."""
        return torch.cat([start, outputs[:, :-1]], dim=1)

    def is_written_out(self, decoder: RecurrentDecoder) -> bool:
        return not decoder.input_feeding

    def unroll_written_out(
        self,
        decoder: RecurrentDecoder,
        loop: Loop,
        entering: Float[Tensor, "gates entering"],
        embedded: Float[Tensor, "batch time embedding"],
    ) -> tuple[Float[Tensor, "batch time readout"], Float[Tensor, "batch time source"]]:
        """Vectors and weights of all steps. ``entering``: the gates' weights of what enters beside the word."""
        query, context, weights = attend_then_update(loop, entering)
        return decoder.dropout(decoder.readout(query, embedded, context)), weights


class MoveThenLook:
    """Luong et al. 2015, § 3:

    h_t = RNN(h_{t-1}, [y_{t-1}; h̃_{t-1}])      c_t = look(h_t)      h̃_t = readout(h_t, y_{t-1}, c_t)

    with h̃ among the inputs where ``input_feeding`` is on (§ 3.3).
    """

    def step(
        self, decoder: RecurrentDecoder, state: DecoderState, gates: Float[Tensor, "batch n gates"]
    ) -> tuple[Float[Tensor, "batch n layers state"], Float[Tensor, "batch n hidden"], Look]:
        """The recurrent state after the step, which is the one that looked, and what it found."""
        if state.feed is not None:
            first = decoder.layers[0].network.input_size - state.feed.shape[-1]
            gates = gates + decoder.layers[0].gates(state.feed, first=first, bias=False)
        moved = decoder.layers[0].step(gates, state.recurrent[:, :, 0])
        if decoder.bottom_looks:
            look = state.reader.read(decoder.layers[0].hidden(moved), state.attention)
            recurrent = decoder.advance_above(moved, state.recurrent, look.context)
            return recurrent, decoder.output(recurrent), look
        recurrent = decoder.advance_above(moved, state.recurrent, None)
        query = decoder.output(recurrent)
        return recurrent, query, state.reader.read(query, state.attention)

    def queries(
        self, start: Float[Tensor, "batch 1 hidden"], outputs: Float[Tensor, "batch time hidden"]
    ) -> Float[Tensor, "batch time hidden"]:
        """h_1 … h_T, as they are."""
        return outputs

    def is_written_out(self, decoder: RecurrentDecoder) -> bool:
        return decoder.input_feeding and isinstance(decoder.readout, AttentionalReadout)

    def unroll_written_out(
        self,
        decoder: RecurrentDecoder,
        loop: Loop,
        entering: Float[Tensor, "gates entering"],
        embedded: Float[Tensor, "batch time embedding"],
    ) -> tuple[Float[Tensor, "batch time readout"], Float[Tensor, "batch time source"]]:
        """Vectors and weights of all steps. ``entering``: the gates' weights of what enters beside the word."""
        from_query = decoder.readout.from_query
        from_context = cast(nn.Linear, decoder.readout.from_context)
        scale = None
        if decoder.training and decoder.dropout.p > 0:
            scale = decoder.dropout(embedded.new_ones(*embedded.shape[:2], len(from_query.weight)))
        return update_then_attend(loop, entering, from_query.weight, from_query.bias, from_context.weight, scale)


class LookBetween:
    """The conditional GRU (Sennrich et al. 2017, "Nematus", § 2; before it dl4mt-tutorial of Cho, 2015):

    s'_i = RNN_1(s_{i-1}, y_{i-1})     c_i = look(s'_i)     s_i = RNN_2(s'_i, c_i)     t_i = readout(s_i, y_{i-1}, c_i)

    The two steps are those of the first layer; layers above it move once.
    """

    def step(
        self, decoder: RecurrentDecoder, state: DecoderState, gates: Float[Tensor, "batch n gates"]
    ) -> tuple[Float[Tensor, "batch n layers state"], Float[Tensor, "batch n hidden"], Look]:
        """The recurrent state after the step, the state that the readout reads, and what was found between."""
        second = cast("Recurrence", decoder.second)
        between = decoder.layers[0].step(gates, state.recurrent[:, :, 0])
        look = state.reader.read(second.hidden(between), state.attention)
        moved = second.step(second.gates(look.context), between)
        above = look.context if decoder.bottom_looks else None
        recurrent = decoder.advance_above(moved, state.recurrent, above)
        return recurrent, decoder.output(recurrent), look

    def queries(
        self, start: Float[Tensor, "batch 1 hidden"], outputs: Float[Tensor, "batch time hidden"]
    ) -> Float[Tensor, "batch time hidden"]:
        raise NotImplementedError("its steps wait for each other")

    def is_written_out(self, decoder: RecurrentDecoder) -> bool:
        return False

    def unroll_written_out(
        self,
        decoder: RecurrentDecoder,
        loop: Loop,
        entering: Float[Tensor, "gates entering"],
        embedded: Float[Tensor, "batch time embedding"],
    ) -> tuple[Float[Tensor, "batch time readout"], Float[Tensor, "batch time source"]]:
        raise NotImplementedError("it has no backward pass that is written out")


Order = Literal["previous", "current", "between"]
ORDERS: dict[Order, type[LookThenMove] | type[MoveThenLook] | type[LookBetween]] = {
    "previous": LookThenMove,
    "current": MoveThenLook,
    "between": LookBetween,
}
"""By the state that looks, as ``decoder.query`` names it"""
