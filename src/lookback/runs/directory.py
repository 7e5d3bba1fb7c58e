"""A run directory: the only thing that training leaves behind and that translation, evaluation and reports read.

.hydra/config.yaml   the composed config          checkpoints/{best,last}.ckpt   tensors and plain containers only
status.json          how the run ended            tokenizer/{source,target}.json
metrics.csv          a row a logged step          test/   predictions, segments, alignments, budgets, results.json,
                                                         config.yaml: of the training that these results are of
"""

import sys
from pathlib import Path
from typing import Any

from lookback.common.errors import InputError
from lookback.runs.checkpoint import is_torn, read_checkpoint


class RunDirectory:
    """Names of the files in a run directory."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(str(path))  # a name such as 0 comes from a config as a number
        self.checkpoints = self.path / "checkpoints"
        self.best = self.checkpoints / "best.ckpt"
        self.last = self.checkpoints / "last.ckpt"
        self.tokenizers = self.path / "tokenizer"
        self.test = self.path / "test"
        self.status = self.path / "status.json"

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

    def checkpoint(self) -> dict[str, Any]:
        """The best checkpoint, on the CPU; the last, and a note that says so, where the best is missing or torn."""
        if self.best.is_file():
            try:
                return read_checkpoint(self.best)
            except InputError:
                if not is_torn(self.best) or not self.last.is_file():
                    raise
        found = read_checkpoint(self.last)
        why = "torn" if self.best.is_file() else "missing"
        # not on standard output, where translations may go
        print(f"note: {self.best}: {why}; {self.last.name} takes its place", file=sys.stderr, flush=True)
        return found
