"""Numbers: what a test set's translations are worth, by sentence length. Plain numpy and sacrebleu."""

from lookback.evaluation.agreement import agreement
from lookback.evaluation.alignment_quality import (
    SHIFTS,
    SYMMETRISATIONS,
    LinkCounts,
    count_links,
    shifted_links,
    symmetrise,
)
from lookback.evaluation.bleu import bleu, sentence_statistics, signature, signature_tokenizer
from lookback.evaluation.chrf import chrf, chrf_statistics
from lookback.evaluation.diagnostics import Diagnostics, diagnose
from lookback.evaluation.files import atomic_write, write_json
from lookback.evaluation.length_curve import (
    BOUNDS,
    ENOUGH,
    equal_count_bounds,
    half_length,
    label,
    length_curve,
    midpoint,
    retention,
)
from lookback.evaluation.measures import MEASURES, Measure, measure_of
from lookback.evaluation.predictions import Prediction, read_predictions, write_predictions
from lookback.evaluation.resampling import RESAMPLES, resample
from lookback.evaluation.results import (
    AER,
    AGREEMENT,
    ATTENTION,
    BUCKET,
    COST,
    SCHEMA,
    TRAINING_DATA,
    check_results,
    read_results,
    results,
)
from lookback.evaluation.segments import MissingCounts, Segments
from lookback.evaluation.significance import LEVEL, Difference, Resamples, holm
from lookback.evaluation.ter import ter, ter_statistics
from lookback.evaluation.word_alignment import links, merge_to_words

__all__ = [
    "AER",
    "AGREEMENT",
    "ATTENTION",
    "BOUNDS",
    "BUCKET",
    "COST",
    "ENOUGH",
    "LEVEL",
    "MEASURES",
    "RESAMPLES",
    "SCHEMA",
    "SHIFTS",
    "SYMMETRISATIONS",
    "TRAINING_DATA",
    "Diagnostics",
    "Difference",
    "LinkCounts",
    "Measure",
    "MissingCounts",
    "Prediction",
    "Resamples",
    "Segments",
    "agreement",
    "atomic_write",
    "bleu",
    "check_results",
    "chrf",
    "chrf_statistics",
    "count_links",
    "diagnose",
    "equal_count_bounds",
    "half_length",
    "holm",
    "label",
    "length_curve",
    "links",
    "measure_of",
    "merge_to_words",
    "midpoint",
    "read_predictions",
    "read_results",
    "resample",
    "results",
    "retention",
    "sentence_statistics",
    "shifted_links",
    "signature",
    "signature_tokenizer",
    "symmetrise",
    "ter",
    "ter_statistics",
    "write_json",
    "write_predictions",
]
