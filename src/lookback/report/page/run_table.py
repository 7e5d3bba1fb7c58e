"""The table of runs: the columns, their texts, and what they are sorted by."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lookback.report.evidence.rows import Row
from lookback.report.tables.table import distinguishing, duration, number, short


@dataclass(frozen=True)
class Column:
    """One column: its heading, what the heading means, and its cells."""

    name: str
    meaning: str
    texts: Sequence[str]
    keys: Sequence[Any]
    """What the rows are sorted by: numbers or texts; None is last"""
    numeric: bool

    @property
    def filled(self) -> bool:
        """Whether any run has a text in it."""
        return any(self.texts)


def run_columns(rows: Sequence[Row]) -> list[Column]:
    """The columns of the `rows` (`lookback.report.tables.table.rows`), without those that are empty."""

    def numbers(key: str, name: str, meaning: str, form: str | Callable[[Any], str]) -> Column:
        shown: Callable[[Any], str] = form if callable(form) else (lambda value: number(value, form))
        return Column(name, meaning, [shown(row[key]) for row in rows], [row[key] for row in rows], True)

    def texts(values: Sequence[Any], name: str, meaning: str) -> Column:
        shown = ["" if value is None else str(value) for value in values]
        return Column(name, meaning, shown, shown, False)

    def memory(megabytes: float | None) -> str:
        return "" if megabytes is None else f"{short(megabytes * 1e6)}B"

    columns = [
        numbers("seed", "seed", "the run's one seed", "d"),
        numbers("bleu", "BLEU", "corpus BLEU of the test set", ".1f"),
        numbers("chrf", "chrF2", "corpus chrF2", ".1f"),
        numbers("ter", "TER", "translation edit rate in percent, lower is better", ".1f"),
        numbers("perplexity", "perplexity", "of the references, teacher-forced, per target token", ".2f"),
        numbers("length_ratio", "length ratio", "hypothesis over reference tokens", ".3f"),
        numbers("truncated", "cut", "sentences whose search met its length limit", "d"),
        numbers("retention", "kept", "BLEU of the longest bucket over the best", ".0%"),
        numbers("half_length", "half at", "source words where BLEU falls to half of its best", ".1f"),
        numbers("aer_shift_0", "AER", "alignment error rate, lower is better", ".3f"),
        numbers("aer_shift_-1", "AER, shift −1", "the same, read off one target word earlier", ".3f"),
        texts([row["best_look"] for row in rows], "best look", "the layer or head of several that aligns best here"),
        numbers("best_look_aer", "its AER", "alignment error rate of the layer or head chosen by it", ".3f"),
        numbers("parameters", "parameters", "trained numbers in the model", short),
        numbers("flops_per_token", "FLOP/token", "products of a forward pass, 25 words to 25, a target token", short),
        numbers("updates", "updates", "optimizer steps", ",d"),
        numbers("rise", "rise", "validation BLEU gained in the last fifth of the training", "+z.1f"),
        numbers("target_tokens", "tokens", "target tokens trained on", short),
        numbers("seconds", "time", "of training", duration),
        numbers("tokens_per_second", "tokens/s", "target tokens a second of training", short),
        numbers("waiting", "waiting", "share of the time in which training waited for data", ".1%"),
        numbers("peak_memory_mb", "memory", "peak memory", memory),
        texts([row["status"] for row in rows], "status", "how the run ended"),
        texts(distinguishing([row["run"] for row in rows]), "run", "its directory"),
    ]
    return [column for column in columns if column.filled]
