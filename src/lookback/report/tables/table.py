"""The table of runs: one list of rows, shown in the terminal and written as CSV."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from lookback.common.files import atomic_write
from lookback.report.evidence.rows import Row
from lookback.report.tables.arm_name import ArmName

_STATUS_STYLE = {"finished": "green", "failed": "bold red"}


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
    table.add_column("arm")
    table.add_column("seed", justify="right")


def _names(row: Row) -> tuple[ArmName, str]:
    return ArmName(row["arm"]), number(row["seed"], "d")


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
