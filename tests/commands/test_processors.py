"""Hardware threads and cores, on machines that are made up of the files by which Linux tells them."""

import os
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from lookback.commands import launch
from lookback.commands.launch import Processors, processors


def machine(folder: Path, siblings: dict[int, str], monkeypatch: pytest.MonkeyPatch, usable: set[int]) -> Path:
    """The folder that describes it; the process may use the processors ``usable``."""
    for number, of_one_core in siblings.items():
        (folder / f"cpu{number}" / "topology").mkdir(parents=True)
        (folder / f"cpu{number}" / "topology" / "thread_siblings_list").write_text(f"{of_one_core}\n")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: usable, raising=False)
    return folder


@pytest.mark.parametrize(
    ("siblings", "usable", "expected"),
    [
        ({0: "0-1", 1: "0-1"}, {0, 1}, Processors(2, 1)),
        ({0: "0", 1: "1"}, {0, 1}, Processors(2, 2)),
        ({0: "0,4", 1: "1,5", 4: "0,4", 5: "1,5"}, {0, 1, 4, 5}, Processors(4, 2)),
        ({0: "0,4", 1: "1,5", 4: "0,4", 5: "1,5"}, {1, 4}, Processors(2, 2)),
        ({0: "0,4", 1: "1,5", 4: "0,4", 5: "1,5"}, {0, 4}, Processors(2, 1)),
        ({}, {0, 1, 2}, Processors(3, 3)),  # it does not tell
        ({0: "", 1: "0", 2: "x", 3: "0-1"}, {0, 1, 2, 3}, Processors(4, 4)),  # nor here: none names its own processor
    ],
)
def test_threads_of_one_core_count_once(
    siblings: dict[int, str],
    usable: set[int],
    expected: Processors,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert processors(machine(tmp_path, siblings, monkeypatch, usable)) == expected


def test_without_an_affinity_all_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert processors(tmp_path) == Processors(6, 6)


@pytest.mark.parametrize("says", [True, False])
@pytest.mark.parametrize(
    ("found", "typed", "expected", "said"),
    [
        (Processors(2, 1), None, "1", "1 core of 2 hardware threads: a thread each (OMP_NUM_THREADS=N takes N)\n"),
        (Processors(8, 4), None, "4", "4 cores of 8 hardware threads: a thread each (OMP_NUM_THREADS=N takes N)\n"),
        (Processors(8, 4), "7", "7", ""),
        (Processors(4, 4), None, None, ""),
    ],
)
def test_a_command_takes_a_thread_a_core(
    found: Processors,
    typed: str | None,
    expected: str | None,
    said: str,
    says: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A training says so; what prints translations does not."""
    monkeypatch.setattr(launch, "processors", lambda: found)
    monkeypatch.setattr(launch, "_launchers_cores", lambda: None)
    monkeypatch.setenv("OMP_NUM_THREADS", "")  # so that it is put back
    monkeypatch.delenv("OMP_NUM_THREADS")
    if typed is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", typed)
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    launch._take_cores(OmegaConf.create({"trainer": {"devices": 1}}), says)
    assert os.environ.get("OMP_NUM_THREADS") == expected
    assert capsys.readouterr().out == (said if says else "")


@pytest.mark.parametrize(("ranks", "expected"), [(1, "4"), (2, "2"), (3, "1"), (8, "1")])
def test_the_ranks_of_a_training_share_the_cores(
    ranks: int, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(launch, "processors", lambda: Processors(8, 4))
    monkeypatch.setattr(launch, "_launchers_cores", lambda: None)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    launch._take_cores(OmegaConf.create({"trainer": {"devices": ranks}}), True)
    assert os.environ["OMP_NUM_THREADS"] == expected
    assert ("each for" in capsys.readouterr().out) is (ranks > 1)


def test_threads_that_the_user_has_set_in_another_way_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "processors", lambda: Processors(8, 4))
    monkeypatch.setattr(launch, "_launchers_cores", lambda: None)
    monkeypatch.setenv("OMP_NUM_THREADS", "")
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setenv("MKL_NUM_THREADS", "2")
    launch._take_cores(OmegaConf.create({"trainer": {"devices": 1}}), True)
    assert "OMP_NUM_THREADS" not in os.environ
