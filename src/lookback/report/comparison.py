"""One comparison of runs: tables in the terminal, the same rows as CSV, and charts against source length."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from lookback.common.errors import InputError
from lookback.common.files import atomic_write
from lookback.common.suggestions import nearest
from lookback.evaluation import signature_tokenizer
from lookback.report.charts.capacity_chart import capacity_chart
from lookback.report.charts.charts import save_chart
from lookback.report.charts.difference_chart import difference_chart
from lookback.report.charts.length_chart import length_chart
from lookback.report.charts.terminal_curve import TerminalCurve
from lookback.report.evidence.capacity import capacity_rows
from lookback.report.evidence.group import Group, grouped
from lookback.report.evidence.headline import headline
from lookback.report.evidence.rows import relative
from lookback.report.evidence.tuning import tuned_in_words, tuned_rows
from lookback.report.page import write_page
from lookback.report.tables.difference_table import arm_rows, arm_table, difference_rows, difference_tables
from lookback.report.tables.length_table import length_rows
from lookback.report.tables.recall_table import recall_rows
from lookback.report.tables.table import cost_table, score_table, write_csv
from lookback.runs import Run
from lookback.runs.run import is_evaluation, is_run

CSV, TEXT = "comparison.csv", "comparison.txt"
PAGE = "report.html"
ARMS, DIFFERENCES, RECALL, LENGTHS = "arms.csv", "differences.csv", "recall.csv", "lengths.csv"
TUNING, SIZES = "tuning.csv", "capacity.csv"
CURVE, DIFFERENCE, CAPACITY = "length_curve", "length_difference", "capacity"

Shown = tuple[Any, dict[str, Any]]
"""What rich prints, and how: arguments of `Console.print`"""
_PLAIN: dict[str, Any] = {"markup": False, "highlight": False}
_NOTE: dict[str, Any] = {"style": "yellow", **_PLAIN}
_EMPTY_LINE: Shown = ("", {})


def compare(
    runs: Sequence[Run], out: Path | str, console: Console | None = None, baseline: str | None = None
) -> list[Path]:
    """Print the tables of `runs`, and what their attentions gain over the attention `baseline`, in a sentence too.

    Into `out` go comparison.txt, what is printed, in 80 columns; comparison.csv, a row a run; arms.csv, a row
    an attention, with intervals; differences.csv, a row an attention and bucket; recall.csv, where in the source
    words are lost; lengths.csv, every measure, a row a run and bucket; tuning.csv, a row an attention and learning
    rate, where there are several; length_curve.{vl.json,svg,pdf,png}; length_difference.{the same}; capacity.{csv and
    the same}, where runs of one attention differ in encoder.hidden_size alone, in three or more values; and
    report.html, the page. What needs the counts in a run's segments.npz is left out without them. An `out` that ends in
    .html is the page's own path, and nothing else is written.

    Runs with different BLEU signatures or test sets are never compared: each such group has its own tables and its own
    charts (length_curve-1, length_curve-2, …). Runs without scores are listed with their status and reason.

    Returns the written paths. Raises `InputError` for no runs, for a `baseline` that none of them has, and where `out`
    holds a comparison of other runs.
    """
    out, console = Path(out), console or Console()
    page_alone = out.suffix == ".html"
    groups = _checked_groups(runs, out.parent if page_alone else out, baseline)
    shown = [part for group in groups for part in _shown(group, len(groups) > 1)]
    # Files first: a closed pipe on the terminal's side must not cost them.
    paths = [] if page_alone else _write_files(out, groups, shown)
    paths.append(write_page(out if page_alone else out / PAGE, groups))
    for text, style in shown:
        console.print(text, **style)
    if len(groups) > 1:
        about = "runs that differ in BLEU signature or test set are not ranked together: one table a group"
        tokenizers = {signature_tokenizer(run.results["signature"]) for run in runs if run.results}
        if len(tokenizers) > 1:
            about += f"; here BLEU has the tokenizers {' and '.join(sorted(tokenizers))} (bleu_tokenize of systems)"
        console.print(f"note: {about}", **_NOTE)
    for path in paths:
        console.print(f"wrote {path}", style="dim", soft_wrap=True, markup=False, highlight=False)
    return paths


def write_report(runs: Sequence[Run], path: Path | str) -> Path:
    """Write the page of `runs`, one or more, to `path`; nothing is printed. Returns the path.

    Raises `InputError` for no runs.
    """
    return write_page(path, _checked_groups(runs, Path(path).parent))


def comparison_directory(entries: Sequence[Path | str]) -> Path:
    """Where a comparison goes by default: into the sweep that is its one entry, else into a fresh directory."""
    if len(entries) == 1 and not is_run(Path(entries[0])) and not is_evaluation(Path(entries[0])):
        return Path(entries[0])
    return Path("comparisons") / datetime.now().strftime("%Y-%m-%d-%H-%M-%S.%f")


def _checked_groups(runs: Sequence[Run], out: Path, baseline: str | None = None) -> list[Group]:
    if not runs:
        raise InputError("runs=[]: expected at least one run directory")
    groups = grouped(runs, out, baseline)
    check_baseline(baseline, [run for group in groups for run in group.runs])
    return groups


def _write_files(out: Path, groups: Sequence[Group], shown: Sequence[Shown]) -> list[Path]:
    """The tables as CSV and the charts; what an older comparison of these runs left beside them goes."""
    refuse_other_runs(out, [run.directory for group in groups for run in group.runs])
    older = _older_files(out)
    paths = [out / CSV]
    write_csv(paths[0], [row for group in groups for row in group.rows])
    paths.append(_write_text(out / TEXT, shown))
    for name, lines in {
        ARMS: [row for group in groups for row in arm_rows(group.evidence.arms, group.number)],
        DIFFERENCES: [row for group in groups for row in difference_rows(group.evidence.contrasts, group.number)],
        RECALL: [row for group in groups for row in recall_rows(group.counted.recall, group.number)],
        LENGTHS: [row for group in groups for row in length_rows(group.runs, group.number, out)],
        SIZES: [row for group in groups if group.capacity for row in capacity_rows(group.capacity, group.number)],
        TUNING: [row for group in groups for row in tuned_rows(group.tuned, group.number)],
    }.items():
        if lines:
            write_csv(out / name, lines)
            paths.append(out / name)
    for group in groups:
        place = "" if len(groups) == 1 else f"-{group.number}"
        if group.counted.arms:
            paths += save_chart(length_chart(group.counted.arms, group.evidence), out, f"{CURVE}{place}")
        if group.evidence.contrasts:
            chart = difference_chart(group.evidence.contrasts, group.counted.arms)
            paths += save_chart(chart, out, f"{DIFFERENCE}{place}")
        if group.capacity is not None:
            paths += save_chart(capacity_chart(group.capacity), out, f"{CAPACITY}{place}")
    for path in older - set(paths):
        path.unlink()
    return paths


def _write_text(path: Path, shown: Sequence[Shown]) -> Path:
    """What is printed, in 80 columns and without colours: what a README or a paper quotes."""
    text = io.StringIO()
    console = Console(file=text, width=80)
    for part, style in shown:
        console.print(part, **style)
    with atomic_write(path) as file:
        file.write(text.getvalue().encode())
    return path


def _shown(group: Group, numbered: bool) -> Iterator[Shown]:
    """What is printed of a group, from top to bottom."""
    table, about = group.rows, group.evidence
    yield _EMPTY_LINE
    if group.scored and (results := group.scored[0].results):
        name = f"group {group.number}: " if numbered else ""
        title = f"{name}data {results['data']} ({results['data_fingerprint'][:12]})"
        yield score_table(table, f"BLEU, {escape(title)}"), {}
        yield f"BLEU signature {results['signature']}", {"style": "dim", **_PLAIN}
        yield _EMPTY_LINE
        yield TerminalCurve(group.counted.arms), {}
        yield _EMPTY_LINE
    if any(run.is_training for run in group.runs):
        yield cost_table([row for row in table if row["seed"] is not None or row["attention"]]), {}
    for row in table:
        if row["status"] != "finished":
            why = f": {row['reason']}" if row["reason"] else ""
            text = f"{row['arm']} seed={row['seed']} ({row['run']}) {row['status']}{why}"
            yield text, {"style": "red", "soft_wrap": True, **_PLAIN}
    if about.arms:
        yield _EMPTY_LINE
        yield arm_table(arm_rows(about.arms, group.number)), {}
    if about.baseline and about.contrasts:
        for differences in difference_tables(about.contrasts, about.compared_with):
            yield _EMPTY_LINE
            yield differences, {}
        yield _EMPTY_LINE
        yield headline(about), {"style": "bold", **_PLAIN}
    if group.tuned:
        yield tuned_in_words(group.tuned), _PLAIN
    for note in group.notes:
        yield f"note: {note}", _NOTE


def check_baseline(baseline: str | None, runs: Sequence[Run], systems: Iterable[str] = ()) -> None:
    """Raise `InputError` for a `baseline` that is no arm, recipe or attention of `runs`, and none of `systems`."""
    named = {name for run in runs for name in (run.arm, run.recipe)} | set(systems)
    if baseline is None or baseline in named | {run.attention for run in runs}:
        return
    hint = nearest(baseline, sorted(named)) or f"; expected one of {', '.join(sorted(named))}"
    raise InputError(f"baseline={baseline}: no arm has this name{hint}")


def refuse_other_runs(out: Path, directories: Sequence[Path]) -> None:
    """Raise `InputError` where `out` holds a comparison of runs that are not in these directories."""
    if not (out / CSV).exists():
        return
    with (out / CSV).open(encoding="utf-8", newline="") as file:
        older = {row.get("run") or "" for row in csv.DictReader(file)}
    if others := sorted(older - {relative(directory, out) for directory in directories}):
        raise InputError(f"out={out}: holds a comparison of other runs ({others[0]}, …); expected a fresh directory")


def _older_files(out: Path) -> set[Path]:
    """What an older comparison of these runs left in `out`."""
    if not (out / CSV).exists():
        return set()
    # no more than these: somebody's own file may begin like one of ours
    charts = rf"({CURVE}|{DIFFERENCE}|{CAPACITY})(-\d+)?\.(vl\.json|svg|pdf|png)"
    found = {path for path in out.iterdir() if re.fullmatch(charts, path.name)}
    tables = (out / name for name in (ARMS, DIFFERENCES, RECALL, LENGTHS, SIZES, TUNING))
    return found | {path for path in tables if path.exists() and path.read_bytes().startswith(b"group,")}
