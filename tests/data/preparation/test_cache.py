"""A cached folder is complete or absent, even if a process is killed; one process writes it while others wait."""

import errno
import hashlib
import itertools
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from lookback.common.errors import InputError
from lookback.data.preparation.cache import cached_folder
from support.moments import Server, server

PARTS, BYTES = 3, 50_000

WRITE = f"""
from lookback.data.preparation.cache import cached_folder
def write(folder):
    print("making", flush=True)
    for part in range({PARTS}):
        (folder / str(part)).write_bytes(bytes([part]) * {BYTES})
"""
MAKE = 'cached_folder("thing", 1, "Making the thing", write)'


@pytest.fixture(scope="module")
def processes() -> Iterator[tuple[Server, Server]]:
    """Two processes that write the same folder. Threads would prove nothing, because they cannot be killed."""
    with server(MAKE, WRITE) as one, server(MAKE, WRITE) as other:
        yield one, other


def is_whole(folder: Path) -> bool:
    return all((folder / str(part)).read_bytes() == bytes([part]) * BYTES for part in range(PARTS))


def folders(cache: Path) -> list[Path]:
    return [path for path in (cache / "lookback" / "thing").iterdir() if path.is_dir()]


def test_a_folder_is_made_once(datasets_cache: Path) -> None:
    made = []

    def write(folder: Path) -> None:
        made.append(folder)
        (folder / "file").write_text("text")

    first = cached_folder("thing", ("a", 1), "Making", write)
    assert cached_folder("thing", ("a", 1), "Making", write) == first
    assert (first / "file").read_text() == "text"
    assert first.is_relative_to(datasets_cache)
    other = cached_folder("thing", ("a", 2), "Making", write)
    assert other != first
    assert len(made) == 2


def test_a_failure_leaves_nothing_and_is_tried_again(datasets_cache: Path) -> None:
    def fails(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise InputError("a.en:3: bad")

    with pytest.raises(InputError, match=r"^a\.en:3: bad$"):
        cached_folder("thing", 1, "Making", fails)
    assert folders(datasets_cache) == []
    assert cached_folder("thing", 1, "Making", lambda folder: None).is_dir()


def test_a_full_disk_is_one_line_and_leaves_nothing(datasets_cache: Path) -> None:
    def full(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(InputError, match="no space left on device; expected room to keep prepared text"):
        cached_folder("thing", 1, "Making", full)
    assert folders(datasets_cache) == []


def test_a_cache_that_cannot_be_written_is_one_line(datasets_cache: Path) -> None:
    (datasets_cache / "lookback").write_text("a file where a folder should be")
    with pytest.raises(InputError, match="HF_DATASETS_CACHE names another folder"):
        cached_folder("thing", 1, "Making", lambda folder: None)


@pytest.mark.parametrize("moment", ["begin thing/*/0", "os.rename thing/*", "unlock thing/*"])
def test_of_two_processes_one_makes_it_and_one_waits(
    tmp_path: Path, processes: tuple[Server, Server], moment: str
) -> None:
    first, second = processes
    first.begin(tmp_path, hold=moment)
    first.until(lambda line: line.startswith("at "))
    whole_already = [folder for folder in folders(tmp_path) if not folder.name.startswith(".")]
    second.begin(tmp_path)
    if not whole_already:  # otherwise no process waits, whoever holds the lock
        second.until(lambda line: line == "Waiting for another process: Making the thing …")
    first.let_go()
    made, waited = first.ended(), second.ended()
    assert (made.status, waited.status) == (0, 0)
    assert "making" in made.said
    assert "making" not in waited.said, "the second made it again"
    (folder,) = folders(tmp_path)
    assert is_whole(folder)


def test_who_waits_makes_it_where_the_other_is_killed(tmp_path: Path, processes: tuple[Server, Server]) -> None:
    first, second = processes
    first.begin(tmp_path, hold="begin thing/*/1")
    first.until(lambda line: line.startswith("at "))
    second.begin(tmp_path)
    second.until(lambda line: line.startswith("Waiting for another process: "))
    first.kill()
    assert first.ended().signal == signal.SIGKILL
    made = second.ended()
    assert made.status == 0
    assert "making" in made.said
    (folder,) = folders(tmp_path)  # what the killed process left is gone
    assert is_whole(folder)


def test_killed_at_any_moment_it_is_whole_or_absent_and_the_next_start_makes_it(
    tmp_path: Path, processes: tuple[Server, Server]
) -> None:
    maker, _ = processes
    key = hashlib.sha256(repr(1).encode()).hexdigest()[:32]
    sizes = {f"thing/{key}/{part}": BYTES for part in range(PARTS)}
    passed: list[str] = []
    whole: list[bool] = []
    for attempt in itertools.count():
        cache = tmp_path / str(attempt)
        killed = maker.run(cache, kill_but=passed, sizes=sizes)
        if not killed.signal:
            assert killed.status == 0, killed.said
            break
        (moment,) = killed.moments
        assert killed.signal == (signal.SIGXFSZ if moment.startswith("half ") else signal.SIGKILL)
        passed.append(moment)
        there = [] if not (cache / "lookback" / "thing").is_dir() else folders(cache)
        if moment.startswith("half "):
            (partial,) = there
            assert (partial / moment[-1]).stat().st_size == BYTES // 2
        found = [folder for folder in there if not folder.name.startswith(".")]
        assert all(map(is_whole, found))
        whole.append(bool(found))
        again = maker.run(cache)
        assert again.status == 0, again.said
        assert ("making" in again.said) != bool(found)
        (folder,) = folders(cache)  # what the killed process left is gone
        assert is_whole(folder)
    each = {f"{moment} thing/*/{part}" for moment in ("begin", "half", "change") for part in range(PARTS)}
    assert each | {"os.mkdir thing/*", "lock thing/*.lock", "os.rename thing/*", "unlock thing/*.lock"} <= set(passed)
    assert whole == sorted(whole), "absent up to the renaming, and whole from there on"
    assert passed[whole.index(True) - 1] == "os.rename thing/*"
