"""Closed standard streams: one line, or silence, and never a traceback."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.running import PROJECT

_SHOWN = """
import os, sys
from lookback.commands.streams import open_closed_streams
open_closed_streams()
print("to standard output")
print("to standard error", file=sys.stderr)
sys.stdin.read()
sys.stdout.flush(), sys.stderr.flush()
with open(sys.argv[1], "w") as file:
    file.write(str(file.fileno()))
"""


def shell(command: list[str], redirected: str, folder: Path) -> subprocess.CompletedProcess[str]:
    line = f"{shlex.join(command)} {redirected}"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        ["sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


@pytest.mark.parametrize(
    ("closed", "out", "err"),
    [
        ("<&-", "to standard output\n", "to standard error\n"),
        (">&-", "", "to standard error\n"),
        ("2>&-", "to standard output\n", ""),
        ("<&- >&- 2>&-", "", ""),
    ],
)
def test_no_file_gets_the_number_of_a_closed_stream(closed: str, out: str, err: str, tmp_path: Path) -> None:
    done = shell([sys.executable, "-c", _SHOWN, "file"], closed, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, out, err)
    assert int((tmp_path / "file").read_text()) > 2


@pytest.mark.parametrize(
    ("typed", "closed", "said"),
    [
        (["translate.py", "run=nowhere"], ">&-", "error: standard output is closed; expected a file or a pipe for"),
        (["align.py", "run=a", "source=b", "target=c"], ">&-", "error: standard output is closed; expected out=FILE"),
        (["compare.py", "runs=nowhere"], "<&- >&-", "error: nowhere: no such directory"),
        (["train.py", "seed=-1"], "<&- >&-", "error: seed=-1: expected a whole number"),
    ],
)
def test_a_command_without_its_streams_ends_in_one_line(
    typed: list[str], closed: str, said: str, tmp_path: Path
) -> None:
    script = PROJECT / typed[0]
    start = [str(script)] if script.exists() else ["-m", "lookback", script.stem]
    done = shell([sys.executable, *start, *typed[1:]], closed, tmp_path)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(said)


def test_translate_without_its_input_says_so(finished: Path, tmp_path: Path) -> None:
    done = shell([sys.executable, str(PROJECT / "translate.py"), f"run={finished}"], "<&-", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: standard input is closed; expected text, or input=FILE\n"


_LASTING = """
import os, sys
from lookback.commands.streams import lasting_streams
lasting_streams()
lasting_streams()
for number in range(3):
    print("a line", flush=True)
    os.read(0, 1)
os.write(2, b"the end\\n")
"""


@pytest.mark.parametrize("after", [0, 2])
def test_what_prints_outlasts_its_reader(after: int) -> None:
    """A pipe whose reader goes away after some lines; they are said to be lost once."""
    process = subprocess.Popen(
        [sys.executable, "-c", _LASTING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )
    assert process.stdin
    assert process.stdout
    assert process.stderr
    for number in range(3):
        if number < after:
            assert process.stdout.readline() == b"a line\n"
        if number == max(after - 1, 0):
            # Before the dot: the next line is printed as soon as the dot is read.
            process.stdout.close()
        process.stdin.write(b".")
    said = process.stderr.read().decode().splitlines()
    assert process.wait() == 0
    assert said == ["note: standard output: Broken pipe; going on without it", "the end"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a disk that is full")
def test_a_full_disk_of_a_log_ends_no_training(tmp_path: Path) -> None:
    done = shell([sys.executable, "-c", _LASTING], "> /dev/full < /dev/zero", tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "note: standard output: No space left on device; going on without it\nthe end\n"
