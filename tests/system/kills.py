"""Trainings that are killed and resumed, and compared with trainings that were never stopped.

    python tests/system/kills.py --count 200 --seed 1 --out kills.csv

Each trial trains a tiny translator in a fork of this process. A signal stops it at a moment that is drawn: before or
after any hook of Lightning, before a file of the run is opened, in the middle of its writing, before it is renamed or
removed, or at a random time. Its last checkpoint may then be torn. It is resumed, perhaps stopped again, and in the end
compared with a training that never stopped: weights, optimizer, metrics.csv, predictions, results. Temporary files are
on another file system (``--tmp``).

The moments are not listed here. A first run of each setting collects them, with Python's audit events and from the
functions with which Lightning calls its hooks.
"""

import argparse
import csv
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
if str(TESTS) not in sys.path:
    sys.path[:0] = [str(TESTS), str(TESTS.parent / "src")]

from lookback.runs.status import read_status  # noqa: E402 - the path is set above
from support.running import compose, numbers, run  # noqa: E402
from support.trainings import make_stream, timeless  # noqa: E402

SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2")
CHOICES = {
    "attention": ("none", "bahdanau", "dot", "general"),
    "cell": ("gru", "lstm"),
    "precision": ("32-true", "bf16-mixed"),
    "schedule": ("cosine", "luong", "plateau"),
    "data": ("epochs", "accumulated", "steps", "stream"),
    "early_stopping": (False, True),
}
"""What a setting of a training is drawn from."""
_DATA = {
    "epochs": ("trainer.max_epochs=3",),
    "accumulated": (
        "trainer.max_epochs=4",
        "trainer.accumulate_grad_batches=2",
        "trainer.check_val_every_n_epoch=null",
        "trainer.val_check_interval=4",
    ),
    "steps": ("trainer.max_epochs=-1", "trainer.max_steps=10", "trainer.check_val_every_n_epoch=2"),
    "stream": ("trainer.max_steps=10", "trainer.val_check_interval=4", "batch.shuffle_buffer=17"),
}


@dataclass(frozen=True)
class Stop:
    """A signal and its moment: the n-th time that it is reached. An empty moment is a time, in seconds.

    Afterwards the last checkpoint may be torn, as by a disk that lost what it had taken.
    """

    signal: str
    moment: str
    n: int = 1
    seconds: float = 0.0
    tears: bool = False

    def __str__(self) -> str:
        at = f"{self.moment} ({self.n})" if self.moment else f"after {self.seconds:.2f} s"
        return f"{self.signal} {at}" + (", last.ckpt torn" if self.tears else "")


_TORN = (
    Stop("SIGKILL", "half checkpoints/last.ckpt"),
    Stop("SIGKILL", "os.rename checkpoints/last.ckpt"),
    Stop("SIGKILL", "os.rename checkpoints/best.ckpt"),
    Stop("SIGKILL", "os.rename metrics.csv"),
)
"""The first trial: killed inside the writing of a checkpoint, and between writing and renaming."""
_COMPARED = ("test/predictions.jsonl", "test/alignments.npz", "test/budgets.npz")


@dataclass(frozen=True)
class Setting:
    """What is trained."""

    attention: str
    cell: str
    precision: str
    schedule: str
    data: str
    early_stopping: bool

    @classmethod
    def drawn(cls, dice: random.Random) -> "Setting":
        return cls(**{name: dice.choice(values) for name, values in CHOICES.items()})

    def overrides(self) -> list[str]:
        return [
            f"attention={self.attention}",
            f"encoder={self.cell}",
            f"decoder={self.cell}",
            f"trainer.precision={self.precision}",
            f"scheduler={self.schedule}",
            *(["scheduler.patience=0"] if self.schedule == "plateau" else []),
            *(["callbacks=early_stopping"] if self.early_stopping else []),
            "encoder.dropout=0.2",
            "optimizer.lr=0.05",
            *_DATA[self.data],
        ]


@dataclass(frozen=True)
class Ended:
    """How a fork ended.

    Attributes:
        code: its exit code, or minus the number of the signal that ended it.
        seconds: from the signal to the end; from the start where there was none.
        update: the update at which the signal came; None where that is not known.
        sent: whether the moment of the signal was reached.
        finished: whether the run was finished when the signal came.
        began: whether the run began: before that, a signal leaves what was there.
        said: what it printed.
    """

    code: int
    seconds: float
    update: int | None
    sent: bool
    finished: bool
    began: bool
    said: str


@dataclass(frozen=True)
class Trial:
    """A row of the table: what was stopped how, and what then differed from a training that never stopped."""

    trial: int
    attention: str
    cell: str
    precision: str
    schedule: str
    data: str
    early_stopping: bool
    stops: str
    exits: str
    seconds_to_exit: str
    updates_lost: str
    differs: str


