"""What comes from the environment is trained with, and written nowhere."""

from pathlib import Path

import pytest
from omegaconf import OmegaConf

import lookback
from lookback.common.configs import hide_environment, without_environment
from lookback.common.errors import InputError
from lookback.runs.checkpoint import read_checkpoint
from lookback.runs.directory import RunDirectory
from lookback.runs.status import read_status
from lookback.training.build import plain_config
from lookback.training.resume import check_same_settings
from support.running import compose, run


def test_the_text_goes_through_all_that_refers_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TOKEN": "hunter2", "SIZE": "64", "LIST": "[hunter2, hunter3]"}.items():
        monkeypatch.setenv(name, value)
    config = OmegaConf.create(
        {
            "token": "${oc.env:TOKEN}",
            "again": {"again": "${token}", "inside": "x-${.again}-y", "list": ["${again.again}"]},
            "size": "${oc.decode:${oc.env:SIZE}}",
            "half": "${oc.decode:${oc.env:LIST}}",
            "absent": "${oc.env:NOBODY_SET_THIS,default}",
            "none": "${oc.env:NOBODY_SET_THIS,null}",
            "selected": "${oc.select:token}",
            "values": "${oc.dict.values:again}",
            "plain": "${size}",
        }
    )
    assert without_environment(config) == {
        "token": "${oc.env:TOKEN}",
        "again": {"again": "${oc.env:TOKEN}", "inside": "x-${oc.env:TOKEN}-y", "list": ["${oc.env:TOKEN}"]},
        "size": 64,
        "half": "${oc.env:LIST}",
        "absent": "${oc.env:NOBODY_SET_THIS,default}",
        "none": None,
        "selected": "${oc.env:TOKEN}",
        "values": ["${oc.env:TOKEN}", "x-${oc.env:TOKEN}-y", ["${oc.env:TOKEN}"]],
        "plain": 64,
    }
    assert config.again.inside == "x-hunter2-y"


def test_a_run_trains_with_it_and_no_file_holds_it(
    tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """As the corpus' folder, beside W&B; a seed is a number, and no secret."""
    folder = tmp_path / "hunter2"
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("CORPORA", str(folder))
    monkeypatch.setenv("SEED", "7")
    options = [
        "data.cache=${oc.env:CORPORA}/cache",
        "seed='${oc.decode:${oc.env:SEED}}'",
        "logger=wandb",
        "logger.mode=offline",
        "~callbacks.budgets",
    ]
    directory = tmp_path / "run"
    assert run(directory, *options)["seed"] == 7
    assert (folder / "cache").is_dir()
    out = capfd.readouterr()
    assert "hunter2" not in out.out + out.err
    written = [path for path in directory.rglob("*") if path.is_file()]
    assert any("wandb" in str(path) for path in written)
    assert not [path for path in written if b"hunter2" in path.read_bytes()]
    config = read_checkpoint(directory / "checkpoints" / "best.ckpt")["config"]
    assert config["data"]["cache"] == "${oc.env:CORPORA}/cache"
    assert config["seed"] == 7

    # it may go on where the variable has another value: equal texts are equal settings
    monkeypatch.setenv("CORPORA", str(tmp_path / "elsewhere"))
    check_same_settings(config, plain_config(compose(directory, *options)), RunDirectory(directory))
    assert lookback.load(directory, device="cpu").config.data.cache is None


def test_the_reason_of_a_failure_does_not_hold_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grammar_cache: str
) -> None:
    monkeypatch.setenv("TOKEN", "hunter2")
    with pytest.raises(InputError, match="lexicon=hunter2"):
        run(tmp_path, grammar_cache, "data.lexicon=${oc.env:TOKEN}")
    reason = read_status(tmp_path / "status.json")[1]
    assert reason is not None
    assert "data.lexicon=${oc.env:TOKEN}: expected one of small" in reason
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("no file hunter2", "no file ${oc.env:TOKEN}"),
        ("64 rows of abc, seed 7", "64 rows of abc, seed 7"),
        ("hunter2hunter22", "${oc.env:TOKEN}${oc.env:LONGER}"),
    ],
)
def test_what_comes_from_the_environment_is_hidden(text: str, hidden: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TOKEN": "hunter2", "LONGER": "hunter22", "SHORT": "abc", "SIZE": "64"}.items():
        monkeypatch.setenv(name, value)
    names = ("TOKEN", "LONGER", "SHORT", "SIZE")
    config = OmegaConf.create({**{name: f"${{oc.env:{name}}}" for name in names}, "wrong": "${nothing}"})
    assert hide_environment(text, config) == hidden


def test_a_text_is_resolved_once(tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hydra would resolve what an environment variable holds a second time."""
    monkeypatch.setenv("OUTER", "${oc.env:INNER}")
    monkeypatch.setenv("INNER", "hunter2")
    with pytest.raises(InputError, match=r"data\.lexicon=\$\{oc\.env:INNER\}: expected one of small"):
        run(tmp_path, grammar_cache, "data.lexicon=${oc.env:OUTER}")
