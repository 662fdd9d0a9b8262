"""Find who holds a lock, since a free environment hides nobody who still has the descriptor.

The kernel shows for each descriptor the locks of its open file description, and whether it is
closed by exec. Who took the lock, and any fork of that one, has it with the flag; who was started
with it on purpose, and all descendants, have it without. A file that was deleted is held all the
same. Its number can be given to another file once nobody has it: who looks says which names count.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from tenure.machine.host import Host, read_host
from tenure.machine.lock import FileInode
from tenure.machine.process import ProcessIdentity, identity_from_stat, start_on_host
from tenure.machine.procfs import ETC, PROC, ProcessStat, read_stat
from tenure.machine.scan import Look, Scan, may_be_ours, scan_processes

IsName: TypeAlias = Callable[[Path], bool]
"""Whether a file of this path, the last one that it had, may be the one that is meant."""

_DELETED: Final = " (deleted)"
_FLAGS: Final = re.compile(r"^flags:\s*([0-7]+)$", re.MULTILINE)
_LOCKED: Final = re.compile(r"^lock:\s.*\bFLOCK\b.*\bWRITE\b", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    lock: FileInode
    is_name: IsName
    is_kept: bool
    """Only descriptors that exec keeps."""
    since_ticks: int


def lock_inheritors(
    lock: FileInode,
    *,
    is_name: IsName,
    since_ticks: int = 0,
    proc_root: Path = PROC,
    etc_root: Path = ETC,
) -> Scan:
    """List the processes that were started with this lock and still hold it.

    Args:
        lock: the file that was locked.
        is_name: which paths it may have.
        since_ticks: the start of the first process that can hold it; older ones are left out.
        proc_root: where processes are listed.
        etc_root: where `machine-id` is read.

    Raises:
        OSError: the host's facts or the listing cannot be read.
    """
    wanted = _Wanted(lock=lock, is_name=is_name, is_kept=True, since_ticks=since_ticks)
    return _scan(wanted, proc_root, etc_root)


def lock_holders(
    lock: FileInode,
    *,
    is_name: IsName,
    since_ticks: int = 0,
    proc_root: Path = PROC,
    etc_root: Path = ETC,
) -> Scan:
    """List all who hold the lock, those included who happen to have a copy of it.

    A complete and empty answer proves that nobody does, whatever became of the file: it takes the
    place of `is_held` where the path names it no more. Arguments and errors are as above.
    """
    wanted = _Wanted(lock=lock, is_name=is_name, is_kept=False, since_ticks=since_ticks)
    return _scan(wanted, proc_root, etc_root)


def inherits_lock(process: ProcessIdentity, lock: FileInode, *, is_name: IsName) -> bool | None:
    """Say whether exactly this process was started with the lock and still holds it.

    Returns:
        None when that cannot be read, or the process has ended.

    Raises:
        OSError: the host's facts cannot be read.
    """
    wanted = _Wanted(lock=lock, is_name=is_name, is_kept=True, since_ticks=0)
    seen = _look(process.pid, wanted, read_host(), PROC)
    if isinstance(seen, Look):
        return False if seen is Look.WITHOUT else None
    return True if seen == process else None


def _scan(wanted: _Wanted, proc_root: Path, etc_root: Path) -> Scan:
    host = read_host(proc_root=proc_root, etc_root=etc_root)
    return scan_processes(lambda pid: _look(pid, wanted, host, proc_root), proc_root=proc_root)


def _look(pid: int, wanted: _Wanted, host: Host, proc_root: Path) -> ProcessIdentity | Look:
    try:
        before = read_stat(pid, proc_root=proc_root)
        if before is not None and _cannot_hold(before, wanted, host):
            return Look.WITHOUT
        is_holder = _holds(proc_root / str(pid), wanted)
        after = read_stat(pid, proc_root=proc_root)
    except PermissionError:
        return Look.UNREADABLE if may_be_ours(pid, proc_root) else Look.WITHOUT
    except (FileNotFoundError, ProcessLookupError):
        return Look.UNSETTLED
    if before is None or after is None or after.start_ticks != before.start_ticks:
        return Look.UNSETTLED
    if is_holder:
        return identity_from_stat(pid, after, host=host)
    # A leader that ended before its threads shows no descriptor of theirs.
    return Look.UNREADABLE if after.state == "Z" and not after.is_finished else Look.WITHOUT


def _cannot_hold(stat: ProcessStat, wanted: _Wanted, host: Host) -> bool:
    is_older = start_on_host(stat, host=host) < wanted.since_ticks
    return is_older or stat.is_kernel_thread or stat.is_finished


def _holds(process: Path, wanted: _Wanted) -> bool:
    return any(_is_holding(process, entry, wanted) for entry in (process / "fd").iterdir())


def _is_holding(process: Path, entry: Path, wanted: _Wanted) -> bool:
    try:
        status = entry.stat()
        if (status.st_dev, status.st_ino) != (wanted.lock.device, wanted.lock.inode):
            return False
        name = str(entry.readlink()).removesuffix(_DELETED)
        text = (process / "fdinfo" / entry.name).read_text("ascii", "replace")
    except FileNotFoundError:
        return False  # closed meanwhile
    flags = _FLAGS.search(text)
    is_kept = flags is not None and not int(flags[1], 8) & os.O_CLOEXEC
    is_wanted = (is_kept or not wanted.is_kept) and wanted.is_name(Path(name))
    return is_wanted and _LOCKED.search(text) is not None
