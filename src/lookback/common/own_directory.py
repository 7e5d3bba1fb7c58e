"""Where the user's own configs and classes are: the current directory, unless it belongs to a run."""

import os
import sys
from pathlib import Path

_OF_A_RUN = (".hydra", "multirun.yaml", "checkpoints/best.ckpt", "checkpoints/last.ckpt")
"""What a run or a sweep has. A stranger's may have any part of it."""


def own_directory() -> Path | None:
    """The current directory; None in a run or a sweep, or below one, because it may be a stranger's."""
    here = Path.cwd()
    is_of_a_run = any(os.path.lexists(folder / name) for folder in (here, *here.parents) for name in _OF_A_RUN)
    return None if is_of_a_run else here


def leave_out_strangers() -> None:
    """Keeps this process, and all that it starts, from importing modules of a run that is the current directory."""
    if own_directory() is None:
        here = os.getcwd()
        sys.path[:] = [path for path in sys.path if os.path.abspath(path) != here]
        os.environ["PYTHONSAFEPATH"] = "1"
