"""Whole trainings inside the test process: a config composed as by the command line, and trained in a directory."""

import gzip
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import hydra
import pytest
import torch
from hydra.core.hydra_config import HydraConfig
from lightning import Callback, LightningModule, Trainer
from omegaconf import DictConfig, flag_override

from lookback.common.signals import Interrupted
from lookback.training.build import build_module
from lookback.training.module import TranslationModule
from lookback.translation.translator import Translator
from support.composing import remember
from support.paths import PROJECT

# what is prepared is kept away from the user's own cache, and `datasets` looks once, when it is imported
_PREPARED = tempfile.TemporaryDirectory(prefix="lookback-tests-", ignore_cleanup_errors=True)
os.environ["HF_DATASETS_CACHE"] = _PREPARED.name

torch.set_num_threads(1)  # for tensors this small a second thread only waits, and it waits by spinning

remember()

CONF = PROJECT / "conf"

TINY_DATA = [
    "data.train_pairs=48",
    "data.validation_pairs=12",
    "data.test_pairs=24",
    "data.train_max_length=12",
    "data.max_length=14",
    "data.lexicon=small",
]
TINY_MODEL = [
    "encoder.embedding_size=8",
    "encoder.hidden_size=6",
    "decoder.embedding_size=8",
    "decoder.hidden_size=12",
    "decoder.readout_size=8",
]
TINY_TRANSFORMER = [
    *(f"{side}.{size}" for side in ("encoder", "decoder") for size in ("hidden_size=12", "heads=2", "layers=1")),
    *(f"{side}.feed_forward_size=8" for side in ("encoder", "decoder")),
]
TINY_TRAINING = [
    "logger=csv",
    "batch.size=16",
    "trainer.accelerator=cpu",
    "trainer.max_epochs=1",
    "trainer.log_every_n_steps=1",
    "trainer.check_val_every_n_epoch=1",
    "validation_sentences=8",
    # what has hardly learnt writes up to its limit, and the steps of a search are a quarter of so small a training
    "search.limit_factor=1.5",
    "search.limit_extra=1",
]


def compose(directory: Path | str, *overrides: str, tiny_data: bool = True, tiny: bool = True) -> DictConfig:
    """What `python train.py hydra.run.dir=DIRECTORY OVERRIDES` trains: a tiny run, on the grammar unless overridden."""
    sizes = [*(TINY_DATA if tiny_data else []), *_tiny_model(overrides), *TINY_TRAINING] if tiny else []
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        config = hydra.compose(
            "train",
            [*sizes, *overrides, f"hydra.runtime.output_dir='{directory}'"],
            return_hydra_config=True,
        )
    HydraConfig.instance().set_config(config)
    with flag_override(config, ["struct", "readonly"], [False, False]):
        del config["hydra"]
    return config


def _tiny_model(overrides: Sequence[str]) -> Iterator[str]:
    """The sizes of both sides, each recurrent or a Transformer's."""
    chosen = dict(override.split("=", 1) for override in overrides if "=" in override)
    wholes = {"model": ("transformer",), "experiment": ("transformer_small", "vaswani2017")}
    of_both = any(chosen.get(group) in names for group, names in wholes.items())
    for side in ("encoder", "decoder"):
        is_transformer = of_both or chosen.get(side) == "transformer"
        yield from (size for size in (TINY_TRANSFORMER if is_transformer else TINY_MODEL) if size.startswith(side))


def run(
    directory: Path | str, *overrides: str, tiny_data: bool = True, drawn: bool = False, counted: bool = False
) -> dict[str, Any]:
    """Train it; what results.json holds. Unless ``drawn``, without chart and page: three quarters of so small a run."""
    from lookback.training.fit import train

    with pytest.MonkeyPatch.context() as patch:
        # a third of a second, half of so small a training; tests/training/test_looks.py and the commands count
        if not counted:
            patch.setattr("lookback.training.callbacks.cost.flops_per_token", lambda model: 1e6)
        if not drawn:
            patch.setattr("lookback.report.save_chart", lambda chart, folder, name: [])
            patch.setattr("lookback.report.write_report", lambda runs, path: path)
        return train(compose(directory, *overrides, tiny_data=tiny_data), directory)


def translate_file(directory: Path, source: Path, *overrides: str) -> None:
    """What `python translate.py run=DIRECTORY input=SOURCE OVERRIDES` does."""
    from lookback.commands.translate import translate

    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        config = hydra.compose("translate", [f"run='{directory}'", f"input='{source}'", *overrides])
    translate(config)


def translated(capsys: pytest.CaptureFixture[str], directory: Path, source: Path, *overrides: str) -> list[str]:
    """The lines that it prints."""
    capsys.readouterr()
    translate_file(directory, source, *overrides)
    text = capsys.readouterr().out
    assert text.endswith("\n")
    return text.removesuffix("\n").split("\n")


class Interrupt(Callback):
    """Ends a training in an update, as a kill does: nothing is saved any more.

    `+callbacks.interrupt={_target_: support.running.Interrupt, update: 4}`.
    """

    def __init__(self, update: int) -> None:
        self.update = update

    def on_before_backward(self, trainer: Trainer, module: LightningModule, loss: Any) -> None:
        if trainer.global_step == self.update:
            raise Interrupted(signal.SIGINT)


