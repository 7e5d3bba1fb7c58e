"""Preparations that are killed, run at the same time or fill the disk, in child processes: threads prove nothing."""

import errno
import gzip
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lookback.common.errors import InputError
from support.building import SPLITS, TEXT_EXPECTED, lines, text
from support.moments import Server, server

CHILD = """
import datasets, resource, sys
from pathlib import Path
datasets.config.HF_DATASETS_CACHE = Path(sys.argv[1])
from lookback.data import read_pair
from lookback.common.errors import InputError
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read_pair(*sys.argv[2:])
except InputError as error:
    print("refused", error)
print("MiB", (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.parametrize("name", ["train.s", "train.s.gz"])
def test_a_single_line_of_1_gb_is_refused_in_little_memory(name: str, tmp_path: Path) -> None:
    (tmp_path / "train.t").write_bytes(lines("a"))
    path = tmp_path / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(b"x" * (1 << 20), compresslevel=1) * 1024)
    else:
        with path.open("wb") as file:  # sparse: zeros that take no room
            file.truncate(1 << 30)
    given = [str(folder) for folder in (tmp_path / "cache", path, tmp_path / "train.t")]
    out = subprocess.run([sys.executable, "-c", CHILD, *given], check=True, stdout=subprocess.PIPE, text=True).stdout
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


@dataclass(frozen=True)
class Undisturbed:
    """The cache of an undisturbed preparation, and child processes that prepare the same data."""

    kept: dict[str, bytes]
    first: Server
    second: Server


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Undisturbed]:
    folder = tmp_path_factory.mktemp("undisturbed")
    rng = random.Random(1)
    files = {split: {"source": f"{folder}/{split}.s", "target": f"{folder}/{split}.t"} for split in SPLITS}
    for split, count in (("train", 600), ("validation", 50), ("test", 60)):
        for path in files[split].values():
            words = rng.choices("abcdefghijklmnop", k=20)
            Path(path).write_text("".join(" ".join(words[: rng.randint(1, 20)]) + f" {i}\n" for i in range(count)))
    prepare = (f"building.prepare(building.text_corpus({files!r}))", "from support import building")
    with server(*prepare) as first, server(*prepare) as second:
        done = first.run(folder / "cache")
        assert done.status == 0, done.said
        kept = kept_bytes(folder / "cache")
        assert {Path(name).parts[0] for name in kept} == set(KINDS)
        yield Undisturbed(kept, first, second)


KINDS = ("text", "selections", "tokenizers", "ids")


def kept_bytes(cache: Path) -> dict[str, bytes]:
    """The content of the cache by path, without locks and without unfinished folders, whose names begin with a dot."""
    root = cache / "lookback"
    return {
        str(place): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and path.suffix != ".lock"
        for place in [path.relative_to(root)]
        if not any(part.startswith(".") for part in place.parts)
    }


def assert_nothing_is_half(cache: Path, undisturbed: Undisturbed) -> None:
    found = kept_bytes(cache)
    folders = {Path(name).parent for name in found}
    assert found == {name: content for name, content in undisturbed.kept.items() if Path(name).parent in folders}


@pytest.mark.slow
def test_a_disk_that_fills_up_while_it_is_written(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """No file may grow over a size, as with a quota or a full disk. Each file is once the first that does not fit."""
    expected = "file too large; expected room to keep prepared text, HF_DATASETS_CACHE names another folder"
    sizes = sorted({len(content) for content in undisturbed.kept.values()})
    assert len(sizes) > 5
    for size in sizes:
        full = undisturbed.first.run(tmp_path, most=size - 1)
        assert full.status == 1
        assert full.said[-1].startswith("lookback.common.errors.InputError: ")
        assert full.said[-1].endswith(expected)
        assert_nothing_is_half(tmp_path, undisturbed)
    assert undisturbed.first.run(tmp_path, most=sizes[-1]).status == 0
    assert kept_bytes(tmp_path) == undisturbed.kept


@pytest.mark.slow
def test_killed_at_every_moment_and_started_again_it_ends_with_the_same_bytes(
    tmp_path: Path, undisturbed: Undisturbed
) -> None:
    sizes = {name: len(content) for name, content in undisturbed.kept.items()}
    passed: list[str] = []
    while True:
        ended = undisturbed.first.run(tmp_path, kill_but=passed, sizes=sizes)
        assert not [line for line in ended.said if line.startswith("Waiting")], "a dead process holds no lock"
        if not ended.signal:
            break
        (moment,) = ended.moments
        assert ended.signal == (signal.SIGXFSZ if moment.startswith("half ") else signal.SIGKILL), moment
        passed.append(moment)
        assert_nothing_is_half(tmp_path, undisturbed)
    assert ended.status == 0, ended.said
    assert kept_bytes(tmp_path) == undisturbed.kept
    assert not list((tmp_path / "lookback").glob("*/.*")), "what was killed is swept away"
    for kind in KINDS:
        assert {f"{do} {kind}/*" for do in ("os.mkdir", "os.rename")} <= set(passed)
        assert {f"{do} {kind}/*.lock" for do in ("begin", "lock", "unlock")} <= set(passed)
    names = {"/".join((kind, "*", name)) for kind, _, name in (Path(path).parts for path in sizes)}
    assert {f"{moment} {name}" for name in names for moment in ("begin", "half", "change")} <= set(passed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_of_two_processes_one_prepares_and_one_waits(tmp_path: Path, undisturbed: Undisturbed, kind: str) -> None:
    """The first process stops after it has written but not renamed, until the second says that it waits."""
    first, second = undisturbed.first, undisturbed.second
    first.begin(tmp_path, hold=f"os.rename {kind}/*")
    first.until(lambda line: line.startswith("at "))
    before = kept_bytes(tmp_path)
    second.begin(tmp_path)
    second.until(lambda line: line.startswith("Waiting for another process: "))
    assert kept_bytes(tmp_path) == before, "the second did not wait"
    first.let_go()
    both = [first.ended(), second.ended()]
    assert [each.status for each in both] == [0, 0]
    said = [line for each in both for line in each.said if line.endswith(" …")]
    made = [line for line in said if not line.startswith("Waiting for another process: ")]
    assert sorted(made) == sorted(set(made)), "something was made twice"
    assert kept_bytes(tmp_path) == undisturbed.kept
