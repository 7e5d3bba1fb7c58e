"""Configs of earlier versions still build the same objects."""

from pathlib import Path

import pytest
from omegaconf import DictConfig, OmegaConf

from lookback.common.configs import build, with_present_targets

TAIL = """
source_language: null
target_language: null
source_field: translation.${.source_language}
target_field: target
train: {split: train}
validation: {split: validation}
test: {split: test, alignment: null}
alignment_base: 0
limit: null
subset_seed: null
streaming: false
train_max_length: 60
max_length_ratio: null
bleu_tokenize: 13a
"""


def corpus_config(head: str) -> DictConfig:
    """A corpus inside the config of a whole run, from the time before ``RecordsCorpus`` was a class of its own."""
    return OmegaConf.create({"data": OmegaConf.create(f"_target_: lookback.data.HubCorpus\n{head}{TAIL}")}).data


@pytest.mark.parametrize("kind", ["json", "csv", "parquet"])
def test_a_corpus_of_files_was_a_corpus_of_the_hub(kind: str) -> None:
    from lookback.data import RecordsCorpus

    config = corpus_config(f"path: {kind}\nfiles: {{train: a, validation: null, test: null}}")
    config.source_language = "de"
    OmegaConf.set_struct(config, True)
    OmegaConf.set_readonly(config, True)
    corpus = build(config)
    assert isinstance(corpus, RecordsCorpus)
    assert (corpus.path, dict(corpus.files)) == (kind, {"train": "a", "validation": None, "test": None})
    assert corpus.source_field == "translation.de"
    assert config["_target_"] == "lookback.data.HubCorpus"


@pytest.mark.parametrize("there", [True, False])
def test_an_id_or_a_directory_is_a_corpus_of_the_hub_still(there: bool, tmp_path: Path) -> None:
    from lookback.data import HubCorpus

    path = tmp_path if there else "owner/name"
    config = corpus_config(f"path: {path}\nrevision: null\nname: null")
    assert type(build(config, source_field="source")) is HubCorpus


def test_a_config_with_present_names_equals_one_of_this_version() -> None:
    old = {
        "data": {"_target_": "lookback.data.HubCorpus", "path": "json", "files": {"train": "a"}},
        "callbacks": {"budgets": {"_target_": "lookback.training.budget_scores.BudgetScores"}},
        "loggers": [{"_target_": "lookback.training.tracking.wandb_logger"}, "csv"],
        "decoder": {"context_to": ["init"], "dropout": 0.0},
    }
    new = {
        "data": {"_target_": "lookback.data.RecordsCorpus", "path": "json", "files": {"train": "a"}},
        "callbacks": {"budgets": {"_target_": "lookback.training.callbacks.BudgetScores"}},
        "loggers": [{"_target_": "lookback.tracking.wandb_logger"}, "csv"],
        "decoder": {"context_to": ["init"], "dropout": 0.0},
    }
    assert with_present_targets(old) == with_present_targets(new) == new
