"""From a scored test set to what results.json holds."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from lookback.evaluation.counting import count
from lookback.evaluation.length_curve import equal_count_bounds, length_curve, length_ratio
from lookback.evaluation.recall_curve import recall_curve
from lookback.evaluation.scores.bleu import ORDERS, REFERENCE_LENGTH, bleu, signature
from lookback.evaluation.scores.chrf import chrf
from lookback.evaluation.scores.ter import ter
from lookback.evaluation.statistics.significance import Resamples
from lookback.runs import SCHEMA_VERSION, Prediction, Segments, check_results


def results(
    predictions: Sequence[Prediction],
    tokenize: str,
    *,
    attention: str,
    seed: int,
    data: str,
    perplexity: float,
    aer: Mapping[str, Any] | None,
    attention_by_length: Sequence[Mapping[str, Any]] | None,
    convergence: Mapping[str, Any] | None,
    cost: Mapping[str, float | None],
    training_data: Mapping[str, Any],
    versions: Mapping[str, str],
    git: str | None,
    data_fingerprint: str,
    segments: Segments | None = None,
    agreement: Sequence[Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Score a test set and describe the run, as results.json holds it (`SCHEMA`).

    `aer` (`AER`), `attention_by_length` (an `ATTENTION` a bucket of by_length), `convergence` (`CONVERGENCE`) and
    `agreement` (an `AGREEMENT` a bucket of distances) are None where there is nothing to say. `segments` are these
    predictions' counts where the caller has them already. An empty test set has null scores.
    Raises `InputError` if what is given does not fit the schema, such as an unknown key in `cost`.
    """
    segments = count(predictions, tokenize) if segments is None else segments
    # Whether 4-grams are to be expected is a property of the test set, so that every system gets the same signature.
    short = not (segments.bleu_statistics[:, REFERENCE_LENGTH] >= ORDERS).any()
    resamples = Resamples([segments])
    whole = resamples.arm([0])
    by_position = None if segments.position_statistics is None else recall_curve(resamples, [0])[1:]
    record = {
        "schema": SCHEMA_VERSION,
        "attention": attention,
        "seed": seed,
        "data": data,
        "bleu": float(bleu(segments.bleu_statistics.sum(axis=0), effective_order=short)) if predictions else None,
        "signature": signature(tokenize, effective_order=short and bool(predictions)),
        "chrf": float(chrf(segments.chrf_statistics.sum(axis=0))) if predictions else None,
        "ter": float(ter(segments.ter_statistics.sum(axis=0))) if predictions else None,
        "perplexity": perplexity if math.isfinite(perplexity) else None,
        "length_ratio": length_ratio(segments),
        "truncated": int(segments.truncated.sum()),
        "by_length": length_curve(segments),
        "by_equal_count": length_curve(segments, equal_count_bounds(segments.source_length), closed=True),
        **{key: whole[key] for key in ("half_length", "half_length_ci", "retention", "retention_ci")},
        "aer": None if aer is None else dict(aer),
        "attention_by_length": None if attention_by_length is None else [dict(row) for row in attention_by_length],
        "position_recall": by_position,
        "convergence": None if convergence is None else dict(convergence),
        "agreement": None if agreement is None else [dict(row) for row in agreement],
        "training_data": dict(training_data),
        "cost": dict(cost),
        "versions": dict(versions),
        "git": git,
        "data_fingerprint": data_fingerprint,
    }
    check_results(record, "results")
    return record
