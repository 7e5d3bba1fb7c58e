"""What is remembered of a composition changes none."""

import shutil
from pathlib import Path

import hydra
import pytest
from hydra._internal import config_loader_impl
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.errors import ConfigCompositionException, MissingConfigException
from omegaconf import DictConfig, OmegaConf, open_dict

from support import composing
from support.paths import PROJECT

TYPED = [
    ["seed=2", "+names.mine=a", "~callbacks.budgets"],
    ["seed=3"],
    ["experiment=multi30k", "hydra.job.name=other", "batch={size: 7}"],
    ["hydra/launcher=joblib", "attention=none", "optimizer=sgd", "optimizer.lr=0.5"],
]


def compose(folder: Path, *typed: str, name: str = "train") -> DictConfig:
    with hydra.initialize_config_dir(str(folder), version_base="1.3"):
        return hydra.compose(name, list(typed), return_hydra_config=True)


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    """Configs that nothing is remembered of."""
    return Path(shutil.copytree(PROJECT / "conf", tmp_path / "conf"))


@pytest.mark.filterwarnings("ignore:\\s*.hydra.launcher")
def test_it_is_what_hydra_composes(conf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remembered = [[compose(conf, *typed) for typed in TYPED] for _ in range(2)][1]
    monkeypatch.setattr(config_loader_impl, "create_defaults_list", composing._create)
    monkeypatch.setattr(ConfigLoaderImpl, "_compose_config_from_defaults_list", composing._merge)
    for typed, found in zip(TYPED, remembered, strict=True):
        config = compose(conf, *typed)
        assert OmegaConf.to_yaml(found) == OmegaConf.to_yaml(config), typed
        for place in ("", "names", "hydra", "hydra.job"):
            mine, theirs = (OmegaConf.select(each, place) if place else each for each in (found, config))
            assert OmegaConf.is_struct(mine) == OmegaConf.is_struct(theirs)
            assert OmegaConf.is_readonly(mine) == OmegaConf.is_readonly(theirs)


def test_what_is_done_to_a_config_stays_there(conf: Path) -> None:
    first = compose(conf)
    with open_dict(first):
        first.seed, first.batch.size, first.added = 7, 8, 9
        first.hydra.runtime.choices.attention = "other"
    second = compose(conf)
    assert (second.seed, second.batch.size) == (1, 64)
    assert "added" not in second
    assert second.hydra.runtime.choices.attention == "bahdanau"


def test_a_changed_file_is_read_again(conf: Path) -> None:
    assert compose(conf).seed == 1
    text = (conf / "train.yaml").read_text()
    (conf / "train.yaml").write_text(text.replace("\nseed: 1 ", "\nseed: 3 "))
    assert compose(conf).seed == 3
    (conf / "attention" / "bahdanau.yaml").unlink()
    with pytest.raises(MissingConfigException):
        compose(conf)


def test_a_mistake_is_one_each_time(conf: Path) -> None:
    for _ in range(2):
        for typed in ("attention=bahdanu", "sed=1", "attention@x=dot", "+attention=dot", "~attention=dot"):
            with pytest.raises(ConfigCompositionException):
                compose(conf, typed)
        assert compose(conf, "~attention").hydra.runtime.choices.get("attention") is None
