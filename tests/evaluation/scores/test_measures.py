"""Every measure is the key of a bucket in results.json, and the number that stands there."""

import pytest

from lookback.evaluation import MEASURES, count, length_curve, measure_of
from lookback.runs import BUCKET, Prediction

PREDICTIONS = [
    Prediction(0, "a b c d", "le chat est là .", "le chat est là .", -0.1, 4, False),
    Prediction(1, "a b c d e f g h i", "un deux trois quatre cinq six", "un deux quatre trois", -0.9, 9, True),
    Prediction(2, "a b c d e f g h i", "un deux trois quatre cinq six", "", -0.9, 9, True),
    Prediction(3, "a b c d e f g h i", "un deux trois", "un un un un un deux deux", -0.9, 9, True),
]
READING = [(0, 4), (3, 9), (9, 9), (7, 9)]


@pytest.mark.parametrize("key", MEASURES)
def test_a_measure_of_summed_counts_is_what_results_json_says(key):
    segments, measure = count(PREDICTIONS, "none", reading=READING), measure_of(key)
    assert key == measure.key
    assert key in BUCKET
    sums = getattr(segments, measure.statistics).sum(axis=0, keepdims=True)
    (score,) = measure.score(sums, True)
    assert score == pytest.approx(length_curve(segments, resamples=1)[0][key], abs=1e-12)
    assert format(score, measure.number)
    assert measure.better in (-1, 0, 1)
    wrong = 3 if key in ("repeated", "repeated_trigrams") else 2  # a silent system repeats nothing
    better = [measure.score(getattr(segments, measure.statistics)[row], True) for row in (0, wrong)]
    if measure.better:
        assert measure.better * (better[0] - better[1]) > 0
