"""What a run is called in a comparison: by what its sweep varied, read from the files that Hydra leaves."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from lookback.common.errors import InputError
from lookback.runs.arm import arm_name, chosen, with_settings, with_short_numbers


def leave(
    sweep: Path,
    typed: Sequence[str],
    chosen: Sequence[str],
    params: dict[str, str] | None = None,
    model: str | None = None,
) -> Path:
    """The files of one job of a sweep, as Hydra writes them."""
    run = sweep / "0"
    (run / ".hydra").mkdir(parents=True)
    choices = {"choices": {"attention": "none", "model": model}}
    job = {"hydra": {"overrides": {"task": list(chosen)}, "runtime": choices, "sweeper": {"params": params}}}
    (run / ".hydra" / "hydra.yaml").write_text(yaml.safe_dump(job))
    whole = {"hydra": {"overrides": {"task": list(typed)}, "sweeper": {"params": params}}}
    (sweep / "multirun.yaml").write_text(yaml.safe_dump(whole))
    return run


def test_what_was_varied_is_in_the_name_and_what_was_fixed_is_not(tmp_path: Path) -> None:
    typed = ["attention=none,dot", "encoder.hidden_size=4,8", "seed=1,2", "trainer.max_steps=5", "+decoder.x=1,2"]
    given = ["attention=none", "encoder.hidden_size=4", "seed=2", "trainer.max_steps=5", "+decoder.x=1"]
    run = leave(tmp_path, typed, given)
    assert chosen(run, "attention") == "none"
    assert arm_name(run, "none") == "none, hidden_size=4, x=1"


def test_a_chosen_model_gives_the_name(tmp_path: Path) -> None:
    """Its attention is part of it, and is not said again."""
    typed = ["model=none,transformer", "encoder.layers=1,2", "seed=1,2"]
    run = leave(tmp_path, typed, ["model=transformer", "encoder.layers=2", "seed=2"], model="transformer")
    assert arm_name(run, "multihead") == "transformer, layers=2"
    assert chosen(run, "attention") == "none"


def test_what_an_experiment_says_to_sweep_is_varied_too(tmp_path: Path) -> None:
    run = leave(tmp_path, ["experiment=mine"], ["encoder=gru", "experiment=mine"], {"encoder": "gru,lstm"})
    assert arm_name(run, "dot") == "dot, encoder=gru"


def test_attention_and_seed_are_no_settings(tmp_path: Path) -> None:
    run = leave(tmp_path, ["attention=none,dot", "seed=1,2"], ["attention=none", "seed=2"])
    assert arm_name(run, "none") == "none"


def test_what_changes_no_number_is_no_setting(tmp_path: Path) -> None:
    """As where a sweep goes on on another machine, and a run of its first start has no score yet."""
    typed, chosen = ["trainer.accelerator=auto", "seed=1,2"], ["trainer.accelerator=cpu", "seed=1"]
    assert arm_name(leave(tmp_path, typed, chosen), "none") == "none"


def test_a_run_alone_has_the_name_of_its_attention(tmp_path: Path) -> None:
    run = leave(tmp_path / "sweep", ["encoder.layers=1"], ["encoder.layers=1"])
    (tmp_path / "sweep" / "multirun.yaml").unlink()
    assert arm_name(run, "none") == "none"
    assert arm_name(tmp_path, "dot") == "dot"
    assert chosen(tmp_path, "attention") is None


@pytest.mark.parametrize("text", ["hydra: 3", "hydra: {overrides: {task: 3}, sweeper: {params: 3}}", "a: 1"])
def test_files_of_something_else_give_no_settings(tmp_path: Path, text: str) -> None:
    run = leave(tmp_path, ["encoder.layers=1,2"], ["encoder.layers=1"])
    for path in (tmp_path / "multirun.yaml", run / ".hydra" / "hydra.yaml"):
        before = path.read_text()
        path.write_text(text)
        assert arm_name(run, "none") == "none"
        path.write_text(before)


def test_a_file_that_is_no_yaml_is_named(tmp_path: Path) -> None:
    run = leave(tmp_path, [], [])
    (tmp_path / "multirun.yaml").write_text("a: [")
    with pytest.raises(InputError, match=r"multirun\.yaml: .*expected YAML"):
        arm_name(run, "none")


def test_settings_that_would_have_one_name_are_written_out() -> None:
    assert with_settings("dot", {"encoder.layers": 1, "seed": 2}) == "dot, layers=1, seed=2"
    both = {"encoder.layers": 1, "decoder.layers": None}
    assert with_settings("dot", both) == "dot, encoder.layers=1, decoder.layers=None"


def test_spaces_and_quotes_that_hydra_writes_otherwise_vary_nothing(tmp_path: Path) -> None:
    typed = ["decoder.context_to=[init, step]", "data.path='a b'", "seed=1,2"]
    run = leave(tmp_path, typed, ["decoder.context_to=[init,step]", "data.path=a b", "seed=1"])
    assert arm_name(run, "none") == "none"


def test_a_setting_that_is_in_the_name_already_is_written_out() -> None:
    assert with_settings("dot, size=1", {"decoder.size": 2}) == "dot, size=1, decoder.size=2"


def test_a_long_number_has_four_digits_where_these_tell_it_apart() -> None:
    long, near = "dot, rate=0.0034878527126234885, dropout=0.25", "dot, rate=0.00348790001"
    assert with_short_numbers([long]) == {long: "dot, rate=0.003488, dropout=0.25"}
    assert with_short_numbers([near]) == {near: "dot, rate=0.003488"}
    same = [near, "dot, rate=0.003488", "dot, size=65536, x=1.0"]
    assert with_short_numbers(same) == {name: name for name in same}
