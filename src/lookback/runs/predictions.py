"""What a model wrote for each sentence of a test set: `test/predictions.jsonl`, a line a sentence."""

import dataclasses
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lookback.common.errors import InputError
from lookback.common.files import atomic_write, open_regular, parse_json

_LARGEST, _LONGEST_LINE = 10_000_000_000, 10_000_000
"""Bytes of the file and of a line. A million sentences take about 500 million."""


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
        with open_regular(path, _LARGEST) as file:
            # a longer line is cut, and so is no JSON
            for number, line in enumerate(iter(partial(file.readline, _LONGEST_LINE), b""), start=1):
                predictions.append(_prediction(line, f"{path}:{number}"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; expected a predictions.jsonl") from None
    return predictions


def _prediction(line: bytes, where: str) -> Prediction:
    try:
        record = parse_json(line.decode())
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 at byte {error.start + 1} of the line") from None
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
