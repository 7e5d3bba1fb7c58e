"""Ours, at the sizes and with the wiring whose work is closest to the peers'."""

from contextlib import AbstractContextManager

import torch
from cases import EOS, SIZES, Options, Sizes
from plain_search import plain_search
from torch import Tensor

from lookback.nn import (
    AdditiveAttention,
    Attention,
    DotAttention,
    FixedContext,
    GeneralAttention,
    RecurrentDecoder,
    RecurrentEncoder,
    Seq2Seq,
)
from lookback.search import BeamSearch, GreedySearch


class Lookback:
    def __init__(self, options: Options) -> None:
        self.device, self.precision, self.fast = options.device, options.precision, options.fast
        if options.precision == "medium":
            torch.set_float32_matmul_precision("medium")
        self.model = _model(SIZES[options.sizes], options.attention, options.fast).to(options.device)
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


def _model(sizes: Sizes, name: str, fast: bool) -> Seq2Seq:
    kind, _, feeding = name.partition("-")
    # dot compares states of equal size: the encoder's directions share the decoder's, as all of OpenNMT-py's do
    encoder_size = sizes.decoder // 2 if kind == "dot" else sizes.encoder
    encoder = RecurrentEncoder(sizes.vocabulary, sizes.embedding, encoder_size)
    memory_size = encoder.memory_size
    attention: Attention
    if kind == "bahdanau":
        attention = AdditiveAttention(sizes.decoder, memory_size, sizes.attention)
    elif kind == "general":
        attention = GeneralAttention(sizes.decoder, memory_size)
    elif kind == "dot":
        attention = DotAttention(sizes.decoder, memory_size)
    else:
        attention = FixedContext(sizes.decoder, memory_size)
    entries = {"bahdanau": ("init", "step", "readout"), "none": ("init",)}
    decoder = RecurrentDecoder(
        sizes.vocabulary,
        attention,
        encoder.final_size,
        sizes.embedding,
        sizes.decoder,
        sizes.readout_size,
        query="previous" if kind == "bahdanau" else "current",
        input_feeding=bool(feeding),
        context_to=entries.get(kind, ("init", "readout")),
        readout=sizes.readout,
        fast=fast,
    )
    return Seq2Seq(encoder, decoder)


def _lengths(source: Tensor) -> Tensor:
    return source.new_full((len(source),), source.shape[1])
