"""How fast two text files become numbers, and in how much memory: ours beside JoeyNMT and OpenNMT-py.

    python benchmarks/data_prepare.py train.en train.fr --pairs 100000 300000 781070 \
        --joeynmt PYTHON --opennmt PYTHON

PYTHON is the interpreter of an environment where the peer is installed (`pip install torch==2.13.0 joeynmt==2.3.0`,
`pip install torch==2.13.0 OpenNMT-py==3.5.1`); without it the peer is left out. All read the same plain text, split it
at spaces, drop sources over 60 words, keep the 30,000 most frequent words of a side and turn every pair into ids once.
Each measurement has a process of its own; imports are not timed. Ours is measured with an empty cache and again with
the cache that this left, in rounds with the peers in between. The peers start at the largest number of pairs only.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from machine import keep, show

PEERS = Path(__file__).parent / "peers"
VOCABULARY, LONGEST = 30_000, 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--pairs", type=int, nargs="+", required=True, help="take so many from the top")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--joeynmt", help="a Python interpreter")
    parser.add_argument("--opennmt", help="a Python interpreter")
    parser.add_argument("--ours", nargs=2, metavar=("FOLDER", "CACHE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.ours:
        _ours(*map(Path, arguments.ours))
        return

    found: dict[tuple[int, str], list[dict]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for pairs in sorted(arguments.pairs):
            of = folder / str(pairs)
            of.mkdir()
            files = [_top(path, of / side, pairs) for path, side in _sides(arguments)]
            for number in range(arguments.rounds):
                commands = {}
                ours = [sys.executable, __file__, *map(str, files), "--pairs", "0", "--ours", str(of)]
                cache = str(folder / f"cache{pairs}-{number}")
                commands["lookback, empty cache"] = [*ours, cache]
                commands["lookback, from its cache"] = [*ours, cache]
                if pairs == max(arguments.pairs):
                    for peer in ("joeynmt", "opennmt"):
                        if python := getattr(arguments, peer):
                            script = str(PEERS / f"{peer}_prepare.py")
                            commands[peer] = [python, script, *map(str, files), str(VOCABULARY), str(LONGEST)]
                for system, command in commands.items():
                    found.setdefault((pairs, system), []).append(_run(command))
                    print(f"{pairs:,} pairs, {system}: {found[pairs, system][-1]}", file=sys.stderr, flush=True)
    rows = [_row(pairs, system, runs) for (pairs, system), runs in found.items()]
    show(rows)
    keep("data_prepare", rows)


def _row(pairs: int, system: str, runs: list[dict]) -> dict[str, object]:
    seconds = statistics.median(run["seconds"] for run in runs)
    return {
        "system": system,
        "pairs": pairs,
        "kept": runs[0]["kept"],
        "seconds": round(seconds, 2),
        "cpu_seconds": round(statistics.median(run["cpu_seconds"] for run in runs), 2),
        "pairs_per_second": round(pairs / seconds),
        "peak_mib": round(max(run["peak_mib"] for run in runs)),
        "phases": "  ".join(f"{name} {took:.1f}" for name, took in runs[0].get("phases", {}).items()),
    }


def _ours(folder: Path, cache: Path) -> None:
    """The whole of `TranslationData.setup`: the two small other splits are the top of the same files."""
    import datasets
    import torch

    from lookback.data import TextCorpus, TranslationData, WordTokenization

    torch.set_num_threads(1)
    datasets.config.HF_DATASETS_CACHE = cache
    train = {side: str(folder / side) for side in ("source", "target")}
    small = {side: str(_top(folder / side, folder / f"{side}.small", 1000)) for side in ("source", "target")}
    corpus = TextCorpus(train, small, small, train_max_length=LONGEST, bleu_tokenize="none", limit=None)
    data = TranslationData(
        corpus,
        WordTokenization(VOCABULARY),
        batch_size=64,
        batch_unit="sentences",
        evaluation_batch_size=64,
        shuffle_buffer=100_000,
        seed=1,
    )
    start, cpu = time.perf_counter(), time.process_time()
    data.setup()
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    kept = data.describe()["train"]["pairs"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    print(json.dumps({"kept": kept, "seconds": seconds, "cpu_seconds": cpu, "peak_mib": peak}))


def _sides(arguments: argparse.Namespace) -> list[tuple[Path, str]]:
    return [(arguments.source, "source"), (arguments.target, "target")]


def _top(path: Path, to: Path, lines: int) -> Path:
    if not to.exists():  # a file that is written again is a new file, and would be prepared again
        with path.open("rb") as read, to.open("wb") as write:
            write.writelines(islice(read, lines))
    return to


def _run(command: list[str]) -> dict:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
