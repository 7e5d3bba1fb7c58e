"""Tiny translators of every architecture, and sentences for them: what the tests of nn and search are made of."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from typing import get_args

import torch
from hypothesis import strategies as st
from torch import Tensor

import lookback.nn
from lookback.common.special_tokens import BOS, EOS, PAD
from lookback.nn import (
    Attention,
    FixedContext,
    RecurrentDecoder,
    RecurrentEncoder,
    Seq2Seq,
    TransformerDecoder,
    TransformerEncoder,
)
from lookback.nn.recurrent.decoder import Entry
from lookback.nn.recurrent.encoder import Direction
from lookback.nn.recurrent.readout import READOUTS
from lookback.nn.recurrent.recurrence import Cell
from lookback.nn.transformer.positions import PositionName

ATTENTIONS = {
    name: value
    for name, value in vars(lookback.nn).items()
    if inspect.isclass(value) and issubclass(value, Attention) and value is not Attention
}
QUERYING = (("previous", False), ("current", False), ("current", True), ("between", False))
CONTEXTS = tuple(chosen for size in (1, 2, 3) for chosen in combinations(get_args(Entry), size))
STACKS = ((1, False), (2, False), (3, True))
DECODER_STACKS = (*((*stack, "top") for stack in STACKS), (2, True, "bottom"))
SIDES: tuple[tuple[str, ...], ...] = ((), (), ("encoder", "decoder"), ("decoder",), ("encoder",))
"""Which sides are a Transformer's; more often none"""
FIRST_WORD = 4
VOCABULARY = 11
ENCODER_SIZE = 3


@dataclass(frozen=True)
class Architecture:
    """One choice of everything that a translator may differ in."""

    attention: type[Attention] = lookback.nn.AdditiveAttention
    cell: str = "gru"
    direction: str = "both"
    layers: int = 1
    residual: bool = False
    query: str = "previous"
    looks: str = "top"
    input_feeding: bool = False
    context_to: tuple[str, ...] = get_args(Entry)
    readout: str = "maxout"
    transformer: tuple[str, ...] = ()
    """Which sides are a Transformer's: encoder, decoder. Then what only a recurrent one has is not used"""
    positions: str = "sinusoidal"

    @property
    def is_valid(self) -> bool:
        """Whether anything reads the attention's context (else the decoder refuses it)."""
        if "decoder" in self.transformer:
            return True
        if self.query == "between":
            return "step" in self.context_to
        enters_step = self.query == "previous" and "step" in self.context_to
        always = self.attention is FixedContext or self.looks == "bottom"
        return always or enters_step or "readout" in self.context_to

    def build(
        self,
        seed: int = 0,
        vocabulary: int = VOCABULARY,
        scale: float = 0.8,
        sharpness: float = 1.0,
        dtype: torch.dtype = torch.float64,
    ) -> Seq2Seq:
        """A translator in evaluation mode with every parameter, biases too, normal with deviation ``scale``.

        ``sharpness`` multiplies the vocabulary projection: the larger, the surer each next word.
        """
        encoder: RecurrentEncoder | TransformerEncoder
        if "encoder" in self.transformer:
            encoder = TransformerEncoder(vocabulary, 8, 2, self.layers, 5, self.positions, 64)
        else:
            size = 4 if "decoder" in self.transformer else ENCODER_SIZE  # even: with dot it is the decoder's, too
            encoder = RecurrentEncoder(vocabulary, 5, size, self.cell, self.layers, self.direction, self.residual)
        model = Seq2Seq(encoder, self._decoder(vocabulary, encoder))
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * scale)
            for embedding in (encoder.embedding, model.decoder.embedding):
                embedding.weight[PAD] = 0
            model.decoder.vocabulary.weight.mul_(sharpness)
        return model.to(dtype).eval()

    def _decoder(
        self, vocabulary: int, encoder: RecurrentEncoder | TransformerEncoder
    ) -> RecurrentDecoder | TransformerDecoder:
        # unequal sizes wherever they may be, so that no mistaken shape passes
        if "decoder" in self.transformer:
            hidden_size = encoder.memory_size if issubclass(self.attention, lookback.nn.DotAttention) else 12
            attention = build_attention(self.attention, hidden_size, encoder.memory_size)
            heads = 2 if hidden_size % 4 == 0 else 1
            return TransformerDecoder(
                vocabulary, attention, hidden_size, heads, self.layers, 5, self.positions, 64, tie_embeddings=False
            )
        hidden_size = encoder.memory_size if issubclass(self.attention, lookback.nn.DotAttention) else 7
        return RecurrentDecoder(
            vocabulary,
            build_attention(self.attention, hidden_size, encoder.memory_size),
            init_size=encoder.final_size,
            embedding_size=4,
            hidden_size=hidden_size,
            readout_size=6,
            cell=self.cell,
            layers=self.layers,
            query=self.query,
            looks=self.looks,
            input_feeding=self.input_feeding,
            context_to=self.context_to,
            readout=self.readout,
            residual=self.residual,
        )


