"""Does the model ever wait for its data? The loader against the default model's training, and what padding costs.

    python benchmarks/data_loader.py train.en train.fr --pairs 100000

An epoch of batches from the loader alone, then steps of training on the same batches (bahdanau at its default sizes,
vocabularies of 30,000, as `python train.py data=text` trains it), by turns. Prints target tokens a second of both,
their ratio, the share of a training step's time that is spent waiting for the batch, and the share of token slots that
are padding: ours beside batches of as many sentences drawn at random, for several batch sizes and units.
"""

import argparse
import statistics
import tempfile
import time
from itertools import islice
from pathlib import Path

import hydra
import numpy as np
import torch
from hydra.core.hydra_config import HydraConfig
from hydra.utils import instantiate
from machine import keep, show

from lookback.data import BucketBatchSampler, TextCorpus, TranslationData, WordTokenization
from lookback.data.corpora.lines import read_lines
from lookback.translation.build import build_model

CONF = Path(__file__).parents[1] / "conf"
UPDATES = 40  # of training a round
BATCHES = [(64, "sentences"), (128, "sentences"), (2_500, "tokens"), (4_000, "tokens")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--pairs", type=int, help="take so many from the top (default: all)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--threads", type=int, default=torch.get_num_threads(), help="of training; the loader takes one"
    )
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)

    data = _data(arguments)
    tokens = data.describe()["train"]["target_tokens"]
    train = _Training(data)
    loading, training, waiting = [], [], []
    for epoch in range(arguments.rounds):
        loading.append(tokens / _seconds(data, epoch))
        speed, share = train.updates(epoch, UPDATES)
        training.append(speed)
        waiting.append(share)
    speeds = {
        "loader_tokens_per_second": round(statistics.median(loading)),
        "training_tokens_per_second": round(statistics.median(training)),
        "ratio": round(statistics.median(a / b for a, b in zip(loading, training, strict=True))),
        "waiting_percent": round(100 * statistics.median(waiting), 3),
        "threads": arguments.threads,
    }
    show([speeds])
    keep("data_loader", [speeds])
    padding = [_padding(data, size, unit) for size, unit in BATCHES]
    show(padding)
    keep("data_padding", padding)


def _data(arguments: argparse.Namespace) -> TranslationData:
    train = {"source": arguments.source, "target": arguments.target}
    with tempfile.TemporaryDirectory() as folder:
        small = {side: str(_top(path, Path(folder) / side)) for side, path in train.items()}
        corpus = TextCorpus(train, small, small, train_max_length=60, bleu_tokenize="none", limit=arguments.pairs)
        data = TranslationData(corpus, WordTokenization(30_000), 64, "sentences", 64, 100_000, 1)
        data.setup()
    return data


def _top(path: str, to: Path, lines: int = 100) -> Path:
    """The other two splits are not looked at: the top of the same files will do."""
    with to.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in islice(read_lines(Path(path)), lines))
    return to


def _seconds(data: TranslationData, epoch: int) -> float:
    loader = data.train_dataloader()
    loader.sampler.set_epoch(epoch)
    start = time.perf_counter()
    for _ in loader:
        pass
    return time.perf_counter() - start


class _Training:
    """The step that a training repeats: forward, loss, backward, clipping, update."""

    def __init__(self, data: TranslationData) -> None:
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            config = hydra.compose("train", ["attention=bahdanau"], return_hydra_config=True)
        HydraConfig.instance().set_config(config)
        torch.manual_seed(1)
        self.data = data
        self.model = build_model(config, len(data.source_tokenizer), len(data.target_tokenizer))
        self.optimizer = instantiate(config.optimizer)(self.model.parameters())

    def updates(self, epoch: int, count: int) -> tuple[float, float]:
        """Target tokens a second, and the share of the time that passed in waiting for the loader."""
        loader = self.data.train_dataloader()
        loader.sampler.set_epoch(epoch)
        batches = iter(loader)
        tokens, waiting, start = 0, 0.0, time.perf_counter()
        for _ in range(count):
            before = time.perf_counter()
            batch = next(batches)
            waiting += time.perf_counter() - before
            result = self.model(batch.source, batch.source_length, batch.target, tokens=batch.target_tokens)
            self.optimizer.zero_grad()
            (result.loss / result.tokens).backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            tokens += result.tokens
        seconds = time.perf_counter() - start
        return tokens / seconds, waiting / seconds


def _padding(data: TranslationData, size: int, unit: str) -> dict[str, object]:
    """Ours, and batches drawn at random that hold as many sentences as ours do on average."""
    pairs = data.train_dataloader().dataset
    lengths = np.stack([pairs.source.lengths, pairs.target_lengths])
    ours = BucketBatchSampler(*lengths, batch_size=size, unit=unit, seed=1, shuffle=True)
    sentences = round(lengths.shape[1] / len(ours))
    shuffled = lengths[:, np.random.default_rng(1).permutation(lengths.shape[1])]
    starts = np.arange(0, lengths.shape[1], sentences)
    sizes = np.diff(np.append(starts, lengths.shape[1]))
    slots = (np.maximum.reduceat(shuffled, starts, axis=1) * sizes).sum()
    return {
        "pairs": lengths.shape[1],
        "batch": f"{size:,} {unit}",
        "sentences": sentences,
        "padding_percent": round(100 * ours.padding_waste, 2),
        "random_percent": round(100 * (1 - lengths.sum() / slots), 2),
    }


if __name__ == "__main__":
    main()
