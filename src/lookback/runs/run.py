"""Run directories and evaluations, read back: what was asked for, how it ended, and its numbers."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lookback.common.configs import flattened, with_present_targets
from lookback.common.errors import InputError
from lookback.common.visible_text import visible
from lookback.common.yaml_files import read_keys
from lookback.runs.arm import arm_name, chosen
from lookback.runs.results import read_results
from lookback.runs.schema import Results
from lookback.runs.status import read_status

EVALUATION = "evaluation.yaml"
"""In the directory of an evaluation: the config of the run that was scored, as it was tested"""


@dataclass(frozen=True)
class Run:
    """One run directory, or an evaluation of a run on other text, as a report sees it."""

    directory: Path
    arm: str
    """What it is called in a comparison; runs of one arm differ in their seeds"""
    attention: str | None
    """As typed; None for what another system wrote, and where it is not known"""
    seed: int | None
    status: str
    """running, finished, failed or interrupted; "unknown" where the run left no status.json"""
    reason: str | None
    """Why it failed"""
    results: Results | None
    """results.json (`lookback.runs.SCHEMA`); None where the test set was not scored, see `read_scores`"""
    config: Mapping[str, Any]
    """The composed config that the results belong to, interpolations as written"""

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The config's values by their dotted keys, such as `encoder.layers`."""
        found = flattened("", with_present_targets(self.config))
        found = {visible(key): visible(value) if isinstance(value, str) else value for key, value in found.items()}
        # what another key says; but whether the rate is the attention's is told by how it is written
        found = {key: _followed(value, found) if key != "optimizer.lr" else value for key, value in found.items()}
        found.pop("query_state", None)  # acts through decoder.query alone
        if "learning_rate" not in found:
            return found
        # as all runs were before there was a choice
        earlier = {"loss.normalize": "tokens", "loss.coverage": 0.0, "scheduled_sampling": 0.0, "parameters": None}
        if found.get("decoder._target_") == "lookback.nn.RecurrentDecoder":
            earlier["decoder.looks"] = "top"
        return {**earlier, **found}

    @cached_property
    def recipe(self) -> str:
        """Whose settings it has: the name that its config gives the arm, as `experiment=cho2014` does, or else that of
        the model that was chosen, or the attention. A setting that it brings with it, such as its paper's query state,
        is no difference to report."""
        given = _given(self.config, "recipe") or _given(self.config, "arm")
        return given or chosen(self.directory, "model") or self.attention or self.arm

    @property
    def scored_in(self) -> Path:
        """The directory of its results, predictions and counts."""
        return self.directory if is_evaluation(self.directory) else self.directory / "test"

    @property
    def is_training(self) -> bool:
        """Whether it is a training of lookback's, and not what another system wrote."""
        return self.seed is not None or bool(self.config)

    @property
    def bleu(self) -> float | None:
        """BLEU of the whole test set; None without a score."""
        return self.results["bleu"] if self.results else None


def _followed(value: Any, settings: Mapping[str, Any]) -> Any:
    """The value that `${other.key}` stands for, where there is such a key."""
    for _ in settings:
        if not (isinstance(value, str) and value.startswith("${") and value[2:-1] in settings):
            break
        value = settings[value[2:-1]]
    return value


