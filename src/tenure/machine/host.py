"""Facts of this host and of the namespaces this process lives in. Linux only.

Three names say where a process id means something: the machine, the boot, and the PID namespace.
A boot id is drawn by the kernel at each boot, so two equal ones are one boot of one machine (a
virtual machine restored twice from one snapshot is the exception that nothing in here can see).
A PID namespace inode may come again, but only after every process of its first bearer is gone.
"""

import errno
import hashlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tenure.machine.procfs import ETC, PROC, malformed, read_status

INITIAL_PID_NAMESPACE: Final = 0xEFFFFFFC
"""Inode of the namespace that the kernel boots into, fixed in the kernel's sources."""

BOOT_ID_PATTERN: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
MACHINE_ID_PATTERN: Final = r"[0-9a-f]{16}"

_RAW_MACHINE_ID: Final = re.compile(r"[0-9a-f]{32}")
_NANOSECONDS_PER_MS: Final = 1_000_000
_NANOSECONDS_PER_SECOND: Final = 1_000_000_000
_TIME_OFFSET_FIELDS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Where this process runs, read once; all that a process id needs to mean something."""

    machine_id: str
    boot_id: str
    pid_namespace: int
    boottime_offset_ns: int
    """What this process's time namespace adds to the host's boot-time clock; mostly 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BootTime:
    """The host's boot-time clock as a callable, with this process's time offset taken out.

    All processes of one boot read one clock through it, whatever their time namespaces. It counts
    through suspend, never goes back within one boot, and no setting of the wall clock moves it.
    """

    offset_ns: int
    read_ns: Callable[[], int] = lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME)

    @classmethod
    def of_this_process(cls, *, proc_root: Path = PROC) -> "BootTime":
        """Read the offset once; it cannot change while the process lives.

        Raises:
            OSError: the offset cannot be read.
        """
        return cls(offset_ns=boottime_offset_ns(proc_root=proc_root))

    def __call__(self) -> int:
        """Milliseconds since the host booted."""
        return (self.read_ns() - self.offset_ns) // _NANOSECONDS_PER_MS


def read_host(*, proc_root: Path = PROC, etc_root: Path = ETC) -> Host:
    """Read where this process runs.

    Raises:
        OSError: a fact cannot be read, or /proc was mounted for another PID namespace than this
            process's own (`unshare --pid` without `--mount-proc`), where each number in it would
            name another process.
    """
    _require_own_procfs(proc_root)
    return Host(
        machine_id=machine_id(proc_root=proc_root, etc_root=etc_root),
        boot_id=boot_id(proc_root=proc_root),
        pid_namespace=pid_namespace_inode(proc_root=proc_root),
        boottime_offset_ns=boottime_offset_ns(proc_root=proc_root),
    )


def machine_id(*, proc_root: Path = PROC, etc_root: Path = ETC) -> str:
    """Name this machine by a digest, 16 hexadecimal digits, the same after each reboot.

    The digest is taken of /etc/machine-id under a prefix of our own, since the raw id is
    confidential and other programs' digests of it should not match ours. Where that file is
    missing, empty, `uninitialized` or all zeros (as in most container images), the digest is of
    the boot id instead: stable until the next reboot, and after it simply another machine, about
    which nothing can be proven. That loses proofs and never makes a false one.

    Raises:
        OSError: neither can be read.
    """
    try:
        raw = (etc_root / "machine-id").read_text("ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        raw = ""
    usable = _RAW_MACHINE_ID.fullmatch(raw) is not None and raw.strip("0") != ""
    source = f"machine:{raw}" if usable else f"boot:{boot_id(proc_root=proc_root)}"
    return hashlib.sha256(f"tenure:{source}".encode("ascii")).hexdigest()[:16]


def boot_id(*, proc_root: Path = PROC) -> str:
    """Read the random UUID of this boot, in lower case.

    Raises:
        OSError: it cannot be read or is not a UUID.
    """
    path = proc_root / "sys" / "kernel" / "random" / "boot_id"
    text = path.read_text("ascii", "replace").strip()
    if re.fullmatch(BOOT_ID_PATTERN, text) is None:
        raise malformed(path, text)
    return text


def pid_namespace_inode(*, proc_root: Path = PROC) -> int:
    """Read the inode of the PID namespace in which this process's own number is counted.

    Raises:
        OSError: it cannot be read, or the kernel has no PID namespaces.
    """
    return _namespace_inode("pid", proc_root)


def boottime_ms(*, proc_root: Path = PROC) -> int:
    """Milliseconds since the host booted, suspend included, the same from every time namespace.

    Reads a file of /proc each time; keep a `BootTime` where it is called often.

    Raises:
        OSError: the offset of this process's time namespace cannot be read.
    """
    return BootTime.of_this_process(proc_root=proc_root)()


def boottime_offset_ns(*, proc_root: Path = PROC) -> int:
    """What the kernel adds to the boot-time clock for this process, in nanoseconds.

    Start times in /proc/PID/stat carry the reader's offset as well, so that without this two
    readers would disagree on one process's start, and one of them would call it dead.

    Raises:
        OSError: the offset cannot be read, or it is that of this process's future children only.
    """
    path = proc_root / "self" / "timens_offsets"
    try:
        lines = path.read_text("ascii", "replace").splitlines()
    except FileNotFoundError:
        return 0  # a kernel without time namespaces
    own, children = (_namespace_inode(n, proc_root) for n in ("time", "time_for_children"))
    if own != children:
        message = "cannot read the clock offset: the file shows that of future children"
        raise OSError(errno.ENOTSUP, message, str(path))
    for line in lines:
        fields = line.split()
        if fields[:1] == ["boottime"] and len(fields) == _TIME_OFFSET_FIELDS:
            return int(fields[1]) * _NANOSECONDS_PER_SECOND + int(fields[2])
    raise malformed(path, "".join(lines))


def _namespace_inode(name: str, proc_root: Path) -> int:
    # The link's text and the inode behind it are one number; the text needs no access to the inode.
    path = proc_root / "self" / "ns" / name
    text = str(path.readlink())
    found = re.fullmatch(r"[a-z]+:\[([0-9]+)\]", text)
    if found is None:
        raise malformed(path, text)
    return int(found[1])


def _require_own_procfs(proc_root: Path) -> None:
    # NSpid lists our number from the namespace of the mount down to our own: one means the same.
    numbers = read_status("self", proc_root=proc_root).get("NSpid", "").split()
    if len(numbers) != 1:
        message = f"cannot tell processes apart: /proc shows another PID namespace, {numbers!r}"
        raise OSError(errno.ENOTSUP, message, str(proc_root))