class Moments:
    """Counts the moments that this process reaches, and does something at one of them.

    Args:
        root: the run directory, whose files are watched.
        reached: is called with the moment, how often it was reached, and the update.
    """

    def __init__(self, root: Path, reached: Callable[[str, int, int | None], None]) -> None:
        self.counts: Counter[str] = Counter()
        self._root = root
        self._reached = reached
        self._update: int | None = None
        self._watch_hooks()
        sys.addaudithook(self._audit)

    def at(self, moment: str) -> None:
        self.counts[moment] += 1
        self._reached(moment, self.counts[moment], self._update)

    def _watch_hooks(self) -> None:
        from lightning.pytorch.trainer import call

        for kind in ("callback", "lightning_module", "strategy"):
            name = f"_call_{kind}_hook" + ("s" if kind == "callback" else "")
            setattr(call, name, self._watched(kind, getattr(call, name)))

    def _watched(self, kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def watched(trainer: Any, hook: str, *arguments: Any, **named: Any) -> Any:
            self._update = trainer.global_step if trainer.state.fn == "fit" else None
            self.at(f"before {kind}.{hook}")
            result = function(trainer, hook, *arguments, **named)
            self._update = trainer.global_step if trainer.state.fn == "fit" else None
            self.at(f"after {kind}.{hook}")
            return result

        return watched

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str):
            mode, flags = arguments[1], arguments[2]
            if set(mode or "") & set("wax+") or (mode is None and flags & (os.O_WRONLY | os.O_RDWR)):
                name = self._name(arguments[0])
                if name:
                    self.at(f"open {name}")
                    self.at(f"half {name}")
        elif event in ("os.rename", "os.remove") and (name := self._name(arguments[0])):
            self.at(f"{event} {name}")

    def _name(self, path: Any) -> str | None:
        """What a file in the run directory will be called once it is whole."""
        path = Path(os.fspath(path))
        if not path.is_relative_to(self._root):
            return None
        return re.sub(r"(^|/)\.([^/]+?)\.\d+\.tmp$", r"\1\2", str(path.relative_to(self._root)))


