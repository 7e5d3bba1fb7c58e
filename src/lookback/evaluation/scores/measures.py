"""What a curve against source length can be drawn of: scores that are functions of summed counts, by their keys."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookback.evaluation.scores import recall
from lookback.evaluation.scores.bleu import HYPOTHESIS_LENGTH, REFERENCE_LENGTH, bleu, omitted
from lookback.evaluation.scores.chrf import chrf
from lookback.evaluation.scores.percent import percent
from lookback.evaluation.scores.ter import ter

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Measure:
    """One way to score a set of sentences."""

    key: str
    """Of a bucket in results.json (`lookback.runs.BUCKET`), and in `MEASURES`"""
    name: str
    """In a sentence: `BLEU` more than another system's"""
    title: str
    """Of an axis"""
    number: str
    """Format of a score; with a `+` before it, of a difference"""
    statistics: str
    """The field of `Segments` that is summed"""
    better: int
    """1 where more is better, -1 where less is, 0 where neither is"""
    score: Callable[[Numbers, bool], Numbers]
    """Of summed statistics (…, columns) gives (…), NaN where it does not exist. The flag is `bleu`'s `effective_order`,
    which the other measures do without"""


def _bleu(statistics: Numbers, effective_order: bool) -> Numbers:
    return np.asarray(bleu(statistics, effective_order=effective_order))


def _bleu_no_bp(statistics: Numbers, effective_order: bool) -> Numbers:
    return np.asarray(bleu(statistics, effective_order=effective_order, brevity_penalty=False))


def _chrf(statistics: Numbers, effective_order: bool) -> Numbers:
    return np.asarray(chrf(statistics))


def _ter(statistics: Numbers, effective_order: bool) -> Numbers:
    return np.asarray(ter(statistics))


def _omitted(statistics: Numbers, effective_order: bool) -> Numbers:
    return omitted(statistics)


def _percent(statistics: Numbers, effective_order: bool) -> Numbers:
    return percent(statistics)


def _length_ratio(statistics: Numbers, effective_order: bool) -> Numbers:
    hypothesis, reference = statistics[..., HYPOTHESIS_LENGTH], statistics[..., REFERENCE_LENGTH]
    return np.where(reference > 0, hypothesis / np.where(reference > 0, reference, 1), np.nan)


MEASURES = {
    measure.key: measure
    for measure in (
        Measure("bleu", "BLEU", "BLEU", ".1f", "bleu_statistics", 1, _bleu),
        Measure(
            "bleu_no_bp",
            "BLEU without brevity penalty",
            "BLEU without brevity penalty",
            ".1f",
            "bleu_statistics",
            1,
            _bleu_no_bp,
        ),
        Measure("chrf", "chrF2", "chrF2", ".1f", "chrf_statistics", 1, _chrf),
        Measure("ter", "TER", "TER, lower is better", ".1f", "ter_statistics", -1, _ter),
        Measure(
            "length_ratio",
            "length ratio",
            "Length ratio: hypothesis / reference tokens",
            ".3f",
            "bleu_statistics",
            0,
            _length_ratio,
        ),
        Measure(
            "omitted", "omitted words", "Omitted words, % of the reference", ".1f", "bleu_statistics", -1, _omitted
        ),
        Measure(
            "repeated",
            "repeated words",
            "Repeated words, % of the translation",
            ".1f",
            "repetition_statistics",
            -1,
            _percent,
        ),
        Measure(
            "repeated_trigrams",
            "repeated 3-grams",
            "Repeated 3-grams, % of the translation's",
            ".1f",
            "trigram_statistics",
            -1,
            _percent,
        ),
        Measure(
            "never_looked_at",
            "words never looked at",
            "Source words never looked at, %",
            ".1f",
            "reading_statistics",
            0,
            _percent,
        ),
    )
}
"""By their keys, in the order in which a reader chooses from them."""


def _position(key: str, name: str, score: Callable[[Numbers], Numbers]) -> Measure:
    return Measure(key, name, name, ".2f", "position_statistics", 1, lambda statistics, _: score(statistics))


def _share_of_fifth(part: slice, fifth: int) -> Callable[[Numbers], Numbers]:
    def share(statistics: Numbers) -> Numbers:
        linked = statistics[..., recall.LINKED.start + fifth]
        found = statistics[..., part.start + fifth]
        return np.where(linked > 0, found / np.where(linked > 0, linked, 1), np.nan)

    return share


RECALL, CHANCE = (
    tuple(
        _position(f"{key}_{fifth + 1}", f"{name}, fifth {fifth + 1} of the source", _share_of_fifth(part, fifth))
        for fifth in range(recall.FIFTHS)
    )
    for key, name, part in (
        ("recall", "recall of linked words", recall.FOUND),
        ("chance", "recall by chance", recall.CHANCE),
    )
)
"""Of each fifth of the source, for runs with gold links: see `lookback.evaluation.scores.recall`. They have a chart of
their own, over positions, and so no place in `MEASURES`, which are drawn over length."""
ALIGNED = _position("aligned", "sentences with links", lambda statistics: statistics[..., recall.ALIGNED])

_BY_POSITION = {measure.key: measure for measure in (*RECALL, *CHANCE, ALIGNED)}


def measure_of(key: str) -> Measure:
    """The measure of this key: of `MEASURES`, or one by position. Raises `ValueError` where there is none."""
    if key in _BY_POSITION:
        return _BY_POSITION[key]
    if key not in MEASURES:
        raise ValueError(f"measure={key!r}: expected one of {', '.join(MEASURES)}")
    return MEASURES[key]
