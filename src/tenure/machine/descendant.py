"""Find and end the descendants of a process, told by whose child each one is.

For a process that adopts orphans (`tenure.machine.parent.adopt_orphans`) nobody gets out of that
tree while it lives.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tenure.machine.host import read_host
from tenure.machine.process import ProcessIdentity, identity_from_stat
from tenure.machine.procfs import ETC, PROC, ProcessStat, read_stat
from tenure.machine.signalling import signal_process

SWEEP_SECONDS_FIRST: Final = 0.002
SWEEP_SECONDS_MAX: Final = 1.0


def descendants(
    pid: int, *, proc_root: Path = PROC, etc_root: Path = ETC
) -> tuple[ProcessIdentity, ...]:
    """List the living descendants of a process of this PID namespace, by number.

    Who is made, or is adopted, while the list is made may be missing from it.

    Raises:
        OSError: the host's facts or the listing cannot be read.
    """
    host = read_host(proc_root=proc_root, etc_root=etc_root)
    seen = dict(_processes(proc_root))
    below = {pid}
    while found := {n for n, stat in seen.items() if stat.parent_pid in below} - below:
        below |= found
    return tuple(
        identity_from_stat(number, seen[number], host=host)
        for number in sorted(below - {pid})
        if number in seen and not seen[number].is_finished
    )


def end_descendants() -> None:
    """Kill all descendants of this process, and return when none is left.

    This process has to adopt orphans. All are stopped before the first is killed, so that they
    cannot make others faster than they are killed. For those that cannot be killed (another user's,
    or waiting for a device) it waits for ever: whoever asks whether they are gone is to see us.
    Reaps every child of this process.
    """
    pause = SWEEP_SECONDS_FIRST
    while True:
        _reap()
        with contextlib.suppress(OSError):  # tried again, however long that takes
            found = descendants(os.getpid())
            if not found:
                return
            for signum in (signal.SIGSTOP, signal.SIGKILL):
                for descendant in found:
                    signal_process(descendant, signum)
        time.sleep(pause)
        pause = min(2 * pause, SWEEP_SECONDS_MAX)


def _processes(proc_root: Path) -> Iterator[tuple[int, ProcessStat]]:
    for entry in proc_root.iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                stat = read_stat(int(entry.name), proc_root=proc_root)
                if stat is not None:
                    yield int(entry.name), stat


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
