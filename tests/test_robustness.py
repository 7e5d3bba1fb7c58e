"""What the README and docs/scaling.md say of kills, damaged files, ranks and sweeps is what their commands counted."""

import csv
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from support.running import PROJECT

README = " ".join((PROJECT / "README.md").read_text(encoding="utf-8").split())
SCALING = " ".join((PROJECT / "docs" / "scaling.md").read_text(encoding="utf-8").split())
RESULTS = PROJECT / "benchmarks" / "results"


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_kills() -> None:
    said = r"stopped ([\d,]+) times in (\d+) trainings, ([\d,]+) of them by"
    ((stops, trainings, by_kill),) = re.findall(said, README)
    trials = rows(PROJECT / "docs" / "kills.csv")
    exits = [code for trial in trials for code in trial["exits"].split("; ") if trial["exits"]]
    assert len(exits) >= 200
    assert not [trial for trial in trials if trial["differs"]]
    assert (int(stops), int(trainings)) == (len(exits), sum(bool(trial["exits"]) for trial in trials))
    assert int(by_kill) == sum(code in ("-9", "-25") for code in exits)


@pytest.mark.parametrize("way", ["basic", "joblib", "submitit_local", "ray", "optuna"])
def test_killed_sweeps(way: str) -> None:
    log = (PROJECT / "docs" / "killed_sweeps.txt").read_text(encoding="utf-8")
    (sweep,) = [row for row in rows(RESULTS / "killed_sweeps.csv") if row["way"] == way]
    assert sweep["same_numbers"] == "True"
    assert int(sweep["kept"]) == int(sweep["ended"]) >= 1
    assert int(sweep["finished"]) == int(sweep["jobs"])
    assert int(sweep["interrupted"]) >= 1
    assert log.count("Killed\n") == len(rows(RESULTS / "killed_sweeps.csv"))
    assert log.count("skipped: finished") >= len(rows(RESULTS / "killed_sweeps.csv")) - 1  # a search counts its trials


def test_damaged_files() -> None:
    read = r"([\d,]+) damaged files for each reader of ([\w ,.]+?) were read or refused in one line"
    ((inputs, readers, slow),) = re.findall(read + r" [^.]*\.csv`\), but for (\d)", README)
    counted = {row["reader"]: row for row in rows(RESULTS / "fuzz.csv")}
    assert re.split(", | and ", readers) == list(counted)
    for row in counted.values():
        assert int(row["inputs"]) == int(inputs.replace(",", ""))
        assert int(row["accepted"]) + int(row["refused"]) + int(row["faults"]) == int(row["inputs"])
    assert {name: row["faults"] for name, row in counted.items() if row["faults"] != "0"} == {"translate": slow}


def test_ranks() -> None:
    one, threads, ranks = rows(RESULTS / "ranks.csv")
    assert f"two ranks of one thread train {ranks['ratio']} × as fast as one process of one thread" in SCALING
    assert f"one process of two threads {threads['ratio']} × as fast" in SCALING
    (least,) = re.findall(r"within (0\.\d+) of those of one process", SCALING)
    assert float(ranks["largest_difference"]) <= float(least) < 2 * float(ranks["largest_difference"])
    assert one["ratio"] == "1.0"


def test_many_runs() -> None:
    (many,) = rows(RESULTS / "many_runs.csv")
    runs = f"{many['runs']} runs of 3,000 sentences ({many['arms']} arms of {many['seeds']} seeds)"
    assert f"{runs} takes {float(many['cpu_seconds']):.0f} s of processor time" in SCALING
    assert f"{int(many['peak_mib']) / 1024:.1f} GiB at its peak" in SCALING
    assert f"a page of {float(many['page_megabytes']):.1f} MB" in SCALING


def test_memory_over_updates() -> None:
    def pick(trial: dict[int, dict[str, str]], choose: Callable[..., int]) -> int:
        """The CPU seconds of 500 updates: those between the rows of every 500th."""
        ends = [0, *(int(row["cpu_seconds"]) for updates, row in sorted(trial.items()) if updates % 500 == 0)]
        return choose(later - earlier for earlier, later in pairwise(ends))

    bounded, unbounded = (
        {int(row["updates"]): row for row in rows(RESULTS / "memory.csv") if row["caches"] == caches}
        for caches in ("bounded", "unbounded")
    )
    first, last = int(bounded[500]["peak_mb"]), int(bounded[5000]["peak_mb"])
    assert last <= 1.1 * first
    assert f"{first} MB at its peak after 500 updates and {last} MB after 5,000" in README
    assert f"MB after 5,000, which had {bounded[5000]['shapes']} shapes" in README
    after_500, after_1000 = (f"{int(unbounded[updates]['peak_mb']):,} MB" for updates in (500, 1000))
    assert f"With all of them kept it was {after_500} after 500 updates and {after_1000} after 1,000" in README
    ours, theirs = ((pick(trial, min), pick(trial, max)) for trial in (bounded, unbounded))
    assert f"took {ours[0]} to {ours[1]} CPU seconds, and with all of them kept {theirs[0]} to {theirs[1]}." in README


@pytest.mark.parametrize(("launcher", "name"), [("joblib", "joblib"), ("ray", "Ray")])
def test_jobs_in_parallel(launcher: str, name: str) -> None:
    jobs = [row for row in rows(RESULTS / "parallel_jobs.csv") if row["launcher"] == launcher]
    one, two = ([row for row in jobs if row["at_a_time"] == count] for count in ("1", "2"))
    assert all(row["same_numbers"] == "True" for row in jobs)
    first, second = (row["speedup"] for row in two)
    assert re.search(rf"{first} and {second} × (as fast )?through {name}", SCALING)
    if launcher == "ray":
        seconds = sorted(float(row["seconds"]) for row in one)
        assert f"{seconds[0]:.0f} to {seconds[1]:.0f} s for the eight" in SCALING
    else:
        seconds = sorted(float(row["seconds"]) for row in one)
        assert f"where joblib takes {seconds[0]:.0f} and {seconds[1]:.0f}" in SCALING
