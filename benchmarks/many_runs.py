"""What a comparison of many runs takes: seconds, memory, and the size of its page.

    python benchmarks/many_runs.py                          20 arms of 10 seeds on 3,000 sentences
    python benchmarks/many_runs.py --sizes 20x10x3000 200x1x3000 --keep DIR

Runs are made up, as for the tests: each with its own mistakes, an alignment sample, and scores of 210 sentences at four
moments of its training; the first 140 sentences of a run are counted, and stand for the others. `compare.py` reads them
in a process of its own. `run_megabytes` is what one of these directories holds, without checkpoints.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from machine import keep, show

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from lookback.runs import read_predictions  # noqa: E402
from support.made_runs import fabricate, fabricate_budgets  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["20x10x3000"], help="arms x seeds x sentences")
    parser.add_argument("--keep", type=Path, help="a directory for the runs; runs that are there are read again")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        rows = [_row(folder / size, *map(int, size.split("x"))) for size in arguments.sizes]
    show(rows)
    keep("many_runs", rows, by=["arms", "seeds", "sentences"])


def _row(folder: Path, arms: int, seeds: int, sentences: int) -> dict[str, object]:
    runs = folder / "runs"
    for arm in range(arms):
        for seed in range(1, seeds + 1):
            if not (runs / f"{arm}-{seed}").exists():
                _make(runs / f"{arm}-{seed}", arm, seed, sentences)
    out = folder / "comparison"
    command = [sys.executable, str(ROOT / "compare.py"), f"runs={runs}", f"out={out}"]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"compare.py failed with status {status}")
    one_run = sum(path.stat().st_size for path in (runs / "0-1").rglob("*") if path.is_file())
    return {
        "arms": arms,
        "seeds": seeds,
        "sentences": sentences,
        "runs": arms * seeds,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
        "peak_mib": round(used.ru_maxrss / 2**10),
        "page_megabytes": round((out / "report.html").stat().st_size / 1e6, 2),
        "run_megabytes": round(one_run / 1e6, 2),
    }


def _make(directory: Path, arm: int, seed: int, sentences: int) -> None:
    """One run: the first arm does not look back; each later one makes fewer mistakes."""
    attention = "none" if arm == 0 else f"attention-{arm:03}"
    lengths = [1 + place % 70 for place in range(sentences)]
    slope = 0.02 / (1 + arm / 4)
    fabricate(directory, attention, seed, slope=slope, lengths=lengths, counted=2 * 70)
    predictions = read_predictions(directory / "test" / "predictions.jsonl")
    fabricate_budgets(directory, predictions[: 3 * 70], f"{attention}{seed}", updates=6000)


if __name__ == "__main__":
    main()
