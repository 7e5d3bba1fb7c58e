"""The limit: the matrix products of the work and nothing else, in the shapes of our models.

Products that wait for the step before are done a step at a time, all others at once for all steps: the order of the
fastest design. What is left out can only make the limit lower: the initial state, every elementwise function, the loss,
the optimizer. A search looks up what a word adds to the gates.

The attention's own products (queries with keys, weights with states) are left out too, but for those of `multihead`
and the Transformer, whose heads take them all in one call. They are of whole sentences: of a target's looks at itself
half would do. `coverage` and `location_sensitive` have no limit: what they remember is multiplied at each position of
each step, by a product, a convolution or a sum, as one likes.
"""

import torch
from cases import SIZES, TRANSFORMER, Options
from torch import Tensor

HEADS = 4
"""Of ``multihead`` in a recurrent decoder, as in conf/attention."""

POSITIONS = 128
"""Rows of ``location``, as in conf/attention."""

Shape = tuple[int, ...]


def limit(options: Options) -> "Limit":
    return (TransformerLimit if options.attention == TRANSFORMER else RecurrentLimit)(options)


class Limit:
    """``operations`` counts the floating-point operations of the last call, a multiplication and an addition as two."""

    def __init__(self, options: Options) -> None:
        self.sizes = SIZES[options.sizes]
        self.type = torch.bfloat16 if options.precision == "bfloat16" else torch.float32
        if options.precision == "medium":
            torch.set_float32_matmul_precision("medium")
        self.device = options.device
        self.operands: dict[Shape, tuple[Tensor, ...]] = {}
        self.pools: list[Tensor] = [torch.empty(0)] * 3
        self.operations = 0

    def train(self, source: Tensor, target: Tensor) -> float:
        self.operations = 0
        batch, time = source.shape
        steps = target.shape[1] - 1
        self.encoder_products(batch, time)
        self.decoder_products(batch, time, steps)
        self.loss_products(batch, steps)
        return 0.0

    def search(self, source: Tensor, beam_size: int, steps: int) -> list[list[int]]:
        self.operations = 0
        self.search_products(*source.shape, beam_size, steps)
        return []

    def encoder_products(self, batch: int, time: int) -> None:
        """Of a training step."""
        raise NotImplementedError

    def decoder_products(self, batch: int, time: int, steps: int) -> None:
        """Of a training step, from keys to the vectors that predict words."""
        raise NotImplementedError

    def loss_products(self, batch: int, steps: int) -> None:
        """Of a training step."""
        raise NotImplementedError

    def search_products(self, batch: int, time: int, beam_size: int, steps: int) -> None:
        raise NotImplementedError

    def _at_once(self, rows: int, inputs: int, outputs: int) -> None:
        """A linear map of all rows: forward, gradient of its inputs, gradient of its weight."""
        self._product(rows, inputs, outputs)
        self._product(rows, outputs, inputs)
        self._product(outputs, rows, inputs)

    def _by_step(self, batch: int, steps: int, inputs: int, outputs: int) -> None:
        """The same, a step at a time but for the weight's gradient, which can wait for the end."""
        self._product(batch, inputs, outputs, steps)
        self._product(batch, outputs, inputs, steps)
        self._product(outputs, batch * steps, inputs)

    def _look_at_once(self, heads: int, queries: int, keys: int, size: int) -> None:
        """Energies and contexts of all heads of all sentences, forward and backward."""
        for _ in range(2):
            self._products(heads, queries, size, keys)
            self._products(heads, queries, keys, size)
            self._products(heads, keys, queries, size)

    def _look(self, heads: int, queries: int, keys: int, size: int, times: int = 1) -> None:
        """Energies and contexts, forward."""
        self._products(heads, queries, size, keys, times)
        self._products(heads, queries, keys, size, times)

    def _product(self, rows: int, inner: int, columns: int, times: int = 1) -> None:
        """(rows, inner) by (inner, columns), into memory that is already there."""
        shape = rows, inner, columns
        if shape not in self.operands:
            sides = ((rows, inner), (inner, columns), (rows, columns))
            self.operands[shape] = tuple(torch.randn(side, device=self.device).to(self.type) for side in sides)
        left, right, out = self.operands[shape]
        for _ in range(times):
            torch.mm(left, right, out=out)
        self.operations += 2 * rows * inner * columns * times

    def _products(self, count: int, rows: int, inner: int, columns: int, times: int = 1) -> None:
        """``count`` of them, each with operands of its own. All shapes share their memory, as a search has many."""
        sides = ((count, rows, inner), (count, inner, columns), (count, rows, columns))
        left, right, out = (self._pooled(place, side) for place, side in enumerate(sides))
        for _ in range(times):
            torch.bmm(left, right, out=out)
        self.operations += 2 * count * rows * inner * columns * times

    def _pooled(self, place: int, side: Shape) -> Tensor:
        size = torch.Size(side).numel()
        if self.pools[place].numel() < size:
            self.pools[place] = torch.randn(size, device=self.device).to(self.type)
        return self.pools[place][:size].view(side)


