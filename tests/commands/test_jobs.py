"""Sweeps: jobs are found again by their settings, and what is there already is not run again."""

import importlib
import logging
import os
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import hydra
import pytest
import yaml
from hydra.core.hydra_config import HydraConfig
from omegaconf import OmegaConf

import lookback.commands  # which teaches OmegaConf job_hash
from hydra_plugins import lookback_sweepers
from hydra_plugins.lookback_sweepers import GridSweeper
from lookback.commands import launch
from lookback.commands.jobs import Job, jobs_left, note_if_all_are_new, outcome, stopped_together
from lookback.common.files import write_json
from lookback.common.signals import Interrupted
from lookback.runs.lock import is_locked, locked
from lookback.runs.metrics import write_metrics
from lookback.training.schedules import Monitored
from support.jobs import show, starts
from support.running import CONF

# pytest takes the place of the filter that lookback.commands sets
pytestmark = pytest.mark.filterwarnings("ignore:\\s*.hydra.launcher")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def name_of(*overrides: str) -> str:
    """The directory of a job with these settings."""
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        config = hydra.compose("train", list(overrides), return_hydra_config=True)
    HydraConfig.instance().set_config(config)
    return str(config.hydra.sweep.subdir)


def test_a_directory_is_named_after_what_a_job_trains() -> None:
    name = name_of()
    assert re.fullmatch("[0-9a-f]{10}", name)
    assert name_of("seed=1", "attention=bahdanau", "learning_rate=0.0040") == name
    assert name_of("logger=csv", "batch.evaluation_size=2", "data.cache=elsewhere", "hydra.verbose=true") == name
    assert name_of("trainer=ddp", "trainer.accelerator=cpu", "callbacks.last.minutes=1") == name
    assert name_of("trainer.enable_model_summary=true", "trainer.num_sanity_val_steps=2") == name
    others = [("seed=2",), ("attention=dot",), ("names.arm=mine",), ("~callbacks.budgets",), ("batch.size=65",)]
    assert len({name, *(name_of(*overrides) for overrides in others)}) == 6


def test_the_environment_does_not_name_a_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLACE", "a")
    name = name_of("names.data='${oc.env:PLACE}'")
    monkeypatch.setenv("PLACE", "b")
    assert name_of("names.data='${oc.env:PLACE}'") == name


def files(directory: Path) -> dict[str, tuple[int, bytes]]:
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in directory.rglob("*") if path.is_file()}


def test_a_sweep_that_is_run_again_runs_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = Path("sweep")
    assert show(monkeypatch, "-m", "seed=1,2,1", "hydra.sweep.dir=sweep") == 0
    first, second = name_of("seed=1"), name_of("seed=2")
    assert starts(sweep) == {first: 1, second: 1}
    assert "skipped: the same settings as a job above  seed=1" in capsys.readouterr().out
    before = {name: files(sweep / name) for name in (first, second)}

    write_json(sweep / second / "status.json", {"status": "interrupted", "reason": None})
    assert show(monkeypatch, "-m", "resume=sweep", "seed=3,2,1") == 0
    out = capsys.readouterr().out
    assert f"{first}  skipped: finished  seed=1" in out
    assert f"{second}  runs: interrupted before a checkpoint  seed=2" in out
    assert f"{name_of('seed=3')}  runs: new  seed=3" in out
    assert starts(sweep) == {first: 1, second: 2, name_of("seed=3"): 1}
    assert files(sweep / first) == before[first]

    assert show(monkeypatch, "-m", "resume=sweep") == 0  # what was typed last
    assert capsys.readouterr().out.count("skipped: finished") == 3


def launched(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    """`python train.py ARGUMENTS` in this process, with its own logging, and trainings that do nothing."""
    monkeypatch.setattr("lookback.commands.train.train", lambda config, directory, sweep=None: None)
    monkeypatch.setattr("lookback.report.compare", lambda runs, directory: None)
    monkeypatch.setattr(logging.root, "handlers", [])
    monkeypatch.setattr(sys, "argv", ["train.py", *arguments])
    launch.launch("train")


def test_the_settings_of_a_job_are_printed_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):  # nothing came out of the jobs
        launched(monkeypatch, "-m", "seed=1,2", "hydra.sweep.dir=sweep")
    assert capsys.readouterr().out.split("\n") == [
        "2 of 2 jobs are to run in sweep",
        "",
        "#0  seed=1",
        "",
        "#1  seed=2",
        "",
    ]


