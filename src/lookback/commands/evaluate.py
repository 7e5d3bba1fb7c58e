"""Scores a trained run on its own test set again, or on other text."""

from datetime import datetime
from pathlib import Path
from typing import Any, TypedDict

from omegaconf import DictConfig, OmegaConf

from lookback.common.checks import FilePath, Trust
from lookback.common.configs import build
from lookback.common.errors import InputError, config_errors
from lookback.common.files import atomic_write
from lookback.common.schema import Node, check_config
from lookback.common.yaml_files import read_keys
from lookback.data import Corpus, TextCorpus
from lookback.data.corpora.corpus import AlignmentBase, BleuTokenizer, Files, TestFiles
from lookback.runs import COST, TRAINING_DATA, Results, read_run, read_scores
from lookback.runs.run import EVALUATION, is_run
from lookback.search import Search
from lookback.training.build import build_data, build_module
from lookback.training.quiet import quiet
from lookback.training.settings import Accelerator, check_accelerator
from lookback.training.test import print_results, test
from lookback.translation.translator import Translator


class OtherData(TypedDict):
    test: TestFiles
    alignment_base: AlignmentBase
    bleu_tokenize: BleuTokenizer | None


class EvaluateSettings(TypedDict):
    """The keys of ``conf/evaluate.yaml``."""

    run: FilePath
    trust: Trust
    data: OtherData
    search: Node | None
    unknown_words: FilePath | None
    accelerator: Accelerator
    out: FilePath | None


def evaluate(config: DictConfig) -> Results:
    """Tests ``config.run`` and writes the results to a new directory. The run's own ``test/`` stays as it is.

    The run's config goes beside them as evaluation.yaml, with the search that was used: comparisons read both.

    Args:
        config: as ``conf/evaluate.yaml`` composes it.

    Returns:
        What results.json holds.

    Raises:
        InputError: if a setting is wrong, or if the directory holds results already.
    """
    quiet()
    check_config(config, EvaluateSettings)
    check_accelerator("accelerator", config.accelerator)
    search = None if config.search is None else build(config.search, Search)
    trained = Translator.load(config.run, device="cpu", unknown_words=config.unknown_words, trust=config.trust)
    files = config.data.test
    if (files.source is None) != (files.target is None):
        missing = "source" if files.source is None else "target"
        raise InputError(f"data.test.{missing}=null: expected both data.test.source and data.test.target, or neither")
    if files.source is None:
        for key in ("bleu_tokenize", "test.alignment"):
            value = OmegaConf.select(config.data, key)
            if value is not None:
                raise InputError(f"data.{key}={value}: expected data.test.source, too; the run's test set has its own")
        corpus, name = build(trained.config.data, Corpus), trained.config.names.data
    else:
        nothing = Files(source=None, target=None)
        with config_errors("data"):
            corpus = TextCorpus(
                nothing,
                nothing,
                TestFiles(source=files.source, target=files.target, alignment=files.alignment),
                train_max_length=None,
                bleu_tokenize=config.data.bleu_tokenize or "13a",
                limit=None,
                alignment_base=config.data.alignment_base,
            )
        name = "text"
    data = build_data(trained.config, corpus, trained.source_tokenizer, trained.target_tokenizer)
    module = build_module(
        trained.config, trained.source_tokenizer, trained.target_tokenizer, corpus.bleu_tokenize, trained.model
    )
    if search is not None:
        module.search = search
    unknown: dict[str, Any] = {
        "arm": None,
        "convergence": None,
        "cost": dict.fromkeys(COST),
        "training_data": dict.fromkeys(TRAINING_DATA),
    }
    trained_on = read_scores(trained.run.path) or unknown
    now = f"{datetime.now():%Y-%m-%d_%H-%M-%S.%f}"
    directory = Path(config.out) if config.out else trained.run.path / "evaluations" / now
    if not config.out and not directory.parent.resolve().is_relative_to(trained.run.path.resolve()):
        raise InputError(f"{directory.parent} is a link that leads out of the run; expected out=NEW, a directory")
    if (directory / "results.json").exists():
        raise InputError(f"out={directory}: holds results already; expected a new directory")
    as_tested = OmegaConf.to_yaml(_as_tested(trained, config))
    try:  # before the work of a test: a run of somebody else's may be one that only its owner writes to
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{directory}: {error.strerror}; expected out=NEW, a directory where you may write") from None
    with atomic_write(directory / EVALUATION) as file:
        file.write(as_tested.encode())
    record = test(
        module,
        data,
        directory,
        config.accelerator,
        arm=trained_on["arm"] or trained.config.names.get("arm") or trained.config.names.attention,
        attention=trained.config.names.attention,
        data_name=name,
        seed=trained.config.seed,
        convergence=trained_on["convergence"],
        cost=trained_on["cost"],
        training_data=trained_on["training_data"],
    )
    print_results(record)
    print(f"results: {directory}", flush=True)
    return record


def _as_tested(trained: Translator, config: DictConfig) -> DictConfig:
    """The run's config as it was typed, where that is kept, with what this test changed, and the name of its recipe."""
    run = trained.run
    kept = [path for path in (run.test / "config.yaml", run.path / ".hydra" / "config.yaml") if path.exists()]
    typed = OmegaConf.create(dict(read_keys(kept[0]))) if kept else trained.config.copy()
    changed = {key: config[key] for key in ("search", "unknown_words") if config[key] is not None}
    if is_run(run.path):
        changed["names.recipe"] = read_run(run.path).recipe  # evaluations have no .hydra, which tells it
    for key, value in changed.items():
        OmegaConf.update(typed, key, value, merge=False, force_add=True)
    return typed
