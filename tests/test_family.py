"""What docs/family/README.md says of the whole family is what its CSV files hold, which compare.py wrote."""

import re
from statistics import fmean

from support.evidence import DOCS, Row, rows, words

PAGE = (DOCS / "family" / "README.md").read_text(encoding="utf-8")
TEXT = words(PAGE)
ARMS = {str(row["arm"]): row for row in rows("family/arms.csv")}
THREE_SEEDS = ("none", "dot", "bahdanau", "multihead", "transformer")


def mean(runs: list[Row], key: str) -> float | None:
    """Over the seeds of an arm; None where a run has none."""
    values = [row[key] for row in runs]
    return None if None in values else fmean(values)  # type: ignore[type-var]


def cell(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def table_lines(title: str) -> list[str]:
    """The rows of the table under a heading, without its own two lines."""
    section = re.split(r"^## ", PAGE, flags=re.M)
    (part,) = [text for text in section if text.startswith(title + "\n")]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return lines[2:]


def scores(runs: list[Row]) -> str:
    buckets = [key for key in runs[0] if key.startswith("bleu ")]
    return " | ".join(f"{mean(runs, key):.1f}" for key in buckets)


def whole(arm: Row) -> str:
    return f"{arm['bleu']:.1f} | {arm['bleu low']:.1f} to {arm['bleu high']:.1f}"


def line_of(name: str) -> str:
    runs = rows("family/comparison.csv", arm=name)
    aer, cost = mean(runs, "aer_shift_0"), runs[0]
    return (
        f"| `{name}` | {len(runs)} | {whole(ARMS[name])} | {scores(runs)} | {cell(aer, '.2f')} "
        f"| {cost['parameters'] / 1e6:.2f} | {cost['flops_per_token'] / 1e6:.1f} |"  # type: ignore[operator]
    )


def test_every_arm_of_the_family_has_its_line_and_the_best_is_the_first() -> None:
    ranked = sorted(ARMS, key=lambda name: -ARMS[name]["bleu"])  # type: ignore[operator]
    assert table_lines("Equal updates") == [line_of(name) for name in ranked]


def test_the_arms_differ_in_nothing_but_their_model() -> None:
    runs = rows("family/comparison.csv")
    assert len({row["updates"] for row in runs}) == len({row["target_tokens"] for row in runs}) == 1
    assert {row["status"] for row in runs} == {"finished"}
    seeds = {name: sorted(row["seed"] for row in runs if row["arm"] == name) for name in ARMS}  # type: ignore[type-var]
    assert seeds == {name: [1, 2, 3] if name in THREE_SEEDS else [1] for name in ARMS}
