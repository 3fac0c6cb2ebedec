"""How far a process's peak rises above the data while something runs; from /proc, so on Linux only."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from pathlib import Path

STATUS, FORGET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def can_measure() -> bool:
    """Whether this system says how high a process's memory has been, and lets one forget it."""
    return STATUS.exists() and FORGET.exists()


def extra_megabytes(run: Callable[[], object]) -> float:
    """Megabytes (2^20 bytes) that resident memory rises above its present size during a call.

    Meant for a process of its own in which the same work has run on little data, so that libraries are loaded.
    """
    gc.collect()
    _give_back_freed_memory()
    FORGET.write_text("5", encoding="ascii")  # the peak so far, that of making the data
    before = _kilobytes("VmRSS")
    answer = run()
    peak = _kilobytes("VmHWM")
    del answer
    return max(peak - before, 0.0) / 1024.0


def _give_back_freed_memory() -> None:
    """Let the allocator hand back what it keeps, which would otherwise hide the first allocations of the call."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):
        return  # not glibc


def _kilobytes(name: str) -> float:
    for line in STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return float(line.split()[1])
    raise RuntimeError(f"{STATUS} has no line {name}.")
