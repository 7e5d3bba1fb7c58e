"""A corpus that never ends: how soon the first batch comes, and whether memory grows.

    python benchmarks/data_stream.py --pairs 2000000

Synthetic sentences (5 to 50 words, Zipf's law over 200,000 words), of which the stream claims 40 million pairs; nothing
is written to disk and no pair is made before it is asked for. Reads training batches until `--pairs` have come, and
notes the time and the resident memory on the way.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from machine import keep, show

CLAIMED = 40_000_000
WORDS = 200_000


def sentences(claimed: int) -> Iterator[dict[str, str]]:
    """Pairs that repeat no more than chance has it; the target is as long as the source, give or take a fifth."""
    random = np.random.default_rng(1)
    words = np.array([f"w{i}" for i in range(WORDS)], dtype=object)
    for _ in range(0, claimed, 1000):
        sources = random.integers(5, 51, 1000)
        targets = (sources * random.uniform(0.8, 1.2, 1000)).astype(int)
        sides = []
        for lengths in (sources, targets):
            drawn = words[np.minimum(random.zipf(1.2, lengths.sum()), WORDS) - 1]
            sides.append(np.split(drawn, np.cumsum(lengths)[:-1]))
        for source, target in zip(*sides, strict=True):
            yield {"source": " ".join(source), "target": " ".join(target)}


class Endless:
    """A corpus whose training split is a stream."""

    train_max_length, max_length_ratio, bleu_tokenize = 60, None, "none"
    streaming = True

    def load(self, split: str) -> object:
        from datasets import Dataset, IterableDataset

        if split == "train":
            return IterableDataset.from_generator(sentences, gen_kwargs={"claimed": CLAIMED})
        rows = list(sentences(1000))[:1000]
        return Dataset.from_dict({side: [row[side] for row in rows] for side in ("source", "target")})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=2_000_000)
    arguments = parser.parse_args()

    import datasets

    from lookback.data import TranslationData, WordTokenization

    with tempfile.TemporaryDirectory() as cache:
        datasets.config.HF_DATASETS_CACHE = Path(cache)
        start = time.perf_counter()
        data = TranslationData(Endless(), WordTokenization(30_000), 64, "sentences", 64, 100_000, 1)
        data.setup("fit")
        rows, pairs, due = [], 0, 0
        for batches, batch in enumerate(data.train_dataloader(), start=1):
            pairs += len(batch)
            if pairs >= due:
                row = {"pairs": pairs, "batches": batches, "seconds": round(time.perf_counter() - start, 1)}
                rows.append({**row, "resident_mib": round(_resident())})
                print(rows[-1], file=sys.stderr, flush=True)
                due += 200_000
            if pairs >= arguments.pairs:
                break
    show(rows)
    keep("data_stream", rows)


def _resident() -> float:
    """Memory of this process now, in MiB (Linux)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    main()
