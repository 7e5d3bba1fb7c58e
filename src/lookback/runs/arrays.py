"""Reading `.npz` files of a run directory: only the arrays that are known, each of its type."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from lookback.common.errors import InputError


class Kind(NamedTuple):
    """What an array holds."""

    types: str
    """numpy's kinds: `iu` whole numbers, `f` numbers, `b` truth values, `U` texts"""
    dimensions: int


COUNTS = Kind("iu", 1)


def read_arrays(path: Path | str, kinds: Mapping[str, Kind], expected: str) -> dict[str, NDArray[Any]]:
    """The arrays of a file that `kinds` names, as many of them as are there; nothing in it is executed.

    Raises `InputError`, which ends with what was `expected`, for a file that is no .npz, and for an array of another
    type, with other dimensions, or with a number that is not finite or under 0, but for weights (`f`, 2 dimensions).
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in kinds if name in file}
    except TypeError:
        raise InputError(f"{path}: one array; {expected}") from None  # a .npy of this name
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise InputError(f"{path}: {' '.join(str(error).split())}; {expected}") from None
    for name, array in arrays.items():
        types, dimensions = kinds[name]
        if array.dtype.kind not in types or array.ndim != dimensions:
            found = f"{array.ndim} dimensions of {array.dtype}"
            raise InputError(f"{path}: {name} has {found}, expected {dimensions} of kind {types}; {expected}")
        # a diverged model's weights are NaN
        if set(types) <= set("iuf") and name != "weights" and not (np.isfinite(array) & (array >= 0)).all():
            raise InputError(f"{path}: {name} holds a number that is not finite or under 0; {expected}")
    return arrays
