"""Where words are lost, as rows for recall.csv."""

from collections.abc import Mapping

from lookback.evaluation import FIFTH_NAMES
from lookback.report.evidence.contrasts import ArmRecall


def recall_rows(found: Mapping[str, ArmRecall], group: int) -> list[dict[str, object]]:
    """A row an arm, bucket of source lengths and fifth of the source; the whole test set has neither `lo` nor `hi`."""
    return [
        {
            "group": group,
            "arm": name,
            "seeds": len(of.runs),
            "lo": part.get("lo"),
            "hi": part.get("hi"),
            "n": part["n"],
            "part": fifth,
            "recall": recall,
            "low": None if interval is None else interval[0],
            "high": None if interval is None else interval[1],
            "chance": chance,
        }
        for name, of in found.items()
        for part in of.mean
        for fifth, recall, interval, chance in zip(FIFTH_NAMES, part["recall"], part["ci"], part["chance"], strict=True)
    ]