def test_a_job_knows_the_directory_that_its_sweep_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []
    monkeypatch.setattr("lookback.report.compare", lambda runs, directory: None)
    monkeypatch.setattr(logging.root, "handlers", [])
    monkeypatch.setattr("lookback.commands.train.train", lambda *arguments: given.append(arguments[2:]))
    for typed in (["hydra.run.dir=run"], ["-m", "seed=1,2", "hydra.sweep.dir=sweep"]):
        monkeypatch.setattr(sys, "argv", ["train.py", *typed])
        with suppress(SystemExit):  # nothing comes out of the jobs
            launch.launch("train")
    assert given == [(), (Path("sweep"),), (Path("sweep"),)]


def test_a_training_ends_with_what_to_type_next(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    launched(monkeypatch, "hydra.run.dir=run")
    assert capsys.readouterr().out == f"translate: python translate.py run={Path.cwd() / 'run'} < input.txt\n"


def test_a_sweep_over_all_choices_of_a_name_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert show(monkeypatch, "-m", "attention=glob([none,d*])", "seed=1,2", "hydra.sweep.dir=sweep") == 0
    first = starts(Path("sweep"))
    assert first == {name_of(f"attention={name}", f"seed={seed}"): 1 for name in ("none", "dot") for seed in (1, 2)}
    assert show(monkeypatch, "-m", "resume=sweep") == 0
    assert capsys.readouterr().out.count("skipped: finished") == 4
    assert starts(Path("sweep")) == first


def test_a_sweep_that_finds_none_of_its_jobs_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = (Job((), tmp_path / name, OmegaConf.create()) for name in ("old", "new"))
    note_if_all_are_new([old, new], tmp_path)
    (old.directory / ".hydra").mkdir(parents=True)
    note_if_all_are_new([old, new], tmp_path)
    assert capsys.readouterr().out == ""
    note_if_all_are_new([new], tmp_path)
    said = capsys.readouterr().out
    assert said.startswith(f"note: {tmp_path}: none of its 1 jobs (old, …) has the settings of one of these; all of ")
    assert said.count("\n") == 1


def test_what_was_typed_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweeper = GridSweeper()
    sweeper.directory = tmp_path
    sweeper.config = OmegaConf.create({"seed": 1})
    sweeper.leave_what_was_typed()
    sweeper.config.seed = 2

    def killed(*paths: Any) -> None:
        raise OSError("killed")

    monkeypatch.setattr("os.replace", killed)
    with pytest.raises(OSError, match="killed"):
        sweeper.leave_what_was_typed()
    assert (tmp_path / "multirun.yaml").read_text() == "seed: 1\n"


def test_a_job_that_is_finished_but_for_its_page_gets_it(
    make_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl+C came while the page was drawn, when the numbers were there already."""
    job = Job((), make_run("job", "dot"), OmegaConf.create())
    assert jobs_left([job], retry_failed=False) == []
    assert "job  skipped: finished, but its page is missing and is drawn now" in capsys.readouterr().out
    drawn = files(job.directory)
    assert str(job.directory / "report.html") in drawn
    assert str(job.directory / "length_curve.svg") in drawn
    assert jobs_left([job], retry_failed=False) == []
    assert files(job.directory) == drawn


def test_failed_jobs_run_again_only_if_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = name_of("seed=13")
    assert show(monkeypatch, "-m", "seed=13,2", "hydra.sweep.dir=sweep") == 1
    assert starts(Path("sweep")) == {failed: 1, name_of("seed=2"): 1}
    assert show(monkeypatch, "-m", "resume=sweep") == 1
    assert f"{failed}  skipped: failed (unlucky), see hydra.sweeper.retry_failed  seed=13" in capsys.readouterr().out
    assert starts(Path("sweep"))[failed] == 1
    assert show(monkeypatch, "-m", "resume=sweep", "hydra.sweeper.retry_failed=true") == 1
    assert starts(Path("sweep")) == {failed: 2, name_of("seed=2"): 1}


def test_what_a_strangers_sweep_says_is_one_line_of_visible_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = Job(("names.data='\x1b[31mred'",), tmp_path / "job", OmegaConf.create())
    write_json(job.directory / "status.json", {"status": "failed", "reason": "\x1b]0;title\x07out\nof memory"})
    assert jobs_left([job], retry_failed=False) == []
    assert capsys.readouterr().out == (
        "job  skipped: failed (␛]0;title␇out of memory), see hydra.sweeper.retry_failed  names.data='␛[31mred'\n"
    )
    (tmp_path / "\x1b[31m" / ".hydra").mkdir(parents=True)
    note_if_all_are_new([Job((), tmp_path / "new", OmegaConf.create())], tmp_path)
    assert "1 jobs (␛[31m, …)" in capsys.readouterr().out


def test_ctrl_c_in_a_job_ends_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    assert show(monkeypatch, "-m", "seed=1,14,2", "hydra.sweep.dir=sweep") != 0
    assert set(starts(Path("sweep"))) == {name_of("seed=1"), name_of("seed=14")}


def test_a_job_that_another_process_runs_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from filelock import FileLock

    directory = Path("sweep", name_of("seed=2"))
    directory.mkdir(parents=True)
    write_json(directory / "status.json", {"status": "running", "reason": None})
    with FileLock(directory / ".lock"):
        show(monkeypatch, "-m", "seed=1,2", "hydra.sweep.dir=sweep")
    assert f"{directory.name}  skipped: another process runs it  seed=2" in capsys.readouterr().out
    assert starts(Path("sweep")) == {name_of("seed=1"): 1}


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("-m", "resume=nowhere"), "resume=nowhere: no multirun.yaml there"),
        (("resume=sweep",), "it is a sweep, which goes on with -m"),
        (("-m", "hydra.sweeper.max_batch_size=0"), "max_batch_size=0: expected a whole number, 1 or more, or null"),
        (("-m", "hydra.sweeper.max_batch_size=x"), "max_batch_size=x: expected a whole number, 1 or more, or null"),
        (("-m", "hydra.sweeper.retry_failed=ture"), "retry_failed=ture: expected true or false"),
        (("-m", "seed=1,2", "attention=dot,bahdanu"), "did you mean bahdanau?"),
        (("-m", "seed=1,2", "batch.size=32,true"), "batch.size=true: expected"),
        (("-m", "seed=1", "+typo=1,2"), "typo"),
    ],
)
def test_a_mistake_is_said_before_anything_runs(
    typed: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("sweep").mkdir()
    Path("sweep", "multirun.yaml").write_text("hydra: {overrides: {task: [seed=1]}}")
    assert show(monkeypatch, *typed) == 2
    assert said in capsys.readouterr().err
    assert not Path("multirun").exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("+search.x={_target_: os.system, _args_: [touch ran]}", "os.system"),
        ("+search.x._target_=torch.load,os.system", "torch.load"),
        ("names.data=a,${oc.env:HOME}", "reads the environment"),
        ("hydra/launcher=slurm", "expected a setting of the training"),
        ("data=grammar,../../elsewhere", "expected the name of a choice"),
        ("hydra.sweeper.storage=sqlite:////tmp/x", "what is varied; type this line again beside resume="),
        ("hydra.sweeper.sampler._target_=os.system", "what is varied; type this line again"),
        ("hydra.sweeper.sampler={_target_: os.system}", "what is varied; type this line again"),
        ("+hydra.sweeper={_target_: os.system}", "what is varied; type this line again"),
        ("hydra/sweeper=../../elsewhere", "what is varied; type this line again"),
        ("hydra.sweeper.n_trials='${oc.env:HOME}'", "what is varied; type this line again"),
        ("hydra.sweeper.params={data: '${names.arm}'}", "what is varied; type this line again"),
        ("hydra.sweeper.params={data: {_target_: os.system}}", "what is varied; type this line again"),
        ("hydra.sweeper.params={data: 'grammar,../../elsewhere'}", "expected the name of a choice"),
        ("+hydra.sweeper.params.data._target_='a,os.system'", "what is varied; type this line again"),
        ("hydra.sweeper.params={hydra/launcher: slurm}", "expected a setting of the training"),
        ("hydra.sweeper.params={+search.x._target_: 'torch.load,os.system'}", "torch.load"),
        ("hydra.sweeper.params={names.data: 'a\\n,b'} x", "expected key=value"),
        ("hydra/launcher=glob(*)", "expected a setting of the training"),
        ("logger.mode=glob(*)", "says where your numbers are sent"),
    ],
)
def test_a_strangers_sweep_runs_nothing(
    line: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("sweep").mkdir()
    part = "hydra" if "sweeper" in line else "task"
    overrides = {"task": ["seed=1,2"], "hydra": []}
    overrides[part].append(line)
    Path("sweep", "multirun.yaml").write_text(yaml.safe_dump({"hydra": {"overrides": overrides}}))
    assert show(monkeypatch, "-m", "resume=sweep") == 2
    error = capsys.readouterr().err
    assert error.startswith("error: resume=sweep: multirun.yaml: ")
    assert said in error
    assert sorted(path.name for path in Path.cwd().rglob("*")) == ["multirun.yaml", "sweep"]


def test_a_launcher_that_is_not_installed_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lookback_sweepers, "find_spec", lambda name: None)
    for choice, extra in (("joblib", "joblib"), ("submitit_local", "submitit"), ("slurm", "submitit"), ("ray", "ray")):
        assert show(monkeypatch, "-m", "seed=1,2", f"hydra/launcher={choice}") == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert f"hydra/launcher={choice}: " in said
        assert f'expected pip install -e ".[{extra}]"' in said
    assert show(monkeypatch, "-m", "hparams_search=optuna") == 2
    assert (
        'hydra/sweeper=optuna: optuna is not installed; expected pip install -e ".[optuna]"' in capsys.readouterr().err
    )


def test_launchers_are_composed_without_a_warning() -> None:
    pytest.importorskip("joblib", reason="the extra [joblib] is not installed")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        name_of("hydra/launcher=joblib")
        assert any("hydra/launcher/joblib" in str(warning.message) for warning in warned)
        warned.clear()
        importlib.reload(lookback.commands)
        for launcher in ("joblib", "submitit_local", "slurm", "ray"):
            name_of(f"hydra/launcher={launcher}")
    assert not warned


@pytest.mark.slow
@pytest.mark.parametrize(
    ("launcher", "package", "settings"),
    [
        ("joblib", "joblib", ["hydra.launcher.n_jobs=2"]),
        ("submitit_local", "submitit", ["hydra.sweeper.max_batch_size=2", "hydra.launcher.cpus_per_task=3"]),
        ("ray", "ray", ["hydra.launcher.ray.remote.num_cpus=1"]),
    ],
)
def test_jobs_run_in_processes_of_their_own(
    launcher: str, package: str, settings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two at a time, in the directories that one process would use, with their share of the cores."""
    pytest.importorskip(package, reason=f"the extra [{package}] is not installed")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    arguments = [f"hydra/launcher={launcher}", *settings, "hydra.sweep.dir=sweep"]
    assert show(monkeypatch, "-m", "seed=1,13", *arguments) == 1
    assert starts(Path("sweep")) == {name_of("seed=1"): 1, name_of("seed=13"): 1}
    lines = [path.read_text().split() for path in Path("sweep").glob("*/starts")]
    assert str(os.getpid()) not in {process for process, _ in lines}
    threads = {"joblib": max(1, (os.cpu_count() or 1) // 2), "submitit_local": 3, "ray": 1}[launcher]
    assert {share for _, share in lines} == {str(threads)}
    assert not any("Warning" in path.read_text() for path in Path("sweep").rglob("*_log.err"))  # of submitit's
    assert yaml.safe_load(Path("sweep/multirun.yaml").read_text())["hydra"]["overrides"]["task"] == ["seed=1,13"]


HOLDER = """
import signal, sys, time
from pathlib import Path
from lookback.runs.lock import locked

def stop(number, frame):
    time.sleep(0.5)
    (directory / "saved").touch()
    sys.exit()

directory = Path(sys.argv[1])
signal.signal(signal.SIGTERM, stop)
with locked(directory):
    print("holds", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_jobs_in_other_processes_save_before_the_sweep_ends(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*printed: Any, **where: Any) -> None:
        raise RuntimeError("reentrant call: the signal came in the middle of a print")

    monkeypatch.setattr("builtins.print", refuse)
    before = signal.getsignal(number)
    job = Job((), tmp_path / "job", OmegaConf.create())
    command = [sys.executable, "-c", HOLDER, str(job.directory)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "holds\n"
        with stopped_together([job]), pytest.raises(Interrupted) as ended:
            signal.raise_signal(number)
        assert (job.directory / "saved").exists()
    assert ended.value.code == 128 + number
    assert signal.getsignal(number) is before


def test_what_another_sweep_runs_goes_on(tmp_path: Path) -> None:
    """Of the same directories, or a process that has got the number of one that was killed."""
    read, write = os.pipe()
    if not os.fork():
        if os.fork():  # what it starts has no parent here any more
            os._exit(0)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with locked(tmp_path):
            os.write(write, str(os.getpid()).encode())
            signal.pause()
        os._exit(0)
    process = int(os.read(read, 20))
    os.wait()
    try:
        assert is_locked(tmp_path)
        with stopped_together([Job((), tmp_path, OmegaConf.create())]), pytest.raises(Interrupted):
            signal.raise_signal(signal.SIGTERM)
        assert is_locked(tmp_path)
    finally:
        os.kill(process, signal.SIGKILL)


def test_of_ranks_that_were_started_outside_the_first_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TORCHELASTIC_RUN_ID": "x", "WORLD_SIZE": "2", "RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    assert show(monkeypatch, "seed=1", "hydra.run.dir=run") == 0
    assert "hydra/job_logging=stdout" in sys.argv
    assert {path.name for path in Path("run").iterdir()} == {"starts", "metrics.csv", "status.json"}  # of the job alone
    monkeypatch.setenv("RANK", "0")
    assert show(monkeypatch, "seed=1", "hydra.run.dir=run") == 0
    assert Path("run", ".hydra", "overrides.yaml").exists()


def trials(storage: str) -> list[Any]:
    import optuna

    return optuna.load_study(study_name="lookback", storage=storage).trials


def interrupt(*arguments: Any, retry_failed: bool = False) -> None:
    raise KeyboardInterrupt


SEARCH = [
    *("-m", "hparams_search=optuna", "hydra.sweep.dir=search"),
    *("attention=dot", "learning_rate=interval(0.1,0.2)", "encoder.layers=1,2"),
]


def test_a_search_goes_on_without_repeating_a_trial(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("optuna", reason="the extra [optuna] is not installed")
    search = [
        "-m",
        "hparams_search=optuna",
        "attention=dot",
        "learning_rate=interval(0.001,0.1)",
        "hydra.sweeper.sampler.n_startup_trials=1",
    ]
    assert show(monkeypatch, *search, "hydra.sweep.dir=whole", "hydra.sweeper.n_trials=3") == 0
    whole = trials("sqlite:///whole/study.db")
    assert [trial.value for trial in whole] == [pytest.approx(100 * trial.params["learning_rate"]) for trial in whole]
    assert len(starts(Path("whole"))) == 3
    best = min(whole, key=lambda trial: trial.value)
    settings = [f"{key}={value}" for key, value in best.params.items()]
    place = Path("whole", name_of("hparams_search=optuna", "attention=dot", *settings))
    rate, dropout = (f"{best.params[key]:.4g}" for key in ("learning_rate", "encoder.dropout"))
    value = f"validation/perplexity {best.value:.4f}"
    out = capsys.readouterr().out
    assert f"{place.name}  {value}  learning_rate={rate}  encoder.dropout={dropout}\n" in out
    assert out.splitlines()[-2:] == [
        f"search: the best of 3 is {place} (dot, learning_rate={rate}, dropout={dropout}): {value} "
        "(seed=1, hydra.sweeper.seed=1)",
        f"translate: python translate.py run={place} < input.txt",
    ]
    assert Path("whole/search.svg").stat().st_size > 1000

    assert show(monkeypatch, *search, "hydra.sweep.dir=parts", "hydra.sweeper.n_trials=1") == 0
    with monkeypatch.context() as patch:
        patch.setattr(lookback_sweepers.JobSweeper, "launch", interrupt)
        assert show(monkeypatch, *search, "hydra.sweep.dir=parts", "hydra.sweeper.n_trials=3") == 130
    assert show(monkeypatch, *search, "hydra.sweep.dir=parts", "hydra.sweeper.n_trials=3") == 0
    parts = trials("sqlite:///parts/study.db")
    assert parts.pop(1).state.name == "FAIL"  # interrupted, and asked for again as the next one
    assert [trial.params for trial in parts] == [trial.params for trial in whole]
    assert starts(Path("parts")) == starts(Path("whole"))


def test_a_trial_that_fails_or_is_stopped_does_not_end_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("optuna", reason="the extra [optuna] is not installed")
    search = ["-m", "hparams_search=optuna", "hydra.sweep.dir=search", "hydra.sweeper.n_trials=3"]
    storage = "sqlite:///search/study.db"
    with monkeypatch.context() as patch:
        patch.setattr("lookback.commands.jobs.jobs_left", interrupt)  # Ctrl+C in the first trial
        assert show(monkeypatch, *search, "seed=13") == 130
    (stopped,) = trials(storage)
    assert stopped.state.name == "RUNNING"
    assert show(monkeypatch, *search, "seed=13") == 1
    again, *asked = trials(storage)
    assert again.state.name == "FAIL"
    assert [trial.state.name for trial in asked] == ["FAIL"] * 3
    assert [trial.user_attrs["reason"] for trial in asked] == ["unlucky"] * 3
    assert asked[0].params == stopped.params


def test_a_mistake_in_a_search_is_said_before_anything_is_recorded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("optuna", reason="the extra [optuna] is not installed")
    for typed in ("trainer.max_epochs=two", "encoder.dropout=interval(0.0,1.5)", "decoder.hidden_size=choice(8,x)"):
        assert show(monkeypatch, "-m", "hparams_search=optuna", typed, "hydra.sweep.dir=search") == 2
        error = capsys.readouterr().err
        assert error.startswith(f"error: {typed.partition('=')[0]}=")
        assert error.count("\n") == 1
    assert not Path("search").exists()


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("n_trials=1.5", "a whole number, 1 or more"),
        ("n_trials=0", "a whole number, 1 or more"),
        ("n_jobs=null", "a whole number, 1 or more"),
        ("seed=x", "a whole number, 0 to 4,294,967,295"),
        ("study_name=null", "text that is not empty"),
        ("sampler.n_startup_trials=x", "a whole number"),
    ],
)
def test_a_wrong_argument_of_a_search_is_refused_at_once(
    typed: str, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("optuna", reason="the extra [optuna] is not installed")
    arguments = ("hydra.sweep.dir=search", f"hydra.sweeper.{typed}")
    assert show(monkeypatch, "-m", "hparams_search=optuna", *arguments) == 2
    assert capsys.readouterr().err == f"error: hydra.sweeper.{typed}: expected {expected}\n"
    assert not Path("search").exists()


def test_another_search_is_refused_where_one_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing of what is there changes, be it another search or torn; what changes no number may change."""
    pytest.importorskip("optuna", reason="the extra [optuna] is not installed")
    search = [*SEARCH, "hydra.sweeper.n_trials=1"]
    assert show(monkeypatch, *search) == 0
    before = files(Path("search"))
    for typed, said in (
        ("optimized_metric=validation/bleu", "optimized_metric=validation/perplexity, which cannot go on with "),
        ("attention=none,dot", "attention=dot, which cannot go on with attention=none,dot"),
        ("encoder.layers=2,1", "encoder.layers=1,2, which cannot go on with encoder.layers=2,1"),
        ("seed=2", "seed=1, which cannot go on with seed=2"),
    ):
        capsys.readouterr()
        assert show(monkeypatch, *search, typed) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"error: search/study.db: holds a search with {said}")
        assert error.count("\n") == 1
    assert files(Path("search")) == before
    other = ["logger=csv", "trainer.accelerator=cpu", "callbacks.last.minutes=5", "hydra.sweeper.n_jobs=2"]
    assert show(monkeypatch, *search, *other, "hydra.sweeper.n_trials=2") == 0
    assert len(trials("sqlite:///search/study.db")) == 2


def test_a_torn_study_is_one_line_and_without_it_no_trial_is_repeated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("optuna", reason="the extra [optuna] is not installed")
    assert show(monkeypatch, *SEARCH, "hydra.sweeper.n_trials=1") == 0
    study, once = Path("search/study.db"), starts(Path("search"))
    study.write_bytes(study.read_bytes()[:5000])
    before = files(Path("search"))
    capsys.readouterr()
    assert show(monkeypatch, "-m", "resume=search", "hydra.sweeper.n_trials=2") == 2
    error = capsys.readouterr().err
    assert error.startswith("error: search/study.db: database disk image is malformed; expected the study of a search")
    assert error.count("\n") == 1
    assert files(Path("search")) == before
    study.unlink()
    assert show(monkeypatch, "-m", "resume=search") == 0
    assert starts(Path("search")) == once


@pytest.mark.parametrize(
    "typed", ["seed=1,2,3", "++seed=range(1,3)", "seed=interval(1,9)", "+hydra.sweeper.params.seed='1,2'"]
)
def test_a_search_chooses_no_seed(
    typed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("optuna", reason="the extra [optuna] is not installed")
    assert show(monkeypatch, *SEARCH, typed) == 2
    error = capsys.readouterr().err
    assert error.endswith(": a search would choose the luckiest seed; expected one, as in seed=1\n")
    assert error.count("\n") == 1
    assert not Path("search").exists()


def test_what_came_out_of_a_job_is_its_best_value(tmp_path: Path) -> None:
    metric: Monitored = "validation/bleu"
    rows = {step: {metric: value, "validation/loss": value} for step, value in ((1, 3.0), (2, 2.0))}
    write_metrics(tmp_path / "metrics.csv", rows)
    assert outcome(tmp_path, metric)[1] == "the run left no status.json"
    write_json(tmp_path / "status.json", {"status": "finished", "reason": None})
    assert outcome(tmp_path, metric) == (3.0, None)
    assert outcome(tmp_path, "validation/loss") == (2.0, None)


def test_a_search_that_is_resumed_is_the_one_that_was_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a trial of it that is resumed is one run."""
    optuna = pytest.importorskip("optuna", reason="the extra [optuna] is not installed")
    typed = ["hydra.sweeper.n_trials=1", "hydra.sweeper.params={learning_rate: 'interval(0.1,0.2)'}"]
    search = ["-m", "hparams_search=optuna", "hydra.sweep.dir=search", *typed, "optimized_metric=validation/bleu"]
    assert show(monkeypatch, *search) == 0
    (job,) = starts(Path("search"))
    assert show(monkeypatch, f"resume=search/{job}") == 0
    assert starts(Path("search")) == {job: 2}
    assert not Path("multirun").exists()
    assert show(monkeypatch, "-m", "resume=search", "hydra.sweeper.n_trials=2") == 0
    assert show(monkeypatch, "-m", "resume=search") == 0
    study = optuna.load_study(study_name="lookback", storage="sqlite:///search/study.db")
    assert len(study.trials) == 2
    assert all(0.1 <= trial.params["learning_rate"] <= 0.2 for trial in study.trials)
    assert study.direction == optuna.study.StudyDirection.MAXIMIZE
