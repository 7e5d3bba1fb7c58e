"""Every key of every file under conf/, and of every command: misspelt, left out, and with values that mean nothing.

What is legal is said here by hand, beside the types that signatures declare: a type that lets too much through, or too
little, fails. Two values of each key are tried; ``LOOKBACK_MUTATIONS=all pytest tests/training/test_settings.py -s``
tries all of them, also where several files name the same class, and says how many that are.
"""

import os
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import hydra
import pytest
from omegaconf import DictConfig, OmegaConf

from lookback.commands import align, compare, dashboard, doctor, evaluate, translate
from lookback.common.checks import arguments_of
from lookback.common.configs import build, explain
from lookback.common.errors import InputError
from lookback.common.schema import check_config
from lookback.search import Search
from lookback.training.fit import train
from lookback.training.settings import TrainSettings, check_training
from support.running import CONF, choices, compose

ALL = os.environ.get("LOOKBACK_MUTATIONS") == "all"
VALUES: dict[str, Any] = {
    "true": True,
    "maybe": "maybe",
    "-1": -1,
    "0": 0,
    "1.5": 1.5,
    "nan": float("nan"),
    "inf": float("inf"),
    "null": None,
    "''": "",
    "[]": [],
    "{}": {},
    "2**32": 2**32,
}
LEGAL = {
    "true": "streaming fast input_feeding residual tie_embeddings joint lowercase _partial_ fused enable_model_summary "
    "scores translate.alignments warnings",
    "maybe": "files.train files.validation files.test train.source train.target validation.source validation.target "
    "test.source test.target test.alignment train.split validation.split test.split source_language "
    "target_language source_field target_field HubCorpus.data.path data.name data_dir revision cache "
    "tokenizer.source tokenizer.target dirpath "
    "last.path budgets.path logger.directory project entity group logger.name chart names.arm names.attention "
    "names.data unknown_words run runs trust input out align.source align.target reverse gold compare.source reference "
    "baseline dashboard.name attentions doctor.source doctor.target",
    "-1": "max_steps num_sanity_val_steps shift",
    "0": "alignment_base seed subset_seed dropout label_smoothing deviation attention_deviation eps momentum rho "
    "weight_decay constant.scheduler.warmup_updates cosine.scheduler.warmup_updates "
    "luong.scheduler.warmup_updates start halvings patience min_delta minutes gradient_clip_val num_sanity_val_steps "
    "limit_factor length_normalization shift loss.coverage scheduled_sampling",
    "1.5": "max_length_ratio learning_rate lr deviation attention_deviation weight_decay gradient_clip_val min_delta "
    "loss.coverage minutes limit_factor length_normalization temperature",
    "null": "files.train files.validation files.test train.source train.target validation.source validation.target "
    "test.source test.target test.alignment source_language target_language data.name data_dir revision cache limit "
    "subset_seed train_max_length max_length_ratio tokenizer.source tokenizer.target query fused deviation "
    "attention_deviation max_time gradient_clip_val limit_train_batches check_val_every_n_epoch val_check_interval "
    "parameters check_on_train_epoch_end entity group logger.name chart names.arm evaluate.search input "
    "out reverse gold compare.source reference baseline systems compare.alignments compare.bleu_tokenize "
    "evaluate.data.bleu_tokenize doctor.source "
    "doctor.target evaluate.unknown_words translate.unknown_words doctor.unknown_words",
    "[]": "tags trust runs",
    "{}": "files systems compare.alignments evaluate.search",
}
"""What each value is legal for, by the end of a key. Where it is not said, it must be refused."""

GROUPS = [group for group in arguments_of(TrainSettings)[0] if (CONF / group).is_dir()]
COMMANDS: dict[str, tuple[Callable[[DictConfig], Any], type]] = {
    "align": (align.align, align.AlignSettings),
    "compare": (compare.compare_runs, compare.CompareSettings),
    "dashboard": (dashboard.dashboard, dashboard.DashboardSettings),
    "doctor": (doctor.examine_run, doctor.DoctorSettings),
    "evaluate": (evaluate.evaluate, evaluate.EvaluateSettings),
    "translate": (translate.translate, translate.TranslateSettings),
}
GIVEN = {
    "align": ["run=a", "source=a", "target=b"],
    "compare": [],
    "dashboard": [],
    "doctor": ["run=a"],
    "evaluate": ["run=a", "search=sampling"],
    "translate": ["run=a"],
}
"""What each command must be given."""


