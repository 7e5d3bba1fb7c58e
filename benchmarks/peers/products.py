"""The limit: the matrix products of the work and nothing else, in the shapes of our models.

Products that wait for the step before are done a step at a time, all others at once for all steps: the order of the
fastest design. What is left out can only make the limit lower: the attention's own products (queries with keys, weights
with states), the initial state, every elementwise function, the loss, the optimizer. A search looks up what a word adds
to the gates.
"""

import torch
from cases import SIZES, Options
from torch import Tensor


class Limit:
    """``operations`` counts the floating-point operations of the last call, a multiplication and an addition as two."""

    def __init__(self, options: Options) -> None:
        self.sizes = SIZES[options.sizes]
        self.kind, _, feeding = options.attention.partition("-")
        self.feeding = bool(feeding)
        self.encoder = self.sizes.decoder // 2 if self.kind == "dot" else self.sizes.encoder
        self.type = torch.bfloat16 if options.precision == "bfloat16" else torch.float32
        if options.precision == "medium":
            torch.set_float32_matmul_precision("medium")
        self.device = options.device
        self.operands: dict[tuple[int, int, int], tuple[Tensor, ...]] = {}
        self.operations = 0

    def train(self, source: Tensor, target: Tensor) -> float:
        self.operations = 0
        batch, time = source.shape
        steps = target.shape[1] - 1
        self.encoder_products(batch, time)
        self.decoder_products(batch, time, steps)
        self.loss_products(batch, steps)
        return 0.0

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
        for inputs, outputs in self._recurrent():
            self._by_step(batch, steps, inputs, outputs)
        if not self.feeding:
            self._at_once(batch * steps, *self._readout())

    def loss_products(self, batch: int, steps: int) -> None:
        self._at_once(batch * steps, self.sizes.readout_size, self.sizes.vocabulary)

    def search(self, source: Tensor, beam_size: int, steps: int) -> list[list[int]]:
        self.operations = 0
        sizes, (batch, time) = self.sizes, source.shape
        for _ in range(2):
            self._product(batch * time, sizes.embedding, 3 * self.encoder)
            self._product(batch, self.encoder, 3 * self.encoder, time)
        if key := self._key():
            self._product(batch * time, 2 * self.encoder, key)
        for inputs, outputs in self._recurrent():
            self._product(batch * beam_size, inputs, outputs, steps)
        if not self.feeding:
            self._product(batch * beam_size, *self._readout(), steps)
        self._product(batch * beam_size, sizes.readout_size, sizes.vocabulary, steps)
        return []

    def _key(self) -> int:
        """Size of a key, where keys are projected."""
        return {"bahdanau": self.sizes.attention, "general": self.sizes.decoder}.get(self.kind, 0)

    def _recurrent(self) -> list[tuple[int, int]]:
        """Inputs and outputs of the maps that wait for the step before."""
        sizes, gates = self.sizes, 3 * self.sizes.decoder
        if self.kind == "bahdanau":  # state → query and gates, context → gates
            return [(sizes.decoder, sizes.attention + gates), (2 * self.encoder, gates)]
        if self.feeding:
            return [(sizes.decoder, gates), self._readout(), (sizes.readout_size, gates)]
        return [(sizes.decoder, gates)]

    def _readout(self) -> tuple[int, int]:
        sizes = self.sizes
        context = 0 if self.kind == "none" else 2 * self.encoder
        if sizes.readout == "maxout":
            return sizes.decoder + sizes.embedding + context, 2 * sizes.readout_size
        return sizes.decoder + context, sizes.readout_size

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
