"""A run directory: the only thing that training leaves behind and that translation, evaluation and reports read.

.hydra/config.yaml   the composed config          checkpoints/{best,last}.ckpt   tensors and plain containers only
status.json          how the run ended            tokenizer/{source,target}.json
metrics.csv          a row a logged step          test/   predictions, segments, alignments, results.json
"""

import platform
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lookback.command import explain
from lookback.errors import InputError
from lookback.evaluation import write_json


class RunDirectory:
    """Names of the files in a run directory, and what is written there around a training."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.checkpoints = self.path / "checkpoints"
        self.best = self.checkpoints / "best.ckpt"
        self.last = self.checkpoints / "last.ckpt"
        self.tokenizers = self.path / "tokenizer"
        self.test = self.path / "test"
        self.status = self.path / "status.json"
        self.config = self.path / ".hydra" / "config.yaml"

    @classmethod
    def existing(cls, path: Path | str) -> "RunDirectory":
        """The run directory at ``path``. Raises InputError where there is none, naming what looks like one nearby."""
        run = cls(path)
        if run.last.is_file() or run.best.is_file():
            return run
        if not run.path.is_dir():
            raise InputError(f"run={path}: no such directory; expected a run directory, such as outputs/<day>/<time>")
        inside = sorted(found.parent.parent for found in run.path.glob("**/checkpoints/last.ckpt"))
        hint = f"; runs inside it: {', '.join(map(str, inside[:3]))}" if inside else ""
        raise InputError(f"run={path}: no checkpoints/best.ckpt there, so it is no trained run{hint}")

    def checkpoint(self, path: Path | None = None) -> dict[str, Any]:
        """The best checkpoint (the last, where none was best), or ``path``, on the CPU."""
        from pickle import UnpicklingError

        import torch

        path = path or (self.best if self.best.is_file() else self.last)
        try:
            return torch.load(path, map_location="cpu", weights_only=True)
        except (RuntimeError, EOFError, OSError, UnpicklingError) as error:
            raise InputError(f"{path}: not a readable checkpoint ({one_line(error)[:200]})") from None

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Keep status.json up to date: running, then finished, failed (with the reason) or interrupted."""
        started = _now()
        write_json(self.status, {"status": "running", "reason": None, "started": started, "ended": None})
        status, reason = "failed", None
        try:
            yield
            status = "finished"
        except KeyboardInterrupt:
            status = "interrupted"
            raise
        except BaseException as error:
            reason = one_line(error)
            raise
        finally:
            write_json(self.status, {"status": status, "reason": reason, "started": started, "ended": _now()})


def one_line(error: BaseException) -> str:
    """An error in one line: what the user can mend, or else its kind and its message."""
    return " ".join((explain(error) or f"{type(error).__name__}: {error}").split())


def versions() -> dict[str, str]:
    """What a number depends on besides this project."""
    from importlib.metadata import version

    names = ("lookback", "torch", "lightning", "datasets", "tokenizers", "sacrebleu", "numpy")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def git_revision() -> str | None:
    """The commit of the code that runs, with ``+`` where files differ from it; None outside a checkout."""
    here = Path(__file__).parent
    if not any((folder / ".git").exists() for folder in here.parents):
        return None

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=here, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
