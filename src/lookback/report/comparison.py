"""One comparison of runs: tables in the terminal, the same rows as CSV, and charts against source length."""

import csv
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from lookback.errors import InputError
from lookback.report.charts import save_chart
from lookback.report.contrasts import Evidence, evidence
from lookback.report.difference_chart import difference_chart
from lookback.report.difference_table import arm_rows, arm_table, difference_rows, difference_tables
from lookback.report.differences import differing, query_states, value
from lookback.report.headline import FEW, headline
from lookback.report.length_chart import length_chart
from lookback.report.page.group import Group
from lookback.report.runs import Run, is_run
from lookback.report.table import Row, cost_table, rows, score_table, write_csv

CSV = "comparison.csv"
ARMS, DIFFERENCES = "attentions.csv", "differences.csv"
CURVE, DIFFERENCE = "length_curve", "length_difference"


def compare(
    runs: Sequence[Run], out: Path | str, console: Console | None = None, baseline: str | None = None
) -> list[Path]:
    """Print the tables of `runs`, and what their attentions gain over the attention `baseline`, in a sentence too.

    Into `out` go comparison.csv, a row a run; attentions.csv, a row an attention, with intervals; differences.csv, a
    row an attention and bucket; length_curve.{vl.json,svg,pdf,png}; length_difference.{the same}. What needs the
    counts in a run's segments.npz is left out without them.

    Runs with different BLEU signatures or test sets are never compared: each such group has its own tables and its own
    charts (length_curve-1, length_curve-2, …). Runs without scores are listed with their status and reason.

    Returns the written paths. Raises `InputError` for no runs, for a `baseline` that none of them has, and where `out`
    holds a comparison of other runs.
    """
    if not runs:
        raise InputError("runs=[]: expected at least one run directory")
    if baseline is not None and baseline not in (known := sorted({run.attention for run in runs})):
        raise InputError(f"baseline={baseline}: no run has this attention; expected one of {', '.join(known)}")
    out, console = Path(out), console or Console()
    groups = _groups(runs)
    tables = [rows(group, number, out) for number, group in enumerate(groups, 1)]
    older = _older_files(out, tables)
    found = [evidence(group, baseline) for group in groups]

    # Files first: a closed pipe on the terminal's side must not cost them.
    paths = [out / CSV]
    write_csv(paths[0], [row for table in tables for row in table])
    numbered = list(enumerate(found, 1))
    for name, lines in {
        ARMS: [row for number, about in numbered for row in arm_rows(about.arms, number)],
        DIFFERENCES: [row for number, about in numbered for row in difference_rows(about.contrasts, number)],
    }.items():
        if lines:
            write_csv(out / name, lines)
            paths.append(out / name)
    for number, (group, about) in enumerate(zip(groups, found, strict=True), 1):
        place = "" if len(groups) == 1 else f"-{number}"
        if any(run.bleu is not None for run in group):
            paths += save_chart(length_chart(group, about), out, f"{CURVE}{place}")
        if about.contrasts:
            paths += save_chart(difference_chart(about.contrasts, group), out, f"{DIFFERENCE}{place}")
    for path in older - set(paths):
        path.unlink()

    for number, (group, table, about) in enumerate(zip(groups, tables, found, strict=True), 1):
        _print_group(console, group, table, about, number if len(groups) > 1 else None)
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


def report_groups(runs: Sequence[Run], out: Path, baseline: str | None = None) -> list[Group]:
    """`runs` as the page shows them, their paths as seen from `out`."""
    return [
        Group(number, group, rows(group, number, out), evidence(group, baseline))
        for number, group in enumerate(_groups(runs), 1)
    ]


def _groups(runs: Sequence[Run]) -> list[list[Run]]:
    """Scored runs that may be ranked together, largest group first; the others by themselves, or in the one group."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        if run.results:
            groups.setdefault((run.results["signature"], run.results["data_fingerprint"]), []).append(run)
    if len(groups) <= 1:  # one table shows them all
        return [list(runs)]
    unscored = [run for run in runs if run.results is None]
    return sorted(groups.values(), key=len, reverse=True) + ([unscored] if unscored else [])


def _print_group(
    console: Console, runs: Sequence[Run], table: Sequence[Row], about: Evidence, number: int | None
) -> None:
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
    if about.arms:
        console.print()
        console.print(arm_table(arm_rows(about.arms, number or 1)))
    if about.baseline and about.contrasts:
        for differences in difference_tables(about.contrasts, about.baseline):
            console.print()
            console.print(differences)
        console.print()
        console.print(headline(about.contrasts[0]), style="bold", markup=False, highlight=False)
    for warning in (*_warnings(scored), *about.notes):
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
    if len(seeds) > 1 and min(map(len, seeds.values())) < FEW:
        yield "fewer than three seeds of an attention: the spread between trainings is unknown"


def _warn(console: Console, text: str) -> None:
    console.print(f"note: {text}", style="yellow", markup=False, highlight=False)


def _count(number: int | None) -> int:
    return number or 0


def _older_files(out: Path, tables: Sequence[Sequence[Row]]) -> set[Path]:
    """What an older comparison of these runs left in `out`. Raises `InputError` where there is one of other runs."""
    if not (out / CSV).exists():
        return set()
    with (out / CSV).open(encoding="utf-8", newline="") as file:
        older = {row.get("run") or "" for row in csv.DictReader(file)}
    if others := sorted(older - {row["run"] for table in tables for row in table}):
        raise InputError(f"out={out}: holds a comparison of other runs ({others[0]}, …); expected a fresh directory")
    charts = {path for name in (CURVE, DIFFERENCE) for path in out.glob(f"{name}*")}
    tables_beside = {path for name in (ARMS, DIFFERENCES) for path in out.glob(name)}
    return {path for path in charts if path.name.endswith((".vl.json", ".svg", ".pdf", ".png"))} | tables_beside