def read_run(directory: Path | str) -> Run:
    """Read one run directory, or an evaluation, whose config is that of its run.

    Raises `InputError` where it is neither, or where a file in it is not what it should be.
    """
    directory = Path(directory)
    if is_evaluation(directory):
        if not (directory / "results.json").exists():
            raise InputError(f"{directory}: no results.json beside {EVALUATION}; expected an evaluation that ended")
        config, found = read_keys(directory / EVALUATION), read_results(directory / "results.json")
        return Run(directory, found["arm"], found["attention"], found["seed"], "finished", None, found, config)
    if not is_run(directory):
        raise InputError(f"{directory}: expected a run directory (there is no .hydra/config.yaml in it)")
    config = read_keys(directory / ".hydra" / "config.yaml")
    status, reason = read_status(directory / "status.json")
    if results := read_scores(directory):
        tested = directory / "test" / "config.yaml"
        # Hydra writes its own as soon as a command is typed, whether or not a training follows
        config = read_keys(tested) if tested.exists() else config
        return Run(directory, results["arm"], results["attention"], results["seed"], status, reason, results, config)
    attention = _given(config, "attention") or chosen(directory, "attention")
    arm = _given(config, "arm") or arm_name(directory, attention or "?")
    seed = config.get("seed")
    return Run(directory, arm, attention, seed if isinstance(seed, int) else None, status, reason, None, config)


def read_scores(directory: Path) -> Results | None:
    """A run's results.json; None where it has none of its present state.

    What is in `test/` stays there while a training is made longer, until a test of the longer training replaces it. So
    the results of a run that is not finished are those of an earlier training, or of no training to its end.
    """
    path = directory / "test" / "results.json"
    status, _ = read_status(directory / "status.json")
    return read_results(path) if status in ("finished", "unknown") and path.exists() else None


def read_runs(directories: Iterable[Path | str]) -> list[Run]:
    """Read every run that the entries name, each once: a run directory, a sweep with runs inside, an evaluation, or a
    directory that has evaluations inside and no run.

    Raises `InputError` for an entry that is neither, and for a run that cannot be read.
    """
    found: dict[Path, Path] = {}
    for entry in map(Path, directories):
        if not entry.is_dir():
            raise InputError(
                f"{entry}: no such directory; expected a run directory, an evaluation, or a directory with such inside"
            )
        alone = is_run(entry) or is_evaluation(entry)
        inside = [entry] if alone else runs_inside(entry) or _evaluations_inside(entry)
        if not inside:
            raise InputError(
                f"{entry}: neither a run directory (.hydra/config.yaml) nor an evaluation ({EVALUATION}) "
                "nor a directory with such inside"
            )
        for directory in inside:
            found.setdefault(directory.resolve(), directory)
    return [read_run(directory) for directory in found.values()]


def runs_inside(directory: Path | str) -> list[Path]:
    """The run directories below a sweep's directory, in the order of their names, 2 before 10."""
    configs = Path(directory).glob("**/.hydra/config.yaml")
    return sorted((config.parent.parent for config in configs), key=lambda path: natural(str(path)))


def _evaluations_inside(directory: Path) -> list[Path]:
    return sorted((file.parent for file in directory.glob(f"**/{EVALUATION}")), key=lambda path: natural(str(path)))


def training_limit(run: Run) -> int | None:
    """Words of the longest source that the run was trained on; None without a limit.

    It is `data.train_max_length`. Where that is not set it is `data.max_length`: a corpus with such a setting makes no
    longer sentence.
    """
    data = run.config.get("data")
    if not isinstance(data, Mapping):
        return None
    limit = data.get("train_max_length") or data.get("max_length")
    return limit if isinstance(limit, int) else None


def is_run(directory: Path) -> bool:
    """Whether a run left its config there."""
    return (directory / ".hydra" / "config.yaml").is_file()


def is_evaluation(directory: Path) -> bool:
    """Whether `evaluate.py` scored a run there."""
    return not is_run(directory) and (directory / EVALUATION).is_file()


def _given(config: Mapping[str, Any], key: str) -> str | None:
    """A name that the config gives itself under `names`; None for one that is taken from what was chosen."""
    names = config.get("names")
    name = names.get(key) if isinstance(names, Mapping) else None
    return visible(name) if isinstance(name, str) and "${" not in name else None


def natural(text: str) -> list[tuple[str, float]]:
    """A key to sort texts by, 2 before 10 and 0.002 before 0.01."""
    return [(between, float(number or 0)) for between, number in re.findall(r"(\D*)(\d+(?:\.\d+)?)?", text)]
