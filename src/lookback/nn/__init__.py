"""The model, in pure torch: encoders, attentions, decoders, readouts, and the network they make."""

from lookback.nn.attention import (
    AdditiveAttention,
    Attention,
    AttentionState,
    CoverageAttention,
    DotAttention,
    FixedContext,
    GeneralAttention,
    LocalMonotonicAttention,
    LocalPredictiveAttention,
    LocationAttention,
    LocationSensitiveAttention,
    Look,
    MultiHeadAttention,
    NormedAdditiveAttention,
    Reader,
    ScaledDotAttention,
    masked_softmax,
)
from lookback.nn.flops import flops_per_token
from lookback.nn.initialization import initialize
from lookback.nn.laid_out import LaidOut
from lookback.nn.loss import TokenLoss, projected_cross_entropy
from lookback.nn.memory import Memory, length_mask
from lookback.nn.network import Network, State
from lookback.nn.recurrent.decoder import RecurrentDecoder
from lookback.nn.recurrent.encoder import RecurrentEncoder
from lookback.nn.recurrent.readout import AttentionalReadout, LinearReadout, MaxoutReadout, Readout
from lookback.nn.recurrent.recurrence import Recurrence
from lookback.nn.recurrent.state import DecoderState
from lookback.nn.seq2seq import Seq2Seq
from lookback.nn.transformer.decoder import TransformerDecoder
from lookback.nn.transformer.encoder import TransformerEncoder
from lookback.nn.transformer.state import TransformerState

__all__ = [
    "AdditiveAttention",
    "Attention",
    "AttentionState",
    "AttentionalReadout",
    "CoverageAttention",
    "DecoderState",
    "DotAttention",
    "FixedContext",
    "GeneralAttention",
    "LaidOut",
    "LinearReadout",
    "LocalMonotonicAttention",
    "LocalPredictiveAttention",
    "LocationAttention",
    "LocationSensitiveAttention",
    "Look",
    "MaxoutReadout",
    "Memory",
    "MultiHeadAttention",
    "Network",
    "NormedAdditiveAttention",
    "Reader",
    "Readout",
    "Recurrence",
    "RecurrentDecoder",
    "RecurrentEncoder",
    "ScaledDotAttention",
    "Seq2Seq",
    "State",
    "TokenLoss",
    "TransformerDecoder",
    "TransformerEncoder",
    "TransformerState",
    "flops_per_token",
    "initialize",
    "length_mask",
    "masked_softmax",
    "projected_cross_entropy",
]
