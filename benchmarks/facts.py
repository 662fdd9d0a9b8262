# ruff: noqa: INP001 - scripts beside each other, not a package
"""Facts about the machine, without which no figure means anything."""

import importlib.metadata
import os
import platform
import statistics
import time
from pathlib import Path

import apsw

_FLUSHES = 200
_PAGE = b"x" * 4096


def machine_facts(folder: Path) -> dict[str, str]:
    """Collect versions, processors, load, the file system and the latency of its flush."""
    versions = {name: importlib.metadata.version(name) for name in ("tenure", "apsw", "msgspec")}
    low, median, high = flush_latency_ms(folder)
    return {
        "python": platform.python_version(),
        **versions,
        "sqlite": apsw.sqlite_lib_version(),
        "kernel": platform.release(),
        "processor": _processor(),
        "cpus": str(len(os.sched_getaffinity(0))),
        "load average": " ".join(f"{load:.2f}" for load in os.getloadavg()),
        "file system": _file_system(folder),
        "fdatasync of 4 KiB, p10/p50/p90": f"{low:.3f} / {median:.3f} / {high:.3f} ms",
    }


def flush_latency_ms(folder: Path) -> tuple[float, float, float]:
    """Measure how long overwriting one page and flushing it takes: p10, p50 and p90."""
    path = folder / "flush"
    took = []
    with path.open("wb") as file:
        file.write(_PAGE)
        os.fsync(file.fileno())
        for _ in range(_FLUSHES):
            began = time.perf_counter()
            os.pwrite(file.fileno(), _PAGE, 0)
            os.fdatasync(file.fileno())
            took.append((time.perf_counter() - began) * 1000)
    path.unlink()
    deciles = statistics.quantiles(took, n=10)
    return deciles[0], deciles[4], deciles[8]


def is_in_memory(folder: Path) -> bool:
    """Tell whether a folder lies on a file system that has no disk."""
    return _file_system(folder).split()[0] in {"tmpfs", "ramfs"}


def _file_system(folder: Path) -> str:
    best = ("", "unknown")
    for line in Path("/proc/mounts").read_text("utf-8").splitlines():
        device, mount, kind = line.split()[:3]
        inside = folder.resolve().is_relative_to(mount)
        if inside and len(mount) >= len(best[0]):
            best = (mount, f"{kind} on {device}")
    return best[1]


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
