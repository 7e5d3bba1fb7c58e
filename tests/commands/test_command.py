"""How commands fail: one line for what the user can mend."""

import copy
import logging.config
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import hydra
import pytest
from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from lookback.commands.kept_settings import KeptSettings, restored_if_refused
from lookback.commands.launch import COMMANDS, explain, plain_errors, resumed_arguments, with_flags_first
from lookback.common.errors import InputError
from support.running import CONF, choices, modules_after


def composition_error(*overrides: str) -> BaseException:
    """What composing a config from what was typed raises."""
    with (
        hydra.initialize_config_dir(str(CONF), version_base="1.3"),
        pytest.raises((hydra.errors.HydraException, OmegaConfBaseException)) as caught,
    ):
        hydra.compose("train", list(overrides))
    return caught.value


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("seeed=3", ["seeed", "did you mean seed?"]),
        ("decoder.hiden_size=3", ["decoder.hiden_size", "did you mean hidden_size?"]),
        ("attention=bahdanu", ["attention=bahdanu", ", ".join(choices("attention")), "did you mean bahdanau?"]),
        ("atention=none", ["atention", "did you mean attention?"]),
        ("seed=[1,", ["seed=[1,"]),
        ("+seed=1", ["seed"]),
        ('names={"arm": x}', ["expected key=value", "a name in braces has no quotes: arm"]),
        ("experiment=smok", ["did you mean smoke?"]),
    ],
)
def test_what_was_mistyped_is_said_in_one_line(typed: str, said: list[str]) -> None:
    message = explain(composition_error(typed))
    assert message is not None
    assert "\n" not in message
    for part in said:
        assert part in message


def test_a_missing_value_is_named() -> None:
    config = OmegaConf.create({"run": "???"})
    with pytest.raises(OmegaConfBaseException) as caught:
        _ = config.run
    assert explain(caught.value) == "run: Missing mandatory value: run"


def test_a_refused_argument_is_named_with_its_place() -> None:
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate

    config = OmegaConf.create({"search": {"_target_": "lookback.search.BeamSearch", "beam_size": 0}})
    with pytest.raises(InstantiationException) as caught:
        instantiate(config.search)
    assert explain(caught.value) == "search.beam_size=0: expected a whole number, 1 to 2,000"


def test_a_fault_of_the_program_is_not_explained_away() -> None:
    for fault in (RuntimeError("x"), ValueError("x"), KeyError("x"), AssertionError()):
        assert explain(fault) is None
    with pytest.raises(ZeroDivisionError), plain_errors():
        _ = 1 / 0


def test_bad_input_ends_with_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end, plain_errors():
        raise InputError("a.txt:3: not UTF-8")
    assert end.value.code == 2
    assert capsys.readouterr().err == "error: a.txt:3: not UTF-8\n"


def test_ctrl_c_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end, plain_errors():
        raise KeyboardInterrupt
    assert end.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_resume_repeats_what_was_typed_in_the_same_directory(tmp_path: Path) -> None:
    directory = tmp_path / "it's a run"
    (directory / ".hydra").mkdir(parents=True)
    (directory / ".hydra" / "overrides.yaml").write_text("- attention=none\n- trainer.max_epochs=2\n")
    arguments = resumed_arguments([f"resume={directory}", "trainer.max_epochs=4"])
    assert arguments[:2] == ["attention=none", "trainer.max_epochs=2"]
    assert arguments[4:] == ["trainer.max_epochs=4"]
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        config = hydra.compose("train", arguments, return_hydra_config=True)
    assert Path(config.hydra.run.dir) == directory
    assert config.trainer.max_epochs == 4


ONE = "- attention=none\n"
HYDRA = "hydra:\n  overrides:\n    task:\n    - attention=none\n  verbose: false\n"


