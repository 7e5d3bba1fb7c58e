"""Do the intervals cover, and how often is a star given for nothing? By simulation, for the method of today and before.

    OMP_NUM_THREADS=1 nice python benchmarks/interval_coverage.py

Three arms that are equally good are trained with 1, 3, 5 or 10 seeds, where another training changes BLEU by 0, 1, 2 or
6 points (a standard deviation), and translate one test set of 480 sentences of 1 to 60 words, six buckets of ten. A
sentence has a length and a difficulty that all models share; a training has a quality, and a second one that is good
for short sentences or for long ones; a word is right by chance, and n-grams match where all of their words are right.
An arm's true score is the mean over trainings of BLEU in the population that the sentences are drawn from, and every
true difference is 0.

`difference` and `score` are how often a 95 % interval holds the truth: the differences of two arms from the first,
and every arm's own score. `star` is how often one difference on the whole test set is called significant,
`star_figure` how often any is in the two arms' twelve buckets. The first two should be 0.95 and more, the others 0.05
and less.
`before` is the percentile bootstrap of two levels (trainings, then sentences), with the p-value of approximate
randomisation over sentences alone and Holm's correction in each arm's curve by itself.

Of one seed the interval is over sentences alone: it holds the difference of these two trained models on other
sentences, and not that of the attentions, so where trainings differ it covers less. Hence no star under three seeds.
`models` is how often the report says there that "these trained models differ on this test set", of one difference;
where trainings differ that is no error, for they do.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from machine import keep, show
from numpy.typing import NDArray

from lookback.evaluation import ENOUGH, LEVEL, Resamples, bleu, holm, measure_of
from lookback.evaluation.statistics.significance import randomisation
from lookback.runs import Segments

ARMS, SENTENCES, LONGEST, ORDERS = 3, 480, 60, 4
BOUNDS = (10, 20, 30, 40, 50)
SEEDS, DEVIATIONS = (1, 3, 5, 10), (0.0, 1.0, 2.0, 6.0)
_EASE, _DIFFICULTY, _TILT = 1.6, 0.6, 0.5
"""Log odds of a right word; how much sentences deviate from them; a training's tilt by length, over its quality's"""
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True)
class Trainings:
    """How much trainings of one attention differ."""

    scale: float
    """Of a training's quality, in log odds of a right word"""
    score: float
    """The mean of their BLEU in the population of sentences"""

    @classmethod
    def of(cls, deviation: float) -> "Trainings":
        """Those whose BLEU has this standard deviation."""
        low, high = 0.0, 4.0
        for _ in range(40):
            scale = (low + high) / 2
            low, high = (scale, high) if _moments(scale)[1] < deviation else (low, scale)
        return cls(scale, _moments(scale)[0])


@dataclass
class Counts:
    """What was found in the simulated test sets, by one method."""

    difference: list[bool]
    score: list[bool]
    star: list[bool]
    star_figure: list[bool]
    models: list[bool]

    def shares(self) -> dict[str, float]:
        return {name: round(float(np.mean(found)), 3) for name, found in vars(self).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=400, help="test sets a row")
    parser.add_argument("--resamples", type=int, default=400)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    arguments = parser.parse_args()
    rows = []
    for seeds, deviation in product(arguments.seeds, DEVIATIONS):
        rows += simulated(seeds, deviation, arguments.simulations, arguments.resamples)
        print(*(" ".join(f"{name}={value}" for name, value in row.items()) for row in rows[-2:]), sep="\n", flush=True)
    show(rows)
    keep("interval_coverage", rows, by=("seeds", "deviation"))


def simulated(seeds: int, deviation: float, simulations: int, resamples: int) -> list[dict[str, object]]:
    """A row of the method before and one of today's: both see the same test sets and the same resamples."""
    trainings = Trainings.of(deviation)
    arms = [list(range(arm * seeds, (arm + 1) * seeds)) for arm in range(ARMS)]
    found = {name: Counts([], [], [], [], []) for name in ("before", "now")}
    for simulation in range(simulations):
        chance = np.random.default_rng((simulation, seeds, round(10 * deviation)))
        drawn = Resamples(drawn_test_set(trainings, seeds, chance), BOUNDS, resamples, simulation)
        _before(drawn, arms, trainings.score, found["before"])
        _now(drawn, arms, trainings.score, found["now"])
    return [
        {"seeds": seeds, "deviation": deviation, "method": name, **counts.shares(), "simulations": simulations}
        for name, counts in found.items()
    ]


def drawn_test_set(trainings: Trainings, seeds: int, chance: np.random.Generator) -> list[Segments]:
    """What the models of all arms, `seeds` of each, translate of one drawn test set."""
    lengths = np.sort(chance.integers(1, LONGEST + 1, size=SENTENCES))
    difficulty = _DIFFICULTY * chance.standard_normal(SENTENCES)
    models = ARMS * seeds
    quality, tilt = trainings.scale * chance.standard_normal((2, models, 1))
    right = _right(lengths, difficulty, quality, tilt)[..., None]  # (models, sentences, 1)
    inside = np.arange(LONGEST) < lengths[:, None]
    found = (chance.random((models, SENTENCES, LONGEST), dtype=np.float32) < right) & inside
    matches = []
    for _ in range(ORDERS):
        matches.append(np.count_nonzero(found, axis=-1))
        found = found[..., :-1] & found[..., 1:]
    totals = np.maximum(lengths[:, None] - np.arange(ORDERS), 0)
    return [_segments(lengths, totals, counts) for counts in np.stack(matches, axis=-1)]


