"""A sweep of eight small jobs, one and two at a time, through joblib and through Ray.

    python benchmarks/parallel_jobs.py                      two rounds, in which the four ways take turns
    python benchmarks/parallel_jobs.py --jobs 2 --rounds 1 experiment=smoke

Each job has one thread. `seconds` is the whole command, with the imports of each process and the report at the end;
`speedup` is against one at a time of the same launcher and round. `same_numbers`: all test results are those of the
first sweep, to the last digit. `load` is the machine's before the sweep: others who compute on it cost time.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from machine import RESULTS, keep, show

ROOT = Path(__file__).parents[1]
WAYS = {
    "joblib": ["hydra/launcher=joblib", "hydra.launcher.n_jobs={}"],
    "ray": ["hydra/launcher=ray", "+hydra.launcher.ray.init.num_cpus={}"],
}
SMALL = [
    "experiment=smoke",
    "data.train_pairs=1000",
    "data.validation_pairs=20",
    "data.test_pairs=60",
    "validation_sentences=10",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--at-a-time", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--launchers", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder of parallel_jobs.csv")
    parser.add_argument("settings", nargs="*", default=SMALL, help="of each job")
    arguments = parser.parse_args()
    rows: list[dict[str, object]] = []
    first = None
    with tempfile.TemporaryDirectory() as scratch:
        _sweep(Path(scratch, "warm"), "joblib", 1, 1, arguments.settings)  # prepares the corpus, which all share
        for turn in range(1, arguments.rounds + 1):
            for launcher in arguments.launchers:
                alone = None
                for at_a_time in arguments.at_a_time:
                    folder = Path(scratch, f"{turn}-{launcher}-{at_a_time}")
                    load = os.getloadavg()[0]
                    seconds, numbers = _sweep(folder, launcher, at_a_time, arguments.jobs, arguments.settings)
                    alone, first = alone or seconds, first or numbers
                    rows.append(
                        {
                            "launcher": launcher,
                            "at_a_time": at_a_time,
                            "jobs": arguments.jobs,
                            "round": turn,
                            "seconds": round(seconds, 1),
                            "speedup": round(alone / seconds, 2),
                            "same_numbers": numbers == first,
                            "load": round(load, 1),
                        }
                    )
                    print(rows[-1], file=sys.stderr, flush=True)
    show(rows)
    keep("parallel_jobs", rows, folder=arguments.results)


def _sweep(folder: Path, launcher: str, at_a_time: int, jobs: int, settings: list[str]) -> tuple[float, object]:
    """The seconds of a sweep, and what came out of each of its jobs, by the job's directory."""
    from lookback.runs.results import read_results

    seeds = ",".join(str(seed) for seed in range(1, jobs + 1))
    way = [setting.format(at_a_time) for setting in WAYS[launcher]]
    command = [sys.executable, str(ROOT / "train.py"), "-m", *settings, "logger=csv", f"seed={seeds}", *way]
    start = time.perf_counter()
    done = subprocess.run(
        [*command, f"hydra.sweep.dir={folder}"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    seconds = time.perf_counter() - start
    records = {path.parents[1].name: read_results(path) for path in folder.glob("*/test/results.json")}
    numbers = {name: (record["bleu"], record["chrf"], record["perplexity"]) for name, record in records.items()}
    if done.returncode or len(numbers) != jobs:
        raise SystemExit(
            f"{' '.join(command)}: exit status {done.returncode}, {len(numbers)} results\n{done.stdout[-3000:]}"
        )
    return seconds, numbers


if __name__ == "__main__":
    main()
