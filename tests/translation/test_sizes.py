"""Arms of equal size: sizes are chosen for a number of parameters."""

from pathlib import Path

import pytest
import torch
from omegaconf import OmegaConf

from lookback.common.errors import InputError
from lookback.runs import read_run
from lookback.translation.build import build_model
from lookback.translation.sizes import sizes_for, with_sizes
from support.running import choices, compose, run

PARAMETERS = "parameters=60000"


@pytest.mark.parametrize("model", choices("model"))
@pytest.mark.parametrize("parameters", [1_500_000, 6_000_000])
def test_every_model_can_have_this_many_parameters(model: str, parameters: int, tmp_path: Path) -> None:
    config = compose(tmp_path, f"model={model}", tiny=False)
    before = OmegaConf.to_container(config)
    random_state = torch.get_rng_state()
    sizes = sizes_for(config, parameters, 700, 800, False)
    assert torch.equal(torch.get_rng_state(), random_state)
    assert OmegaConf.to_container(config) == before
    network = build_model(with_sizes(config, sizes), 700, 800)
    assert sum(weight.numel() for weight in network.parameters()) == pytest.approx(parameters, rel=0.02)
    if model in ("dot", "scaled_dot"):
        assert sizes["decoder.hidden_size"] == 2 * sizes["encoder.hidden_size"]


def test_what_no_size_gives_is_refused(tmp_path: Path) -> None:
    config = compose(tmp_path, tiny=False)
    said = r"parameters=1000: the nearest that encoder\.hidden_size and decoder\.hidden_size give is [\d,]+; expected"
    with pytest.raises(InputError, match=said):
        sizes_for(config, 1000, 700, 800, False)


def test_a_training_has_them_and_a_resumed_one_keeps_them(tmp_path: Path, grammar_cache: str) -> None:
    def train(*overrides: str) -> dict:
        return run(tmp_path, grammar_cache, "model=general", PARAMETERS, *overrides)

    record = train()
    assert record["cost"]["parameters"] == pytest.approx(60_000, rel=0.02)
    sizes = OmegaConf.load(tmp_path / "test" / "config.yaml")
    assert sizes.decoder.hidden_size != 12
    longer = train("trainer.max_epochs=2")
    assert longer["cost"]["parameters"] == record["cost"]["parameters"]
    assert longer["cost"]["updates"] == 2 * record["cost"]["updates"]
    (tmp_path / ".hydra").mkdir(exist_ok=True)
    typed = compose(tmp_path, grammar_cache, "model=general", PARAMETERS)
    OmegaConf.save(typed, tmp_path / ".hydra" / "config.yaml")
    assert read_run(tmp_path).settings["decoder.hidden_size"] == sizes.decoder.hidden_size
    with pytest.raises(InputError, match="with parameters=60000, which cannot go on with parameters=30000"):
        train("parameters=30000", "trainer.max_epochs=2")