class RecurrentLimit(Limit):
    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.kind, _, feeding = options.attention.partition("-")
        self.feeding = bool(feeding)
        self.encoder = self.sizes.decoder // 2 if self.kind in ("dot", "scaled_dot") else self.sizes.encoder

    def encoder_products(self, batch: int, time: int) -> None:
        for _ in range(2):
            self._at_once(batch * time, self.sizes.embedding, 3 * self.encoder)
            self._by_step(batch, time, self.encoder, 3 * self.encoder)

    def decoder_products(self, batch: int, time: int, steps: int) -> None:
        """Keys, gates and readout included."""
        sizes = self.sizes
        if key := self._key():
            self._at_once(batch * time, 2 * self.encoder, key)
        self._at_once(batch * steps, sizes.embedding, 3 * sizes.decoder)
        for inputs, outputs in self._waiting(time):
            self._by_step(batch, steps, inputs, outputs)
        for inputs, outputs in self._free(time):
            self._at_once(batch * steps, inputs, outputs)
        if self.kind == "multihead":
            self._look_at_once(batch * HEADS, steps, time, sizes.attention // HEADS)

    def loss_products(self, batch: int, steps: int) -> None:
        self._at_once(batch * steps, self.sizes.readout_size, self.sizes.vocabulary)

    def search_products(self, batch: int, time: int, beam_size: int, steps: int) -> None:
        sizes = self.sizes
        for _ in range(2):
            self._product(batch * time, sizes.embedding, 3 * self.encoder)
            self._product(batch, self.encoder, 3 * self.encoder, time)
        if key := self._key():
            self._product(batch * time, 2 * self.encoder, key)
        for inputs, outputs in self._waiting(time) + self._free(time):
            self._product(batch * beam_size, inputs, outputs, steps)
        if self.kind == "multihead":
            self._look(batch * HEADS, beam_size, time, sizes.attention // HEADS, steps)
        self._product(batch * beam_size, sizes.readout_size, sizes.vocabulary, steps)

    def _key(self) -> int:
        """Size of a key, where keys are projected; of ``multihead`` with its value."""
        sizes = self.sizes
        if self.kind in ("general", "local_m", "local_p"):
            return sizes.decoder
        return {"multihead": 2, "concat": 1, "bahdanau": 1, "normed_bahdanau": 1}.get(self.kind, 0) * sizes.attention

    def _waiting(self, time: int) -> list[Shape]:
        """Inputs and outputs of the maps that wait for the step before."""
        sizes, gates = self.sizes, 3 * self.sizes.decoder
        if self.kind in ("bahdanau", "normed_bahdanau"):  # state → query and gates, context → gates
            return [(sizes.decoder, sizes.attention + gates), (2 * self.encoder, gates)]
        if self.feeding:
            return [(sizes.decoder, gates), *self._asked(time), self._readout(), (sizes.readout_size, gates)]
        return [(sizes.decoder, gates)]

    def _free(self, time: int) -> list[Shape]:
        """Those of a step that wait for nothing behind it: in training they are taken at once."""
        if self.feeding:
            return []
        return [*self._asked(time), self._readout()]

    def _asked(self, time: int) -> list[Shape]:
        """What the current state is multiplied by to look with it, and what is found."""
        sizes = self.sizes
        if self.kind in ("concat", "local_p"):
            return [(sizes.decoder, sizes.attention)]
        if self.kind == "location":
            return [(sizes.decoder, min(time, POSITIONS))]
        if self.kind == "multihead":
            return [(sizes.decoder, sizes.attention), (sizes.attention, 2 * self.encoder)]
        return []

    def _readout(self) -> Shape:
        sizes = self.sizes
        context = 0 if self.kind == "none" else 2 * self.encoder
        if sizes.readout == "maxout":
            return sizes.decoder + sizes.embedding + context, 2 * sizes.readout_size
        return sizes.decoder + context, sizes.readout_size


class TransformerLimit(Limit):
    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.stack = self.sizes.transformer
        self.head = self.stack.width // self.stack.heads

    def encoder_products(self, batch: int, time: int) -> None:
        for _ in range(self.stack.layers):
            for inputs, outputs in self._itself() + self._feed_forward():
                self._at_once(batch * time, inputs, outputs)
            self._look_at_once(batch * self.stack.heads, time, time, self.head)

    def decoder_products(self, batch: int, time: int, steps: int) -> None:
        stack = self.stack
        for _ in range(stack.layers):
            self._at_once(batch * time, *self._keys())
            for inputs, outputs in self._itself() + self._source() + self._feed_forward():
                self._at_once(batch * steps, inputs, outputs)
            self._look_at_once(batch * stack.heads, steps, steps, self.head)
            self._look_at_once(batch * stack.heads, steps, time, self.head)

    def loss_products(self, batch: int, steps: int) -> None:
        self._at_once(batch * steps, self.stack.width, self.sizes.vocabulary)

    def search_products(self, batch: int, time: int, beam_size: int, steps: int) -> None:
        """A step has the keys and values of the words before it; the hypotheses of a sentence share the source's."""
        stack = self.stack
        for _ in range(stack.layers):
            for inputs, outputs in [*self._itself(), *self._feed_forward(), self._keys()]:
                self._product(batch * time, inputs, outputs)
            self._look(batch * stack.heads, time, time, self.head)
        for step in range(1, steps + 1):
            beams = beam_size if step > 1 else 1  # a sentence begins with one hypothesis
            for _ in range(stack.layers):
                for inputs, outputs in self._itself() + self._source() + self._feed_forward():
                    self._product(batch * beams, inputs, outputs)
                self._look(batch * beams * stack.heads, 1, step, self.head)
                self._look(batch * stack.heads, beams, time, self.head)
            self._product(batch * beams, stack.width, self.sizes.vocabulary)

    def _itself(self) -> list[Shape]:
        """Queries, keys and values of one sentence, and what is found."""
        width = self.stack.width
        return [(width, 3 * width), (width, width)]

    def _source(self) -> list[Shape]:
        """Queries of the source, and what is found."""
        return [(self.stack.width, self.stack.width)] * 2

    def _keys(self) -> Shape:
        """Keys and values of the source."""
        return self.stack.width, 2 * self.stack.width

    def _feed_forward(self) -> list[Shape]:
        width, inner = self.stack.width, self.stack.feed_forward
        return [(width, inner), (inner, width)]
