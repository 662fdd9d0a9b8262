"""Name one process so that the name never comes to mean another, and say whether it still lives.

A number alone is reused. Machine, boot, PID namespace, number and start time together are not: the
kernel gives a number again only after its bearer is gone, with a later start. Rules:

1. Death is proven, never assumed. `Dead` means that no thread of the process can run again.
2. Absence from /proc proves nothing by itself: `hidepid` hides living processes. The kernel's own
   answer to signal 0 does.
3. Whatever was recorded or is read on another machine, in another PID namespace, or not at all,
   is `Unknown`, and `Unknown` proves nothing.
4. A false `Alive` costs time, a false `Dead` costs a machine bought twice: doubt goes to the left.
"""

import errno
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Final, Literal

from tenure.machine.host import (
    BOOT_ID_PATTERN,
    INITIAL_PID_NAMESPACE,
    MACHINE_ID_PATTERN,
    Host,
    read_host,
)
from tenure.machine.procfs import ETC, PROC, ProcessStat, read_stat

PID_MAX: Final = 4_194_304
"""The kernel's `PID_MAX_LIMIT` on 64-bit machines."""
JSON_INTEGER_MAX: Final = 2**53 - 1
LOOKS_MAX: Final = 3
"""How often a process that /proc does not show but the kernel knows is looked for again."""

