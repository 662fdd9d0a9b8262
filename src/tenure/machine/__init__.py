"""The facts of this host: who runs, who is gone, what time it is, what is safely on disk.

Linux only. Nothing in here decides anything about an attempt; it says what can be proven, and says
so when it cannot. Nothing is loaded before it is asked for: an agent needs little of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tenure.machine.clock import BootClock
    from tenure.machine.durable import make_private_folder, remove_durably, write_durably
    from tenure.machine.host import (
        BootTime,
        Host,
        boot_id,
        boottime_ms,
        machine_id,
        pid_namespace_inode,
        read_host,
    )
    from tenure.machine.incarnation import (
        current_incarnation,
        observe_incarnation,
        parse_incarnation,
        render_incarnation,
    )
    from tenure.machine.lock import FileInode, HeldLock, acquire, is_held
    from tenure.machine.process import (
        Alive,
        Dead,
        DeathProof,
        Doubt,
        Observation,
        ProcessIdentity,
        Unknown,
        identify,
        observe,
    )
    from tenure.machine.scan import Scan, processes_with_environment
    from tenure.machine.signalling import Denied, Gone, Sent, Signalled, signal_process

__all__ = [
    "Alive",
    "BootClock",
    "BootTime",
    "Dead",
    "DeathProof",
    "Denied",
    "Doubt",
    "FileInode",
    "Gone",
    "HeldLock",
    "Host",
    "Observation",
    "ProcessIdentity",
    "Scan",
    "Sent",
    "Signalled",
    "Unknown",
    "acquire",
    "boot_id",
    "boottime_ms",
    "current_incarnation",
    "identify",
    "is_held",
    "machine_id",
    "make_private_folder",
    "observe",
    "observe_incarnation",
    "parse_incarnation",
    "pid_namespace_inode",
    "processes_with_environment",
    "read_host",
    "remove_durably",
    "render_incarnation",
    "signal_process",
    "write_durably",
]

_HOMES: Final = {
    "tenure.machine.clock": ("BootClock",),
    "tenure.machine.durable": (
        "make_private_folder",
        "remove_durably",
        "write_durably",
    ),
    "tenure.machine.host": (
        "BootTime",
        "Host",
        "boot_id",
        "boottime_ms",
        "machine_id",
        "pid_namespace_inode",
        "read_host",
    ),
    "tenure.machine.incarnation": (
        "current_incarnation",
        "observe_incarnation",
        "parse_incarnation",
        "render_incarnation",
    ),
    "tenure.machine.lock": (
        "FileInode",
        "HeldLock",
        "acquire",
        "is_held",
    ),
    "tenure.machine.process": (
        "Alive",
        "Dead",
        "DeathProof",
        "Doubt",
        "Observation",
        "ProcessIdentity",
        "Unknown",
        "identify",
        "observe",
    ),
    "tenure.machine.scan": (
        "Scan",
        "processes_with_environment",
    ),
    "tenure.machine.signalling": (
        "Denied",
        "Gone",
        "Sent",
        "Signalled",
        "signal_process",
    ),
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Load a name from its home."""
    home = _HOME_OF.get(name)
    if home is None:
        message = f"module 'tenure.machine' has no attribute {name!r}"
        raise AttributeError(message)
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value
