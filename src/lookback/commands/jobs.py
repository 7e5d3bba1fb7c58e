"""The jobs of a sweep: which of them are left to run, and how they stop."""

import copy
import math
import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
from hydra.core.config_loader import ConfigLoader
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, flag_override, open_dict

from lookback.commands import job_settings
from lookback.common.configs import flattened
from lookback.common.signals import SIGNALS, Interrupted
from lookback.common.visible_text import visible_line
from lookback.runs import Run, read_run
from lookback.runs.arm import with_short_numbers
from lookback.runs.directory import RunDirectory
from lookback.runs.lock import holder, is_locked
from lookback.runs.metrics import best_value
from lookback.runs.status import read_status

if TYPE_CHECKING:
    import optuna

    from lookback.training.schedules import Monitored


@dataclass(frozen=True)
class Job:
    """One job of a sweep, composed.

    Attributes:
        overrides: as Hydra's launchers take them.
        directory: where it runs.
        config: its settings, as the job itself will see them.
    """

    overrides: tuple[str, ...]
    directory: Path
    config: DictConfig

    def plan(self, retry_failed: bool) -> tuple[bool, str]:
        """Whether the job is to run, and why.

        Args:
            retry_failed: whether a job that failed is run again.
        """
        status, reason = read_status(self.directory / "status.json")
        if status == "finished":
            return False, "finished" + (", but its page is missing and is drawn now" if self.lacks_page else "")
        if is_locked(self.directory):
            return False, "another process runs it"
        if status == "failed":
            return retry_failed, f"failed ({reason})" + ("" if retry_failed else ", see hydra.sweeper.retry_failed")
        if RunDirectory(self.directory).last.is_file():
            return True, "goes on from its last checkpoint"
        return True, "new" if status == "unknown" else f"{status} before a checkpoint"

    def settings(self) -> dict[str, Any]:
        """The settings that make it the job that it is, resolved, by their dotted keys."""
        with _as_hydra_config(self.config):
            return flattened("", job_settings(self.config))

    @property
    def lacks_page(self) -> bool:
        """Whether it was stopped after its test, while its page was drawn."""
        run = RunDirectory(self.directory)
        finished = read_status(run.status)[0] == "finished" and (run.test / "results.json").is_file()
        return finished and not (run.path / "report.html").is_file() and not is_locked(run.path)

    def draw_page(self) -> None:
        """Draws its length curve and its page, as its training would have. What fails is one warning."""
        from lookback.report import length_chart, save_chart, write_report
        from lookback.tracking.tolerance import tolerated

        page = self.directory / "report.html"
        with tolerated(str(page), f"`python compare.py runs={self.directory} out={page}` makes it"):
            run = read_run(self.directory)
            save_chart(length_chart([run]), self.directory, "length_curve")
            write_report([run], page)

    def check(self) -> None:
        """Checks all settings, as the job itself will.

        Raises:
            InputError: in one line, for the first setting that does not exist or that is not allowed.
        """
        from lookback.training.settings import check_training

        settings = copy.deepcopy(self.config)
        with _as_hydra_config(self.config), flag_override(settings, ["struct", "readonly"], [False, False]):
            del settings["hydra"]
            check_training(settings)


def outcome(directory: Path, metric: "Monitored") -> tuple[float, str | None]:
    """What came out of a job: its best value of a metric; NaN, and the reason, where it has none."""
    from lookback.training.schedules import BETTER

    status, reason = read_status(directory / "status.json")
    if status != "finished":
        return math.nan, reason or status
    value = best_value(directory / "metrics.csv", metric, BETTER[metric])
    return value, f"{metric} was not logged" if math.isnan(value) else None


def compose_job(loader: ConfigLoader, sweep: DictConfig, overrides: Sequence[str]) -> Job:
    """Composes a job as a launcher does.

    Args:
        loader: Hydra's, of this sweep.
        sweep: the config of the sweep, with ``hydra``.
        overrides: of the job.
    """
    config = loader.load_sweep_config(sweep, list(overrides))
    with _as_hydra_config(config):
        directory = Path(config.hydra.sweep.dir, str(config.hydra.sweep.subdir))
    with flag_override(config.hydra.runtime, "readonly", False), open_dict(config.hydra.runtime):
        config.hydra.runtime.output_dir = str(directory.absolute())
    return Job(tuple(overrides), directory, config)


@contextmanager
def _as_hydra_config(config: DictConfig) -> Iterator[None]:
    """Inside, settings such as names.attention find the choices of this config."""
    before = HydraConfig.instance().cfg
    HydraConfig.instance().set_config(config)
    try:
        yield
    finally:
        HydraConfig.instance().cfg = before


