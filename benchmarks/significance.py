"""What the statistics of a comparison take on one core, beside the matrix products in them.

    OMP_NUM_THREADS=1 python benchmarks/significance.py

50 runs (5 arms of 10 seeds) on a synthetic test set, in 7 buckets and as a whole: 1,000 resamples of every run, 1,000
trials of every paired difference to the first arm with its interval and Holm's correction, and every arm's intervals of
BLEU, `retention` and `half_length`. Each line is the median of `--rounds`. `products` is the time of the bare matrix
products in float32, weights that are already there times statistics that already lie side by side: what no way of
summing over sentences gets below here.
"""

import argparse
import os
import resource
import time
from itertools import pairwise
from statistics import median

import numpy as np
from machine import keep, show

from lookback.evaluation import RESAMPLES, Resamples, Segments

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
    taken: dict[str, list[float]] = {"bootstrap": [], "differences": [], "arms": [], "products": []}
    cpu = []
    for _ in range(rounds):
        cpu_start, clock = time.process_time(), [time.perf_counter()]
        resamples = Resamples(runs)
        clock.append(time.perf_counter())
        resamples.differences(contrasts)
        clock.append(time.perf_counter())
        for arm in arms:
            resamples.arm(arm)
        clock.append(time.perf_counter())
        cpu.append(time.process_time() - cpu_start)
        for name, (start, end) in zip(taken, pairwise(clock), strict=False):
            taken[name].append(end - start)
        taken["products"].append(_products(len(runs), sentences) + _products(sum(map(len, contrasts)), sentences))
    steps = {name: round(median(seconds), 2) for name, seconds in taken.items()}
    whole = [sum(steps) for steps in zip(taken["bootstrap"], taken["differences"], taken["arms"], strict=True)]
    return {
        "runs": len(runs),
        "sentences": sentences,
        "resamples": RESAMPLES,
        "seconds": round(median(whole), 2),
        "cpu_seconds": round(median(cpu), 2),
        **steps,  # seconds too
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10),
        "threads": os.environ.get("OMP_NUM_THREADS", "all"),
    }


def _runs(sentences: int) -> list[Segments]:
    """Counts of systems that find each n-gram with a probability of their own, for sources of 1 to 70 words."""
    chance = np.random.default_rng(0)
    lengths = chance.integers(1, 71, size=sentences)
    totals = np.maximum(lengths[:, None] - np.arange(4), 0)
    return [
        Segments(
            source_length=lengths,
            reference_length=lengths,
            hypothesis_length=lengths,
            truncated=np.zeros(sentences, dtype=bool),
            bleu_statistics=np.column_stack([chance.binomial(totals, found), totals, lengths, lengths]),
        )
        for found in chance.uniform(0.3, 0.9, size=ARMS * SEEDS)
    ]


def _products(systems: int, sentences: int) -> float:
    """Seconds of the products alone: of the whole test set, and of its buckets."""
    seconds = 0.0
    for size in (sentences, *[sentences // BUCKETS] * BUCKETS):
        weights = np.ones((RESAMPLES, size), dtype=np.float32)
        statistics = np.ones((size, 10 * systems), dtype=np.float32)
        start = time.perf_counter()
        weights @ statistics
        seconds += time.perf_counter() - start
    return seconds


if __name__ == "__main__":
    main()