@pytest.mark.parametrize(
    ("overrides", "hydra_yaml"),
    [(ONE, HYDRA), (ONE, None), (ONE, HYDRA[:20]), (None, HYDRA), ("", HYDRA), ("\0\0\0", HYDRA)],
)
def test_a_run_killed_while_its_arguments_were_written_keeps_them(
    tmp_path: Path, overrides: str | None, hydra_yaml: str | None
) -> None:
    (tmp_path / ".hydra").mkdir()
    for name, text in (("config", "seed: 1\n"), ("hydra", hydra_yaml), ("overrides", overrides)):
        if text is not None:
            (tmp_path / ".hydra" / f"{name}.yaml").write_text(text)
    assert resumed_arguments([f"resume={tmp_path}"])[0] == "attention=none"


@pytest.mark.parametrize("hydra_yaml", [None, "", "hydra:\n  overrides:\n    task:\n    - attention=none\n"])
def test_a_run_killed_before_its_arguments_were_written_says_so(tmp_path: Path, hydra_yaml: str | None) -> None:
    """Without arguments, resuming would train the default settings in the place of those that were typed."""
    (tmp_path / ".hydra").mkdir()
    (tmp_path / ".hydra" / "config.yaml").write_text("seed: 1\n")
    if hydra_yaml is not None:
        (tmp_path / ".hydra" / "hydra.yaml").write_text(hydra_yaml)
    with pytest.raises(
        InputError, match=f"killed before it began, and nothing was trained.*hydra.run.dir='{tmp_path}'"
    ):
        resumed_arguments([f"resume={tmp_path}"])
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "last.ckpt").touch()
    (tmp_path / ".hydra" / "overrides.yaml").touch()
    with pytest.raises(InputError, match=f"is lost .*expected its command .*hydra.run.dir='{tmp_path}', which goes on"):
        resumed_arguments([f"resume={tmp_path}"])


@pytest.mark.parametrize("begun", [False, True])
def test_configs_are_restored_if_the_run_never_began(tmp_path: Path, begun: bool) -> None:
    config = tmp_path / ".hydra" / "config.yaml"
    config.parent.mkdir()
    config.write_text("before")

    def start() -> None:
        with restored_if_refused():
            KeptSettings().on_run_start(OmegaConf.create({"hydra": {"run": {"dir": str(tmp_path)}}}))
            config.write_text("after")
            if begun:
                (tmp_path / "status.json").write_text("{}")
            sys.exit(2)

    with pytest.raises(SystemExit):
        start()
    assert config.read_text() == ("after" if begun else "before")


def test_null_is_no_choice_of_a_group() -> None:
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"), pytest.raises(ValueError, match="group") as caught:
        hydra.compose("train", ["logger=null"])
    assert explain(caught.value) == "a config group is chosen by name, such as logger=csv; null is no choice"


def test_without_resume_arguments_stay() -> None:
    assert resumed_arguments(["-m", "seed=1,2"]) == ["-m", "seed=1,2"]


def test_flags_may_stand_anywhere() -> None:
    assert with_flags_first(["attention=dot", "-m", "seed=1,2"]) == ["-m", "attention=dot", "seed=1,2"]
    assert with_flags_first(["seed=1"]) == ["seed=1"]


@pytest.mark.parametrize("typed", ["resume", "resume="])
def test_resume_without_a_directory_is_refused(typed: str) -> None:
    with pytest.raises(InputError, match=f"{typed}: expected resume=DIR"):
        resumed_arguments(["seed=1", typed])


@pytest.mark.parametrize(("flags", "left"), [([], ".hydra"), (["-m"], "multirun.yaml")])
def test_resume_of_what_is_no_run_is_refused_before_its_files_are(tmp_path: Path, flags: list[str], left: str) -> None:
    """A folder of runs has links of W&B's, which lead elsewhere."""
    (tmp_path / "link").symlink_to("/")
    resume = [*flags, f"resume={tmp_path}"]
    with pytest.raises(InputError, match=f"no {left} there; expected the directory of a (run|sweep)$"):
        resumed_arguments(resume)
    inside = tmp_path / "day" / "time"
    (inside / left).mkdir(parents=True)
    with pytest.raises(InputError, match=f"; inside are {inside}$"):
        resumed_arguments(resume)


