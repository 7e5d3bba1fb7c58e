"""Ours, at the sizes and with the wiring whose work is closest to the peers'."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import torch
from cases import EOS, SIZES, TRANSFORMER, Options, Sizes, Stack
from plain_search import plain_search
from torch import Tensor

from lookback.nn import (
    AdditiveAttention,
    Attention,
    CoverageAttention,
    DotAttention,
    FixedContext,
    GeneralAttention,
    LocalMonotonicAttention,
    LocalPredictiveAttention,
    LocationAttention,
    LocationSensitiveAttention,
    MultiHeadAttention,
    NormedAdditiveAttention,
    RecurrentDecoder,
    RecurrentEncoder,
    ScaledDotAttention,
    Seq2Seq,
    TransformerDecoder,
    TransformerEncoder,
    initialize,
)
from lookback.search import BeamSearch, GreedySearch

UNSIZED: dict[str, Callable[[int, int], Attention]] = {
    "none": FixedContext,
    "location": LocationAttention,
    "dot": DotAttention,
    "scaled_dot": ScaledDotAttention,
    "general": GeneralAttention,
    "local_m": LocalMonotonicAttention,
}
"""Attentions between states of two sizes, with the other arguments of conf/attention, which are the defaults."""

SIZED: dict[str, Callable[[int, int, int], Attention]] = {
    "concat": AdditiveAttention,
    "bahdanau": AdditiveAttention,
    "normed_bahdanau": NormedAdditiveAttention,
    "local_p": LocalPredictiveAttention,
    "coverage": CoverageAttention,
    "location_sensitive": LocationSensitiveAttention,
    "multihead": MultiHeadAttention,
}
"""Those that have a size of their own too."""

BEFORE_THE_UPDATE = ("bahdanau", "normed_bahdanau", "coverage", "location_sensitive")
"""Attentions that the previous state asks, and whose context is an input of the recurrence."""


class Lookback:
    def __init__(self, options: Options) -> None:
        self.device, self.precision, self.fast = options.device, options.precision, options.fast
        if options.precision == "medium":
            torch.set_float32_matmul_precision("medium")
        self.model = build(SIZES[options.sizes], options.attention, options.fast).to(options.device)
        initialize(self.model)
        if options.task == "decode":
            torch.nn.init.constant_(self.model.decoder.vocabulary.bias[EOS], -1e9)  # never chosen
            self.model.eval()
            with self._autocast():
                self.network = self.model.laid_out()
        else:
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4, fused=options.fused)

    def train(self, source: Tensor, target: Tensor) -> float:
        with self._autocast():
            result = self.model(source, _lengths(source), target, tokens=target[:, 1:].numel())
        loss = result.loss / result.tokens
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item()

    def search(self, source: Tensor, beam_size: int, steps: int) -> list[list[int]]:
        if not self.fast:
            return plain_search(self.model, source, _lengths(source), beam_size, steps)
        search = GreedySearch(0.0, steps) if beam_size == 1 else BeamSearch(beam_size, 1, 0.0, steps)
        with self._autocast():
            found = search(self.network, source, _lengths(source))
        return [best.tokens for best, *_ in found]

    def _autocast(self) -> AbstractContextManager:
        return torch.autocast(self.device, torch.bfloat16, enabled=self.precision == "bfloat16")


def build(sizes: Sizes, name: str, fast: bool) -> Seq2Seq:
    if name == TRANSFORMER:
        return _transformer(sizes.vocabulary, sizes.transformer)
    kind, _, feeding = name.partition("-")
    # dot compares states of equal size: the encoder's directions share the decoder's, as all of OpenNMT-py's do
    encoder_size = sizes.decoder // 2 if kind in ("dot", "scaled_dot") else sizes.encoder
    encoder = RecurrentEncoder(sizes.vocabulary, sizes.embedding, encoder_size)
    states = sizes.decoder, encoder.memory_size
    attention = UNSIZED[kind](*states) if kind in UNSIZED else SIZED[kind](*states, sizes.attention)
    is_before = kind in BEFORE_THE_UPDATE
    entries = ("init", "step", "readout") if is_before else ("init", "readout")
    decoder = RecurrentDecoder(
        sizes.vocabulary,
        attention,
        encoder.final_size,
        sizes.embedding,
        sizes.decoder,
        sizes.readout_size,
        query="previous" if is_before else "current",
        input_feeding=bool(feeding),
        context_to=("init",) if kind == "none" else entries,
        readout=sizes.readout,
        fast=fast,
    )
    return Seq2Seq(encoder, decoder)


def _transformer(vocabulary: int, sizes: Stack) -> Seq2Seq:
    stack = {"heads": sizes.heads, "layers": sizes.layers, "feed_forward_size": sizes.feed_forward}
    attention = MultiHeadAttention(sizes.width, sizes.width, sizes.width, sizes.heads)
    return Seq2Seq(
        TransformerEncoder(vocabulary, sizes.width, **stack),
        TransformerDecoder(vocabulary, attention, sizes.width, **stack),
    )


def _lengths(source: Tensor) -> Tensor:
    return source.new_full((len(source),), source.shape[1])
