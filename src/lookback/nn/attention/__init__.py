"""Attention: how a decoder reads the source. One class a way of reading."""

from lookback.nn.attention.additive import AdditiveAttention, NormedAdditiveAttention
from lookback.nn.attention.attention import Attention, AttentionState, Look, Reader, Scorer, masked_softmax
from lookback.nn.attention.fixed_context import FixedContext
from lookback.nn.attention.local import LocalMonotonicAttention, LocalPredictiveAttention
from lookback.nn.attention.location import LocationAttention
from lookback.nn.attention.multi_head import MultiHeadAttention
from lookback.nn.attention.multiplicative import DotAttention, GeneralAttention, ScaledDotAttention
from lookback.nn.attention.remembering import CoverageAttention, LocationSensitiveAttention

__all__ = [
    "AdditiveAttention",
    "Attention",
    "AttentionState",
    "CoverageAttention",
    "DotAttention",
    "FixedContext",
    "GeneralAttention",
    "LocalMonotonicAttention",
    "LocalPredictiveAttention",
    "LocationAttention",
    "LocationSensitiveAttention",
    "Look",
    "MultiHeadAttention",
    "NormedAdditiveAttention",
    "Reader",
    "ScaledDotAttention",
    "Scorer",
    "masked_softmax",
]
