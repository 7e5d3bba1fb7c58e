"""Checkpoints are written whole, or the one before stays."""

import os
import resource
import signal
import tempfile
from pathlib import Path

import pytest
import torch

from lookback.runs.checkpoint import is_torn, read_checkpoint
from lookback.training.checkpoint_io import AtomicCheckpointIO

SMALL = {"config": {"seed": 1}, "global_step": 1, "epoch": 0, "state_dict": {"weight": torch.zeros(10)}}
LARGE = {"config": {"seed": 2}, "global_step": 2, "epoch": 0, "state_dict": {"weight": torch.zeros(100_000)}}


def test_a_kill_in_the_middle_leaves_the_checkpoint_before(tmp_path: Path) -> None:
    """The operating system kills the process half way through the file."""
    path = tmp_path / "last.ckpt"
    AtomicCheckpointIO().save_checkpoint(SMALL, path)
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        AtomicCheckpointIO().save_checkpoint(LARGE, path)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGXFSZ
    assert read_checkpoint(path)["config"] == {"seed": 1}


def test_a_full_disk_leaves_the_checkpoint_before(tmp_path: Path) -> None:
    path = tmp_path / "last.ckpt"
    AtomicCheckpointIO().save_checkpoint(SMALL, path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            AtomicCheckpointIO().save_checkpoint(LARGE, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert caught.value.filename == str(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["last.ckpt"]
    assert read_checkpoint(path)["config"] == {"seed": 1}


def test_nothing_goes_through_the_folder_for_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be full, or on another disk."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    AtomicCheckpointIO().save_checkpoint(SMALL, tmp_path / "checkpoints" / "last.ckpt")
    assert read_checkpoint(tmp_path / "checkpoints" / "last.ckpt")["config"] == {"seed": 1}


def test_torn_checkpoints_are_told_from_whole_ones(tmp_path: Path) -> None:
    path = tmp_path / "last.ckpt"
    AtomicCheckpointIO().save_checkpoint(LARGE, path)
    assert not is_torn(path)
    whole = path.read_bytes()
    zeros = bytearray(whole)
    zeros[100_000:110_000] = b"\1" * 10_000
    for torn in (b"", whole[:1], whole[: len(whole) // 2], whole[:-1], bytes(zeros)):
        path.write_bytes(torn)
        assert is_torn(path)
