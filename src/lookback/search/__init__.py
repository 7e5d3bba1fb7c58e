"""Greedy search, beam search, sampling and forced decoding."""

from lookback.search.beam import BeamSearch
from lookback.search.forced import force, score
from lookback.search.hypothesis import Hypothesis, LengthRule, Search
from lookback.search.paths import GreedySearch, SamplingSearch

__all__ = [
    "BeamSearch",
    "GreedySearch",
    "Hypothesis",
    "LengthRule",
    "SamplingSearch",
    "Search",
    "force",
    "score",
]
