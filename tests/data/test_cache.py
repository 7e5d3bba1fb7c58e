"""A kept folder is whole or absent, whoever is killed, and one process makes it while the others wait."""

import errno
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lookback.data.cache import kept
from lookback.errors import InputError

PARTS, BYTES = 40, 50_000

# A child of its own: a killed thread would prove nothing.
CHILD = f"""
import sys, datasets
from pathlib import Path
datasets.config.HF_DATASETS_CACHE = Path(sys.argv[1])
from lookback.data.cache import kept
def write(folder):
    print("making", flush=True)
    for part in range({PARTS}):
        (folder / str(part)).write_bytes(bytes([part]) * {BYTES})
        {{pause}}
kept("thing", 1, "Making the thing", write)
print("done", flush=True)
"""


def start(cache: Path, pause: str = "") -> subprocess.Popen[str]:
    code = CHILD.replace("{pause}", pause)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", code, str(cache)], text=True, **pipes)


def is_whole(folder: Path) -> bool:
    return all((folder / str(part)).read_bytes() == bytes([part]) * BYTES for part in range(PARTS))


def folders(cache: Path) -> list[Path]:
    return [path for path in (cache / "lookback" / "thing").iterdir() if path.is_dir()]


def test_a_folder_is_made_once(datasets_cache: Path) -> None:
    made = []

    def write(folder: Path) -> None:
        made.append(folder)
        (folder / "file").write_text("text")

    first = kept("thing", ("a", 1), "Making", write)
    assert kept("thing", ("a", 1), "Making", write) == first
    assert (first / "file").read_text() == "text"
    assert first.is_relative_to(datasets_cache)
    other = kept("thing", ("a", 2), "Making", write)
    assert other != first
    assert len(made) == 2


def test_a_failure_leaves_nothing_and_is_tried_again(datasets_cache: Path) -> None:
    def fails(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise InputError("a.en:3: bad")

    with pytest.raises(InputError, match=r"^a\.en:3: bad$"):
        kept("thing", 1, "Making", fails)
    assert folders(datasets_cache) == []
    assert kept("thing", 1, "Making", lambda folder: None).is_dir()


def test_a_full_disk_is_one_line_and_leaves_nothing(datasets_cache: Path) -> None:
    def full(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(InputError, match="no space left on device; expected room to keep prepared text"):
        kept("thing", 1, "Making", full)
    assert folders(datasets_cache) == []


def test_a_cache_that_cannot_be_written_is_one_line(datasets_cache: Path) -> None:
    (datasets_cache / "lookback").write_text("a file where a folder should be")
    with pytest.raises(InputError, match="HF_DATASETS_CACHE names another folder"):
        kept("thing", 1, "Making", lambda folder: None)


def test_of_two_processes_one_makes_it_and_one_waits(tmp_path: Path) -> None:
    slow = "__import__('time').sleep(0.2)"  # together longer than a busy machine takes to start the second
    first = start(tmp_path, slow)
    assert first.stdout is not None
    assert first.stdout.readline() == "making\n"
    second = start(tmp_path, slow)
    outputs = [process.communicate(timeout=60) for process in (first, second)]
    assert [process.returncode for process in (first, second)] == [0, 0]
    assert outputs[0][0] == "done\n"
    assert outputs[1][0] == "done\n", "the second made it again"
    assert "Waiting for another process: Making the thing" in outputs[1][1]
    (folder,) = folders(tmp_path)
    assert is_whole(folder)


@pytest.mark.slow
def test_killed_at_any_moment_it_is_whole_or_absent_and_the_next_start_makes_it(tmp_path: Path) -> None:
    moments = random.Random(1)
    killed_midway = 0
    for attempt in range(12):
        cache = tmp_path / str(attempt)
        process = start(cache, "__import__('time').sleep(0.005)")
        assert process.stdout is not None
        assert process.stdout.readline() == "making\n"
        time.sleep(moments.random() * 0.35)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        found = [folder for folder in folders(cache) if not folder.name.startswith(".")]
        assert all(map(is_whole, found))
        killed_midway += not found
        again = start(cache)
        assert again.communicate(timeout=60)[0].endswith("done\n")
        (folder,) = folders(cache)  # what the killed process left is gone
        assert is_whole(folder)
    assert killed_midway >= 3, "the moments were not spread over the making"
