"""The model, in pure torch: encoders, attentions, decoders, readouts, and the network they make."""

from lookback.nn.attention.attention import (
    AdditiveAttention,
    Attention,
    DotAttention,
    FixedContext,
    GeneralAttention,
    Reader,
    masked_softmax,
)
from lookback.nn.initialization import initialize
from lookback.nn.loss import TokenLoss, projected_cross_entropy
from lookback.nn.memory import Memory, length_mask
from lookback.nn.recurrent.decoder import DecoderState, RecurrentDecoder
from lookback.nn.recurrent.encoder import RecurrentEncoder
from lookback.nn.recurrent.readout import AttentionalReadout, LinearReadout, MaxoutReadout, Readout
from lookback.nn.recurrent.recurrence import Recurrence
from lookback.nn.seq2seq import Seq2Seq

__all__ = [
    "AdditiveAttention",
    "Attention",
    "AttentionalReadout",
    "DecoderState",
    "DotAttention",
    "FixedContext",
    "GeneralAttention",
    "LinearReadout",
    "MaxoutReadout",
    "Memory",
    "Reader",
    "Readout",
    "Recurrence",
    "RecurrentDecoder",
    "RecurrentEncoder",
    "Seq2Seq",
    "TokenLoss",
    "initialize",
    "length_mask",
    "masked_softmax",
    "projected_cross_entropy",
]
