"""The table of runs: one list of rows, shown in the terminal and written as CSV."""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.markup import escape
from rich.table import Table

from lookback.common.files import atomic_write
from lookback.evaluation import label
from lookback.report.evidence.differences import differing, value
from lookback.runs import COST, Run
from lookback.runs.run import natural

Row = dict[str, Any]
"""A line of a table: the columns depend on the runs, which differ in settings and have buckets of their own"""

_SCORES = ("chrf", "ter", "perplexity", "length_ratio", "truncated", "half_length", "retention")
SHIFTS = ("shift_0", "shift_-1")
"""An attention that looks with the decoder's previous state can be one target word off: both are shown."""
_STATUS_STYLE = {"finished": "green", "failed": "bold red"}


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


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Write the rows, atomically, with every column that any of them has; an absent value is an empty cell."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    with atomic_write(path) as file:
        file.write(text.getvalue().encode())


def score_table(rows: Sequence[Row], title: str) -> Table:
    """BLEU of each run, whole and by source length, under the number of sentences; the best of a column in bold."""
    table = plain_table(title)
    buckets = [key for key in rows[0] if key.startswith("bleu ")]
    _add_names(table)
    aligned = any(row["aer_shift_0"] is not None for row in rows)
    last = ("length ratio", "cut", "kept", *(["AER"] if aligned else []))
    for name in ("BLEU", *(key.removeprefix("bleu ") for key in buckets), *last):
        table.add_column(name, justify="right", max_width=7)
    best = {key: max((row[key] for row in rows if row[key] is not None), default=None) for key in ("bleu", *buckets)}
    counts = {key: next((row[f"n{key[4:]}"] for row in rows if row["bleu"] is not None), None) for key in buckets}
    table.add_row("n", "", "", *(number(count, "d") for count in counts.values()), style="dim")
    for row in rows:
        scores = [_best(number(row[key], ".1f"), row[key] == best[key]) for key in ("bleu", *buckets)]
        if row["bleu"] is None:
            scores[0] = _status(row)
        rest = [number(row["length_ratio"], ".3f"), number(row["truncated"], "d"), number(row["retention"], ".0%")]
        rest += [number(row["aer_shift_0"], ".2f")] if aligned else []
        table.add_row(*_names(row), *scores, *rest)
    table.caption = "by source length in words · cut: met the length limit · kept: longest bucket / best bucket"
    return table


def cost_table(rows: Sequence[Row]) -> Table:
    """What each run took, and where it is: as much of its path as tells it from the others."""
    table = plain_table("What it took")
    _add_names(table)
    rose = any(row["rise"] is not None for row in rows)
    for name in ("updates", *(["rise"] if rose else []), "tokens", "tokens\n/s", "para-\nmeters", "time", "memory"):
        table.add_column(name, justify="right", max_width=10)
    table.add_column("run", overflow="fold")
    for row, place in zip(rows, distinguishing([row["run"] for row in rows]), strict=True):
        counts = [short(row[key]) for key in ("updates", "target_tokens", "tokens_per_second", "parameters")]
        counts[1:1] = [number(row["rise"], "+z.1f")] if rose else []
        memory = "" if row["peak_memory_mb"] is None else f"{short(row['peak_memory_mb'] * 1e6)}B"
        table.add_row(*_names(row), *counts, duration(row["seconds"]), memory, escape(place))
    table.caption = "tokens: target tokens trained on"
    if rose:
        table.caption += " · rise: validation BLEU gained in the last fifth"
    return table


def plain_table(title: str) -> Table:
    """The look of every table: no lines, so that a terminal of 80 columns holds much."""
    return Table(title=title, title_justify="left", caption_justify="left", box=None, padding=(0, 1, 0, 0))


def number(value: float | None, form: str) -> str:
    """A number as a cell; an empty one where there is none."""
    return "" if value is None else format(value, form)


def _add_names(table: Table) -> None:
    table.add_column("arm", overflow="fold")
    table.add_column("seed", justify="right")


def _names(row: Row) -> list[str]:
    return [escape(row["arm"]), number(row["seed"], "d")]


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
    """The alignment error rate at either shift, 0..1."""
    quality = run.results["aer"] if run.results else None
    return {
        "aer_shift_0": quality["shift_0"]["aer"] if quality else None,
        "aer_shift_-1": quality["shift_-1"]["aer"] if quality else None,
    }


def relative(directory: Path, out: Path) -> str:
    """A run's directory as seen from `out`."""
    try:
        return Path(os.path.relpath(directory, out)).as_posix()
    except ValueError:  # another drive
        return directory.resolve().as_posix()


def distinguishing(paths: Sequence[str]) -> list[str]:
    """The last parts of each path, as few as leave all of them different."""
    parts = [path.split("/") for path in paths]
    most = max(map(len, parts), default=1)
    for last in range(1, most):
        if len({tuple(path[-last:]) for path in parts}) == len(paths):
            return ["/".join(path[-last:]) for path in parts]
    return list(paths)


def _status(row: Row) -> str:
    return f"[{_STATUS_STYLE.get(row['status'], 'yellow')}]{row['status']}[/]"


def _best(text: str, is_best: bool) -> str:
    return f"[bold]{text}[/]" if is_best and text else text


def short(number: float | None) -> str:
    """Three digits and a letter: 812, 21.3k, 1.90M."""
    if number is None:
        return ""
    for letter, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(number) >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def duration(seconds: float | None) -> str:
    """Wall-clock time as a reader says it: 4m 47s, 1h 02m."""
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m" if hours else f"{minutes}m {rest:02}s"


def _convergence(run: Run) -> Row:
    """Validation BLEU that the last fifth of the training gained, and its lowest validation perplexity."""
    found = run.results["convergence"] if run.results else None
    return {
        "rise": found["rise"] if found else None,
        "validation_perplexity": found["validation_perplexity"] if found else None,
    }
