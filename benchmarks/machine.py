"""What a measurement was taken on, and where it is kept."""

import csv
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def facts() -> dict[str, str]:
    """The date, the commit, and the machine: a number without them says little."""
    import numpy
    import torch

    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=RESULTS.parent)
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": commit.stdout.strip(),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
    }


def keep(name: str, rows: Sequence[Mapping[str, object]], by: Sequence[str] = (), folder: Path = RESULTS) -> None:
    """Write the rows, with the facts beside each, to NAME.csv of the folder in place of the last ones.

    by: columns that say what a row is of: kept rows that differ from all new ones in them stay.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.csv"
    about = facts()
    columns = [*rows[0], *about]
    others = _others(path, rows, by) if by and path.is_file() else []
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(others)
        writer.writerows({**row, **about} for row in rows)
    print(f"results: {Path(os.path.relpath(path, RESULTS.parents[1])).as_posix()}")


def _others(path: Path, rows: Sequence[Mapping[str, object]], by: Sequence[str]) -> list[dict[str, str]]:
    """Kept rows of other cases than these."""
    cases = {tuple(str(row[column]) for column in by) for row in rows}
    with path.open(newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if tuple(row[column] for column in by) not in cases]


def show(rows: Sequence[Mapping[str, object]]) -> None:
    """A table, a line a row."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.MARKDOWN)
    for name in rows[0]:
        table.add_column(name, justify="left" if isinstance(rows[0][name], str) else "right")
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    Console(width=160).print(table)


def _processor() -> str:
    if (info := Path("/proc/cpuinfo")).is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
