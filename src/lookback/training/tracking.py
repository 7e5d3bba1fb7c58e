"""Weights & Biases, through Lightning's logger: online where a key is configured, offline elsewhere, never a prompt."""

import netrc
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from lightning.pytorch.loggers import WandbLogger

from lookback.errors import InputError

MODES = ("auto", "online", "offline", "disabled")


def wandb_logger(
    directory: str,
    project: str,
    entity: str | None = None,
    group: str | None = None,
    name: str | None = None,
    tags: Sequence[str] = (),
    mode: str = "auto",
) -> WandbLogger:
    """A logger that keeps its files inside ``directory``, one W&B run a training.

    mode: ``auto`` is online where WANDB_API_KEY or the machine's netrc has a key, else offline (``wandb sync`` uploads
        later); WANDB_MODE, if set, decides instead.

    Raises InputError for ``online`` without a key: W&B would ask for one.
    """
    import wandb

    if mode not in MODES:
        raise ValueError(f"mode={mode!r}: expected one of {', '.join(MODES)}")
    if mode == "auto":
        mode = os.environ.get("WANDB_MODE") or ("online" if has_key() else "offline")
    if mode == "online" and not has_key():
        raise InputError(
            "logger.mode=online: no W&B key is configured; expected `wandb login` first, or logger.mode=auto"
        )
    Path(directory, "wandb").mkdir(parents=True, exist_ok=True)
    logger = WandbLogger(
        save_dir=directory,
        project=project,
        entity=entity,
        group=group,
        name=name,
        tags=list(tags),
        mode=mode,
        settings=wandb.Settings(silent=True, console="off"),
    )
    # Lightning passes it even where nobody asked for it, and W&B warns that it means nothing any more
    logger._wandb_init.pop("anonymous", None)
    return logger


def has_key() -> bool:
    """Whether W&B would find a key without asking."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = urlparse(os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai")).hostname or ""
    try:
        return netrc.netrc(os.environ.get("NETRC")).authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False


def log_length_curve(logger: WandbLogger, results: dict[str, Any]) -> None:
    """BLEU by source length, so that runs lay their curves over each other on the project page by themselves.

    Each metric has an explicit definition with its own x axis, one log a bucket holds x and y together, and x is the
    same in every run: the bucket's middle. The exact rows are in a table beside.
    """
    import wandb

    from lookback.evaluation import midpoint

    run = logger.experiment
    columns = ("bleu", "bleu_no_bp", "length_ratio", "n")
    run.define_metric("bleu_by_length/length", hidden=True)
    for column in columns:
        run.define_metric(
            f"bleu_by_length/{column}", step_metric="bleu_by_length/length", step_sync=False, summary="none"
        )
    rows = [bucket for bucket in results["by_length"] if bucket["n"]]
    for bucket in rows:
        values = {f"bleu_by_length/{column}": bucket[column] for column in columns if bucket[column] is not None}
        run.log({"bleu_by_length/length": midpoint(bucket), **values})
    names = ("lo", "hi", "n", "bleu", "bleu_no_bp", "length_ratio", "truncated")
    table = wandb.Table(columns=list(names), data=[[bucket[name] for name in names] for bucket in rows])
    run.log({"bleu_by_length/table": table})
    for key in ("bleu", "chrf", "ter", "perplexity", "length_ratio", "truncated", "half_length", "retention"):
        if results[key] is not None:
            run.summary[f"test/{key}"] = results[key]
    for key, value in results["cost"].items():
        run.summary[f"cost/{key}"] = value


def finish(exit_code: int) -> None:
    """End this process's W&B run, if there is one, as succeeded (0) or failed (1): the next job gets its own."""
    import sys

    if "wandb" in sys.modules:
        import wandb

        if wandb.run is not None:
            wandb.finish(exit_code=exit_code)