def jobs_left(jobs: Sequence[Job], retry_failed: bool) -> list[Job]:
    """The jobs that are to run, each once. Unless all are new, a line a job says what happens to it.

    A job that is finished but for its page gets it.

    Args:
        jobs: of a sweep.
        retry_failed: whether those that failed run again.
    """
    left: dict[Path, Job] = {}
    lines = []
    for job in jobs:
        runs, why = (False, "the same settings as a job above") if job.directory in left else job.plan(retry_failed)
        if runs:
            left[job.directory] = job
        what = f"{'runs' if runs else 'skipped'}: {why}"
        lines.append(visible_line(f"{job.directory.name}  {what}  {' '.join(job.overrides)}"))
    if len(left) < len(jobs) or any(job.directory.exists() for job in jobs):
        print("\n".join(lines), flush=True)
    for job in jobs:
        if job.lacks_page:
            job.draw_page()
    return list(left.values())


def note_if_all_are_new(jobs: Sequence[Job], directory: Path) -> None:
    """Says so if a sweep goes on in its directory, and yet finds none of the jobs there."""
    others = [path.parent.name for path in directory.glob("*/.hydra")]
    if others and not any(job.directory.exists() for job in jobs):
        jobs_there = f"{len(others)} jobs ({visible_line(others[0])}, …)"
        said = f"none of its {jobs_there} has the settings of one of these; all of these are trained anew"
        print(f"note: {directory}: {said}", flush=True)


@contextmanager
def stopped_together(jobs: Sequence[Job]) -> Iterator[None]:
    """Inside, Ctrl+C or a signal to this process also stops the jobs that other processes on this machine run for it.

    They save and end first, because a launcher kills its processes without waiting for them. The processes are those
    that this one has started: what another sweep runs in the same directories goes on.

    Args:
        jobs: what is launched inside.

    Raises:
        Interrupted: when they have ended.
    """

    def stop(number: int, frame: Any) -> None:
        for each in before:
            signal.signal(each, signal.SIG_IGN)  # what is being saved is not disturbed
        told: set[int] = set()
        while running := _descendants() & {holder(job.directory) for job in jobs}:
            for process in running - told:
                # not print, because the signal may have come in the middle of a print
                os.write(2, f"{signal.Signals(number).name}: stopping the job of process {process}\n".encode())
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGTERM)
            told |= running
            time.sleep(0.1)
        raise Interrupted(number)

    # SIGUSR1 and SIGUSR2 are for a job; and one that this process was started to ignore stays ignored
    handlers = {number: signal.getsignal(number) for number in SIGNALS if not number.name.startswith("SIGUSR")}
    before = {number: handler for number, handler in handlers.items() if handler not in (None, signal.SIG_IGN)}
    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _descendants() -> set[int]:
    """The processes that this one has started, those that they have started, and so on."""
    return {process.pid for process in psutil.Process().children(recursive=True)}


def draw_search(study: "optuna.Study", directory: Path, metric: str) -> None:
    """Draws the trials of a search: search.svg and its kin in the sweep's directory; nothing if none has a value.

    Args:
        study: Optuna's.
        directory: of the sweep.
        metric: what was optimized.
    """
    from lookback.report import save_chart, search_chart

    values = {trial.number: trial.value for trial in study.trials if trial.value is not None}
    if values:
        for path in save_chart(search_chart(values, metric, study.direction.name.lower()), directory, "search"):
            print(f"wrote {path}", flush=True)


def best_in_words(runs: Sequence[Run], metric: "Monitored", seed: int) -> str:
    """What came out of a search: which of its runs is the best, and what to type to translate with it.

    Args:
        runs: of the search.
        metric: what was optimized.
        seed: of the proposals.
    """
    from lookback.training.schedules import BETTER

    found = [(outcome(run.directory, metric)[0], run) for run in runs]
    known = [pair for pair in found if not math.isnan(pair[0])]
    if not known:
        return "search: no trial has a value"
    better = max if BETTER[metric] == "max" else min
    value, best = better(known, key=lambda pair: pair[0])
    name = with_short_numbers({run.arm for run in runs})[best.arm]
    return (
        f"search: the best of {len(runs)} is {best.directory} ({name}): {metric} {value:.4f} "
        f"(seed={best.seed}, hydra.sweeper.seed={seed})\n"
        f"translate: python translate.py run={best.directory} < input.txt"
    )
