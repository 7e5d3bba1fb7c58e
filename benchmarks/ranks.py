"""What a second rank buys: trainings by one process and by two ranks, their speed and their numbers.

    python benchmarks/ranks.py --updates 60 --rounds 3 experiment=smoke

Each case is a training of its own, and they are run in turn (A B C A B C …): one process with one thread, one process
with two, two ranks (``trainer=ddp``) with one thread each. The global batch is the same. The speed is that of
results.json, target tokens a second of the clock: the median of the rounds. The difference is the largest between a
weight at the end and the same weight of one process with one thread. What else runs on the machine slows every case.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from machine import keep, show

CASES = {
    "one process, one thread": (1, 1),
    "one process, two threads": (1, 2),
    "two ranks, one thread each": (2, 1),
}
"""(devices, threads)"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("overrides", nargs="*", help="of train.py")
    arguments = parser.parse_args()
    speeds: dict[str, list[float]] = {name: [] for name in CASES}
    differences = dict.fromkeys(CASES, 0.0)
    load = []
    for round_ in range(arguments.rounds):
        with tempfile.TemporaryDirectory() as folder:
            for name, (devices, threads) in CASES.items():
                directory = Path(folder) / f"{devices}-{threads}"
                _train(directory, devices, threads, arguments.updates, arguments.overrides)
                results = json.loads((directory / "test" / "results.json").read_text(encoding="utf-8"))
                speeds[name].append(results["cost"]["tokens_per_second"])
                differences[name] = max(differences[name], _difference(Path(folder) / "1-1", directory))
                load.append(os.getloadavg()[0])
                print(f"round {round_ + 1}: {name}: {speeds[name][-1]:,.0f} tokens/s", flush=True)
    alone = statistics.median(speeds["one process, one thread"])
    rows = [
        {
            "case": name,
            "tokens_per_second": round(statistics.median(found)),
            "least": round(min(found)),
            "most": round(max(found)),
            "ratio": round(statistics.median(found) / alone, 2),
            "largest_difference": f"{differences[name]:.1e}",
            "updates": arguments.updates,
            "rounds": len(found),
            "overrides": " ".join(arguments.overrides),
            "load": round(statistics.median(load), 1),
        }
        for name, found in speeds.items()
    ]
    keep("ranks", rows)
    show([{key: row[key] for key in list(row)[:6]} for row in rows])


def _train(directory: Path, devices: int, threads: int, updates: int, overrides: list[str]) -> None:
    settings = [
        "logger=csv",
        "trainer=ddp",
        f"trainer.devices={devices}",
        "trainer.accelerator=cpu",
        "trainer.max_epochs=-1",
        f"trainer.max_steps={updates}",
        "~callbacks.budgets",
        f"hydra.run.dir={directory}",
    ]
    command = [sys.executable, str(Path(__file__).parents[1] / "train.py"), *overrides, *settings]
    subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": str(threads)}, check=True, stdout=subprocess.DEVNULL)


def _difference(one: Path, other: Path) -> float:
    """The largest difference between the weights of two trainings."""
    import torch

    from lookback.runs.checkpoint import read_checkpoint
    from lookback.runs.directory import RunDirectory

    weights, others = (read_checkpoint(RunDirectory(path).last)["state_dict"] for path in (one, other))
    return max(float((weights[name] - others[name]).abs().max()) for name in weights if torch.is_tensor(weights[name]))


if __name__ == "__main__":
    main()
