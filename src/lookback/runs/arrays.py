"""Reading `.npz` files of a run directory: only the arrays that are known, each of its type."""

import math
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format
from numpy.typing import NDArray

from lookback.common.errors import InputError
from lookback.common.files import open_regular


class Kind(NamedTuple):
    """What an array holds."""

    types: str
    """numpy's kinds: `iu` whole numbers, `f` numbers, `b` truth values, `U` texts"""
    dimensions: int


COUNTS = Kind("iu", 1)
_LARGEST, _LEAST, _GROWTH = 1 << 32, 1 << 28, 50
"""Some kilobytes of a file may unpack to more than a machine has. Bytes: of a file; of its arrays together, however
small it is; and how many times as large as the file these may be"""


def read_arrays(path: Path | str, kinds: Mapping[str, Kind], expected: str) -> dict[str, NDArray[Any]]:
    """The arrays of a file that `kinds` names, as many of them as are there; nothing in it is executed.

    Raises `InputError`, which ends with what was `expected`, for a file that is no .npz, and for an array of another
    type, with other dimensions, with a number that is not finite or under 0, but for weights (`f`, 2 dimensions), or
    with a character that is none.
    """
    try:
        with open_regular(path, _LARGEST) as content, ZipFile(content) as file:
            members = {member.filename: member for member in file.infolist()}
            chosen = {name: member for name in kinds if (member := members.get(f"{name}.npy"))}
            size, most = (
                sum(member.file_size for member in chosen.values()),
                os.fstat(content.fileno()).st_size * _GROWTH,
            )
            if size > max(most, _LEAST):
                raise ValueError(f"its arrays are of {size:,} bytes")
            arrays = {name: _array(file, member) for name, member in chosen.items()}
    except BadZipFile as error:
        raise InputError(f"{path}: {error}; {expected}") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; {expected}") from None
    except Exception as error:  # what zipfile, its decompressors and numpy's parser raise for a damaged file
        raise InputError(f"{path}: {type(error).__name__}: {error}; {expected}") from None
    for name, array in arrays.items():
        types, dimensions = kinds[name]
        if array.dtype.kind not in types or array.ndim != dimensions:
            found = f"{array.ndim} dimensions of {array.dtype}"
            raise InputError(f"{path}: {name} has {found}, expected {dimensions} of kind {types}; {expected}")
        # a diverged model's weights are NaN
        may_be_nan = name in ("weights", "look_weights")
        if set(types) <= set("iuf") and not may_be_nan and not (np.isfinite(array) & (array >= 0)).all():
            raise InputError(f"{path}: {name} holds a number that is not finite or under 0; {expected}")
        if types == "U" and not _is_text(array):
            raise InputError(f"{path}: {name} holds a character that is none; {expected}")
    return arrays


def _is_text(array: NDArray[Any]) -> bool:
    """Whether all characters are of Unicode. numpy does not ask, and Python takes no such text."""
    native = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    return array.dtype.itemsize == 0 or bool((native.view(np.uint32) <= sys.maxunicode).all())


def _array(file: ZipFile, member: ZipInfo) -> NDArray[Any]:
    """The array in a member.

    Raises:
        ValueError: if its header promises another size than the member has; numpy would take the memory for it first.
    """
    with file.open(member) as stream:
        version = format.read_magic(stream)
        read_header = format.read_array_header_1_0 if version == (1, 0) else format.read_array_header_2_0
        shape, _, kind = read_header(stream)
        if kind.hasobject:
            raise ValueError(f"{member.filename} holds objects, which need allow_pickle")
        size = math.prod(shape) * kind.itemsize
        if size != member.file_size - stream.tell():
            raise ValueError(f"{member.filename} is of {member.file_size:,} bytes, and its header says {size:,}")
    with file.open(member) as stream:
        array: NDArray[Any] = format.read_array(stream, allow_pickle=False)
        return array
