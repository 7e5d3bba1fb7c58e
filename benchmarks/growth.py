"""How time and memory grow with the length of sentences."""

import math
from collections.abc import Mapping, Sequence

import numpy as np


def growth(rows: Sequence[Mapping[str, object]], case: Sequence[str]) -> list[dict[str, object]]:
    """A row a system, from rows of three lengths T of source and target or more, shortest first.

    Least squares of relative errors on constant + linear · T + squared · T², and the power of T from the last length
    but one to the last. What attends to T positions T times is linear in T_x · T_y = T² at most: a power of 2 or less;
    what does not attend is linear in T.

    case: the columns, ``length`` among them, that say what a row is of.
    """
    others = [name for name in case if name != "length"]
    systems: dict[tuple[object, ...], list[Mapping[str, object]]] = {}
    for row in rows:
        systems.setdefault(tuple(row[name] for name in (*others, "system")), []).append(row)
    fits: list[dict[str, object]] = []
    for system, of in systems.items():
        lengths, times = _values(of, "length"), _values(of, "ms")
        shares = np.vander(lengths, 3, increasing=True) / times[:, None]
        (constant, linear, squared), *_ = np.linalg.lstsq(shares, np.ones(len(times)), rcond=None)
        knows_memory = all(row["peak_mib"] for row in of)
        error = np.abs(shares @ [constant, linear, squared] - 1).max()
        fits.append(
            {
                **dict(zip((*others, "system"), system, strict=True)),
                "constant_ms": round(constant, 1),
                "linear_ms": round(linear, 3),
                "squared_ms": round(squared, 5),
                "error_percent": round(100 * error, 1),
                "power_of_time": _power(lengths, times),
                "power_of_memory": _power(lengths, _values(of, "peak_mib")) if knows_memory else "",
            }
        )
    return fits


def _values(rows: Sequence[Mapping[str, object]], name: str) -> np.ndarray:
    return np.array([float(str(row[name])) for row in rows])


def _power(lengths: np.ndarray, values: np.ndarray) -> float:
    """p, where the last two values are as T^p."""
    return round(math.log(values[-1] / values[-2]) / math.log(lengths[-1] / lengths[-2]), 2)