def composed(group: str, choice: str) -> DictConfig:
    """The config with one choice, interpolations resolved, so that a value is wrong at its own key alone."""
    given = [f"{group}={choice}"]
    if group == "data" and choice not in ("grammar", "text"):
        given += ["data.source_language=de", "data.target_language=en", *(["data.path=x"] if choice == "hub" else [])]
    return plain(compose("run", *given, tiny=False))


def plain(config: DictConfig) -> DictConfig:
    return OmegaConf.create(OmegaConf.to_container(config, resolve=True))


def composed_command(name: str, *overrides: str) -> DictConfig:
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        return hydra.compose(name, [*GIVEN[name], *overrides])


def keys(node: DictConfig, inside: str = "") -> Iterator[str]:
    """All keys, and those inside them."""
    for name in node:
        key = f"{inside}.{name}" if inside else str(name)
        yield key
        if isinstance(node[name], DictConfig):
            yield from keys(node[name], key)


def legal(key: str) -> set[str]:
    """The values that a key may have."""
    return {said for said, names in LEGAL.items() if any(f".{key}".endswith(f".{name}") for name in names.split())}


def outcome(check: Callable[[DictConfig], None], config: DictConfig, key: str) -> str:
    """``accepted``, ``refused`` in one line that names the key, or what happened instead."""
    try:
        check(config)
    except Exception as error:
        message = explain(error)
        if message is None:
            return f"traceback: {error!r}"
        is_right = key in message and "\n" not in message and (": expected " in message or "; expected " in message)
        return "refused" if is_right else f"says {message!r}"
    return "accepted"


def faults(
    check: Callable[[DictConfig], None], config: DictConfig, tried: list[str], command: str = "train"
) -> Iterator[str]:
    """Tries each mutation of ``tried``, keys of ``config``, on its own; what should not have happened."""
    count = 0
    assert outcome(check, config, "") == "accepted"
    for key in tried:
        parent, _, name = key.rpartition(".")
        node = OmegaConf.select(config, parent) if parent else config
        before, allowed = deepcopy(node._get_node(name)), legal(f"{command}.{key}")
        for said in VALUES if ALL else Random(key).sample(list(VALUES), 2):
            node[name] = VALUES[said]
            found = outcome(check, config, key)
            if found != ("accepted" if said in allowed else "refused"):
                yield f"{key}={said}: {found}"
            count += 1
        del node[name]
        found = outcome(check, config, key)
        if found not in ("accepted", "refused"):  # it may be left out where its class has a default
            yield f"~{key}: {found}"
        misspelt = f"{name[:-1]}x{name[-1]}"
        node[misspelt] = 1
        node[name] = before
        found = outcome(check, config, f"{parent}.{misspelt}" if parent else misspelt)
        if found != "refused":
            yield f"+{key} misspelt: {found}"
        del node[misspelt]
        count += 2
    COUNTED.append(count)


COUNTED: list[int] = []


@cache
def of_a_class_of_its_own() -> list[tuple[DictConfig, list[str], str]]:
    """The config of each choice, its keys that no choice before it has for the same class, and this class's name."""
    known: set[tuple[str, str]] = set()
    found = []
    for group in GROUPS:
        for choice in choices(group):
            config = composed(group, choice)
            node = config[group]
            name = named(node)
            tried = list(keys(node, group)) if node else []
            found.append((config, [key for key in tried if ALL or (name, key) not in known], name))
            known |= {(name, key) for key in tried}
    return found


def named(node: Any) -> str:
    """The name of the class or function that a group builds."""
    return str(node.get("_target_", "train")).rpartition(".")[2] if node else "train"


def wrong(key: str, command: str) -> Any:
    """A value that a key may not have."""
    return next(value for said, value in VALUES.items() if said not in legal(f"{command}.{key}"))


class Late(Exception):
    """The data was prepared."""


def test_no_refusal_of_a_training_is_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of each class, or all, through the command's own function: it is refused before any data is prepared."""

    def prepared(config: DictConfig) -> None:
        raise Late

    monkeypatch.setattr("lookback.training.fit._prepare_data", prepared)

    def check(config: DictConfig) -> None:
        train(config, tmp_path / "run")

    found = []
    for config, tried, name in of_a_class_of_its_own():
        with pytest.raises(Late):
            check(deepcopy(config))
        found += [f"{key}: {said}" for key, said in wrongly_set(check, config, tried if ALL else tried[:1], name)]
    assert found == []


