"""The decoder: from a Memory and the words so far to the vector that predicts the next word.

Its order (``lookback.nn.recurrent.orders``) says whether it looks and then moves, or moves and then looks. ``step``
takes one word at a time, in search; ``unroll`` a whole known target, in training. All tensors of a step carry an axis
``n`` after the batch: the hypotheses of a beam in search, one in training.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Annotated, Literal, cast

import torch
from annotated_types import MinLen, doc
from jaxtyping import Float, Int
from torch import Tensor, nn

from lookback.common.checks import Depth, PartialShare, Size, Width, checked
from lookback.common.special_tokens import PAD
from lookback.nn.attention import Attention, Look, Reader
from lookback.nn.kernels.derivatives import CELL_STEPS
from lookback.nn.kernels.unroll import Loop
from lookback.nn.memory import Memory
from lookback.nn.recurrent.orders import ORDERS, Order
from lookback.nn.recurrent.readout import READOUTS, ReadoutName
from lookback.nn.recurrent.recurrence import Cell, Recurrence
from lookback.nn.recurrent.state import DecoderState
from lookback.nn.recurrent.tabled import TabledDecoder

Entry = Literal["init", "step", "readout"]
Entries = Annotated[Sequence[Entry], MinLen(1), doc("a list of one or more of init, step, readout")]


@checked
class RecurrentDecoder(nn.Module):
    """A recurrent language model of the target that may look back at the source.

    query: ``previous``: look with s_{i-1}, then move (`LookThenMove`); ``current``: move, then look with s_i
        (`MoveThenLook`); ``between``: move with the word, look, move with the context (`LookBetween`). None: as the
        attention's own paper has it. The readout reads the querying state too, and with ``between`` the last one.
    looks: the layer whose state looks: ``top``, or ``bottom``: then what it finds is an input of all layers above it
        (Wu et al. 2016, § 3; the attention cell of Tacotron: Wang et al. 2017, § 3.3); needs two layers or more.
    input_feeding: the last readout vector is an input of the recurrence (Luong et al. 2015, § 3.3); needs
        ``query=current``.
    context_to: where the source enters (Britz et al. 2017, § 4.6): ``init``: s_0 = tanh(W_s h), h the encoder's final
        state that stands last (the backward state at position 1); without it s_0 = 0. ``step``: the context is an input
        of the recurrence; with ``query=current`` a context that looks back is not known before the update, and enters
        only through input_feeding, as in Luong et al. ``readout``: the context is an input of the readout.
    readout: ``maxout``, ``attentional`` or ``linear``, of ``readout_size``.
    tie_embeddings: the vocabulary projection is the target embedding; needs ``readout_size == embedding_size``.
    residual: layer l > 1 adds its input to its output.
    fast: where there is one (see ``is_written_out``), training takes the loop whose backward pass is written out
        (``lookback.nn.kernels.unroll``) instead of autograd's: the same equations, up to rounding, sooner and in less
        memory. Dropout acts at the same places. With ``input_feeding`` its masks are drawn at once and not step by
        step, so they are other masks: such a training differs from a plain one as trainings of two seeds do.
    """

    def __init__(
        self,
        vocabulary_size: Size,
        attention: Attention,
        init_size: Size,
        embedding_size: Width,
        hidden_size: Width,
        readout_size: Width,
        cell: Cell = "gru",
        layers: Depth = 1,
        query: Order | None = None,
        looks: Literal["top", "bottom"] = "top",
        input_feeding: bool = False,
        context_to: Entries = ("init", "step", "readout"),
        readout: ReadoutName = "maxout",
        tie_embeddings: bool = False,
        residual: bool = False,
        dropout: PartialShare = 0.0,
        fast: bool = True,
    ) -> None:
        super().__init__()
        query = attention.default_query if query is None else query
        if input_feeding and query != "current":
            raise ValueError(f"input_feeding=True needs query='current': with query={query!r} use context_to=[step]")
        if query == "between" and "step" not in context_to:
            raise ValueError(f"context_to={list(context_to)} with query='between': add step, which it moves with")
        if looks == "bottom" and layers < 2:
            raise ValueError("looks='bottom' needs layers=2 or more: with one layer, bottom and top are the same")
        if tie_embeddings and readout_size != embedding_size:
            raise ValueError(
                f"tie_embeddings=True needs readout_size == embedding_size, but readout_size={readout_size} and "
                f"embedding_size={embedding_size}"
            )
        if attention.query_size != hidden_size:
            raise ValueError(f"hidden_size={hidden_size}: the attention expects queries of size {attention.query_size}")
        self.attention = attention
        self.query = query
        self.order = ORDERS[query]()
        self.bottom_looks = looks == "bottom"
        self.input_feeding = input_feeding
        self.context_to = tuple(context_to)
        self.residual = residual
        self.fast = fast
        self.embedding_size = embedding_size

        context_size = attention.memory_size
        self.fixed_enters_step = "step" in context_to and not attention.looks_back and query != "between"
        self.context_enters_step = "step" in context_to and attention.looks_back and query == "previous"
        is_read = self.context_enters_step or query == "between" or looks == "bottom" or "readout" in context_to
        if attention.looks_back and not is_read:
            raise ValueError(
                f"context_to={list(context_to)} with query={query!r}: nothing would read what the attention finds; "
                "add readout" + (", or step" if query == "previous" else "")
            )
        self.needs_loop = (
            self.context_enters_step or input_feeding or attention.remembers or query == "between" or looks == "bottom"
        )

        self.embedding = nn.Embedding(vocabulary_size, embedding_size, padding_idx=PAD)
        extra_size = readout_size if input_feeding else 0
        if self.fixed_enters_step or self.context_enters_step:
            extra_size += context_size
        stack = nn.ModuleList(
            Recurrence(
                embedding_size + extra_size if layer == 0 else hidden_size + (context_size if looks == "bottom" else 0),
                hidden_size,
                cell,
            )
            for layer in range(layers)
        )
        self.layers = cast(Sequence[Recurrence], stack)
        self.second = Recurrence(context_size, hidden_size, cell) if query == "between" else None
        state_size = self.layers[0].state_size
        self.initial = nn.Linear(init_size, layers * state_size) if "init" in context_to else None
        self.readout = READOUTS[readout](
            hidden_size, embedding_size, context_size if "readout" in context_to else 0, readout_size
        )
        self.vocabulary = nn.Linear(readout_size, vocabulary_size)
        if tie_embeddings:
            self.vocabulary.weight = self.embedding.weight
        self.dropout = nn.Dropout(dropout)

    longest = None
    """It can write and read any number of tokens."""

    @property
    def is_written_out(self) -> bool:
        """Whether there is a backward pass written out: for one layer, where attention and order have one."""
        return (
            self.needs_loop
            and len(self.layers) == 1
            and not self.attention.remembers
            and self.attention.scorer() is not None
            and self.layers[0].cell in CELL_STEPS
            and self.order.is_written_out(self)
        )

    def start(self, memory: Memory) -> DecoderState:
        """The state before the first word, n = 1."""
        return self._start(memory, self.attention.over(memory))

    def step(
        self, state: DecoderState, words: Int[Tensor, "batch n"]
    ) -> tuple[DecoderState, Float[Tensor, "batch n readout"], Float[Tensor, "batch n source"]]:
        """Read one word a hypothesis: the next state, the vector that predicts the next word, and the weights α."""
        return self.step_from(state, *self.of_words(words))

    def of_words(
        self, words: Int[Tensor, "*batch"]
    ) -> tuple[Float[Tensor, "*batch gates"], Float[Tensor, "*batch width"] | None]:
        """All that a step needs of its words: their part of the first layer's gates, and of the readout."""
        embedded = self.dropout(self.embedding(words))
        return self.layers[0].gates(embedded), self.readout.of_word(embedded)

    def step_from(
        self,
        state: DecoderState,
        word_gates: Float[Tensor, "batch n gates"],
        of_word: Float[Tensor, "batch n width"] | None,
    ) -> tuple[DecoderState, Float[Tensor, "batch n readout"], Float[Tensor, "batch n source"]]:
        """``step``, from what ``of_words`` gives."""
        gates = self._with_fixed_context(word_gates, state.reader)
        recurrent, query, look = self.order.step(self, state, gates)
        vector = self.dropout(self.readout.combine(query, of_word, look.context))
        after = DecoderState(recurrent, vector if self.input_feeding else None, look.state, state.reader)
        return after, vector, look.weights

    def unroll(
        self, words: Int[Tensor, "batch time"], memory: Memory
    ) -> tuple[Float[Tensor, "batch time readout"], Float[Tensor, "batch time source"]]:
        """Read a known target <s> w_1 … w_{T-1}: the vectors that predict w_1 … w_T, and the weights α.

        What does not wait for the previous step is computed for all steps at once: keys, the words' part of the gates,
        the readout; and, where the recurrence sees no context that looks back, the recurrence and the attention too.
        """
        if self.fast and self.is_written_out:
            return self._unroll_written_out(words, memory)
        vectors, look = self._unroll_plainly(words, memory)
        return vectors, look.weights

    @property
    def look_names(self) -> tuple[str, ...]:
        """Of each head, where there are several."""
        heads = self.attention.heads
        return tuple(f"head {head}" for head in range(1, heads + 1)) if heads > 1 else ()

    def looks(
        self, words: Int[Tensor, "batch time"], memory: Memory
    ) -> tuple[Float[Tensor, "batch time readout"], list[Look]]:
        """``unroll``, with the look itself, which has the weights of each head."""
        vectors, look = self._unroll_plainly(words, memory)
        return vectors, [look]

    def vectors(self, words: Int[Tensor, "batch time"], memory: Memory) -> Float[Tensor, "batch time readout"]:
        """The vectors of ``unroll``, where nobody asks for the weights."""
        return self.unroll(words, memory)[0]

    def laid_out(self, dtype: torch.dtype) -> TabledDecoder:
        """The same decoder for searches, its weights as they are now."""
        return TabledDecoder(self, dtype)

    def logits(self, vectors: Float[Tensor, "*batch readout"]) -> Float[Tensor, "*batch vocabulary"]:
        """Scores of the next word, before the softmax."""
        return self.vocabulary(vectors)

    def advance_above(
        self,
        first: Float[Tensor, "batch n state"],
        recurrent: Float[Tensor, "batch n layers state"],
        context: Float[Tensor, "batch n context"] | None,
    ) -> Float[Tensor, "batch n layers state"]:
        """The recurrent state after a step, from the first layer's; ``context`` enters the layers above it."""
        states, output = [first], self.layers[0].hidden(first)
        for layer, before in islice(zip(self.layers, recurrent.unbind(2), strict=True), 1, None):
            gates = layer.gates(self.dropout(output))
            if context is not None:
                gates = gates + layer.gates(context, first=layer.hidden_size, bias=False)
            states.append(layer.step(gates, before))
            hidden = layer.hidden(states[-1])
            output = hidden + output if self.residual else hidden
        return torch.stack(states, dim=2)

    def output(self, recurrent: Float[Tensor, "batch n layers state"]) -> Float[Tensor, "batch n hidden"]:
        """The top layer's output: its h, or the sum over layers where each adds its input to its output."""
        hidden = self.layers[-1].hidden(recurrent)
        return hidden.sum(2) if self.residual else hidden[:, :, -1]

    def _start(self, memory: Memory, reader: Reader) -> DecoderState:
        batch, (layers, size) = len(memory.states), (len(self.layers), self.layers[0].state_size)
        if self.initial is None:
            recurrent = memory.states.new_zeros(batch, 1, layers, size)
        else:
            recurrent = torch.tanh(self.initial(memory.final[:, -1])).view(batch, 1, layers, size)
        feed = memory.states.new_zeros(batch, 1, self.vocabulary.in_features) if self.input_feeding else None
        return DecoderState(recurrent, feed, reader.start(), reader)

    def _with_fixed_context(self, gates: Float[Tensor, "batch n gates"], reader: Reader) -> Tensor:
        """What is known of the first layer's gates before a step: the word's part, and a fixed context's."""
        if not self.fixed_enters_step:
            return gates
        fixed = reader.read(gates[:, :1], ()).context
        return gates + self.layers[0].gates(fixed, first=self.embedding_size, bias=False)

    def _unroll_plainly(
        self, words: Int[Tensor, "batch time"], memory: Memory
    ) -> tuple[Float[Tensor, "batch time readout"], Look]:
        reader = self.attention.over(memory)
        state = self._start(memory, reader)
        embedded = self.dropout(self.embedding(words))
        if self.needs_loop:
            return self._unroll_step_by_step(embedded, state)
        query = self._queries_at_once(embedded, state)
        look = reader.read_all(query)
        return self.dropout(self.readout(query, embedded, look.context)), look

    def _unroll_step_by_step(
        self, embedded: Float[Tensor, "batch time embedding"], state: DecoderState
    ) -> tuple[Float[Tensor, "batch time readout"], Look]:
        gates_of_words = self._with_fixed_context(self.layers[0].gates(embedded), state.reader)
        # unbind, not indexing: its backward is one stack, where each index would add into a tensor of the full size
        steps = zip(gates_of_words.unsqueeze(2).unbind(1), embedded.unsqueeze(2).unbind(1), strict=True)
        queries, looks, vectors = [], [], []
        for gates, word in steps:
            recurrent, query, look = self.order.step(self, state, gates)
            vector = self.dropout(self.readout(query, word, look.context)) if self.input_feeding else None
            state = DecoderState(recurrent, vector, look.state, state.reader)
            queries.append(query)
            looks.append(look)
            if vector is not None:
                vectors.append(vector)
        look = Look.of_steps(looks)
        if self.input_feeding:
            return torch.cat(vectors, dim=1), look
        return self.dropout(self.readout(torch.cat(queries, dim=1), embedded, look.context)), look

    def _queries_at_once(
        self, embedded: Float[Tensor, "batch time embedding"], state: DecoderState
    ) -> Float[Tensor, "batch time hidden"]:
        """All queries, where no step of the recurrence waits for a context."""
        outputs = embedded
        if self.fixed_enters_step:
            outputs = torch.cat([embedded, state.reader.read(embedded, ()).context], dim=-1)
        for depth, (layer, start) in enumerate(zip(self.layers, state.recurrent.squeeze(1).unbind(1), strict=True)):
            hidden = layer.unroll(self.dropout(outputs) if depth > 0 else outputs, start)
            outputs = hidden + outputs if self.residual and depth > 0 else hidden
        return self.order.queries(self.output(state.recurrent), outputs)

    def _unroll_written_out(
        self, words: Int[Tensor, "batch time"], memory: Memory
    ) -> tuple[Float[Tensor, "batch time readout"], Float[Tensor, "batch time source"]]:
        layer, scorer = self.layers[0], self.attention.scorer()
        assert scorer is not None
        embedded = self.dropout(self.embedding(words))
        input_weight, recurrent_weight, _, recurrent_bias = layer.network.all_weights[0]
        reader = self.attention.over(memory)
        loop = Loop(
            layer.cell,
            layer.gates(embedded),
            self._start(memory, reader).recurrent[:, 0, 0],
            memory,
            reader.keys,
            recurrent_weight,
            recurrent_bias,
            scorer.query_weight,
            scorer.energy_weight,
        )
        return self.order.unroll_written_out(self, loop, input_weight[:, self.embedding_size :], embedded)
