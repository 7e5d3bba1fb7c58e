"""The sweepers: a grid, and a search by Optuna. Hydra takes plugins from the package ``hydra_plugins`` alone."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from lookback.common.checks import Seed, Size, Text, checked, fits, refusal

if TYPE_CHECKING:
    import optuna

    from lookback.commands.jobs import Job
    from lookback.commands.study import Search


class JobSweeper(Sweeper):
    """What the sweepers share: they compose each job themselves, and give launchers only those that are left to run.

    Args:
        params: what is varied besides the arguments, ``{key: "a,b,c"}``.
    """

    def __init__(self, params: Mapping[str, Any] | None) -> None:
        self.params = params or {}

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        _check_installed(config)
        self.context = hydra_context
        self.config: DictConfig = config
        self.launcher: Launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )
        self.directory = Path(config.hydra.sweep.dir)
        self._launched = 0

    def parse(self, arguments: Sequence[str]) -> list[Override]:
        """The overrides of ``params`` and of the arguments, one a key: the last one counts."""
        parser = OverridesParser.create(config_loader=self.context.config_loader)
        parsed = parser.parse_overrides([*(f"{key}={value}" for key, value in self.params.items()), *arguments])
        return list({override.get_key_element(): override for override in parsed}.values())

    def leave_what_was_typed(self) -> None:
        """Writes multirun.yaml: arms are named after it, and ``resume=`` reads it."""
        from lookback.common.files import atomic_write

        with atomic_write(self.directory / "multirun.yaml") as file:
            file.write(OmegaConf.to_yaml(self.config).encode())

    def compose(self, overrides: Sequence[str]) -> "Job":
        """A job of these overrides, as the launcher will compose it."""
        from lookback.commands.jobs import compose_job

        return compose_job(self.context.config_loader, self.config, overrides)

    def launch(self, jobs: "Sequence[Job]") -> None:
        """Runs jobs, as many at a time as the launcher does. What came out of them is in their directories.

        If this process is stopped, its jobs are stopped with it, but for those of submitit, which go on by themselves.
        """
        from lookback.commands.jobs import stopped_together

        go_on = self.config.hydra.launcher._target_.startswith("hydra_plugins.hydra_submitit_launcher.")
        if go_on:
            said = "these jobs go on if this command is stopped; the same one makes the report when they have ended"
            print(said, flush=True)
        with stopped_together([] if go_on else jobs):
            returns: Sequence[JobReturn] = self.launcher.launch([job.overrides for job in jobs], self._launched)
        self._launched += len(jobs)
        for each in returns:
            _ = each.return_value  # raises the error of a job that could not even be started


@checked
class GridSweeper(JobSweeper):
    """Every combination of the values. Jobs that the sweep's directory has already are not run again.

    All jobs are composed and checked before the first one trains. Finished jobs are left as they are,
    interrupted ones go on, and of two jobs with the same settings one runs.

    Args:
        params: as in ``JobSweeper``.
        max_batch_size: how many jobs the launcher gets at once; None: all.
        retry_failed: whether jobs that failed are run again.
    """

    def __init__(
        self,
        params: Mapping[str, Any] | None = None,
        max_batch_size: Size | None = None,
        retry_failed: bool = False,
    ) -> None:
        super().__init__(params)
        self.max_batch_size = max_batch_size
        self.retry_failed = retry_failed

    def sweep(self, arguments: list[str]) -> None:
        from hydra._internal.core_plugins.basic_sweeper import BasicSweeper

        from lookback.commands.jobs import jobs_left, note_if_all_are_new

        (grid,) = BasicSweeper.split_arguments(self.parse(arguments), None)
        jobs = [self.compose(overrides) for overrides in grid]
        for job in jobs:
            job.check()
        note_if_all_are_new(jobs, self.directory)
        self.leave_what_was_typed()
        left = jobs_left(jobs, self.retry_failed)
        print(f"{len(left)} of {len(jobs)} jobs are to run in {self.directory}", flush=True)
        for first in range(0, len(left), self.max_batch_size or len(left) or 1):
            self.launch(left[first : first + (self.max_batch_size or len(left))])


@checked
class OptunaSweeper(JobSweeper):
    """A search for settings: Optuna proposes each trial from what came out of those before.

    What counts of a trial is its best ``optimized_metric``. All that is typed, each choice and each end of an interval
    are checked before the first trial. All trials have one seed.

    The study is in a database, so a search that is started again goes on where it was: trials are not repeated, and
    those that were interrupted are asked for again with the settings that they had, so that their runs go on. Another
    metric, space, setting or sampler is another search, and is refused. A trial that fails is recorded as failed, with
    the reason, and the search goes on.

    Args:
        params: what is varied besides the arguments: ``{learning_rate: "tag(log, interval(0.001, 0.02))"}``.
        storage: the URL of the database, such as ``sqlite:///study.db``.
        study_name: of the study in the database.
        n_trials: in all, those of earlier starts included.
        n_jobs: trials that the launcher gets at once.
        sampler: makes an Optuna sampler from a seed; its own numbers and switches are checked by their defaults.
        seed: of the proposals. They depend on it and on the trials before, not on how often the search was started.
    """

    def __init__(
        self,
        params: Mapping[str, Any] | None,
        storage: Text,
        study_name: Text,
        n_trials: Size,
        n_jobs: Size,
        sampler: Callable[..., Any],
        seed: Seed,
    ) -> None:
        super().__init__(params)
        _check_sampler(sampler)
        self.storage = storage
        self.study_name = study_name
        self.n_trials = n_trials
        self.n_jobs = n_jobs
        self.sampler = sampler
        self.seed = seed

    def sweep(self, arguments: list[str]) -> None:
        import optuna

        from lookback.commands.jobs import draw_search
        from lookback.commands.study import counted, open_study, study_errors

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        overrides = self.parse(arguments)
        fixed = [override.input_line or "" for override in overrides if not override.is_sweep_override()]
        varied = [override for override in overrides if override.is_sweep_override()]
        _check_seed(varied)
        space = {override.get_key_element(): _distribution(override) for override in varied}
        edges = [self._job(fixed, params) for params in _edges(space)]
        for job in edges:
            job.check()
        self.directory.mkdir(parents=True, exist_ok=True)
        with study_errors(self.storage):
            study = open_study(self.storage, self.study_name, self._search(edges[0], space))
            self.leave_what_was_typed()
            self._ask_again(study, fixed)
            while (left := self.n_trials - sum(trial.state.is_finished() for trial in counted(study))) > 0:
                trials = [self._ask(study, space) for _ in range(min(left, self.n_jobs))]
                self._run([(trial, self._job(fixed, trial.params)) for trial in trials], study)
            draw_search(study, self.directory, edges[0].config.optimized_metric)

    def _search(self, first: "Job", space: "Mapping[str, optuna.distributions.BaseDistribution]") -> "Search":
        """What the search is about, by the job of the first settings in its space."""
        from lookback.commands.study import in_words
        from lookback.common.configs import flattened

        varied = {key.lstrip("+"): in_words(of) for key, of in space.items()}
        sampler = OmegaConf.to_container(self.config.hydra.sweeper.sampler)
        proposals = flattened("hydra.sweeper", {"seed": self.seed, "sampler": sampler})
        metric, choices = first.config.optimized_metric, first.config.hydra.runtime.choices
        return {
            # what is varied comes first, because other settings may follow from it
            "settings": {"optimized_metric": metric, **varied, **proposals, **first.settings(), **varied},
            "choices": {group: choice for group, choice in choices.items() if not group.startswith("hydra/")},
        }

    def _job(self, fixed: Sequence[str], params: Mapping[str, Any]) -> "Job":
        return self.compose([*fixed, *(f"{key}={value}" for key, value in params.items())])

    def _ask(self, study: "optuna.Study", space: "dict[str, optuna.distributions.BaseDistribution]") -> "optuna.Trial":
        from lookback.commands.study import counted

        study.sampler = self.sampler(seed=self.seed + len(counted(study)))
        return study.ask(space)

    def _ask_again(self, study: "optuna.Study", fixed: Sequence[str]) -> None:
        """Puts the trials of a search that was killed into the queue, but for those that another process runs."""
        from optuna.trial import TrialState

        from lookback.runs.lock import is_locked

        for trial in study.get_trials(states=(TrialState.RUNNING,)):
            if not is_locked(self._job(fixed, trial.params).directory):
                study.tell(trial.number, state=TrialState.FAIL)
                study.enqueue_trial(trial.params)

    def _run(self, proposed: "Sequence[tuple[optuna.Trial, Job]]", study: "optuna.Study") -> None:
        """Runs the jobs of trials, and tells the study what came out of them."""
        from optuna.trial import TrialState

        from lookback.commands.jobs import jobs_left, outcome
        from lookback.common.visible_text import visible_line

        left = jobs_left([job for _, job in proposed], retry_failed=False)
        if left:
            self.launch(left)
        for trial, job in proposed:
            metric = job.config.optimized_metric
            value, reason = outcome(job.directory, metric)
            if math.isnan(value):
                trial.set_user_attr("reason", reason)
                study.tell(trial, state=TrialState.FAIL)
            else:
                study.tell(trial, value)
            said = f"failed ({reason})" if math.isnan(value) else f"{metric} {value:.4f}"
            settings = "  ".join(
                f"{key}={chosen:.4g}" if isinstance(chosen, float) else f"{key}={chosen}"
                for key, chosen in trial.params.items()
            )
            print(visible_line(f"{job.directory.name}  {said}  {settings}"), flush=True)


def _check_sampler(sampler: Callable[..., Any]) -> None:
    """Checks the arguments of a sampler. Optuna's annotations cannot be read while it runs, so defaults say the types.

    Raises:
        ValueError: for the first argument of another type.
    """
    if isinstance(sampler, partial):
        for name, value in sampler.keywords.items():
            kind = type(signature(sampler.func).parameters[name].default)
            if kind in (bool, int, float) and not fits(value, kind):
                raise ValueError(refusal(f"sampler.{name}", value, kind))


def _edges(space: "Mapping[str, optuna.distributions.BaseDistribution]") -> Iterator[dict[str, Any]]:
    """Settings of a space in which each choice and each end of an interval comes up."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    edges: dict[str, list[Any]] = {}
    for key, of in space.items():
        if isinstance(of, CategoricalDistribution):
            edges[key] = list(of.choices)
        else:
            assert isinstance(of, FloatDistribution | IntDistribution)
            edges[key] = [of.low, of.high]
    for place in range(max((len(values) for values in edges.values()), default=1)):
        yield {key: values[place % len(values)] for key, values in edges.items()}