def _segments(lengths: NDArray[np.int64], totals: NDArray[np.int64], matches: NDArray[np.int64]) -> Segments:
    statistics = np.column_stack([matches, totals, lengths, lengths])
    nothing = np.zeros((len(lengths), 18), dtype=np.int64)
    return Segments(
        source_length=lengths,
        reference_length=lengths,
        hypothesis_length=lengths,
        truncated=np.zeros(len(lengths), dtype=bool),
        bleu_statistics=statistics,
        chrf_statistics=nothing,
        ter_statistics=nothing[:, :2],
        repetition_statistics=nothing[:, :2],
        trigram_statistics=nothing[:, :2],
        reading_statistics=nothing[:, :2],
    )


def _right(lengths: NDArray, difficulty: NDArray, quality: NDArray, tilt: NDArray) -> NDArray[np.float64]:
    """The chance that a word of each sentence is right, for each training."""
    middle, spread = (LONGEST + 1) / 2, LONGEST / np.sqrt(12)
    odds = _EASE + difficulty + quality + _TILT * tilt * (lengths - middle) / spread
    return 1 / (1 + np.exp(-odds))


def _moments(scale: float) -> tuple[float, float]:
    """Mean and standard deviation over trainings of BLEU in the population, by quadrature over all that is drawn."""
    lengths, difficulty = (axis.ravel() for axis in np.meshgrid(np.arange(1, LONGEST + 1), _NODES))
    sentences = np.repeat(_WEIGHTS, LONGEST)
    quality, tilt = (scale * axis.ravel()[:, None] for axis in np.meshgrid(_NODES, _NODES))
    weights = np.outer(_WEIGHTS, _WEIGHTS).ravel()
    right = _right(lengths, _DIFFICULTY * difficulty, quality, tilt)
    orders = np.arange(ORDERS)
    totals = np.maximum(lengths[:, None] - orders, 0)
    matches = np.einsum("s,so,tso->to", sentences, totals, right[..., None] ** (1 + orders))
    same = np.broadcast_to([*(sentences @ totals), *[sentences @ lengths] * 2], (len(weights), ORDERS + 2))
    scores = np.asarray(bleu(np.concatenate([matches, same], axis=1)))
    mean = float(weights @ scores)
    return mean, float(np.sqrt(weights @ (scores - mean) ** 2))


def _now(drawn: Resamples, arms: Sequence[Sequence[int]], truth: float, counts: Counts) -> None:
    differences = drawn.differences([list(zip(arm, arms[0], strict=True)) for arm in arms[1:]])
    for difference in differences:
        low, high = difference.whole["ci"]
        counts.difference.append(low <= 0 <= high)
        counts.star.append(difference.whole["significant"])
        counts.models.append(difference.whole["models_differ"])
    counts.star_figure.append(any(bucket["significant"] for difference in differences for bucket in difference.curve))
    for arm in arms:
        low, high = drawn.arm(arm)["ci"]
        counts.score.append(low <= truth <= high)


def _before(drawn: Resamples, arms: Sequence[Sequence[int]], truth: float, counts: Counts) -> None:
    """The method of earlier versions, on the same draws."""
    seeds, resamples = len(arms[0]), drawn.resamples
    chance = np.random.default_rng((drawn.seed, 0, 2))
    weights = chance.multinomial(seeds, np.full(seeds, 1 / seeds), size=resamples) / seeds  # of the trainings
    contrasts = [list(zip(arm, arms[0], strict=True)) for arm in arms[1:]]
    starred = False
    for part in (drawn._whole, *drawn._buckets):
        measure = measure_of("bleu")
        scores, p_values = part.scores(measure), randomisation(part, contrasts, measure, resamples)
        covered = [low <= 0 <= high for low, high in _percentiles(scores, weights, arms[1:], arms[0])]
        if part is drawn._whole:
            counts.difference += covered
            counts.star += [p < LEVEL and not inside for p, inside in zip(p_values, covered, strict=True)]
            counts.score += [low <= truth <= high for low, high in _percentiles(scores, weights, arms)]
            curves: list[list[tuple[float, bool]]] = [[] for _ in contrasts]
        elif part.n >= ENOUGH:
            for curve, p, inside in zip(curves, p_values, covered, strict=True):
                curve.append((p, inside))
    for curve in curves:
        corrected = holm([p for p, _ in curve])
        starred |= any(p < LEVEL and not inside for p, (_, inside) in zip(corrected, curve, strict=True))
    counts.star_figure.append(starred)
    counts.models.append(False)


def _percentiles(
    scores: NDArray, weights: NDArray, arms: Sequence[Sequence[int]], other: Sequence[int] | None = None
) -> Iterator[NDArray[np.float64]]:
    for arm in arms:
        of = scores[list(arm)] - (0 if other is None else scores[list(other)])
        yield np.percentile(np.einsum("sr,rs->r", of[:, 1:], weights), [2.5, 97.5])


if __name__ == "__main__":
    main()
