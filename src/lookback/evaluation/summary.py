"""From a scored test set to what results.json holds."""

import math
from collections.abc import Mapping, Sequence
from typing import cast

from lookback.evaluation.counting import count
from lookback.evaluation.length_curve import equal_count_bounds, length_curve, length_ratio
from lookback.evaluation.recall_curve import recall_curve
from lookback.evaluation.scores.bleu import ORDERS, REFERENCE_LENGTH, bleu, signature
from lookback.evaluation.scores.chrf import chrf
from lookback.evaluation.scores.ter import ter
from lookback.evaluation.statistics.resamples import Resamples
from lookback.runs import (
    SCHEMA_VERSION,
    Aer,
    Agreement,
    AttentionBucket,
    Convergence,
    Cost,
    LookAer,
    Position,
    Prediction,
    Results,
    Segments,
    TrainingData,
    check_results,
)


def results(
    predictions: Sequence[Prediction],
    tokenize: str,
    *,
    arm: str,
    attention: str | None,
    seed: int | None,
    data: str,
    perplexity: float,
    aer: Aer | None,
    aer_by_look: Sequence[LookAer] | None = None,
    attention_by_length: Sequence[AttentionBucket] | None,
    convergence: Convergence | None,
    cost: Cost,
    training_data: TrainingData,
    versions: Mapping[str, str],
    git: str | None,
    data_fingerprint: str,
    segments: Segments | None = None,
    agreement: Sequence[Agreement] | None = None,
) -> Results:
    """Score a test set and describe the run, as results.json holds it (`lookback.runs.SCHEMA`).

    `aer`, `aer_by_look` (a record a layer or head), `attention_by_length` (a record a bucket of by_length),
    `convergence` and `agreement` (a record a bucket of distances) are None where there is nothing to say. `segments`
    are these predictions' counts, where the caller has them already. An empty test set has null scores.
    Raises `InputError` if what is given does not fit the schema, such as an unknown key in `cost`.
    """
    segments = count(predictions, tokenize) if segments is None else segments
    # Whether 4-grams are to be expected is a property of the test set, so that every system gets the same signature.
    short = not (segments.bleu_statistics[:, REFERENCE_LENGTH] >= ORDERS).any()
    resamples = Resamples([segments])
    whole = resamples.arm([0])
    by_position = None
    if segments.position_statistics is not None:
        _, *buckets = recall_curve(resamples, [0])
        by_position = cast(
            list[Position], buckets
        )  # with `lo` and `hi`: the whole test set, which has none, is left out
    record: Results = {
        "schema": SCHEMA_VERSION,
        "arm": arm,
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
        "half_length": whole["half_length"],
        "half_length_ci": whole["half_length_ci"],
        "retention": whole["retention"],
        "retention_ci": whole["retention_ci"],
        "aer": aer,
        "aer_by_look": None if aer_by_look is None else list(aer_by_look),
        "attention_by_length": None if attention_by_length is None else list(attention_by_length),
        "position_recall": by_position,
        "convergence": convergence,
        "agreement": None if agreement is None else list(agreement),
        "training_data": training_data,
        "cost": cost,
        "versions": dict(versions),
        "git": git,
        "data_fingerprint": data_fingerprint,
    }
    check_results(record, "results")
    return record
