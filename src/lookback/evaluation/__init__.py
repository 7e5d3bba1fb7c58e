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
from lookback.evaluation.convergence import convergence, rise_in_words
from lookback.evaluation.diagnostics import Diagnostics, diagnose
from lookback.evaluation.files import atomic_write, write_json
from lookback.evaluation.intervals import LEVEL
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
from lookback.evaluation.recall import FIFTHS, recall_statistics
from lookback.evaluation.recall_curve import recall_curve
from lookback.evaluation.repetition import repetition_statistics
from lookback.evaluation.resampling import RESAMPLES, resample
from lookback.evaluation.results import (
    AER,
    AGREEMENT,
    ATTENTION,
    BUCKET,
    CONVERGENCE,
    COST,
    POSITION,
    SCHEMA,
    TRAINING_DATA,
    check_results,
    read_results,
    results,
)
from lookback.evaluation.segments import MissingCounts, Segments
from lookback.evaluation.significance import FEW, Difference, Resamples, differs, holm
from lookback.evaluation.ter import ter, ter_statistics
from lookback.evaluation.word_alignment import links, merge_to_words

__all__ = [
    "AER",
    "AGREEMENT",
    "ATTENTION",
    "BOUNDS",
    "BUCKET",
    "CONVERGENCE",
    "COST",
    "ENOUGH",
    "FEW",
    "FIFTHS",
    "LEVEL",
    "MEASURES",
    "POSITION",
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
    "convergence",
    "count_links",
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
    "read_predictions",
    "read_results",
    "recall_curve",
    "recall_statistics",
    "repetition_statistics",
    "resample",
    "results",
    "retention",
    "rise_in_words",
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