def _distribution(override: Override) -> "optuna.distributions.BaseDistribution":
    """What Optuna chooses from, for a value such as ``a,b,c``, ``range(1,5)`` or ``tag(log, interval(0.001, 0.1))``."""
    from hydra.core.override_parser.types import IntervalSweep
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    value = override.value()
    if isinstance(value, IntervalSweep):
        low, high = value.start, value.end
        assert low is not None
        assert high is not None
        if isinstance(low, int) and isinstance(high, int):
            return IntDistribution(low, high, log="log" in value.tags)
        return FloatDistribution(low, high, log="log" in value.tags)
    return CategoricalDistribution(list(override.sweep_string_iterator()))


def _check_seed(varied: Sequence[Override]) -> None:
    """Checks that a search has one seed: the best of several would be the luckiest.

    Raises:
        InputError: if it has several.
    """
    from lookback.common.errors import InputError

    for override in varied:
        if override.key_or_group == "seed":
            raise InputError(
                f"{override.input_line}: a search would choose the luckiest seed; expected one, as in seed=1"
            )


def _check_installed(config: DictConfig) -> None:
    """Checks that the launcher and the sweeper that were chosen are installed.

    Raises:
        InputError: if one is not; the message says how to install it.
    """
    from lookback.common.errors import InputError

    for kind, package, extra in (
        ("launcher", "hydra_plugins.hydra_joblib_launcher", "joblib"),
        ("launcher", "hydra_plugins.hydra_submitit_launcher", "submitit"),
        ("launcher", "hydra_plugins.hydra_ray_launcher", "ray"),
        ("sweeper", "optuna", "optuna"),
    ):
        chosen = config.hydra[kind]._target_
        needed = chosen.startswith(f"{package}.") or (package == "optuna" and chosen.endswith(".OptunaSweeper"))
        if needed and find_spec(package) is None:
            choice = config.hydra.runtime.choices[f"hydra/{kind}"]
            raise InputError(
                f'hydra/{kind}={choice}: {package} is not installed; expected pip install -e ".[{extra}]" before it'
            )
