"""Send a signal to exactly one process, never to whoever bears its number by now."""

import errno
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Literal

from tenure.machine.process import (
    Alive,
    Dead,
    DeathProof,
    Doubt,
    Observation,
    ProcessIdentity,
    Unknown,
    observe,
)
from tenure.machine.procfs import ETC, PROC

_NO_SUCH_LEADER: Final = frozenset({errno.ESRCH, errno.EINVAL, errno.ENOENT})
"""Nobody has the number, or (EINVAL, since 6.9 ENOENT) a mere thread has."""


@dataclass(frozen=True, slots=True)
class Sent:
    """The kernel took the signal for exactly this process; it says nothing about its effect."""

    kind: ClassVar[Literal["sent"]] = "sent"


@dataclass(frozen=True, slots=True)
class Gone:
    """The process was proven dead; nothing was signalled."""

    kind: ClassVar[Literal["gone"]] = "gone"
    reason: DeathProof


@dataclass(frozen=True, slots=True)
class Denied:
    """Nothing was signalled, since it was not permitted or the process could not be told apart."""

    kind: ClassVar[Literal["denied"]] = "denied"
    reason: Doubt
    detail: str = ""


Signalled = Sent | Gone | Denied


def signal_process(
    identity: ProcessIdentity, signum: int, *, proc_root: Path = PROC, etc_root: Path = ETC
) -> Signalled:
    """Send a signal to exactly this process, or to none.

    The process is held by a descriptor, then its start time is compared, then the signal goes
    through the descriptor: the number can be reused at any moment without harm. The identity is
    older than the call, so a match after the opening proves that the descriptor is the process's.

    Raises:
        ValueError: no such signal.
        OSError: no descriptor to be had, or a kernel before 5.3.
    """
    if signum not in signal.valid_signals():
        message = f"cannot signal a process: {signum!r} is no signal of this host"
        raise ValueError(message)
    try:
        pidfd = os.pidfd_open(identity.pid)
    except OSError as exc:
        if exc.errno not in _NO_SUCH_LEADER:
            raise
        return _unsent(observe(identity, proc_root=proc_root, etc_root=etc_root))
    try:
        seen = observe(identity, proc_root=proc_root, etc_root=etc_root)
        return _send(pidfd, signum) if isinstance(seen, Alive) else _unsent(seen)
    finally:
        os.close(pidfd)


def _send(pidfd: int, signum: int) -> Signalled:
    try:
        signal.pidfd_send_signal(pidfd, signum)
    except ProcessLookupError:
        return Gone(DeathProof.NO_SUCH_PROCESS)
    except PermissionError as exc:
        return Denied(Doubt.DENIED, str(exc))
    return Sent()


def _unsent(seen: Observation) -> Gone | Denied:
    match seen:
        case Dead(reason):
            return Gone(reason)
        case Unknown(reason, detail):
            return Denied(reason, detail)
        case Alive():
            # Opened as gone, seen alive: only a changing world explains it, so look again later.
            return Denied(Doubt.UNREADABLE, "the process could not be held by a descriptor")
