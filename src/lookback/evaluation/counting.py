"""What is counted once for each sentence, so that every later number is arithmetic."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

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
    hypotheses = [prediction.hypothesis for prediction in predictions]
    references = [prediction.reference for prediction in predictions]
    by_position = None
    if links is not None and any(links):
        split = [len(prediction.source.split()) for prediction in predictions]
        by_position = recall_statistics(hypotheses, references, split, links)
    return Segments(
        source_length=np.array([prediction.source_length for prediction in predictions], dtype=np.int64),
        reference_length=np.array([len(text.split()) for text in references], dtype=np.int64),
        hypothesis_length=np.array([len(text.split()) for text in hypotheses], dtype=np.int64),
        truncated=np.array([prediction.truncated for prediction in predictions], dtype=np.bool_),
        bleu_statistics=sentence_statistics(hypotheses, references, tokenize),
        chrf_statistics=chrf_statistics(hypotheses, references),
        ter_statistics=ter_statistics(hypotheses, references),
        repetition_statistics=repetition_statistics(hypotheses, references, tokenize),
        trigram_statistics=trigram_statistics(hypotheses, references, tokenize),
        reading_statistics=np.array(reading or np.zeros((len(predictions), READING_COLUMNS)), dtype=np.int64).reshape(
            -1, READING_COLUMNS
        ),
        position_statistics=by_position,
    )


def segments_of(run: Run) -> Segments | None:
    """Read the counts that a run's scores were computed from; None where the run left none.

    A file of an earlier version lacks some of them: then these are counted from predictions.jsonl, in seconds.
    """
    path = run.directory / "test" / "segments.npz"
    if not path.exists():
        return None
    try:
        segments = Segments.load(path)
    except MissingCounts as missing:
        predictions = run.directory / "test" / "predictions.jsonl"
        if run.results is None or not predictions.exists():
            raise
        counted = count(read_predictions(predictions), signature_tokenizer(run.results["signature"]))
        try:
            segments = replace(counted, **missing.arrays)
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
