"""Numbers: what a test set's translations are worth, by sentence length. Plain numpy and sacrebleu."""

from lookback.evaluation.alignment.diagnostics import Diagnostics, diagnose
from lookback.evaluation.alignment.links import links, merge_to_words
from lookback.evaluation.alignment.quality import (
    SHIFTS,
    SYMMETRISATIONS,
    LinkCounts,
    count_links,
    shifted_links,
    symmetrise,
)
from lookback.evaluation.convergence import convergence, rise_in_words
from lookback.evaluation.counting import count, segments_of
from lookback.evaluation.length_curve import (
    BOUNDS,
    ENOUGH,
    IN_RESULTS,
    Buckets,
    cut,
    equal_count_bounds,
    half_length,
    label,
    length_curve,
    midpoint,
    retention,
)
from lookback.evaluation.recall_curve import FIFTH_NAMES, RecallPart, recall_curve
from lookback.evaluation.scores.agreement import agreement
from lookback.evaluation.scores.bleu import bleu, sentence_statistics, signature, signature_tokenizer
from lookback.evaluation.scores.chrf import chrf, chrf_statistics
from lookback.evaluation.scores.measures import MEASURES, Measure, measure_of
from lookback.evaluation.scores.reading import A_LOOK, reading_statistics
from lookback.evaluation.scores.recall import FIFTHS, recall_statistics
from lookback.evaluation.scores.repetition import repetition_statistics, trigram_statistics
from lookback.evaluation.scores.ter import ter, ter_statistics
from lookback.evaluation.statistics.arms import Arm, ArmBucket
from lookback.evaluation.statistics.intervals import LEVEL
from lookback.evaluation.statistics.parts import ScoredBucket
from lookback.evaluation.statistics.resamples import Resamples
from lookback.evaluation.statistics.resampling import RESAMPLES, resample
from lookback.evaluation.statistics.significance import (
    FEW,
    BucketDifference,
    Difference,
    Pair,
    PairedDifference,
    differs,
    holm,
)
from lookback.evaluation.summary import results

__all__ = [
    "A_LOOK",
    "BOUNDS",
    "ENOUGH",
    "FEW",
    "FIFTHS",
    "FIFTH_NAMES",
    "IN_RESULTS",
    "LEVEL",
    "MEASURES",
    "RESAMPLES",
    "SHIFTS",
    "SYMMETRISATIONS",
    "Arm",
    "ArmBucket",
    "BucketDifference",
    "Buckets",
    "Diagnostics",
    "Difference",
    "LinkCounts",
    "Measure",
    "Pair",
    "PairedDifference",
    "RecallPart",
    "Resamples",
    "ScoredBucket",
    "agreement",
    "bleu",
    "chrf",
    "chrf_statistics",
    "convergence",
    "count",
    "count_links",
    "cut",
    "diagnose",
    "differs",
    "equal_count_bounds",
    "half_length",
    "holm",
    "label",
    "length_curve",
    "links",
    "measure_of",
    "merge_to_words",
    "midpoint",
    "reading_statistics",
    "recall_curve",
    "recall_statistics",
    "repetition_statistics",
    "resample",
    "results",
    "retention",
    "rise_in_words",
    "segments_of",
    "sentence_statistics",
    "shifted_links",
    "signature",
    "signature_tokenizer",
    "symmetrise",
    "ter",
    "ter_statistics",
    "trigram_statistics",
]
