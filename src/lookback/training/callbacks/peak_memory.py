"""Peak memory: the most memory held at a time, on the GPU if one is used, else by this process."""

import sys
from contextlib import suppress
from pathlib import Path

import torch

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def reset() -> None:
    """Resets the peak, so that the next job of a sweep does not get the peak of an earlier one.

    This works on Linux and with CUDA only. Elsewhere the peak stays that of the whole process.
    """
    if _on_gpu():
        torch.cuda.reset_peak_memory_stats()
    with suppress(OSError):
        _RESET.write_text("5")  # proc(5): resets the peak resident set size


def peak() -> int:
    """The peak in bytes, since the last ``reset``."""
    if _on_gpu():
        return torch.cuda.max_memory_allocated()
    with suppress(OSError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    if sys.platform == "win32":
        import psutil

        return psutil.Process().memory_info().peak_wset
    import resource

    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if sys.platform == "darwin" else largest * 1024


def _on_gpu() -> bool:
    return torch.cuda.is_available() and torch.cuda.is_initialized()