class Send(Callback):
    """Sends a rank a signal, once: the n-th time that Lightning calls a hook.

    `+callbacks.send={_target_: support.running.Send, signal: SIGTERM, hook: on_validation_batch_end, n: 2}`.
    """

    def __init__(self, signal: str, hook: str, n: int, rank: int = 0) -> None:
        self.left = n
        self.signal = signal
        self.rank = rank
        setattr(self, hook, self._called)

    def _called(self, trainer: Trainer, *_: Any, **__: Any) -> None:
        self.left -= 1
        if (self.left, trainer.global_rank) == (0, self.rank):
            os.kill(os.getpid(), getattr(signal, self.signal))


class Double(Callback):
    """Trains in float64, where sums in another order give the same numbers."""

    def setup(self, trainer: Trainer, module: LightningModule, stage: str) -> None:
        module.double()


class Fault(Callback):
    """An error of the program at the beginning of an update of a rank."""

    def __init__(self, update: int, rank: int = 0) -> None:
        self.update = update
        self.rank = rank

    def on_train_batch_start(self, trainer: Trainer, module: LightningModule, batch: Any, batch_idx: int) -> None:
        if (trainer.global_step, trainer.global_rank) == (self.update, self.rank):
            raise RuntimeError("on purpose")


class Modules(Callback):
    """Writes down which modules are there when the first update is made."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    def on_before_optimizer_step(self, trainer: Trainer, *_: Any) -> None:
        if trainer.global_step == 0:
            self.path.write_text(" ".join(sys.modules))


def modules_after(code: str) -> set[str]:
    """What a process of its own has imported after some lines of Python."""
    line = [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"]
    return set(subprocess.run(line, capture_output=True, text=True, check=True, timeout=240).stdout.split())


class Clock:
    """A clock that goes on when it is told to, to stand for the module `time` in another module."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


class Ticks(Callback):
    """Lets a clock go on, by so many seconds: in each update, between two batches, and in each validation."""

    clock = Clock()

    def __init__(self, update: float, reading: float = 0.0, validation: float = 0.0) -> None:
        self.update = update
        self.reading = reading
        self.validation = validation

    def on_before_backward(self, *_: Any) -> None:
        self.clock.now += self.update

    def on_train_batch_end(self, *_: Any) -> None:
        self.clock.now += self.reading

    def on_validation_batch_end(self, *_: Any) -> None:
        self.clock.now += self.validation


def ticks(**seconds: float) -> str:
    """An override: `Ticks` among the callbacks."""
    arguments = ", ".join(f"{at}: {each}" for at, each in seconds.items())
    return f"+callbacks.ticks={{_target_: support.running.Ticks, {arguments}}}"


def choices(group: str) -> list[str]:
    """The files of a config group."""
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def numbers(results: dict[str, Any]) -> dict[str, Any]:
    """Results without what the clock and the machine decide."""
    kept = {key: value for key, value in results.items() if key not in ("git", "versions")}
    kept["cost"] = {key: results["cost"][key] for key in ("parameters", "updates", "target_tokens")}
    return kept


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of what a training costs and of the lines it says: `ticks` alone lets it go on."""
    monkeypatch.setattr(Ticks, "clock", Clock())
    for module in ("cost", "progress"):
        monkeypatch.setattr(f"lookback.training.callbacks.{module}.time", Ticks.clock)
    return Ticks.clock


@pytest.fixture(scope="session")
def grammar_cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An override that keeps the built-in corpus in one folder for all tests, away from the user's own."""
    return f"data.cache='{tmp_path_factory.mktemp('grammar')}'"


@pytest.fixture(scope="session")
def text_files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Overrides that name a corpus of small text files: digits, to be copied. The training files are gzipped."""
    folder = tmp_path_factory.mktemp("text")
    files = copy_task(folder, {"train": 40, "validation": 8, "test": 10}, 1, 6)
    return ["data=text", "data.bleu_tokenize=none", *files]


def copy_task(folder: Path, pairs: dict[str, int], shortest: int, longest: int) -> list[str]:
    """Write strings of digits and their copies as aligned files; the overrides that name them. Lengths are even."""
    random = Random(1)
    overrides = []
    for split, count in pairs.items():
        lengths = [shortest + i % (longest - shortest + 1) for i in range(count)]
        text = "".join(" ".join(random.choices("0123456789", k=length)) + "\n" for length in lengths)
        for side in ("source", "target"):
            path = folder / f"{split}.{side}{'.gz' if split == 'train' else ''}"
            path.write_bytes(gzip.compress(text.encode()) if split == "train" else text.encode())
            overrides.append(f"data.{split}.{side}='{path}'")
    return overrides


class Trained(Translator):
    """A trained run with Lightning's module, too: what a test asks for that looks at a training."""

    module: TranslationModule

    @classmethod
    def load(cls, path: Path | str, *settings: Any) -> "Trained":
        trained = super().load(path, "cpu", *settings)
        assert isinstance(trained, cls)
        trained.module = build_module(
            trained.config, trained.source_tokenizer, trained.target_tokenizer, "none", trained.model
        )
        trained.module.eval()
        return trained
