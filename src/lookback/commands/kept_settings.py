"""The settings that a run directory has, kept where a command is refused before it begins there."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from lookback.common.files import atomic_write, read_regular

_LARGEST = 1_000_000
"""Bytes of a file in .hydra. Hydra's have some thousands."""


class KeptSettings(Callback):
    """Reads what is in a run directory's .hydra before Hydra writes there.

    Hydra writes the settings of a run before they can be checked, so those of a run that is there would be lost.
    """

    before: ClassVar[dict[Path, bytes]] = {}
    status: ClassVar[Path | None] = None
    started: ClassVar[int | None] = None

    def on_run_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Hydra's hook before a single run."""
        kept, directory = type(self), Path(config.hydra.run.dir)
        kept.before = {path: read_regular(path, _LARGEST) for path in (directory / ".hydra").glob("*.yaml")}
        kept.status = directory / "status.json"
        kept.started = _modified(kept.status)


@contextmanager
def restored_if_refused() -> Iterator[None]:
    """Restores the settings of a run directory if the command ends with bad input before the run begins.

    A run that has begun writes status.json.
    """
    try:
        yield
    except SystemExit as end:
        status = KeptSettings.status
        if end.code == 2 and status is not None and _modified(status) == KeptSettings.started:
            for path, content in KeptSettings.before.items():
                if read_regular(path, _LARGEST) != content:
                    with atomic_write(path) as file:
                        file.write(content)
        raise


def _modified(path: Path) -> int | None:
    return path.stat().st_mtime_ns if path.is_file() else None
