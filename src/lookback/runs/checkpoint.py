"""`checkpoints/*.ckpt`: what Lightning writes, tensors and plain containers only. The one file that needs torch."""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile

from lookback.common.errors import InputError
from lookback.common.trust import check_plain


def read_checkpoint(path: Path | str) -> dict[str, Any]:
    """What a checkpoint holds, on the CPU; nothing in it is executed.

    The file may be a stranger's: it takes no more memory than its own size.

    Raises:
        InputError: for anything but a checkpoint that a training of lookback wrote.
    """
    import torch

    try:
        _check_archive(path)
        found = torch.load(path, map_location="cpu", weights_only=True)
        wrong = _what_is_wrong(found)
    except Exception as error:  # a file of something else ends in any of them
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"{path}: not a readable checkpoint ({said[:200]})") from None
    if wrong:
        raise InputError(f"{path}: {wrong}; expected a checkpoint that a training of lookback wrote")
    check_plain(found["config"], str(path))
    return found


def _check_archive(path: Path | str) -> None:
    """Torch stores tensors as they are. A packed file could be a thousand times as large in memory."""
    with ZipFile(path) as archive:
        members = archive.infolist()
    if any(member.compress_type != ZIP_STORED for member in members):
        raise ValueError("its tensors are packed")
    if sum(member.file_size for member in members) > Path(path).stat().st_size:
        raise ValueError("its tensors are larger than the file")


def _what_is_wrong(found: Any) -> str | None:
    import torch

    for key in ("config", "state_dict"):
        if not isinstance(found, dict) or not isinstance(found.get(key), dict) or not found[key]:
            return f"no {key} in it"
    for key in ("global_step", "epoch"):
        if type(found.get(key)) is not int:
            return f"no {key} in it"
    for name, value in found["state_dict"].items():
        if not isinstance(name, str) or not isinstance(value, torch.Tensor):
            return f"state_dict.{str(name)[:80]} is no tensor"
    for tensor in _tensors(found):
        if tensor.layout != torch.strided or tensor.device.type != "cpu":
            return "a tensor has no values of its own in it"
        # with strides of 0, a tensor of any shape has one value in the file
        if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
            return "a tensor is larger than its values"
    return None


def _tensors(value: Any) -> Iterator[Any]:
    """The tensors in nested containers, each container once."""
    import torch

    left, seen = [value], set()
    while left:
        value = left.pop()
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, dict | list | tuple) and id(value) not in seen:
            seen.add(id(value))
            left += value.values() if isinstance(value, dict) else value


def is_torn(path: Path | str) -> bool:
    """Whether a checkpoint was cut off or damaged: it is empty, ends too early, or its checksums are wrong."""
    try:
        with ZipFile(path) as archive:  # torch's format; its table of contents is at the end of the file
            return archive.testzip() is not None
    except (BadZipFile, EOFError, NotImplementedError, ValueError, zlib.error):
        return True
