"""The most memory that a training held at a time: of the GPU where one is used, else of this process."""

import sys
from contextlib import suppress
from pathlib import Path

import torch

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def reset() -> None:
    """Start to count anew, so that a sweep's later jobs do not inherit an earlier one's peak.

    Only Linux and CUDA can: elsewhere the peak is that of the process so far.
    """
    if _on_gpu():
        torch.cuda.reset_peak_memory_stats()
    with suppress(OSError):
        _RESET.write_text("5")  # proc(5): resets the peak resident set size


def peak() -> int:
    """In bytes."""
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
