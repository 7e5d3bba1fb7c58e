"""`checkpoints/*.ckpt`: what Lightning writes, tensors and plain containers only. The one file that needs torch."""

from pathlib import Path
from typing import Any

from lookback.common.errors import InputError


def read_checkpoint(path: Path | str) -> dict[str, Any]:
    """What a checkpoint holds, on the CPU; nothing in it is executed. Raises `InputError` for anything else."""
    from pickle import UnpicklingError

    import torch

    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, OSError, UnpicklingError) as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"{path}: not a readable checkpoint ({said[:200]})") from None
