"""How fast text becomes batches: preparation in pairs a second, the loader in target tokens a second.

    python benchmarks/data_loader.py train.en.gz train.fr.gz --limit 100000

Prepares the files twice, with an empty cache and from the cache, then iterates over epochs of training batches and
prints the padding of each epoch beside that of batches drawn at random. The same files serve as validation and test
set, cut to 1,000 pairs; nothing is written outside a temporary folder.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

import datasets
import numpy as np

from lookback.data import TranslationData, read_pair


class _Files:
    """The corpus of two files, whose first pairs are also its validation and test split."""

    bleu_tokenize = "none"

    def __init__(self, source: str, target: str, limit: int | None, train_max_length: int | None) -> None:
        self.train_max_length = train_max_length
        self._files = (source, target, limit)

    def load(self, split: str) -> datasets.Dataset:
        train = read_pair(*self._files)
        return train if split == "train" else train.select(range(min(1000, len(train))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--limit", type=int, help="use this many pairs from the top (default: all)")
    parser.add_argument("--train-max-length", type=int, default=60, help="words of the longest source (default: 60)")
    parser.add_argument("--vocabulary-size", type=int, default=30_000)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--batch-unit", choices=("sentences", "tokens"), default="sentences")
    parser.add_argument("--epochs", type=int, default=3)
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
        datasets.config.HF_DATASETS_CACHE = Path(cache)
        for state in ("empty cache", "from the cache"):
            start = time.perf_counter()
            data = _prepare(arguments)
            seconds = time.perf_counter() - start
            pairs = data.describe()["train"]["pairs"]
            print(f"prepare, {state}: {pairs:,} pairs in {seconds:.1f} s, {pairs / seconds:,.0f} pairs/s")
        _time_loader(data, arguments.epochs)
        _print_padding(data, arguments.batch_size if arguments.batch_unit == "sentences" else None)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    print(f"peak memory: {peak:,.0f} MiB (libraries included)")


def _prepare(arguments: argparse.Namespace) -> TranslationData:
    corpus = _Files(arguments.source, arguments.target, arguments.limit, arguments.train_max_length)
    data = TranslationData(
        corpus,
        vocabulary_size=arguments.vocabulary_size,
        min_frequency=1,
        batch_size=arguments.batch_size,
        batch_unit=arguments.batch_unit,
        evaluation_batch_size=64,
        seed=1,
    )
    data.setup()
    return data


def _time_loader(data: TranslationData, epochs: int) -> None:
    loader = data.train_dataloader()
    tokens = data.describe()["train"]["target_tokens"]
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        start = time.perf_counter()
        batches = sum(1 for _ in loader)
        seconds = time.perf_counter() - start
        print(
            f"loader, epoch {epoch}: {tokens / seconds:,.0f} target tokens/s, {1000 * seconds / batches:.3f} ms a batch"
        )


def _print_padding(data: TranslationData, sentences: int | None) -> None:
    print(f"padding: {data.describe()['padding_waste']:.2%} of token slots")
    if sentences is None:
        return
    lengths = np.array([[len(text.split()) + 1 for text in data.texts("train")[side]] for side in ("source", "target")])
    lengths = lengths[:, np.random.default_rng(1).permutation(lengths.shape[1])]
    starts = np.arange(0, lengths.shape[1], sentences)
    sizes = np.diff(np.append(starts, lengths.shape[1]))
    slots = (np.maximum.reduceat(lengths, starts, axis=1) * sizes).sum()
    print(f"padding of random batches of as many sentences: {1 - lengths.sum() / slots:.2%}")


if __name__ == "__main__":
    main()
