"""One report over any runs, and over what any systems wrote for one test set."""

from pathlib import Path

from omegaconf import DictConfig

from lookback.common.errors import InputError
from lookback.report import compare, comparison_directory
from lookback.report.outputs import output_runs
from lookback.runs import read_runs


def compare_runs(config: DictConfig) -> None:
    """Compare ``config.runs`` and ``config.systems`` in ``config.out``."""
    entries = [config.runs] if isinstance(config.runs, str) else list(config.runs)
    systems = {str(name): str(path) for name, path in (config.systems or {}).items()}
    out = Path(config.out or comparison_directory(entries))
    runs = read_runs(entries)
    baseline = config.baseline
    if systems:
        for key in ("source", "reference"):
            if config[key] is None:
                raise InputError(f"{key}=null: expected the file that the systems translated, or its translation")
        folder = out.parent if out.suffix == ".html" else out
        runs += output_runs(systems, config.source, config.reference, folder, config.bleu_tokenize)
        if baseline is None and not any(run.attention == "none" for run in runs):
            baseline = next(iter(systems))
    elif config.source is not None or config.reference is not None:
        raise InputError("systems=null: expected a name and a file for each system, beside source and reference")
    compare(runs, out, baseline=baseline)