class Harness:
    """Trains in forks.

    Args:
        folder: for the runs.
        temporary: the folder for temporary files, on another file system.
    """

    def __init__(self, folder: Path, temporary: Path) -> None:
        self.folder = folder
        self.temporary = temporary
        self.cache = folder / "cache"
        self._wholes: dict[Setting, tuple[Path, Counter[str], float, dict[str, int]]] = {}

    def whole(self, setting: Setting) -> tuple[Path, Counter[str], float, dict[str, int]]:
        """A run that never stopped: its directory, its moments, its seconds, and the sizes of its files."""
        if setting not in self._wholes:
            directory = self.folder / f"whole{len(self._wholes)}"
            counted = directory.with_suffix(".json")
            start = time.monotonic()
            ended = self._fork(lambda: self._count(setting, directory, counted), directory)
            if ended.code != 0:
                raise RuntimeError(f"{setting} does not train: {ended.said}")
            seconds = time.monotonic() - start
            sizes = {str(path.relative_to(directory)): path.stat().st_size for path in files(directory)}
            self._wholes[setting] = directory, Counter(json.loads(counted.read_text())), seconds, sizes
        return self._wholes[setting]

    def trial(self, number: int, setting: Setting, stops: Sequence[Stop]) -> Trial:
        """Trains, stops and resumes as ``stops`` say, trains to the end, and compares."""
        whole, _, _, sizes = self.whole(setting)
        directory = self.folder / f"trial{number}"
        differs: list[str] = []
        exits, lost, seconds, sent = [], [], [], []
        for stop in stops:
            ended = self._fork(lambda stop=stop: self._train(setting, directory, stop, sizes), directory, stop)
            if not ended.sent and ended.code == 0:  # a run that was resumed late reaches some moments no more
                continue
            sent.append(stop)
            exits.append(ended.code)
            seconds.append(f"{ended.seconds:.2f}")
            differs += wrong_ends(stop, ended, directory)
            held = held_update(directory)
            lost.append("" if ended.update is None else str(max(0, ended.update - held)))
            if stop.tears and held:
                (directory / "checkpoints" / "last.ckpt").write_bytes(b"")
        ended = self._fork(lambda: self._train(setting, directory), directory)
        if ended.code != 0:
            differs.append(f"resume: exit {ended.code}: {ended.said[-2000:]}")
        else:
            differs += differences(directory, whole)
        if not differs:
            shutil.rmtree(directory)
        return Trial(
            number,
            **asdict(setting),
            stops="; ".join(map(str, sent)),
            exits="; ".join(map(str, exits)),
            seconds_to_exit="; ".join(seconds),
            updates_lost="; ".join(lost),
            differs="; ".join(differs),
        )

    def _count(self, setting: Setting, directory: Path, counted: Path) -> None:
        moments = Moments(directory, lambda *_: None)
        self._train(setting, directory)
        counted.write_text(json.dumps(moments.counts))

    def _train(
        self, setting: Setting, directory: Path, stop: Stop | None = None, sizes: dict[str, int] | None = None
    ) -> None:
        if stop is not None and stop.moment:

            def reached(moment: str, n: int, update: int | None) -> None:
                if (moment, n) == (stop.moment, stop.n):
                    self._note(directory, update)
                    send(stop.signal, moment, sizes or {})

            Moments(directory, reached)
        patch = pytest.MonkeyPatch()  # never undone: the process ends after it
        if setting.data == "stream":
            make_stream(patch)
        run(directory, f"data.cache='{self.cache}'", *setting.overrides())

    def _note(self, directory: Path, update: int | None = None) -> None:
        finished = read_status(directory / "status.json")[0] == "finished"
        note = {"time": time.monotonic(), "update": update, "finished": finished}
        (self.folder / "signal.json").write_text(json.dumps(note))

    def _fork(self, action: Callable[[], None], directory: Path, stop: Stop | None = None) -> Ended:
        noted = self.folder / "signal.json"
        noted.unlink(missing_ok=True)
        output = self.folder / "output.txt"
        sys.stdout.flush()
        start, before = time.monotonic(), modified(directory / "status.json")
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with output.open("wb") as file:
                    os.dup2(file.fileno(), 1)
                    os.dup2(file.fileno(), 2)
                for name in SIGNALS[1:]:
                    signal.signal(getattr(signal, name), signal.SIG_DFL)
                signal.signal(signal.SIGINT, signal.default_int_handler)
                os.environ["TMPDIR"] = str(self.temporary)
                tempfile.tempdir = None
                action()
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
            except KeyboardInterrupt:  # while the config is composed; the commands end in the same way
                code = 128 + signal.SIGINT
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        if stop is not None and not stop.moment:
            ended = os.WEXITED | os.WNOHANG | os.WNOWAIT
            while (alive := os.waitid(os.P_PID, child, ended) is None) and time.monotonic() - start < stop.seconds:
                time.sleep(0.005)
            if alive:
                self._note(directory)
                os.kill(child, getattr(signal, stop.signal))
        _, status = os.waitpid(child, 0)
        now, sent = time.monotonic(), noted.exists()
        note = json.loads(noted.read_text()) if sent else {"time": start, "update": None, "finished": False}
        code, said = os.waitstatus_to_exitcode(status), output.read_text(errors="replace")
        began = modified(directory / "status.json") != before
        return Ended(code, now - note["time"], note["update"], sent, note["finished"], began, said)


def send(name: str, moment: str, sizes: dict[str, int]) -> None:
    """Sends this process a signal. At a moment ``half FILE``, it is killed when it has written half of the file."""
    if moment.startswith("half "):
        half = sizes.get(moment.removeprefix("half "), 0) // 2
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (half, half))
    else:
        os.kill(os.getpid(), getattr(signal, name))


def wrong_ends(stop: Stop, ended: Ended, directory: Path) -> list[str]:
    """What is wrong about the exit code and the status of a run that was sent a signal."""
    if ended.code == 0 and (ended.finished or not ended.sent):
        return []
    if stop.signal == "SIGKILL":
        allowed = [0, -signal.SIGXFSZ] if stop.moment.startswith("half ") else [-signal.SIGKILL]  # 0: it fitted
        return [] if ended.code in allowed else [f"{stop}: exit {ended.code}: {ended.said[-2000:]}"]
    expected = 128 + getattr(signal, stop.signal)
    if ended.code != expected:
        if not stop.moment and ended.code == -getattr(signal, stop.signal):
            return []  # before the handlers were there
        return [f"{stop}: exit {ended.code}, expected {expected}: {ended.said[-2000:]}"]
    if not ended.began:
        return []
    record = json.loads((directory / "status.json").read_text())
    found = record["status"], record["reason"]
    return [] if found in ((("interrupted"), stop.signal), ("finished", None)) else [f"{stop}: status {found}"]


def modified(path: Path) -> int | None:
    """When a file was written; None if it is not there."""
    return path.stat().st_mtime_ns if path.exists() else None


