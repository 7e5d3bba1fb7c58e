"""How a training writes its checkpoints."""

from io import BytesIO
from typing import Any

import torch
from lightning.fabric.utilities.types import _PATH
from lightning.pytorch.plugins import TorchCheckpointIO

from lookback.common.files import atomic_write


class AtomicCheckpointIO(TorchCheckpointIO):
    """A plugin for Lightning's ``Trainer``: a checkpoint is written whole, or the one before stays.

    Lightning's own writes to the system's folder for temporary files and moves the file from there. If that folder is
    on another disk, the move is a copy, and a process that is killed during it leaves half a checkpoint.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path: _PATH, storage_options: Any | None = None) -> None:
        content = BytesIO()  # torch has an error of its own for a disk that is full
        torch.save(checkpoint, content)
        with atomic_write(path) as file:
            file.write(content.getbuffer())
