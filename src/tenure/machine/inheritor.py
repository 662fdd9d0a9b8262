"""Find who inherited a lock, since a free environment hides nobody who still holds the descriptor.

The kernel shows for each descriptor the locks of its open file description, and whether it is
closed by exec. Who took the lock, and any fork of that one, has it with the flag; who was started
with it on purpose, and all descendants, have it without.
"""

import os
import re
from pathlib import Path
from typing import Final

from tenure.machine.host import Host, read_host
from tenure.machine.lock import FileInode
from tenure.machine.process import ProcessIdentity, identity_from_stat
from tenure.machine.procfs import ETC, PROC, read_stat

_FLAGS: Final = re.compile(r"^flags:\s*([0-7]+)$", re.MULTILINE)
_LOCKED: Final = re.compile(r"^lock:\s.*\bFLOCK\b.*\bWRITE\b", re.MULTILINE)


def lock_inheritors(
    lock: FileInode, *, proc_root: Path = PROC, etc_root: Path = ETC
) -> tuple[ProcessIdentity, ...]:
    """List the processes that were started with this lock and still hold it, by number.

    Processes that may not be looked into are left out: an empty answer proves nothing, `is_held`
    does.

    Raises:
        OSError: the host's facts or the listing cannot be read.
    """
    host = read_host(proc_root=proc_root, etc_root=etc_root)
    numbers = [int(entry.name) for entry in proc_root.iterdir() if entry.name.isdecimal()]
    looks = (_inheritor(pid, lock, host, proc_root) for pid in sorted(numbers))
    return tuple(identity for identity in looks if identity is not None)


def _inheritor(pid: int, lock: FileInode, host: Host, proc_root: Path) -> ProcessIdentity | None:
    try:
        before = read_stat(pid, proc_root=proc_root)
        if before is None or not _holds(proc_root / str(pid), lock):
            return None
        after = read_stat(pid, proc_root=proc_root)
    except OSError:
        return None
    if after is None or after.start_ticks != before.start_ticks:
        return None
    return identity_from_stat(pid, after, host=host)


def _holds(process: Path, lock: FileInode) -> bool:
    for entry in (process / "fd").iterdir():
        try:
            status = entry.stat()
            if (status.st_dev, status.st_ino) != (lock.device, lock.inode):
                continue
            text = (process / "fdinfo" / entry.name).read_text("ascii", "replace")
        except FileNotFoundError:
            continue  # closed meanwhile
        flags = _FLAGS.search(text)
        is_kept = flags is not None and not int(flags[1], 8) & os.O_CLOEXEC
        if is_kept and _LOCKED.search(text):
            return True
    return False
