"""One comparison of runs: tables in the terminal, the same rows as CSV, and a chart of BLEU against source length."""

import csv
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from lookback.errors import InputError
from lookback.report.charts import save_chart
from lookback.report.differences import differing, query_states, value
from lookback.report.length_chart import length_chart
from lookback.report.runs import Run, is_run
from lookback.report.table import Row, cost_table, rows, score_table, write_csv

CSV = "comparison.csv"
CHART = "length_curve"


def compare(runs: Sequence[Run], out: Path | str, console: Console | None = None) -> list[Path]:
    """Print the tables of `runs` and write comparison.csv and length_curve.{vl.json,svg,png} into `out`.

    Runs with different BLEU signatures or test sets are never ranked together: each such group has its own table and
    its own chart (length_curve-1, length_curve-2, …). Runs without scores are listed with their status and reason.

    Returns the written paths. Raises `InputError` for no runs, and where `out` holds a comparison of other runs.
    """
    if not runs:
        raise InputError("runs=[]: expected at least one run directory")
    out, console = Path(out), console or Console()
    groups = _groups(runs)
    unscored = [run for run in runs if run.results is None]
    if len(groups) > 1 and unscored:
        groups.append(unscored)
    elif len(groups) <= 1:  # one table shows them all
        groups = [list(runs)]
    tables = [rows(group, number, out) for number, group in enumerate(groups, 1)]
    older = _older_charts(out, tables)

    # Files first: a closed pipe on the terminal's side must not cost them.
    paths = [out / CSV]
    write_csv(paths[0], [row for table in tables for row in table])
    for number, group in enumerate(groups, 1):
        if any(run.bleu is not None for run in group):
            paths += save_chart(length_chart(group), out, CHART if len(groups) == 1 else f"{CHART}-{number}")
    for path in older - set(paths):
        path.unlink()

    for number, (group, table) in enumerate(zip(groups, tables, strict=True), 1):
        _print_group(console, group, table, number if len(groups) > 1 else None)
    if len(groups) > 1:
        _warn(console, "runs that differ in BLEU signature or test set are not ranked together: one table a group")
    for path in paths:
        console.print(f"wrote {path}", style="dim", soft_wrap=True, markup=False, highlight=False)
    return paths


def comparison_directory(entries: Sequence[Path | str]) -> Path:
    """Where a comparison goes by default: into the sweep that is its one entry, else into a fresh directory."""
    if len(entries) == 1 and not is_run(Path(entries[0])):
        return Path(entries[0])
    return Path("comparisons") / datetime.now().strftime("%Y-%m-%d-%H-%M-%S.%f")


def _groups(runs: Sequence[Run]) -> list[list[Run]]:
    """Scored runs that may be ranked together, largest group first."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        if run.results:
            groups.setdefault((run.results["signature"], run.results["data_fingerprint"]), []).append(run)
    return sorted(groups.values(), key=len, reverse=True)


def _print_group(console: Console, runs: Sequence[Run], table: Sequence[Row], number: int | None) -> None:
    scored = [run for run in runs if run.results]
    console.print()
    if scored and (results := scored[0].results):
        group = "" if number is None else f"group {number}: "
        title = f"{group}data {results['data']} ({results['data_fingerprint'][:12]})"
        console.print(score_table(table, f"BLEU, {escape(title)}"))
        console.print(f"BLEU signature {results['signature']}", style="dim", highlight=False, markup=False)
        console.print()
    console.print(cost_table(table))
    for row in table:
        if row["status"] != "finished":
            why = f": {row['reason']}" if row["reason"] else ""
            text = f"{row['attention']} seed={row['seed']} ({row['run']}) {row['status']}{why}"
            console.print(text, style="red", soft_wrap=True, markup=False, highlight=False)
    for warning in _warnings(scored):
        _warn(console, warning)


def _warnings(runs: Sequence[Run]) -> Iterator[str]:
    """What a reader must know before believing that the attention made the difference."""
    for key in differing(runs):
        values = ", ".join(dict.fromkeys(str(value(run, key)) for run in runs))
        yield f"the runs differ in more than the attention: {key} is {values}"
    if queries := query_states(runs):
        named = ", ".join(f"{attention}: {query}" for attention, query in queries.items())
        yield (
            f"each attention has its paper's query state ({named}); "
            "decoder.query=previous for every run leaves the scorer as the only difference"
        )
    updates = {run.results["cost"]["updates"] for run in runs if run.results}
    if len(updates) > 1:
        yield f"unequal budgets: between {min(map(_count, updates)):,} and {max(map(_count, updates)):,} updates"
    seeds: dict[str, set[int | None]] = {}
    for run in runs:
        seeds.setdefault(run.attention, set()).add(run.seed)
    if len(seeds) > 1 and min(map(len, seeds.values())) < 3:
        yield "fewer than three seeds of an attention: the spread between trainings is unknown"


def _warn(console: Console, text: str) -> None:
    console.print(f"note: {text}", style="yellow", markup=False, highlight=False)


def _count(number: int | None) -> int:
    return number or 0


def _older_charts(out: Path, tables: Sequence[Sequence[Row]]) -> set[Path]:
    """Charts of an older comparison of these runs in `out`. Raises `InputError` where there is one of other runs."""
    if not (out / CSV).exists():
        return set()
    with (out / CSV).open(encoding="utf-8", newline="") as file:
        older = {row.get("run") or "" for row in csv.DictReader(file)}
    if others := sorted(older - {row["run"] for table in tables for row in table}):
        raise InputError(f"out={out}: holds a comparison of other runs ({others[0]}, …); expected a fresh directory")
    return {path for path in out.glob(f"{CHART}*") if path.name.endswith((".vl.json", ".svg", ".png"))}
