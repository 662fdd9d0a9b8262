"""Parse the few files of /proc that the rest of this package reads.

Everything here is text in, values out; what a value proves is decided in `process` and `scan`.
A file that the kernel could not have written raises `OSError` with `EIO`: a fact that cannot be
read is a doubt, and every caller here treats an `OSError` as one.
"""

import errno
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
ETC: Final = Path("/etc")

_KERNEL_THREAD_FLAG: Final = 0x00200000
"""`PF_KTHREAD` in the flags of a task."""
_STAT_FIELDS_MIN: Final = 49
"""Fields after the command name up to and with `env_end`, there since Linux 3.5."""
_MOUNT_FIELDS_MIN: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStat:
    """What `/proc/PID/stat` says at one instant."""

    state: str
    """One letter: R, S, D, T, t, I, Z or X."""
    parent_pid: int
    """Number of the parent; 0 for one that is outside the PID namespace of the mount."""
    flags: int
    threads: int
    """Threads that are not yet gone, the leader included."""
    start_ticks: int
    """Start of the process in clock ticks since boot, as seen from the reader's time namespace."""
    env_start: int
    env_end: int
    """Bounds of the environment in memory; both 0 in the middle of an exec or when withheld."""

    @property
    def is_kernel_thread(self) -> bool:
        """Whether this is the kernel's own, without memory and so without an environment."""
        return bool(self.flags & _KERNEL_THREAD_FLAG)

    @property
    def is_finished(self) -> bool:
        """Whether nothing of the process can run any more.

        A zombie is only finished when its leader is its last thread: a leader that ended alone
        shows state Z while the other threads work on.
        """
        return self.state in {"Z", "X", "x"} and self.threads <= 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One line of `/proc/self/mountinfo`, as far as it matters here."""

    device: str
    """`major:minor`."""
    point: str
    file_system: str
    super_options: tuple[str, ...]


def malformed(path: Path, seen: str) -> OSError:
    """Build the error for a file whose text is not what the kernel writes."""
    return OSError(errno.EIO, f"cannot read a fact of this host: unexpected {seen!r}", str(path))


def read_stat(pid: int, *, proc_root: Path = PROC) -> ProcessStat | None:
    """Read one process's stat line.

    Returns:
        None when /proc shows no such process, which is no proof that there is none (hidepid).

    Raises:
        OSError: it is there and cannot be read, or its text is not understood.
    """
    path = proc_root / str(pid) / "stat"
    try:
        text = path.read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    try:
        return parse_stat(text)
    except (ValueError, IndexError) as exc:
        raise malformed(path, repr(text[:80])) from exc


def parse_stat(text: bytes) -> ProcessStat:
    """Parse a stat line from the last parenthesis on: a command name may hold any byte.

    Raises:
        ValueError: the line does not have the kernel's shape.
    """
    _, closing, rest = text.rpartition(b")")
    fields = rest.decode("ascii").split()
    if not closing or len(fields) < _STAT_FIELDS_MIN:
        message = f"cannot parse a stat line: {len(fields)} fields after the command name"
        raise ValueError(message)
    # proc(5) counts from 1 and has the state as field 3, so field N is at N - 3.
    return ProcessStat(
        state=fields[0],
        parent_pid=int(fields[1]),
        flags=int(fields[6]),
        threads=int(fields[17]),
        start_ticks=int(fields[19]),
        env_start=int(fields[47]),
        env_end=int(fields[48]),
    )


def read_status(pid: int | str, *, proc_root: Path = PROC) -> dict[str, str]:
    """Read `/proc/PID/status` as a mapping from field name to its stripped text.

    Raises:
        OSError: the file cannot be read.
    """
    text = (proc_root / str(pid) / "status").read_text("utf-8", "surrogateescape")
    pairs = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, _, value in pairs}


def read_mounts(*, proc_root: Path = PROC) -> tuple[Mount, ...]:
    """List the mounts that this process sees, the oldest first.

    Raises:
        OSError: the file cannot be read or is not understood.
    """
    path = proc_root / "self" / "mountinfo"
    lines = path.read_text("utf-8", "surrogateescape").splitlines()
    return tuple(_mount(line, path) for line in lines)


def _mount(line: str, path: Path) -> Mount:
    left, dash, right = line.partition(" - ")
    fields, tail = left.split(" "), right.split(" ")
    if not dash or len(fields) < _MOUNT_FIELDS_MIN or len(tail) < len(("type", "source", "super")):
        raise malformed(path, line)
    return Mount(
        device=fields[2],
        point=fields[4],
        file_system=tail[0],
        super_options=tuple(tail[-1].split(",")),
    )
