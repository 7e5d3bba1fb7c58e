"""What the config of a run may name: exact names, wherever they stand in it, and before anything is imported."""

import re
import sys
import tracemalloc
from pkgutil import resolve_name
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from lookback.common.errors import InputError
from lookback.common.trust import TRUSTED, check_plain, check_trusted, plain_text, trusted_names
from support.running import CONF

BEAM = {"_target_": "lookback.search.BeamSearch", "beam_size": 5}


def test_every_name_of_our_configs_is_listed() -> None:
    named = {
        (path.parent.name, name)
        for path in CONF.rglob("*.yaml")
        if "hydra" not in path.relative_to(CONF).parts  # Hydra's own settings are no part of a run's config
        for name in re.findall(r"_target_: *(\S+)", path.read_text())
    }
    assert len(named) > 25
    assert [each for each in named if each[1] not in TRUSTED[each[0]]] == []


def test_the_listed_optimizers_are_torchs() -> None:
    """All public ones but the abstract class; ``Muon`` came with torch 2.9."""
    import torch

    base = torch.optim.Optimizer
    public = {
        f"torch.optim.{each}"
        for each, value in vars(torch.optim).items()
        if isinstance(value, type) and issubclass(value, base) and value is not base and each[0] != "_"
    }
    listed = {each for each in TRUSTED["optimizer"] if each.rpartition(".")[0] == "torch.optim"}
    assert public
    assert listed - {"torch.optim.Muon"} == public - {"torch.optim.Muon"}


def test_each_listed_schedule_is_one_that_a_training_can_have() -> None:
    """It is called with the optimizer and the number of updates, which no class of torch's takes."""
    import torch

    schedules = TRUSTED["scheduler"]
    assert len(schedules) == 5
    for name in schedules:
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
        assert set(resolve_name(name)(optimizer, 100)) >= {"scheduler", "interval"}


@pytest.mark.parametrize(
    "config",
    [
        {"search": {**BEAM, "x": {"_target_": "os.system", "_args_": ["true"]}}},
        {"search": {"_target_": "lookback.search.BeamSearch.os.system"}},
        {"search": {"_target_": "lookback.data.datamodule.os.system"}},
        {"search": {"_target_": "lookback.common.files.os.system"}},
        {"search": {"_target_": " lookback.search.BeamSearch"}},
        {"search": {"_target_": "lookback.search.BeamSearch\n"}},
        {"search": {"_target_": "${names.arm}"}},
        {"search": {"_target_": ["lookback.search.BeamSearch"]}},
        {"search": {"_target_": {"_target_": "lookback.search.BeamSearch"}}},
        {"search": {"_target_": None}},
        {"search": [[[{"a": [{"_target_": "builtins.eval"}]}]]]},
        {"search": {"_args_": [{"_target_": "builtins.eval", "_partial_": True}]}},
        {"_target_": "builtins.eval"},
    ],
)
def test_any_other_name_is_refused_in_one_line(config: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"^run=DIR: \S*_target_=") as caught:
        check_trusted(config, frozenset(), "run=DIR")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


LOGGER = {"_target_": "lookback.tracking.wandb_logger", "directory": "/tmp", "project": "x"}


@pytest.mark.parametrize(
    "config",
    [
        {"encoder": {"_target_": "lookback.nn.RecurrentEncoder", "x": LOGGER}},
        {"encoder": LOGGER},
        {"search": {"_target_": "lookback.search.BeamSearch", "_args_": [LOGGER]}},
        {"data": [LOGGER]},
        {"names": LOGGER},
        {"logger": {"x": LOGGER}},
        {"callbacks": {"_target_": "lookback.training.callbacks.BudgetScores"}},
        {"callbacks": {"x": {"y": {"_target_": "lookback.training.callbacks.BudgetScores"}}}},
        LOGGER,
    ],
)
def test_a_name_of_lookbacks_own_is_for_its_section_alone(config: dict[str, Any]) -> None:
    """Hydra would call what stands inside ``encoder`` before the encoder refuses it."""
    with pytest.raises(InputError, match=r"^run=DIR: \S*_target_=\S+: this is lookback's own, but not built in this"):
        check_trusted(config, frozenset(), "run=DIR")
    check_trusted(config, frozenset(re.findall(r"lookback\.[\w.]+", str(config))), "run=DIR")


