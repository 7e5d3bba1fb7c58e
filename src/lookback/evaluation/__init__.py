"""Numbers: what a test set's translations are worth, by sentence length. Plain numpy and sacrebleu."""

from lookback.evaluation.bleu import bleu, sentence_statistics, signature
from lookback.evaluation.files import atomic_write, write_json
from lookback.evaluation.length_curve import BOUNDS, ENOUGH, half_length, label, length_curve, midpoint, retention
from lookback.evaluation.predictions import Prediction, read_predictions, write_predictions
from lookback.evaluation.resampling import RESAMPLES, resample
from lookback.evaluation.results import BUCKET, COST, SCHEMA, TRAINING_DATA, check_results, read_results, results
from lookback.evaluation.segments import Segments
from lookback.evaluation.significance import LEVEL, Difference, Resamples, holm
from lookback.evaluation.ter import ter
from lookback.evaluation.word_alignment import links, merge_to_words

__all__ = [
    "BOUNDS",
    "BUCKET",
    "COST",
    "ENOUGH",
    "LEVEL",
    "RESAMPLES",
    "SCHEMA",
    "TRAINING_DATA",
    "Difference",
    "Prediction",
    "Resamples",
    "Segments",
    "atomic_write",
    "bleu",
    "check_results",
    "half_length",
    "holm",
    "label",
    "length_curve",
    "links",
    "merge_to_words",
    "midpoint",
    "read_predictions",
    "read_results",
    "resample",
    "results",
    "retention",
    "sentence_statistics",
    "signature",
    "ter",
    "write_json",
    "write_predictions",
]
