"""`checkpoints/*.ckpt`: what Lightning writes, tensors and plain containers only. The one file that needs torch."""

import zlib
from pathlib import Path
from pickle import UnpicklingError
from typing import Any
from zipfile import BadZipFile, ZipFile

from lookback.common.errors import InputError


def read_checkpoint(path: Path | str) -> dict[str, Any]:
    """What a checkpoint holds, on the CPU; nothing in it is executed. Raises `InputError` for anything else."""
    import torch

    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    # a file of something else ends in any of these
    except (
        RuntimeError,
        EOFError,
        OSError,
        UnpicklingError,
        LookupError,
        ValueError,
        TypeError,
        AttributeError,
    ) as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"{path}: not a readable checkpoint ({said[:200]})") from None
    for key in ("config", "state_dict"):
        if not isinstance(found, dict) or not isinstance(found.get(key), dict) or not found[key]:
            raise InputError(f"{path}: no {key} in it; expected a checkpoint that a training of lookback wrote")
    return found


def is_torn(path: Path | str) -> bool:
    """Whether a checkpoint was cut off or damaged: it is empty, ends too early, or its checksums are wrong."""
    try:
        with ZipFile(path) as archive:  # torch's format; its table of contents is at the end of the file
            return archive.testzip() is not None
    except (BadZipFile, EOFError, NotImplementedError, ValueError, zlib.error):
        return True