_TICK_NS: Final = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_JSON_FIELDS: Final[Mapping[str, str]] = {
    "machineId": "machine_id",
    "bootId": "boot_id",
    "pidNamespace": "pid_namespace",
    "pid": "pid",
    "startTicks": "start_ticks",
}
_TEXT_FIELDS: Final = frozenset({"machineId", "bootId"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessIdentity:
    """One process of one boot of one machine, named for good.

    Raises:
        ValueError: a field is out of its range.
    """

    machine_id: str
    """16 hexadecimal digits, from `machine_id()`."""
    boot_id: str
    """A UUID in lower case, from `boot_id()`."""
    pid_namespace: int
    """Inode of the namespace in which `pid` is counted: the writer's, which for a process in a
    nested namespace is not that process's own."""
    pid: int
    """1 to 4194304."""
    start_ticks: int
    """Clock ticks (10 ms) from boot to the start of the process, on the host's clock."""

    def __post_init__(self) -> None:
        allowed = (
            ("machine_id", re.fullmatch(MACHINE_ID_PATTERN, self.machine_id) is not None),
            ("boot_id", re.fullmatch(BOOT_ID_PATTERN, self.boot_id) is not None),
            ("pid_namespace", 0 < self.pid_namespace <= JSON_INTEGER_MAX),
            ("pid", 0 < self.pid <= PID_MAX),
            ("start_ticks", 0 <= self.start_ticks <= JSON_INTEGER_MAX),
        )
        wrong = {name: getattr(self, name) for name, is_right in allowed if not is_right}
        if wrong:
            message = f"invalid process identity: {wrong!r} out of range"
            raise ValueError(message)

    def to_json(self) -> dict[str, str | int]:
        """Render as a JSON object with camelCase names."""
        return {name: getattr(self, field) for name, field in _JSON_FIELDS.items()}

    @classmethod
    def from_json(cls, value: object) -> "ProcessIdentity":
        """Read what `to_json` wrote; exactly those names, types and ranges.

        Raises:
            ValueError: anything else.
        """
        if not isinstance(value, dict) or value.keys() != _JSON_FIELDS.keys():
            message = f"invalid process identity: {value!r}, allowed is an object of exactly "
            raise ValueError(message + ", ".join(_JSON_FIELDS))
        for name, item in value.items():
            # type() and not isinstance(): a bool is an int to Python and none to JSON.
            if type(item) is not (str if name in _TEXT_FIELDS else int):
                message = f"invalid process identity: {name} is {item!r}"
                raise ValueError(message)
        return cls(**{field: value[name] for name, field in _JSON_FIELDS.items()})


class DeathProof(StrEnum):
    """How a death is known; stable, goes into evidence."""

    OTHER_BOOT = "other-boot"
    NO_SUCH_PROCESS = "no-such-process"
    OTHER_START = "other-start"
    FINISHED = "finished"
    """A zombie without a living thread: it waits only for its parent."""


class Doubt(StrEnum):
    """Why nothing is known; stable, goes into evidence."""

    OTHER_MACHINE = "other-machine"
    OTHER_BOOT_UNPROVEN = "other-boot-unproven"
    """Another boot, seen from and recorded in containers, whose machine id may be an image's."""
    OTHER_NAMESPACE = "other-namespace"
    DENIED = "denied"
    HIDDEN = "hidden"
    """The kernel knows the number, and /proc does not show it."""
    UNREADABLE = "unreadable"
    NOT_OURS = "not-ours"
    """A text that names no process."""


@dataclass(frozen=True, slots=True)
class Alive:
    """At least one thread of exactly this process existed during the call."""

    kind: ClassVar[Literal["alive"]] = "alive"


@dataclass(frozen=True, slots=True)
class Dead:
    """No thread of the process exists, and none will."""

    kind: ClassVar[Literal["dead"]] = "dead"
    reason: DeathProof


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing was learned; this proves neither life nor death."""

    kind: ClassVar[Literal["unknown"]] = "unknown"
    reason: Doubt
    detail: str = ""
    """For people; may be empty."""


Observation = Alive | Dead | Unknown


def pid_exists(pid: int) -> bool:
    """Ask the kernel whether a number is taken in this process's PID namespace.

    Unlike /proc the answer hides nothing. A zombie and a thread take a number as well.
    """
    assert pid > 0  # 0 and below would ask about whole groups
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def identify(pid: int, *, proc_root: Path = PROC, etc_root: Path = ETC) -> ProcessIdentity | None:
    """Name the process that bears a number now, in this process's PID namespace.

    Only a process that cannot go away meanwhile (oneself, an unreaped child) is sure to be the one
    that was meant.

    Returns:
        None when /proc shows no such process. A zombie still has an identity.

    Raises:
        OSError: the process or a fact of the host cannot be read.
    """
    host = read_host(proc_root=proc_root, etc_root=etc_root)
    stat = read_stat(pid, proc_root=proc_root)
    return None if stat is None else identity_from_stat(pid, stat, host=host)


def identity_from_stat(pid: int, stat: ProcessStat, *, host: Host) -> ProcessIdentity:
    """Join what was read of a process with where it was read.

    Raises:
        OSError: the start time cannot be compared, see `start_on_host`.
    """
    return ProcessIdentity(
        machine_id=host.machine_id,
        boot_id=host.boot_id,
        pid_namespace=host.pid_namespace,
        pid=pid,
        start_ticks=start_on_host(stat, host=host),
    )


def observe(
    identity: ProcessIdentity,
    *,
    proc_root: Path = PROC,
    etc_root: Path = ETC,
    exists: Callable[[int], bool] = pid_exists,
) -> Observation:
    """Say whether exactly this process lives. Never raises for anything the world can do.

    `Dead` is final. `Alive` and `Unknown` are of the moment. It is safe against processes that end
    or numbers that are reused during the call. Another boot of the same machine proves death when
    the record or the reader is of the host's own PID namespace: inside containers /etc/machine-id
    is often baked into an image that other machines run as well. On hosts it must be unique, as
    systemd demands; templates of virtual machines are to be made without one.

    Args:
        identity: whom to look for.
        proc_root: where the facts are read.
        etc_root: where `machine-id` is read.
        exists: asks the kernel about a number; a test's fake /proc needs a fake kernel.
    """
    try:
        host = read_host(proc_root=proc_root, etc_root=etc_root)
        return _beyond_reach(identity, host) or _look(identity, host, proc_root, exists)
    except PermissionError as exc:
        return Unknown(Doubt.DENIED, str(exc))
    except OSError as exc:
        return Unknown(Doubt.UNREADABLE, str(exc))


def _beyond_reach(identity: ProcessIdentity, host: Host) -> Dead | Unknown | None:
    if identity.machine_id != host.machine_id:
        return Unknown(Doubt.OTHER_MACHINE)
    if identity.boot_id != host.boot_id:
        on_host = INITIAL_PID_NAMESPACE in {identity.pid_namespace, host.pid_namespace}
        return Dead(DeathProof.OTHER_BOOT) if on_host else Unknown(Doubt.OTHER_BOOT_UNPROVEN)
    if identity.pid_namespace != host.pid_namespace:
        return Unknown(Doubt.OTHER_NAMESPACE)
    return None


def _look(
    identity: ProcessIdentity, host: Host, proc_root: Path, exists: Callable[[int], bool]
) -> Observation:
    for _ in range(LOOKS_MAX):
        stat = read_stat(identity.pid, proc_root=proc_root)
        if stat is not None:
            return _judge(identity, stat, host)
        if not exists(identity.pid):
            return Dead(DeathProof.NO_SUCH_PROCESS)
        # The number was given again between the two questions, or its bearer is hidden.
    return Unknown(Doubt.HIDDEN)


def _judge(identity: ProcessIdentity, stat: ProcessStat, host: Host) -> Alive | Dead:
    if start_on_host(stat, host=host) != identity.start_ticks:
        return Dead(DeathProof.OTHER_START)
    return Dead(DeathProof.FINISHED) if stat.is_finished else Alive()


def start_on_host(stat: ProcessStat, *, host: Host) -> int:
    """Take the offset of this process's time namespace out of a start time; clock ticks.

    Raises:
        OSError: the offset is not a whole number of ticks, so that start times read here cannot be
            compared with those read elsewhere.
    """
    offset_ticks, rest_ns = divmod(host.boottime_offset_ns, _TICK_NS)
    if rest_ns:
        message = "cannot compare start times: the time namespace is off by a fraction of a tick"
        raise OSError(errno.ENOTSUP, message)
    return stat.start_ticks - offset_ticks
