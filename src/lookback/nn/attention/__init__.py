"""Attention: how a decoder reads the source. One class a way of reading."""

from lookback.nn.attention.additive import AdditiveAttention
from lookback.nn.attention.attention import Attention, AttentionState, Look, Reader, Scorer, masked_softmax
from lookback.nn.attention.fixed_context import FixedContext
from lookback.nn.attention.multiplicative import DotAttention, GeneralAttention

__all__ = [
    "AdditiveAttention",
    "Attention",
    "AttentionState",
    "DotAttention",
    "FixedContext",
    "GeneralAttention",
    "Look",
    "Reader",
    "Scorer",
    "masked_softmax",
]
