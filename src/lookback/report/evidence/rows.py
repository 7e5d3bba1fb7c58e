"""The runs as rows, ranked: what the tables show, the page sorts, and comparison.csv holds."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from lookback.evaluation import label
from lookback.report.evidence.differences import differing, value
from lookback.runs import COST, Run
from lookback.runs.run import natural

Row = dict[str, Any]
"""A line of a table: the columns depend on the runs, which differ in settings and have buckets of their own"""

_SCORES = ("chrf", "ter", "perplexity", "length_ratio", "truncated", "half_length", "retention")


def ranked(runs: Sequence[Run]) -> list[Run]:
    """The runs in the order of a table: best arm first (mean BLEU over its seeds), then by seed; unscored runs last."""
    scores: dict[str, list[float]] = {}
    for run in runs:
        if run.bleu is not None:
            scores.setdefault(run.arm, []).append(run.bleu)

    def place(run: Run) -> tuple[bool, float, list[tuple[str, float]], int]:
        mean = fmean(scores[run.arm]) if run.arm in scores else -1.0
        return run.bleu is None, -mean, natural(run.arm), run.seed or 0

    return sorted(runs, key=place)


def rows(runs: Sequence[Run], group: int, out: Path) -> list[Row]:
    """A row a run, ranked, the same keys in each: texts and numbers as they are, None where there is none.

    Runs of one arm differ in their seeds alone (`lookback.report.evidence.differences.told_apart`). `group` numbers the
    test set and signature that the runs share; `run` is the run's directory as seen from `out`.
    """
    runs = ranked(runs)
    settings = differing(runs)
    buckets = _buckets(runs)
    found: list[Row] = []
    for run in runs:
        results: Mapping[str, Any] = run.results or {}
        found.append(
            {
                "group": group,
                "run": relative(run.directory, out),
                "arm": run.arm,
                "attention": run.attention,
                "seed": run.seed,
                "bleu": run.bleu,
                **_by_length(run, buckets),
                **{key: results.get(key) for key in _SCORES},
                # nobody knows where another system's search ended
                "truncated": results.get("truncated") if run.is_training else None,
                **_alignment(run),
                **_convergence(run),
                **{key: results.get("cost", {}).get(key) for key in COST},
                "status": run.status,
                "reason": run.reason,
                **{key: results.get(key) for key in ("data", "signature", "data_fingerprint")},
                **{key: value(run, key) for key in settings},
            }
        )
    return found


def _buckets(runs: Sequence[Run]) -> list[str]:
    """Labels of the buckets in which any run has a sentence."""
    curves = [run.results["by_length"] for run in runs if run.results]
    filled = {(bucket["lo"], label(bucket)) for curve in curves for bucket in curve if bucket["n"]}
    return [name for _, name in sorted(filled)]


def _by_length(run: Run, buckets: Sequence[str]) -> Row:
    curve = {label(bucket): bucket for bucket in run.results["by_length"]} if run.results else {}
    scores = {f"bleu {name}": curve[name]["bleu"] if name in curve else None for name in buckets}
    return scores | {f"n {name}": curve[name]["n"] if name in curve else None for name in buckets}


def _alignment(run: Run) -> Row:
    """The alignment error rate at either shift, 0..1, and that of the layer or head that aligns best, with its name."""
    quality = run.results["aer"] if run.results else None
    looks = (run.results["aer_by_look"] or []) if run.results else []
    scored = [(look["shift_0"], look["look"]) for look in looks if look["shift_0"] is not None]
    aer, name = min(scored, default=(None, None))
    return {
        "aer_shift_0": quality["shift_0"]["aer"] if quality else None,
        "aer_shift_-1": quality["shift_-1"]["aer"] if quality else None,
        "best_look": name,
        "best_look_aer": aer,
    }


def relative(directory: Path, out: Path) -> str:
    """A run's directory as seen from `out`."""
    try:
        return Path(os.path.relpath(directory, out)).as_posix()
    except ValueError:  # another drive
        return directory.resolve().as_posix()


def _convergence(run: Run) -> Row:
    """Validation BLEU that the last fifth of the training gained, and its lowest validation perplexity."""
    found = run.results["convergence"] if run.results else None
    return {
        "rise": found["rise"] if found else None,
        "validation_perplexity": found["validation_perplexity"] if found else None,
    }
