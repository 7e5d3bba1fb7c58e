"""What the numbers of a run depend on besides its config: versions, and the commit of the code."""

import platform
import subprocess
from pathlib import Path


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