SMALL = {"attention_size": 5, "heads": 2, "half_width": 1, "positions": 9, "filters": 3, "width": 3}
"""What attentions are built with, where they have it. A window is narrower than the longest source."""


WHOLE = (FixedContext, lookback.nn.AdditiveAttention, lookback.nn.DotAttention, lookback.nn.CoverageAttention)
"""One of each nature: what it finds never changes, is asked by a network, by a product, or is remembered"""


def build_attention(kind: type[Attention], query_size: int, memory_size: int) -> Attention:
    known = inspect.signature(kind).parameters
    sizes = {**SMALL, **({"attention_size": 6} if "heads" in known else {})}
    return kind(query_size, memory_size, **{name: size for name, size in sizes.items() if name in known})


def decoders() -> Iterator[Architecture]:
    """Every architecture of the recurrent decoder, of four attentions; of the others, every way to look."""
    for attention in ATTENTIONS.values():
        is_whole = attention in WHOLE
        for cell, (query, feeding), context_to, readout, (layers, residual, looks) in product(
            ("gru", "lstm") if is_whole else ("gru",),
            QUERYING,
            CONTEXTS if is_whole else CONTEXTS[-1:],
            READOUTS if is_whole else ("maxout",),
            DECODER_STACKS,
        ):
            architecture = Architecture(
                attention, cell, "both", layers, residual, query, looks, feeding, context_to, readout
            )
            if architecture.is_valid:
                yield architecture


@st.composite
def architectures(draw: st.DrawFn) -> Architecture:
    """Any architecture of encoder and decoder, recurrent, a Transformer's, or mixed."""
    query, feeding = draw(st.sampled_from(QUERYING))
    layers, residual, looks = draw(st.sampled_from(DECODER_STACKS))
    architecture = Architecture(
        attention=draw(st.sampled_from(list(ATTENTIONS.values()))),
        cell=draw(st.sampled_from(get_args(Cell))),
        direction=draw(st.sampled_from(get_args(Direction))),
        layers=layers,
        residual=residual,
        query=query,
        looks=looks,
        input_feeding=feeding,
        context_to=draw(st.sampled_from(CONTEXTS)),
        readout=draw(st.sampled_from(list(READOUTS))),
        transformer=draw(st.sampled_from(SIDES)),
        positions=draw(st.sampled_from(get_args(PositionName))),
    )
    return (
        architecture if architecture.is_valid else Architecture(**{**vars(architecture), "context_to": get_args(Entry)})
    )


def sentences(minimum: int = 1, maximum: int = 5, longest: int = 6) -> st.SearchStrategy[list[list[int]]]:
    """A few sentences of ordinary words, the empty one too; no marks."""
    word = st.integers(FIRST_WORD, VOCABULARY - 1)
    return st.lists(st.lists(word, max_size=longest), min_size=minimum, max_size=maximum)


def source_batch(sentences: list[list[int]], extra: int = 0) -> tuple[Tensor, Tensor]:
    """Padded ids with end marks, ``extra`` more columns of padding, and true lengths."""
    rows = [[*sentence, EOS] for sentence in sentences]
    return _pad(rows, extra), torch.tensor([len(row) for row in rows])


def target_batch(sentences: list[list[int]], extra: int = 0) -> Tensor:
    """``<s> w_1 … w_T </s>``, padded."""
    return _pad([[BOS, *sentence, EOS] for sentence in sentences], extra)


def _pad(rows: list[list[int]], extra: int) -> Tensor:
    size = max(map(len, rows)) + extra
    return torch.tensor([row + [PAD] * (size - len(row)) for row in rows])
