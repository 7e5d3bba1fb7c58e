"""A process that is killed, or held, at a named moment: no clock decides when.

The child side runs in a process of its own: `served` loads what it needs once, and then does the same thing again and
again, each time in a fork of its own. A moment is what a fork is about to ask of the operating system in the cache,
such as ``begin text/*/pairs.arrow`` or ``os.rename text/*``. Python's audit events tell of each: no list of them is
written here, and what a later version of the program does has its moments, too.
"""

import fcntl
import json
import os
import re
import resource
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]

_ASKED = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree")
_LEFT_OUT = re.compile(r"^\.([0-9a-f]{32})-\w+$|^\.(.+)\.\d+(?:\.tmp)?$")
"""A folder or a file that is being made has a name of its own each time: what it will be called is in the groups."""

_HASH = re.compile(r"\b[0-9a-f]{32}\b")
"""Folders of one kind are made alike: one of them is enough, whichever it is."""


@dataclass(frozen=True)
class Ended:
    """How a fork ended: by itself with a status, or by a signal at a moment."""

    status: int
    signal: int
    moments: list[str]
    """Where it was held, or killed"""
    said: list[str]
    """What it printed, on either stream"""


class Server:
    """The parent's end of a child that runs `served`."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._moments: list[str] = []
        self._said: list[str] = []

    def begin(self, cache: Path, **how: Any) -> None:
        """Start a fork with this cache; ``how`` is that of `watched`."""
        self._moments, self._said = [], []
        self._write({"cache": str(cache), **how})

    def until(self, wanted: Callable[[str], bool]) -> str:
        """Read on to a line that is wanted, and give it. A fork that ends before is an error."""
        for line in self._lines():
            if wanted(line):
                return line
        raise AssertionError(f"it ended before: {self._moments[-1:]}, {self._said}")

    def let_go(self) -> None:
        """Let a fork that is held go on."""
        self._write({"go": True})

    def kill(self) -> None:
        """Kill a fork that is held."""
        self._write({"kill": True})

    def ended(self) -> Ended:
        """Read what the fork says, up to its end."""
        for line in self._lines():
            if line.startswith("ended "):
                status = int(line.removeprefix("ended "))
                return Ended(
                    os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1,
                    os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
                    self._moments,
                    self._said,
                )
        raise AssertionError(f"the process is gone: {self._said}")

    def run(self, cache: Path, **how: Any) -> Ended:
        """A fork from its start to its end."""
        self.begin(cache, **how)
        return self.ended()

    def _lines(self) -> Iterator[str]:
        assert self._process.stdout is not None
        for text in self._process.stdout:
            line = text.rstrip("\n")
            if line.startswith("at "):
                self._moments.append(line.removeprefix("at "))
            elif not line.startswith("ended "):
                self._said.append(line)
            yield line

    def _write(self, order: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()


@contextmanager
def server(action: str, imports: str = "") -> Iterator[Server]:
    """A child that does `action`, Python code, in each of its forks; `imports` are done once."""
    paths = [str(TESTS), str(TESTS / "data")]
    start = f"import sys; sys.path[:0] = {paths!r}; from support import moments"
    code = f"{start}\n{imports}\nmoments.served(lambda: {action})"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], text=True, **pipes) as process:
        try:
            yield Server(process)
        finally:
            process.kill()  # a fork that is held reads the end of its input, and ends


def served(action: Callable[[], Any]) -> None:
    """In the child: for each order on standard input, do `action` in a fork, and say how it ended."""
    import datasets

    while line := sys.stdin.readline():
        order = json.loads(line)
        cache = Path(order.pop("cache"))
        sys.stdout.flush()
        fork = os.fork()
        if not fork:
            status = 1
            try:
                os.dup2(1, 2)  # one stream, so that the order of what is said is kept
                datasets.config.HF_DATASETS_CACHE = cache
                watched(cache / "lookback", **order)
                action()
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        _, ended = os.waitpid(fork, 0)
        _say(f"ended {ended}")


def watched(
    root: Path,
    kill_but: list[str] | None = None,
    sizes: dict[str, int] | None = None,
    hold: str = "",
    most: int | None = None,
) -> None:
    """From here on, this process' moments in the folder `root` are watched.

    kill_but: kill this process at its first moment that is not among these.
    sizes: bytes of files, by name: such a file has a second moment, ``half …``, and killed there it holds half of them.
    hold: wait at the first moment that begins with this text for a line on standard input.
    most: no file may grow over so many bytes, as on a disk that is full.
    """
    import pyarrow

    if most is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    kills, holds, locks = kill_but is not None, bool(hold), [""]
    passed = set(kill_but or ())

    def reached(moment: str, die: Callable[[], None]) -> None:
        nonlocal kills, holds
        moment = _HASH.sub("*", moment)
        if kills and moment not in passed:
            kills = False  # it may be a while until it is dead
            _say(f"at {moment}")
            die()
        if holds and moment.startswith(hold):
            holds = False
            _say(f"at {moment}")
            if "go" not in json.loads(sys.stdin.readline() or "{}"):
                _die()

    def begun(how: str, path: str) -> None:
        name = _name(path, root)
        if name is None:
            return
        if name.endswith(".lock"):
            locks[0] = name
        reached(f"{how} {name}", _die)
        if sizes is not None and name in sizes and how == "begin":
            half = sizes[name] // 2
            reached(f"half {name}", lambda: _die_in_a_file_of(half))

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str) and _writes(*arguments[1:]):
            begun("change" if "+" in (arguments[1] or "") else "begin", arguments[0])
        elif event in _ASKED and (name := _name(arguments[0], root)) is not None:
            reached(f"{event} {name}", _die)
        elif event == "fcntl.flock":
            reached(f"{'unlock' if arguments[1] & fcntl.LOCK_UN else 'lock'} {locks[0]}", _die)

    open_file = pyarrow.OSFile

    def os_file(path: str, mode: str = "r") -> Any:
        if "w" in mode:  # Arrow opens files behind Python's back
            begun("begin", path)
        return open_file(path, mode)

    pyarrow.OSFile = os_file
    sys.addaudithook(hook)


def _name(path: str | os.PathLike[str], root: Path) -> str | None:
    """What a path in `root` will be called once it is made; None for one that lies elsewhere."""
    path = Path(path)
    if not path.is_relative_to(root):
        return None
    found = [_LEFT_OUT.match(part) for part in path.relative_to(root).parts]
    parts = zip(found, path.relative_to(root).parts, strict=True)
    return "/".join((match[1] or match[2]) if match else part for match, part in parts)


def _writes(mode: str | None, flags: int) -> bool:
    return bool(set(mode) & set("wax+")) if mode else bool(flags & (os.O_WRONLY | os.O_RDWR))


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _die_in_a_file_of(size: int) -> None:
    """The operating system kills who lets a file grow over a limit."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def _say(line: str) -> None:
    os.write(1, f"{line}\n".encode())
