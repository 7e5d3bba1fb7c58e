"""What the statistics of a comparison take on one core, beside the matrix products in them.

    OMP_NUM_THREADS=1 python benchmarks/significance.py

50 runs (5 arms of 10 seeds) on a synthetic test set, in 7 buckets and as a whole: 1,000 resamples of every run,
every paired difference to the first arm with its interval, p and Holm's correction, and every arm's intervals of
BLEU, `retention` and `half_length`. Each number is the median of `--rounds`, in seconds of the processor but for
`seconds`, which are the clock's. `products` is the time of the bare matrix
products in float32, weights that are already there times statistics that already lie side by side: what no way of
summing over sentences gets below here. `all_measures` is what a page takes: all of that for every measure, each in
buckets of ten words and in six of equal counts. `other_baseline` is one more baseline for one of them, on what is
there.
"""

import argparse
import os
import resource
import time
from itertools import pairwise, product
from statistics import median

import numpy as np
from machine import keep, show

from lookback.evaluation import MEASURES, RESAMPLES, Resamples, equal_count_bounds
from lookback.runs import Segments

ARMS, SEEDS, BUCKETS = 5, 10, 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, nargs="+", default=[500, 3000, 5000], help="of a test set")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    rows = [_row(sentences, arguments.rounds) for sentences in arguments.sentences]
    show(rows)
    keep("evaluation_significance", rows)


def _row(sentences: int, rounds: int) -> dict[str, object]:
    runs = _runs(sentences)
    arms = [list(range(arm, arm + SEEDS)) for arm in range(0, len(runs), SEEDS)]
    contrasts = [list(zip(arm, arms[0], strict=True)) for arm in arms[1:]]
    names = ("bootstrap", "differences", "arms", "all_measures", "other_baseline", "products")
    taken: dict[str, list[float]] = {name: [] for name in names}
    clocks = []
    for _ in range(rounds):
        started, times = time.perf_counter(), [time.process_time()]
        resamples = Resamples(runs)
        resamples.arm(arms[0])  # which scores every run
        times.append(time.process_time())
        resamples.differences(contrasts)
        times.append(time.process_time())
        for arm in arms[1:]:
            resamples.arm(arm)
        times.append(time.process_time())
        clocks.append(time.perf_counter() - started)
        wide = Resamples(runs)
        even = wide.cut(equal_count_bounds(runs[0].source_length), closed=True)
        for measure, cut in product(MEASURES, (wide, even)):
            cut.differences(contrasts, measure)
            for arm in arms:
                cut.arm(arm, measure)
        times.append(time.process_time())
        wide.differences([list(zip(arm, arms[1], strict=True)) for arm in arms if arm != arms[1]])
        times.append(time.process_time())
        for name, (start, end) in zip(names, pairwise(times), strict=False):
            taken[name].append(end - start)
        taken["products"].append(_products(len(runs), sentences))
    whole = [sum(steps) for steps in zip(taken["bootstrap"], taken["differences"], taken["arms"], strict=True)]
    return {
        "runs": len(runs),
        "sentences": sentences,
        "resamples": RESAMPLES,
        "seconds": round(median(clocks), 2),
        "cpu_seconds": round(median(whole), 2),
        **{name: round(median(seconds), 2) for name, seconds in taken.items()},
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10),
        "threads": os.environ.get("OMP_NUM_THREADS", "all"),
    }


def _runs(sentences: int) -> list[Segments]:
    """Counts of systems that find each n-gram with a probability of their own, for sources of 1 to 70 words."""
    chance, letters = np.random.default_rng(0), 5  # a word
    lengths = chance.integers(1, 71, size=sentences)
    totals = np.maximum(lengths[:, None] - np.arange(4), 0)
    characters = letters * lengths[:, None] - np.arange(6)
    return [
        Segments(
            source_length=lengths,
            reference_length=lengths,
            hypothesis_length=lengths,
            truncated=np.zeros(sentences, dtype=bool),
            bleu_statistics=np.column_stack([chance.binomial(totals, found), totals, lengths, lengths]),
            chrf_statistics=np.dstack(
                [characters, characters, chance.binomial(characters, found ** np.arange(1, 7))]
            ).reshape(sentences, -1),
            ter_statistics=np.column_stack([chance.binomial(lengths, 1 - found), lengths]),
            repetition_statistics=np.column_stack([chance.binomial(lengths, (1 - found) / 9), lengths]),
            trigram_statistics=np.column_stack([chance.binomial(totals[:, 2], (1 - found) / 99), totals[:, 2]]),
            reading_statistics=np.column_stack([chance.binomial(lengths, (1 - found) / 9), lengths]),
        )
        for found in chance.uniform(0.3, 0.9, size=ARMS * SEEDS)
    ]


def _products(systems: int, sentences: int) -> float:
    """Seconds of the products alone: of the whole test set, and of its buckets."""
    seconds = 0.0
    for size in (sentences, *[sentences // BUCKETS] * BUCKETS):
        weights = np.ones((RESAMPLES, size), dtype=np.float32)
        statistics = np.ones((size, 10 * systems), dtype=np.float32)
        start = time.process_time()
        weights @ statistics
        seconds += time.process_time() - start
    return seconds


if __name__ == "__main__":
    main()
