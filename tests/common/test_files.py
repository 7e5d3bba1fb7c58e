"""Files are written completely or not at all."""

import errno
import os

import pytest

from lookback.common.files import atomic_write, read_regular, remove_temporaries, write_json


def test_an_exception_leaves_the_old_file_and_nothing_else(tmp_path):
    write_json(tmp_path / "x.json", {"a": "é"})
    with pytest.raises(TypeError), atomic_write(tmp_path / "x.json") as file:
        file.writelines([b"half", None])
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.json"]
    assert (tmp_path / "x.json").read_text(encoding="utf-8") == '{\n  "a": "é"\n}\n'


def test_numbers_that_json_lacks_are_refused(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "x.json", {"a": float("nan")})
    assert not list(tmp_path.iterdir())


def test_the_bytes_are_on_the_disk_before_the_file_has_its_name(tmp_path, monkeypatch):
    """Without this, a power cut after the rename leaves an empty file."""
    did = []
    sync, replace = os.fsync, os.replace

    def synced(number):
        did.append(os.path.basename(os.readlink(f"/proc/self/fd/{number}")))
        sync(number)

    def renamed(old, new):
        did.append("rename")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    write_json(tmp_path / "x.json", 1)
    assert did == [f".x.json.{os.getpid()}.tmp", "rename", tmp_path.name]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_full_disk_is_an_error_with_the_name_of_the_file(tmp_path, monkeypatch, number):
    write_json(tmp_path / "x.json", "before")

    def full(descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=os.strerror(number)) as caught:
        write_json(tmp_path / "x.json", "after")
    assert caught.value.filename == str(tmp_path / "x.json")
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.json"]
    assert "before" in (tmp_path / "x.json").read_text()


def test_only_a_file_is_read_and_not_a_large_one(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_regular(path, 5) == b"12345"
    with pytest.raises(OSError, match="over 4 bytes"):
        read_regular(path, 4)
    with path.open("r+b") as file:
        file.truncate(10**12)  # of which nothing is on the disk
    with pytest.raises(OSError, match="over 5 bytes"):
        read_regular(path, 5)
    (tmp_path / "endless").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    for other in ("endless", "pipe", "."):
        with pytest.raises(OSError, match="is no regular file"):
            read_regular(tmp_path / other, 5)


def test_what_killed_processes_left_half_written_is_removed(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / ".last.ckpt.4711.tmp").write_bytes(b"half")
    (tmp_path / "checkpoints" / "last.ckpt").touch()
    remove_temporaries(tmp_path)
    assert [entry.name for entry in (tmp_path / "checkpoints").iterdir()] == ["last.ckpt"]
