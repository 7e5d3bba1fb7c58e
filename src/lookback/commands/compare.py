"""Makes one report of several runs, or of the translations of one test set by any systems."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, TypedDict

from annotated_types import doc
from omegaconf import DictConfig, OmegaConf

from lookback.common.checks import FilePath, Text
from lookback.common.errors import InputError
from lookback.common.schema import check_config
from lookback.data.corpora.corpus import AlignmentBase, BleuTokenizer
from lookback.evaluation import signature_tokenizer
from lookback.report import compare, comparison_directory
from lookback.report.outputs import EvaluationSet, compare_outputs
from lookback.runs import read_runs

Systems = Annotated[
    Mapping[str, FilePath], doc("a name and a file for each system, such as {mine: mine.fr}, names without quotes")
]


class CompareSettings(TypedDict):
    """The keys of ``conf/compare.yaml``."""

    runs: FilePath | list[FilePath]
    out: FilePath | None
    systems: Systems | None
    source: FilePath | None
    reference: FilePath | None
    gold: FilePath | None
    alignments: Systems | None
    alignment_base: AlignmentBase
    bleu_tokenize: BleuTokenizer | None
    baseline: Text | None


def compare_runs(config: DictConfig) -> None:
    """Compares ``config.runs`` and ``config.systems``, and writes the report to ``config.out``.

    Args:
        config: as ``conf/compare.yaml`` composes it.

    Raises:
        InputError: if a setting is wrong, or a file is missing.
    """
    check_config(config, CompareSettings)
    entries = [str(entry) for entry in (config.runs if OmegaConf.is_list(config.runs) else [config.runs])]
    runs = read_runs(entries)
    systems, alignments = dict(config.systems or {}), dict(config.alignments or {})
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
