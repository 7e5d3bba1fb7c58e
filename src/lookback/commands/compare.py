"""Makes one report of several runs, or of the translations of one test set by any systems."""

from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from lookback.common.errors import InputError
from lookback.evaluation import signature_tokenizer
from lookback.report import compare, comparison_directory
from lookback.report.outputs import EvaluationSet, compare_outputs
from lookback.runs import read_runs


def compare_runs(config: DictConfig) -> None:
    """Compares ``config.runs`` and ``config.systems``, and writes the report to ``config.out``.

    Args:
        config: as ``conf/compare.yaml`` composes it.

    Raises:
        InputError: if a setting is wrong, or a file is missing.
    """
    entries = [str(entry) for entry in (config.runs if OmegaConf.is_list(config.runs) else [config.runs])]
    runs = read_runs(entries)
    systems, alignments = _files(config, "systems"), _files(config, "alignments")
    # a sweep's own directory holds the comparison of its runs alone
    out = Path(str(config.out) if config.out is not None else comparison_directory([] if systems else entries))
    if not systems:
        for key in ("source", "reference", "gold", "alignments"):
            if config[key] is not None:
                raise InputError(f"systems=null: expected a name and a file for each system, beside {key}")
        compare(runs, out, baseline=config.baseline)
        return
    for key in ("source", "reference"):
        if config[key] is None:
            raise InputError(f"{key}=null: expected the file that the systems translated, or its translation")
    of_runs = {signature_tokenizer(run.results["signature"]) for run in runs if run.results}
    tokenize = config.bleu_tokenize or (of_runs.pop() if len(of_runs) == 1 else "13a")
    about = EvaluationSet(config.source, config.reference, config.gold, config.alignment_base, tokenize)
    compare_outputs(systems, about, out, alignments, runs, config.baseline)


def _files(config: DictConfig, key: str) -> dict[str, str]:
    """The files under ``config[key]``, by the names of systems.

    Raises:
        InputError: if it is something else.
    """
    found = OmegaConf.to_container(config[key]) if OmegaConf.is_config(config[key]) else config[key] or {}
    if not isinstance(found, dict) or not all(isinstance(path, str) for path in found.values()):
        raise InputError(f"{key}={config[key]}: expected a name and a file for each, such as {key}='{{mine: mine.fr}}'")
    return {str(name): path for name, path in found.items()}
