"""Tables of the evidence: what each attention gains over the baseline by length, and what length does to each."""

from collections.abc import Iterator, Mapping, Sequence

from rich.markup import escape
from rich.table import Table

from lookback.evaluation import ENOUGH, FEW, LEVEL, Arm, PairedDifference, label
from lookback.report.evidence.contrasts import Contrast
from lookback.report.evidence.headline import these_differ
from lookback.report.evidence.rows import Row
from lookback.report.tables.arm_name import ArmName
from lookback.report.tables.table import number, plain_table

_ONE_SEED = "intervals of one seed or output are over sentences alone"
_SIDE_BY_SIDE = 3
"""Attentions whose differences and intervals stand beside each other in 80 columns"""


def difference_rows(contrasts: Sequence[Contrast], group: int) -> list[Row]:
    """A row a contrast and bucket, the whole test set first (`words` is `all`); None where there is no number."""
    return [
        {
            "group": group,
            "arm": contrast.arm,
            "baseline": contrast.baseline,
            "seeds": contrast.difference.seeds,
            "words": label(bucket) if "lo" in bucket else "all",
            "n": bucket["n"],
            "bleu": bucket["score"],
            "baseline bleu": bucket["other"],
            "difference": bucket["difference"],
            "low": bucket["ci"] and bucket["ci"][0],
            "high": bucket["ci"] and bucket["ci"][1],
            "p": bucket["p"],
            "p_holm": bucket["p_holm"],
            "significant": bucket["significant"],
            "models_differ": bucket["models_differ"],
        }
        for contrast in contrasts
        for bucket in (contrast.difference.whole, *contrast.difference.curve)
    ]


def arm_rows(arms: Mapping[str, Arm], group: int) -> list[Row]:
    """A row an arm: the mean of its trainings' BLEU, `retention` and `half_length`, each with its interval's bounds."""
    return [
        {
            "group": group,
            "arm": name,
            "seeds": arm["seeds"],
            "n": arm["n"],
            **_bounded("bleu", arm["score"], arm["ci"]),
            **_bounded("retention", arm["retention"], arm["retention_ci"]),
            **_bounded("half_length", arm["half_length"], arm["half_length_ci"]),
        }
        for name, arm in arms.items()
    ]


def difference_tables(contrasts: Sequence[Contrast], baseline: str) -> Iterator[Table]:
    """A line a bucket: the paired difference of each arm, its interval, and a mark where it is significant."""
    for start in range(0, len(contrasts), _SIDE_BY_SIDE):
        shown = contrasts[start : start + _SIDE_BY_SIDE]
        table = plain_table(f"BLEU more than {escape(baseline)}, paired, with 95 % intervals")
        for name in ("words", "n"):
            table.add_column(name, justify="right")
        for contrast in shown:
            table.add_column(escape(contrast.arm), justify="right", overflow="fold")
        for buckets in zip(*((of.difference.whole, *of.difference.curve) for of in shown), strict=True):
            n = buckets[0]["n"]
            if n:
                words = label(buckets[0]) if "lo" in buckets[0] else "all"
                style = "dim" if "lo" in buckets[0] and n < ENOUGH else None
                table.add_row(words, str(n), *map(_difference, buckets), style=style)
        table.caption = _caption(shown)
        yield table


def arm_table(rows: Sequence[Row]) -> Table:
    """What length does to each arm, with intervals over sentences and, of several seeds, over trainings."""
    table = plain_table("Each arm, with 95 % intervals")
    table.add_column("arm")
    for name in ("seeds", "BLEU", "", "kept", "", "half at", ""):
        table.add_column(name, justify="right" if name else "left")
    for row in rows:
        table.add_row(
            ArmName(row["arm"]),
            str(row["seeds"]),
            number(row["bleu"], ".1f"),
            _interval(row, "bleu", ".1f"),
            number(row["retention"], ".0%"),
            _interval(row, "retention", ".0%"),
            number(row["half_length"], ".1f"),
            _interval(row, "half_length", ".1f"),
        )
    notes = ["kept: longest bucket / best bucket", "half at: words where BLEU is half of its best"]
    if any(row["seeds"] == 1 for row in rows):
        notes.append(_ONE_SEED)
    table.caption = " · ".join(notes)
    return table


def _caption(contrasts: Sequence[Contrast]) -> str:
    """What a mark says: of attentions, or under three seeds of the models that were trained."""
    seeds = [contrast.difference.seeds for contrast in contrasts]
    trained = any(contrast.is_of_trainings for contrast in contrasts)
    few = f"†: {these_differ(contrasts)}, Holm-corrected p < {LEVEL} over sentences"
    few += f"; fewer than {FEW} seeds, so not the attentions" if trained else ""
    many = f"*: significant, Holm-corrected p < {LEVEL}"
    said = [text for text, shown in ((many, max(seeds) >= FEW), (few, min(seeds) < FEW)) if shown]
    if trained and min(seeds) == 1:
        said.append(_ONE_SEED)
    return " · ".join([*said, f"no mark under {ENOUGH} sentences"])


def _bounded(name: str, value: float | None, interval: Sequence[float | None] | None) -> Row:
    """Three columns: the number, and the bounds of its interval."""
    low, high = interval or (None, None)
    return {name: value, f"{name} low": low, f"{name} high": high}


def _difference(bucket: PairedDifference) -> str:
    if bucket["ci"] is None:
        return ""
    low, high = bucket["ci"]
    mark = "*" if bucket["significant"] else "†" if bucket["models_differ"] else " "
    return f"{bucket['difference']:+z.1f} ({low:z.1f} to {high:z.1f}){mark}"


def _interval(row: Row, measure: str, form: str) -> str:
    low, high = row[f"{measure} low"], row[f"{measure} high"]
    if low is None:
        return ""
    return f"{low:{form}} to {high:{form}}" if high is not None else f"{low:{form}} or later"
