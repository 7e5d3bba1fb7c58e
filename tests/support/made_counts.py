"""Counts of made-up systems, for tests of what is computed from counts."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from lookback.runs import Segments


def system(quality, lengths, seed: int) -> Segments:
    """Counts of a system that finds n-grams with probability `quality ** n`; one quality for all or one a sentence."""
    chance = np.random.default_rng(seed)
    lengths = np.asarray(lengths, dtype=np.int64)
    totals = np.maximum(lengths[:, None] - np.arange(4), 0)
    found = chance.binomial(totals, np.asarray(quality)[..., None] ** np.arange(1, 5))
    return Segments(
        source_length=lengths,
        reference_length=lengths,
        hypothesis_length=lengths,
        truncated=np.zeros(len(lengths), dtype=bool),
        bleu_statistics=np.concatenate([found, totals, lengths[:, None], lengths[:, None]], axis=1),
        chrf_statistics=np.concatenate([np.repeat(lengths[:, None], 17, axis=1), found[:, :1]], axis=1),
        ter_statistics=np.stack([lengths - found[:, 0], lengths], axis=1),
        repetition_statistics=np.stack([found[:, 0] - found[:, 3], lengths], axis=1),
        trigram_statistics=np.stack([found[:, 2] - found[:, 3], totals[:, 2]], axis=1),
        reading_statistics=np.stack([lengths - found[:, 0], lengths], axis=1),
    )


LENGTHS = [5, 15, 25, 35] * 60


def shortened(run: Segments) -> Segments:
    """The run with a word less a sentence, so that its length ratio is under 1."""
    counts = run.bleu_statistics - (np.arange(10) == 8)
    return replace(run, bleu_statistics=counts)


systems = st.tuples(st.floats(0.3, 1), st.floats(0.3, 1), st.integers(0, 99), st.lists(st.integers(1, 70), min_size=1))