def test_each_section_may_build_what_it_is_for() -> None:
    check_trusted(
        {
            "logger": LOGGER,
            "search": BEAM,
            "callbacks": {"x": {"_target_": "lookback.training.budget_scores.BudgetScores"}},
            "data": {"_target_": "lookback.data.HubCorpus", "files": {"train": "x"}},
        },
        frozenset(),
        "run=DIR",
    )


def test_the_message_names_all_that_must_be_trusted() -> None:
    config = {"attention": {"_target_": "mine.Attention"}, "data": {"_target_": "mine.Corpus"}, "search": BEAM}
    with pytest.raises(InputError) as caught:
        check_trusted(config, trusted_names("mine.Attention"), "run=DIR")
    assert str(caught.value) == (
        "run=DIR: data._target_=mine.Corpus: this is no class or function of lookback's own; "
        "trust='[mine.Attention, mine.Corpus]' allows it, if you know what it does"
    )
    check_trusted(config, trusted_names(["mine.Attention", "mine.Corpus"]), "run=DIR")
    assert "mine" not in sys.modules


def test_a_misspelt_name_is_not_advised_again() -> None:
    config = {"attention": {"_target_": "mine.Attention"}}
    with pytest.raises(InputError) as caught:
        check_trusted(config, trusted_names(["mine.Attentoin", "oc.env"]), "run=DIR")
    assert str(caught.value).endswith(
        "; trust='[oc.env, mine.Attention]' allows it, if you know what it does; mine.Attentoin is not named there"
    )


@pytest.mark.parametrize("trust", ["os", "a.b()", "", 5, [1], "a.b.", "a..b", "*", "lookback.*"])
def test_what_is_trusted_is_named_in_full(trust: Any) -> None:
    with pytest.raises(InputError, match=r"trust=.*: expected MODULE\.NAME"):
        trusted_names(trust)


def test_a_config_is_of_plain_values_and_of_bounded_size() -> None:
    laughs: list[Any] = ["ha"]
    for _ in range(20):
        laughs = [laughs] * 10
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    for bomb in (laughs, deep):
        with pytest.raises(InputError, match="too large"):
            check_trusted({"data": bomb}, frozenset(), "run=DIR")
    for other in ((1, 2), {1, 2}, object(), {(1, 2): 3}, b"x"):
        with pytest.raises(InputError, match=r"run=DIR: data: found \w+ in its config"):
            check_trusted({"data": other}, frozenset(), "run=DIR")


def test_a_few_bytes_of_lists_in_lists_take_little_memory() -> None:
    """A pickle of 100 kB holds each of them: a list has the one before it 10,000 times, or a long text."""
    wide: list[Any] = []
    for _ in range(30):
        wide = [wide] * 10_000
    long = {"k" * 1_000_000: "x"}
    for bomb in (wide, [long] * 10_000, {"k" * 1_000_000: ["x"] * 10_000}, ["\\" * 1_000_000] * 10_000):
        tracemalloc.start()
        with pytest.raises(InputError, match="too large"):
            check_plain({"data": bomb}, "run=DIR")
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < 20_000_000


@given(st.text(alphabet="\\${}a.:'\"oc env", max_size=12))
def test_a_text_of_a_run_stays_the_text_that_it_is(text: str) -> None:
    config = OmegaConf.create(plain_text({"value": text, "list": [{"value": text}]}, frozenset()))
    assert config.value == config.list[0].value == text
    assert OmegaConf.to_container(config, resolve=True) == {"value": text, "list": [{"value": text}]}


def test_only_the_environment_can_be_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLACE", "here")
    trusted = trusted_names("oc.env")
    read = {"a": "${oc.env:PLACE}/x", "b": "${oc.env:NOWHERE,there}"}
    assert OmegaConf.to_container(OmegaConf.create(plain_text(read, trusted)), resolve=True) == {
        "a": "here/x",
        "b": "there",
    }
    for text in ("${oc.decode:x}", "${oc.env:${a}}", "${oc.env:PLACE}${hydra:job.name}", "${a}", "${oc.env:PLACE"):
        assert OmegaConf.create(plain_text({"a": "b", "c": text}, trusted)).c == text


def test_the_conf_of_a_command_takes_names_to_trust() -> None:
    for command in ("translate", "evaluate", "align", "doctor"):
        assert yaml.safe_load((CONF / f"{command}.yaml").read_text())["trust"] == []
