"""Find processes by an entry of the environment they were started with.

The kernel keeps the environment that a program was executed with, and children inherit it, so an
unguessable value marks a whole tree of processes. Known limits, each to be covered by a lock whose
descriptor is inherited (`tenure.machine.lock`): between fork and exec a child still shows its
parent's environment; a program may be started with a cleared environment, or write over its own
(process titles); and what forks and exits without end may stay ahead of any listing.
"""

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from tenure.machine.host import Host, read_host
from tenure.machine.process import ProcessIdentity, identity_from_stat, start_on_host
from tenure.machine.procfs import ETC, PROC, ProcessStat, read_mounts, read_stat, read_status

ROUNDS_MAX: Final = 32
"""Listings of /proc until one must have shown nothing new."""
LOOKS_MAX: Final = 50
LOOK_SECONDS: Final = 0.002
"""How often, and how long apart, one process is looked at that is just being executed."""

_READ_BYTES: Final = 262_144
_PTRACE_CAPABILITY: Final = 1 << 19
_INITIAL_USER_NAMESPACE: Final = "user:[4026531837]"
_FIRST_PID: Final = 1
"""Of this namespace, and so no descendant of anybody in it."""
_SHOWN_BY_HIDEPID: Final = frozenset({"hidepid=0", "hidepid=off"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What one scan saw."""

    found: tuple[ProcessIdentity, ...]
    """Who has what was looked for, by number; some may have ended since."""
    complete: bool
    """Whether every process that could have it was read; False proves no absence."""
    unreadable: tuple[int, ...]
    """Numbers of the processes that could have it and could not be read."""


class Look(Enum):
    """What one look at one process gave that is not what was looked for."""

    WITHOUT = "without"
    UNREADABLE = "unreadable"
    UNSETTLED = "unsettled"
    """Gone, in the middle of an exec, or replaced while being read: if listed again, look again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    entry: bytes
    since_ticks: int


def processes_with_environment(
    name: str,
    value: str,
    *,
    since_ticks: int = 0,
    proc_root: Path = PROC,
    etc_root: Path = ETC,
) -> Scan:
    """List the living processes that were executed with exactly `name=value`.

    The scanning process itself is listed like any other. Listings are repeated until one shows
    nothing new, so that a process made during the scan is seen.

    A process whose environment may not be read makes the scan incomplete if any of its user ids
    (real, effective, saved, file system) is one of ours, as with a child that made itself
    undumpable. With none of ours it is skipped, or else no scan without privileges would ever be
    complete: for a descendant of ours to shed all our ids takes a set-user-id program that changes
    them for good (sudo, su); who allows those to the work must scan as root.

    Args:
        name: the variable.
        value: its whole value, unguessable.
        since_ticks: `start_ticks` of the process that gave the entry to its children, on this
            boot. Who started earlier is no descendant and is left out, so that it does no harm if
            such a one (as a first process with more privileges than ours) cannot be read.
        proc_root: where processes are listed.
        etc_root: where `machine-id` is read.

    Returns:
        A scan that is also incomplete when /proc is mounted with `hidepid`, without the privilege
        to see through it, since then it is not even known who is missing.

    Raises:
        ValueError: a name that is empty or holds "=", or a NUL in either.
        OSError: the host's facts or the listing cannot be read.
    """
    wanted = _Wanted(entry=_entry(name, value), since_ticks=since_ticks)
    host = read_host(proc_root=proc_root, etc_root=etc_root)
    return scan_processes(lambda pid: _look(pid, wanted, host, proc_root), proc_root=proc_root)


def bears_environment(
    process: ProcessIdentity, name: str, value: str, *, proc_root: Path = PROC, etc_root: Path = ETC
) -> bool | None:
    """Say whether exactly this process was executed with `name=value`.

    Returns:
        None when that cannot be read, or the process has ended.

    Raises:
        ValueError: as for a scan.
        OSError: the host's facts cannot be read.
    """
    entry = _entry(name, value)
    host = read_host(proc_root=proc_root, etc_root=etc_root)
    for _ in range(LOOKS_MAX):
        try:
            environment = _read_environment(process.pid, proc_root)
            after = read_stat(process.pid, proc_root=proc_root)
        except OSError:
            return None
        # The number is older than the call, so a match after the reading is one before it as well.
        if (
            after is None
            or after.is_finished
            or start_on_host(after, host=host) != (process.start_ticks)
        ):
            return None
        if entry in environment.split(b"\0"):
            return True
        if not _was_replaced(environment, after):
            return False
        time.sleep(LOOK_SECONDS)
    return None


def scan_processes(
    look: Callable[[int], ProcessIdentity | Look], *, proc_root: Path = PROC
) -> Scan:
    """Look at each process once, until a listing shows nobody new and everybody is settled.

    Raises:
        OSError: the listing cannot be read, or what `look` raises.
    """
    settled: dict[int, ProcessIdentity | Look] = {}
    unsettled: set[int] = set()
    for _ in range(ROUNDS_MAX):
        new = _list_pids(proc_root) - settled.keys()
        if not new:
            return _scan(settled, complete=not _hides_processes(proc_root))
        looks = {pid: look(pid) for pid in sorted(new)}
        unsettled = {pid for pid, seen in looks.items() if seen is Look.UNSETTLED}
        settled |= {pid: seen for pid, seen in looks.items() if pid not in unsettled}
    settled |= dict.fromkeys(unsettled, Look.UNREADABLE)
    return _scan(settled, complete=False)


def _scan(settled: dict[int, ProcessIdentity | Look], *, complete: bool) -> Scan:
    looks = sorted(settled.items())
    unreadable = tuple(pid for pid, look in looks if look is Look.UNREADABLE)
    return Scan(
        found=tuple(look for _, look in looks if isinstance(look, ProcessIdentity)),
        complete=complete and not unreadable,
        unreadable=unreadable,
    )


def _entry(name: str, value: str) -> bytes:
    if not name or "=" in name or "\0" in name + value:
        message = f"cannot look for an environment entry: {name!r} is no name, or a NUL is in it"
        raise ValueError(message)
    return os.fsencode(f"{name}={value}")


def _list_pids(proc_root: Path) -> set[int]:
    names = (folder.name for folder in proc_root.iterdir())
    return {int(name) for name in names if re.fullmatch(r"[1-9][0-9]*", name)}


def _look(pid: int, wanted: _Wanted, host: Host, proc_root: Path) -> ProcessIdentity | Look:
    try:
        before = read_stat(pid, proc_root=proc_root)
        if before is not None and _cannot_bear(before, wanted, host):
            return Look.WITHOUT
        environment = _read_environment(pid, proc_root)
        after = read_stat(pid, proc_root=proc_root)
    except PermissionError:
        return Look.UNREADABLE if may_be_ours(pid, proc_root) else Look.WITHOUT
    except (FileNotFoundError, ProcessLookupError):
        return Look.UNSETTLED
    if before is None or after is None or after.start_ticks != before.start_ticks:
        return Look.UNSETTLED
    if wanted.entry in environment.split(b"\0"):
        return identity_from_stat(pid, after, host=host)
    return Look.UNSETTLED if _was_replaced(environment, after) else Look.WITHOUT


def _cannot_bear(stat: ProcessStat, wanted: _Wanted, host: Host) -> bool:
    is_older = start_on_host(stat, host=host) < wanted.since_ticks
    return is_older or stat.is_kernel_thread or stat.is_finished


def _was_replaced(environment: bytes, after: ProcessStat) -> bool:
    # During an exec the environment reads as empty, and so does that of a leader that ended before
    # its threads. It is truly empty only if the kernel has bounds for it, and they are equal.
    is_truly_empty = after.env_start == after.env_end != 0
    return not environment and not is_truly_empty and not after.is_finished


def _read_environment(pid: int, proc_root: Path) -> bytes:
    descriptor = os.open(proc_root / str(pid) / "environ", os.O_RDONLY | os.O_CLOEXEC)
    try:
        chunks = []
        while chunk := os.read(descriptor, _READ_BYTES):
            chunks.append(chunk)
        return b"".join(chunks)
    finally:
        os.close(descriptor)


def may_be_ours(pid: int, proc_root: Path) -> bool:
    """Whether a process that may not be read runs under any of our user ids."""
    if pid == _FIRST_PID:
        return False
    # The folder's owner does not tell: that of an undumpable process belongs to root.
    try:
        uids = read_status(pid, proc_root=proc_root).get("Uid", "").split()
    except (FileNotFoundError, ProcessLookupError):
        return False
    except OSError:
        return True
    return not uids or not {str(uid) for uid in os.getresuid()}.isdisjoint(uids)


def _hides_processes(proc_root: Path) -> bool:
    here = [m for m in read_mounts(proc_root=proc_root) if m.point == str(proc_root)]
    options = here[-1].super_options if here else ()
    hidden = any(o.startswith("hidepid=") and o not in _SHOWN_BY_HIDEPID for o in options)
    return hidden and not _sees_everything(proc_root)


def _sees_everything(proc_root: Path) -> bool:
    capabilities = int(read_status("self", proc_root=proc_root).get("CapEff", "0"), 16)
    is_initial = str((proc_root / "self" / "ns" / "user").readlink()) == _INITIAL_USER_NAMESPACE
    return is_initial and bool(capabilities & _PTRACE_CAPABILITY)
