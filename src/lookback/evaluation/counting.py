"""What is counted once for each sentence, so that every later number is arithmetic."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookback.common.errors import InputError
from lookback.common.words import Link
from lookback.evaluation.scores.bleu import bleu, sentence_statistics, signature_tokenizer
from lookback.evaluation.scores.chrf import chrf_statistics
from lookback.evaluation.scores.reading import COLUMNS as READING_COLUMNS
from lookback.evaluation.scores.recall import recall_statistics
from lookback.evaluation.scores.repetition import repetition_statistics, trigram_statistics
from lookback.evaluation.scores.ter import ter_statistics
from lookback.runs import MissingCounts, Prediction, Run, Segments, read_predictions


def count(
    predictions: Sequence[Prediction],
    tokenize: str,
    links: Sequence[Sequence[Link] | None] | None = None,
    reading: Sequence[tuple[int, int]] | None = None,
) -> Segments:
    """Count the predictions' sentences, with sacrebleu's tokenizer `tokenize` for BLEU's and repeated words.

    `links` are the sure gold links of each sentence between words of `str.split()`, None where it has none; without
    any, nothing is counted by position. `reading` has `reading_statistics` of each; None where nothing looks.
    """
    counted = {name: of(predictions, tokenize) for name, of in _COUNTERS.items()}
    if reading is not None:
        counted["reading_statistics"] = np.array(reading, dtype=np.int64).reshape(-1, READING_COLUMNS)
    if links is not None and any(links):
        split = [len(prediction.source.split()) for prediction in predictions]
        texts = _hypotheses(predictions), _references(predictions)
        counted["position_statistics"] = recall_statistics(*texts, split, links)
    return Segments(**counted)


def _hypotheses(predictions: Sequence[Prediction]) -> list[str]:
    return [prediction.hypothesis for prediction in predictions]


def _references(predictions: Sequence[Prediction]) -> list[str]:
    return [prediction.reference for prediction in predictions]


def _words(texts: Sequence[str]) -> NDArray[np.int64]:
    return np.array([len(text.split()) for text in texts], dtype=np.int64)


_COUNTERS: dict[str, Callable[[Sequence[Prediction], str], NDArray[Any]]] = {
    "source_length": lambda of, _: np.array([prediction.source_length for prediction in of], dtype=np.int64),
    "reference_length": lambda of, _: _words(_references(of)),
    "hypothesis_length": lambda of, _: _words(_hypotheses(of)),
    "truncated": lambda of, _: np.array([prediction.truncated for prediction in of], dtype=np.bool_),
    "bleu_statistics": lambda of, tokenize: sentence_statistics(_hypotheses(of), _references(of), tokenize),
    "chrf_statistics": lambda of, _: chrf_statistics(_hypotheses(of), _references(of)),
    "ter_statistics": lambda of, _: ter_statistics(_hypotheses(of), _references(of)),
    "repetition_statistics": lambda of, tokenize: repetition_statistics(_hypotheses(of), _references(of), tokenize),
    "trigram_statistics": lambda of, tokenize: trigram_statistics(_hypotheses(of), _references(of), tokenize),
    "reading_statistics": lambda of, _: np.zeros((len(of), READING_COLUMNS), dtype=np.int64),
}
"""What predictions alone tell, by the fields of `Segments`. They do not tell where the model looked: 0 of 0 words."""


def segments_of(run: Run) -> Segments | None:
    """Read the counts that a run's scores were computed from; None where the run left none.

    A file of an earlier version lacks some of them: then these are counted from predictions.jsonl, in seconds.
    """
    path = run.scored_in / "segments.npz"
    if not path.exists():
        return None
    try:
        segments = Segments.load(path)
    except MissingCounts as missing:
        predictions = run.scored_in / "predictions.jsonl"
        if run.results is None or not predictions.exists():
            raise
        written, tokenize = read_predictions(predictions), signature_tokenizer(run.results["signature"])
        counted = {name: of(written, tokenize) for name, of in _COUNTERS.items() if name not in missing.arrays}
        try:
            segments = Segments(**counted, **missing.arrays)
        except ValueError as error:
            raise InputError(f"{path}: {error}, of the predictions beside it") from None
    _check_same_scores(segments, run, path)
    return segments


def _check_same_scores(segments: Segments, run: Run, path: Path) -> None:
    """Counts that give another BLEU than results.json says are those of another run."""
    if run.results is None or run.results["bleu"] is None:
        return
    short = "eff:yes" in run.results["signature"]
    found, said = float(bleu(segments.bleu_statistics.sum(axis=0), effective_order=short)), run.results["bleu"]
    if abs(found - said) > 1e-6:
        raise InputError(f"{path}: its counts give BLEU {found:.4f}, results.json says {said:.4f}; expected one run's")
