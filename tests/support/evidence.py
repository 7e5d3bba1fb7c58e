"""What the tests of the published numbers read: the CSV files of docs/, and text without its line breaks."""

import csv

from support.running import PROJECT

DOCS = PROJECT / "docs"
Row = dict[str, float | str | None]


def words(text: str) -> str:
    return " ".join(text.split())


def number(cell: str) -> float | str | None:
    try:
        return float(cell) if "." in cell or "e" in cell else int(cell)
    except ValueError:
        return cell or None


def rows(name: str, **having: object) -> list[Row]:
    """Of a CSV in docs/ those that have these values."""
    with (DOCS / name).open(encoding="utf-8", newline="") as file:
        found = [{key: number(cell) for key, cell in row.items()} for row in csv.DictReader(file)]
    return [row for row in found if all(row[key] == value for key, value in having.items())]
