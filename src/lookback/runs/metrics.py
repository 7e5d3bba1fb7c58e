"""`metrics.csv`: a row a logged step, a column a metric."""

import csv
import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lookback.common.errors import InputError
from lookback.common.files import atomic_write, open_regular

LARGEST = 200_000_000
"""Bytes. A row takes about 200."""


def write_metrics(path: Path | str, rows: Mapping[int, Mapping[str, object]]) -> None:
    """Write the rows, by their steps, whole or not at all. The first columns are `step` and `epoch`."""
    names = sorted({name for row in rows.values() for name in row} - {"epoch"})
    text = io.StringIO()
    writer = csv.DictWriter(text, ["step", "epoch", *names], lineterminator="\n")
    writer.writeheader()
    writer.writerows({"step": step, **row} for step, row in sorted(rows.items()))
    with atomic_write(path) as file:
        file.write(text.getvalue().encode())


def read_rows(path: Path | str) -> dict[int, dict[str, str]]:
    """The rows as they were written, by their steps; cells without a number are left out.

    Raises `InputError` as `read_metrics` does.
    """
    read_metrics(path)
    with _opened(path) as file:
        return {
            int(row.pop("step")): {name: value for name, value in row.items() if value} for row in csv.DictReader(file)
        }


def _opened(path: Path | str) -> io.TextIOWrapper:
    return io.TextIOWrapper(open_regular(path, LARGEST), encoding="utf-8", newline="")


def read_metrics(path: Path | str) -> dict[str, NDArray[np.float64]]:
    """Read a metrics.csv: every column `(rows,)`, NaN where a row has no number in it; `step` rises.

    Raises `InputError`, with the file and line, for what is no such file.
    """
    steps: list[float] = []
    rows: list[list[float]] = []
    try:
        with _opened(path) as file:
            reader = csv.reader(file)
            names = next(reader, [])
            if "step" not in names:
                raise InputError(f"{path}: no column 'step' in its first line; expected a metrics.csv")
            for row in reader:
                where = f"{path}:{reader.line_num}"
                if len(row) != len(names):
                    raise InputError(f"{where}: {len(row)} cells, expected {len(names)} as in the first line")
                rows.append([_number(cell, name, where) for name, cell in zip(names, row, strict=True)])
                steps.append(rows[-1][names.index("step")])
                if math.isnan(steps[-1]) or (len(steps) > 1 and steps[-1] <= steps[-2]):
                    raise InputError(f"{where}: step={row[names.index('step')]}, expected steps that rise")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: {error}; expected a metrics.csv") from None
    table = np.array(rows, dtype=np.float64).reshape(len(rows), len(names))
    return {name: table[:, place] for place, name in enumerate(names)}


def best_value(path: Path | str, metric: str, better: Literal["min", "max"]) -> float:
    """The best value of a metric in a metrics.csv; NaN where it has none.

    Raises `InputError` as `read_metrics` does.
    """
    values = read_metrics(path).get(metric, np.array([]))
    values = values[~np.isnan(values)]
    if not len(values):
        return math.nan
    return float(values.max() if better == "max" else values.min())


def _number(cell: str, name: str, where: str) -> float:
    try:
        return float(cell) if cell else math.nan
    except ValueError:
        raise InputError(f"{where}: {name}={cell!r}, expected a number") from None
