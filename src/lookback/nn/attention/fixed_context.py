"""No attention: the fixed-context bottleneck."""

from jaxtyping import Float
from torch import Tensor

from lookback.nn.attention.attention import Attention, AttentionState, Look, Reader, masked_softmax
from lookback.nn.memory import Memory


class FixedContext(Attention):
    """No attention: c_i = c, the encoder's final states, one a direction, at every step.

    Of a two-way encoder these are both ends, [h→_S; h←_1]: more than papers give it, so that an arm without attention
    has the encoder of those with one. With a one-way encoder c is the papers': c = h→_S, the last state, with
    ``direction="forward"`` (RNNencdec: Cho et al. 2014; Bahdanau et al. 2015, App. A.2.2), and the state that has read
    the source backwards with ``direction="backward"`` (Sutskever et al. 2014, whose decoder has it as its first state
    alone: ``context_to=["init"]``).

    Its weights say where it looks: nowhere in particular, so they are even over the real source positions.
    """

    default_query = "previous"
    looks_back = False

    def over(self, memory: Memory) -> Reader:
        mask = memory.mask.unsqueeze(1)
        # in place of keys: nothing of it waits for a query
        even = masked_softmax(memory.final.new_zeros(mask.shape), mask)
        return Reader(self, memory, even)

    def read(self, query: Float[Tensor, "batch n query"], keys: Tensor, memory: Memory, state: AttentionState) -> Look:
        n = query.shape[1]
        context = memory.final.flatten(1).unsqueeze(1)
        return Look(context.expand(-1, n, -1), keys.expand(-1, n, -1), state)