def test_a_sweep_with_links_of_wandb_is_resumed(tmp_path: Path) -> None:
    """W&B leaves a link to its log in the directory of each job."""
    logs = tmp_path / "0ff1ce" / "wandb" / "offline-run" / "logs"
    logs.mkdir(parents=True)
    (logs / "debug-core.log").symlink_to("/nowhere/core-debug.log")
    (tmp_path / "multirun.yaml").write_text("hydra:\n  overrides:\n    task:\n    - seed=1,2\n")
    assert resumed_arguments(["-m", f"resume={tmp_path}"])[:2] == ["-m", "seed=1,2"]


def test_several_values_without_m_name_it() -> None:
    message = explain(composition_error("attention=none,dot"))
    assert message == (
        "attention=none,dot: several values; expected a sweep, python train.py -m attention=none,dot, or a list in "
        "brackets"
    )


def test_a_log_that_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Unable to configure") as caught:
        logging.config.dictConfig(
            {"version": 1, "handlers": {"file": {"class": "logging.FileHandler", "filename": str(tmp_path)}}}
        )
    assert explain(caught.value) == f"{tmp_path}: Is a directory"


def test_hydras_store_is_not_copied() -> None:
    """As --help did, a hundred times: half of its second."""
    assert copy.deepcopy({"a": [ConfigStore.instance()]})["a"][0] is ConfigStore.instance()


def test_commands_import_nothing_heavy() -> None:
    """What a command imports before Hydra answers --help: tests/system measures the same from outside."""
    loaded = modules_after("import lookback.commands.launch, lookback.training")
    assert not {"torch", "lightning", "datasets", "numpy", "wandb", "altair", "pandas"} & loaded


def test_no_first_batch_waits_for_what_draws_charts() -> None:
    loaded = modules_after(
        "import lookback.commands.train, lookback.tracking.weights_and_biases, lookback.commands.translate"
    )
    assert "torch" in loaded
    assert not {"lookback.report", "altair", "jinja2", "vl_convert", "wandb"} & loaded


def test_the_modules_of_a_command_are_not_searched_for_garbage_and_what_its_jobs_leave_is() -> None:
    code = (
        "import gc, lookback.commands.launch as launch; launch._imported('lookback.commands.streams'); "
        "assert not gc.get_freeze_count()  # imported before: its garbage may be a job's\n"
        "launch._imported('lookback.commands.dashboard'); assert gc.isenabled() and gc.get_freeze_count() > 10_000"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_the_program_lists_its_commands_and_names_the_nearest(capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    from lookback import __version__
    from lookback.commands.main import main

    for typed in (["lookback"], ["lookback", "--help"]):
        monkeypatch.setattr("sys.argv", typed)
        main()
        said = capsys.readouterr().out
        assert [line.split()[0] for line in said.splitlines()[2:]] == [*COMMANDS]
    monkeypatch.setattr("sys.argv", ["lookback", "--version"])
    main()
    assert capsys.readouterr().out == f"{__version__}\n"
    monkeypatch.setattr("sys.argv", ["lookback", "trian"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    expected = "error: lookback trian: no such command; expected one of align, compare"
    assert capsys.readouterr().err.startswith(expected)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_config_and_its_function(name: str) -> None:
    module, function, _ = COMMANDS[name]
    assert (CONF / f"{name}.yaml").is_file()
    assert callable(getattr(import_module(module), function))
    script = CONF.parent / f"{name}.py"
    if script.exists():
        assert f'launch("{name}")' in script.read_text()


def test_a_config_beside_the_command_comes_before_the_packages(tmp_path: Path) -> None:
    """A user's own arm: a file in a folder of theirs, found by name; what they do not have comes from the package."""
    own = tmp_path / "conf" / "attention"
    own.mkdir(parents=True)
    (own / "mine.yaml").write_text("# @package _global_\nattention:\n  _target_: lookback.nn.DotAttention\nseed: 7\n")
    command = [sys.executable, "-m", "lookback", "train", "attention=mine", "decoder.query=current", "--cfg", "job"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    config = OmegaConf.create(done.stdout)
    assert config.attention == {"_target_": "lookback.nn.DotAttention"}
    assert config.seed == 7
    assert config.encoder.cell == "gru"
