"""Several processes that take blocks by turns."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from signal import SIGKILL

import pytest
import torch

from lookback.common.errors import InputError
from lookback.translation.devices import check_devices, in_order


def load(device: str) -> str:
    assert device == "cpu"
    return device


def work(loaded: str, block: int) -> tuple[int, int, int]:
    if block == -1:
        raise InputError("a bad block")
    if block == -2:
        os.kill(os.getpid(), SIGKILL)
    time.sleep(0.2 * (block % 2 == 0))  # so that odd blocks are done before the even ones that come first
    return block, os.getpid(), torch.get_num_threads()


@pytest.fixture(autouse=True)
def no_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.accelerator.device_count", lambda: 0)
    monkeypatch.setattr("torch.accelerator.current_accelerator", lambda check_available: None)


def test_blocks_come_in_order_from_several_processes_and_are_read_when_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a directory with a module of a stranger's, too."""
    monkeypatch.chdir(tmp_path)
    for name in ("multiprocessing", "json"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'w')\n")
    read = 0

    def blocks() -> Iterator[int]:
        nonlocal read
        while read < 24:
            read += 1
            yield read

    results = in_order(work, "here", load, blocks(), 2)
    first, _ = next(results)
    assert (first, read) == (1, 8)
    rest = list(results)
    assert [block for block, _ in rest] == [result[0] for _, result in rest] == list(range(2, 25))
    processes = {result[1] for _, result in rest}
    assert len(processes) == 2
    assert os.getpid() not in processes
    assert {result[2] for _, result in rest} == {1}
    assert not (tmp_path / "ran").exists()
    assert "PYTHONSAFEPATH" not in os.environ


def test_one_device_is_this_process() -> None:
    assert [result[:2] for _, result in in_order(work, "here", load, [1, 3], 1)] == [(1, os.getpid()), (3, os.getpid())]


def test_an_error_comes_after_the_blocks_before_it() -> None:
    done: list[int] = []
    with pytest.raises(InputError, match=r"^a bad block$"):
        done.extend(block for block, _ in in_order(work, "here", load, [1, 2, -1, 3], 2))
    assert done == [1, 2]


def test_a_process_that_is_killed_is_an_error() -> None:
    with pytest.raises(InputError, match=r"^devices=2: the process of one of them has ended before its work$"):
        list(in_order(work, "here", load, [1, -2, 2], 2))


def test_devices_that_are_not_there_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    check_devices(9)
    monkeypatch.setattr("torch.accelerator.device_count", lambda: 4)
    check_devices(4)
    with pytest.raises(InputError, match="devices=8: expected 1 to 4, the GPUs of this machine"):
        check_devices(8)