def differences(directory: Path, whole: Path) -> list[str]:
    """What of a run differs from one that never stopped."""
    found = []
    for name in _COMPARED:
        both = [(folder / name) for folder in (directory, whole)]
        if [path.exists() for path in both] == [False, False]:
            continue
        if not all(path.exists() for path in both) or both[0].read_bytes() != both[1].read_bytes():
            found.append(name)
    if timeless(directory) != timeless(whole):
        found.append("metrics.csv")
    results = [numbers(json.loads((folder / "test" / "results.json").read_text())) for folder in (directory, whole)]
    if results[0] != results[1]:
        found.append("results.json: " + ", ".join(key for key in results[0] if results[0][key] != results[1].get(key)))
    for name in ("last.ckpt", "best.ckpt"):
        if (directory / "checkpoints" / name).stat().st_size == 0:
            continue  # torn after the last update, so nothing was left to train, and it was not written again
        checkpoints = [load(folder / "checkpoints" / name) for folder in (directory, whole)]
        for part in ("state_dict", "optimizer_states", "lr_schedulers", "global_step", "epoch"):
            if not equal(checkpoints[0][part], checkpoints[1][part]):
                found.append(f"{name}: {part}")
    if left := [path.name for path in files(directory) if path.name.endswith(".tmp")]:
        found.append(f"left behind: {left}")
    return found


def load(path: Path) -> dict[str, Any]:
    import torch

    return torch.load(path, map_location="cpu", weights_only=True)


def equal(one: Any, other: Any) -> bool:
    """Whether nested containers of tensors and numbers are equal, bit by bit."""
    import torch

    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other)


def held_update(directory: Path) -> int:
    """The update of the last checkpoint; 0 where there is none that can be read."""
    try:
        return int(load(directory / "checkpoints" / "last.ckpt")["global_step"])
    except (OSError, RuntimeError, EOFError, KeyError, ValueError):
        return 0


def files(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()]


def drawn_stops(moments: Counter[str], seconds: float, dice: random.Random) -> Iterator[Stop]:
    """One to six stops: most at a moment, each kind of moment alike, some at a time."""
    for place in range(dice.choice((1, 2, 3, 4, 6))):
        first = place == 0
        name = dice.choice(SIGNALS)
        tears = dice.random() < 0.15
        if dice.random() < 0.15:
            yield Stop(name, "", seconds=dice.uniform(0, seconds), tears=tears)
            continue
        moment = dice.choice(sorted(moments))
        n = dice.randint(1, moments[moment] if first else max(1, moments[moment] // 2))
        yield Stop("SIGKILL" if moment.startswith("half ") else name, moment, n, tears=tears)


@contextmanager
def harness(folder: Path, temporary: Path | None = None) -> Iterator[Harness]:
    """A harness. Temporary files are removed at the end, runs are not.

    What a training needs is imported here, once and not in each fork.
    """
    import datasets  # noqa: F401
    import sacrebleu  # noqa: F401

    import lookback.report
    import lookback.training.fit  # noqa: F401

    compose(folder)
    shared = Path("/dev/shm")
    parent = temporary or (shared if shared.is_dir() else None)
    with tempfile.TemporaryDirectory(dir=parent, prefix="kills-") as other:
        yield Harness(folder, Path(other))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="signals to send")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--settings", type=int, default=12, help="how many settings of a training are drawn")
    parser.add_argument("--folder", type=Path, default=None, help="for the runs; default: a new one")
    parser.add_argument("--tmp", type=Path, default=None, help="for temporary files; default: /dev/shm, where there is")
    parser.add_argument("--out", type=Path, default=Path("kills.csv"))
    given = parser.parse_args()
    dice = random.Random(given.seed)
    folder = (given.folder or Path(tempfile.mkdtemp(prefix="kills-runs-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    settings = [Setting.drawn(dice) for _ in range(given.settings)]
    trials: list[Trial] = []
    sent = 0
    with harness(folder, given.tmp) as kills:
        print(f"runs in {folder}, temporary files in {kills.temporary}", flush=True)
        while sent < given.count:
            setting = settings[len(trials) % len(settings)]
            _, moments, seconds, _ = kills.whole(setting)
            stops = list(drawn_stops(moments, seconds, dice)) if trials else _TORN
            trial = kills.trial(len(trials), setting, stops)
            trials.append(trial)
            sent += len(trial.exits.split("; ")) if trial.exits else 0
            print(
                f"{sent}/{given.count}  {trial.stops}  exits {trial.exits}  lost {trial.updates_lost}  "
                f"{trial.seconds_to_exit} s  {trial.differs or 'equal'}",
                flush=True,
            )
            write(given.out, trials)
    differ = [trial for trial in trials if trial.differs]
    print(f"{sent} signals in {len(trials)} trainings: {len(differ)} differ from trainings that never stopped")
    for kind, total in sorted(
        Counter(stop.split()[0] for trial in trials for stop in trial.stops.split("; ") if stop).items()
    ):
        print(f"  {kind:8} {total}")
    sys.exit(1 if differ else 0)


def write(path: Path, trials: Sequence[Trial]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(Trial.__dataclass_fields__), lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(trial) for trial in trials)


if __name__ == "__main__":
    main()