@pytest.mark.parametrize("name", COMMANDS)
def test_no_refusal_of_a_command_is_late(name: str) -> None:
    """The run that is named does not exist, which would be said as soon as it is looked for."""
    config = plain(composed_command(name))
    OmegaConf.set_struct(config, False)
    assert list(wrongly_set(COMMANDS[name][0], config, list(keys(config)), name)) == []


def wrongly_set(
    check: Callable[[DictConfig], Any], config: DictConfig, tried: list[str], command: str
) -> Iterator[tuple[str, str]]:
    """Each key with one wrong value: those that are not refused in a line of their own, and what was said instead."""
    for key in tried:
        changed = deepcopy(config)
        OmegaConf.update(changed, key, wrong(key, command), force_add=True)
        found = outcome(check, changed, key)
        if found != "refused":
            yield key, found


def test_nothing_that_means_nothing_is_let_into_a_training() -> None:
    found = []
    for config, tried, name in of_a_class_of_its_own():
        found += faults(check_training, deepcopy(config), tried, name)
    config = plain(compose("run", tiny=False))
    found += faults(check_training, config, [key for key in keys(config) if key.split(".")[0] not in GROUPS])
    assert found == []
    assert sum(COUNTED) > 700
    print(f"{sum(COUNTED):,} mutations")


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_that_means_nothing_is_let_into_a_command(name: str) -> None:
    config, schema = plain(composed_command(name)), COMMANDS[name][1]
    OmegaConf.set_struct(config, False)
    assert list(faults(lambda mutated: check_config(mutated, schema), config, list(keys(config)), name)) == []


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("+typo=1", r"^typo: no such setting"),
        ("++seeed=2", r"^seeed: no such setting.*did you mean seed\?"),
        ("+batch.foo=1", r"^batch\.foo: no such setting"),
        ("+names.foo=1", r"^names\.foo: no such setting"),
        ("+trainer.strategy=ddp", r"^trainer\.strategy: no such setting"),
        ("~trainer.max_epochs", r"^trainer\.max_epochs: is missing; expected"),
        ("trainer.max_epochs=null", r"^trainer\.max_epochs=null: expected a whole number"),
        ("trainer.max_epochs=-1", r"^trainer\.max_epochs=-1: expected an end of the training"),
        ("callbacks.checkpoint.monitor=validation/blue", r"did you mean validation/bleu\?"),
        ("callbacks.checkpoint.mode=max", r"^callbacks\.checkpoint\.mode=max: expected min"),
        ("callbacks.checkpoint.filename=other", r"^callbacks\.checkpoint\.filename=other: expected best"),
        (
            "+callbacks.checkpoint.save_weights_only=true",
            r"^callbacks\.checkpoint\.save_weights_only=true: expected false",
        ),
        ("search._target_=lookback.search.BeamSerch", r"^search\._target_=.*did you mean BeamSearch\?"),
        ("batch.size=4294967296", r"^batch\.size=4294967296: expected a whole number, 1 to 2,147,483,647$"),
    ],
)
def test_what_is_typed_is_refused_in_one_line(typed: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said) as caught:
        check_training(compose(tmp_path, typed, tiny=False))
    assert "\n" not in str(caught.value)


def test_a_misspelt_key_in_ones_own_experiment_is_refused(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text("# @package _global_\nseeed: 3\n")
    with pytest.raises(InputError, match=r"^seeed: no such setting.*did you mean seed\?"):
        check_training(compose(tmp_path, f"hydra.searchpath=['file://{tmp_path}']", "experiment=mine", tiny=False))


def test_what_is_built_is_of_its_kind() -> None:
    config = OmegaConf.create({"search": {"_target_": "lookback.search.hypothesis.LengthRule"}})
    with pytest.raises(InputError, match=r"^search\._target_=.*LengthRule: expected a Search, found LengthRule$"):
        build(config.search, Search)
    assert isinstance(build(OmegaConf.create({"_target_": "lookback.search.GreedySearch"}), Search), Search)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_and_its_schema_have_the_same_keys(name: str) -> None:
    assert set(composed_command(name)) == set(arguments_of(COMMANDS[name][1])[0])


def test_a_training_and_its_schema_have_the_same_keys(tmp_path: Path) -> None:
    config = compose(tmp_path, tiny=False)
    assert set(config) - {"experiment"} == set(arguments_of(TrainSettings)[0])
    for key in ("batch", "initialization", "loss", "names"):
        assert set(config[key]) == set(arguments_of(arguments_of(TrainSettings)[0][key].annotation)[0])
