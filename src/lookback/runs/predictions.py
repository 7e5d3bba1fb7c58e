"""What a model wrote for each sentence of a test set: `test/predictions.jsonl`, a line a sentence."""

import dataclasses
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lookback.common.errors import InputError
from lookback.common.files import atomic_write, parse_json


@dataclass(frozen=True, slots=True)
class Prediction:
    """One sentence: its texts, and how the search ended."""

    id: int
    """Place of the sentence in the test set, from 0."""
    source: str
    reference: str
    hypothesis: str
    score: float
    """What the search maximised. NaN or infinity, as of a diverged model, is null in the file and NaN when read."""
    source_length: int
    """Words of the raw source, as `lookback.common.words` counts them."""
    truncated: bool
    """The search met its length limit before the end mark."""


_TYPES: dict[str, type | tuple[type, ...]] = {
    "id": int,
    "source": str,
    "reference": str,
    "hypothesis": str,
    "score": (int, float, type(None)),
    "source_length": int,
    "truncated": bool,
}


def write_predictions(path: Path | str, predictions: Iterable[Prediction]) -> None:
    """Write one JSON object a line, UTF-8, in the order given. The folder is made where it is absent."""
    with atomic_write(path) as file:
        for prediction in predictions:
            record = dataclasses.asdict(prediction)
            record["score"] = record["score"] if math.isfinite(record["score"]) else None
            file.write((json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n").encode())


def read_predictions(path: Path | str) -> list[Prediction]:
    """Read what `write_predictions` wrote. Raises `InputError` with file and line for anything else."""
    path = Path(path)
    predictions = []
    try:
        with path.open(encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines, start=1):
                predictions.append(_prediction(line, f"{path}:{number}"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; expected a predictions.jsonl") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}") from None
    return predictions


def _prediction(line: str, where: str) -> Prediction:
    try:
        record = parse_json(line)
    except ValueError as error:
        raise InputError(f"{where}: not JSON ({getattr(error, 'msg', error)}); expected one object a line") from None
    if not isinstance(record, dict) or record.keys() != _TYPES.keys():
        found = ", ".join(record) if isinstance(record, dict) else type(record).__name__
        raise InputError(f"{where}: found {found}; expected the keys {', '.join(_TYPES)}")
    for key, kind in _TYPES.items():
        if not isinstance(record[key], kind) or (isinstance(record[key], bool) and kind is not bool):
            raise InputError(f"{where}: {key}={record[key]!r} has the wrong type")
    score = math.nan if record["score"] is None else float(record["score"])
    return Prediction(**{**record, "score": score})
