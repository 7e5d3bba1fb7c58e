"""What processes do to each other and to the disk: children, as a thread would prove nothing."""

import errno
import gzip
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from building import SPLITS, TEXT_EXPECTED, lines, text

from lookback.errors import InputError

CHILD = """
import datasets, resource, sys
from pathlib import Path
datasets.config.HF_DATASETS_CACHE = Path(sys.argv[1])
sys.path[:0] = {path!r}
from lookback.errors import InputError
{before}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print("ready", flush=True)
sys.stdin.readline()
try:
    {action}
    print("done", flush=True)
except InputError as error:
    print("refused", error, flush=True)
print("MiB", (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def start(cache: Path, action: str, before: str = "") -> subprocess.Popen[str]:
    """A child that has imported what it needs; a line to its standard input sends it off."""
    tests = Path(__file__).parents[1]
    code = CHILD.format(path=[str(tests), str(tests / "data")], action=action, before=before)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    child = subprocess.Popen([sys.executable, "-c", code, str(cache)], text=True, **pipes)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def send_off(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    child.stdin.write("\n")
    child.stdin.flush()


def finished(child: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = child.communicate("\n", timeout=120)
    assert child.returncode == 0, err
    return out, err


@pytest.mark.parametrize("name", ["train.s", "train.s.gz"])
def test_a_single_line_of_1_gb_is_refused_in_little_memory(name: str, tmp_path: Path) -> None:
    (tmp_path / "train.t").write_bytes(lines("a"))
    path = tmp_path / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(b"x" * (1 << 20), compresslevel=1) * 1024)
    else:
        with path.open("wb") as file:  # sparse: zeros that take no room
            file.truncate(1 << 30)
    read = "from lookback.data.text import read_pair"
    out, _ = finished(start(tmp_path / "cache", f"read_pair({str(path)!r}, {str(tmp_path / 'train.t')!r})", read))
    assert f"refused {path}:1: a line of more than 1,048,576 bytes, {TEXT_EXPECTED}\n" in out
    assert float(out.split("MiB")[1]) < 120
    assert not list((tmp_path / "cache").rglob("*.arrow"))


def test_a_full_disk_is_said_and_nothing_half_written_is_used(
    tmp_path: Path, datasets_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = text()(tmp_path)

    class Full(pa.ipc.RecordBatchStreamWriter):
        def write_batch(self, *_: Any) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(pa.ipc, "new_stream", Full)
        with pytest.raises(InputError, match="no space left on device; expected room to keep prepared text"):
            corpus.load("train")
    assert not list(datasets_cache.rglob("*.arrow"))
    assert len(corpus.load("train")) == 3


PREPARE = "import building"


@dataclass(frozen=True)
class Undisturbed:
    """A preparation that nothing came between: what it does, and what it keeps."""

    action: str
    kept: dict[str, bytes]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder = tmp_path_factory.mktemp("undisturbed")
    rng = random.Random(1)
    files = {split: {"source": f"{folder}/{split}.s", "target": f"{folder}/{split}.t"} for split in SPLITS}
    for split, count in (("train", 40_000), ("validation", 50), ("test", 60)):
        for path in files[split].values():
            words = rng.choices("abcdefghijklmnop", k=20)
            Path(path).write_text(
                "".join(" ".join(words[: rng.randint(1, 20)]) + f" {i % 5000}\n" for i in range(count))
            )
    action = f"building.prepare(building.text_corpus({files!r}))"
    child = start(folder / "cache", action, PREPARE)
    assert "done" in finished(child)[0]
    kept = kept_bytes(folder / "cache")
    assert len(kept) > 5
    return Undisturbed(action, kept)


def kept_bytes(cache: Path) -> dict[str, bytes]:
    """All that counts as kept, by its place: no locks, and not what is being made and has a name with a dot."""
    root = cache / "lookback"
    return {
        str(place): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and path.suffix != ".lock"
        for place in [path.relative_to(root)]
        if not any(part.startswith(".") for part in place.parts)
    }


@pytest.mark.slow
def test_a_disk_that_fills_up_while_it_is_written(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """No file may grow over a size: what a quota does, and a disk that is full."""
    limit = (
        f"{PREPARE}, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))"
    )
    out, _ = finished(start(tmp_path, undisturbed.action, limit))
    assert "file too large; expected room to keep prepared text, HF_DATASETS_CACHE names another folder" in out
    assert all(undisturbed.kept[path] == content for path, content in kept_bytes(tmp_path).items())
    assert "done" in finished(start(tmp_path, undisturbed.action, PREPARE))[0]
    assert kept_bytes(tmp_path) == undisturbed.kept


@pytest.mark.slow
def test_killed_at_random_moments_and_started_again_it_ends_with_the_same_bytes(
    tmp_path: Path, undisturbed: Undisturbed
) -> None:
    moments = random.Random(2)
    kills = 0
    for _ in range(3):
        child = start(tmp_path, undisturbed.action, PREPARE)
        send_off(child)
        assert child.stderr is not None
        assert child.stderr.readline().endswith(" …\n"), "something is begun"
        time.sleep(moments.random() * 0.1)
        child.send_signal(signal.SIGKILL)
        kills += "done" not in child.communicate()[0]
        if (tmp_path / "lookback").is_dir():
            assert all(undisturbed.kept[path] == content for path, content in kept_bytes(tmp_path).items())
    assert kills >= 2, "it was done before it could be killed"
    assert "done" in finished(start(tmp_path, undisturbed.action, PREPARE))[0]
    assert kept_bytes(tmp_path) == undisturbed.kept


@pytest.mark.slow
def test_of_two_processes_one_prepares_and_one_waits(tmp_path: Path, undisturbed: Undisturbed) -> None:
    children = [start(tmp_path, undisturbed.action, PREPARE) for _ in range(2)]
    for child in children:
        send_off(child)
    said = [line for child in children for line in finished(child)[1].splitlines() if line.endswith(" …")]
    waited = [line for line in said if line.startswith("Waiting for another process: ")]
    made = [line for line in said if line not in waited]
    assert waited
    assert sorted(made) == sorted(set(made)), "something was made twice"
    assert kept_bytes(tmp_path) == undisturbed.kept
