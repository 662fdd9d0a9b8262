"""The keeper: stands between a provisioner and its agent, and ends all with the one or the other.

It is started by the provisioner and forks the agent. The kernel signals it when the provisioner
ends; a socket to the provisioner, whose end is seen, is the second line. Then, and when the agent
has ended, every descendant is ended:

* `namespace`: the agent is the first process of a PID namespace, so the kernel does it with the
  agent's end, and the agent is killed by the kernel when the keeper ends, however that comes.
* `subreaper`: keeper and agent adopt orphans, and each of them ends all descendants when it sees
  the other's end. What is left when both are killed at the same instant, nobody ends.

The keeper, which is where the provisioner is, knows the agent by the name that others know it by.
"""

import contextlib
import json
import os
import select
import signal
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from tenure.machine.descendant import end_descendants
from tenure.machine.durable import write_durably
from tenure.machine.namespace import give_children_a_pid_namespace, mount_own_proc
from tenure.machine.parent import adopt_orphans, signal_at_parents_end
from tenure.machine.process import ProcessIdentity, identify
from tenure.wire.attempt_folder import FOLDER_VARIABLE
from tenure.wire.tether import (
    KEEPER_FILE,
    REPORT_BYTES_MAX,
    TETHER_VARIABLE,
    Isolation,
    KeeperRecord,
    Kept,
    Report,
    Tether,
    Unavailable,
    encode_keeper,
    encode_report,
    parse_tether,
)
from tenure.worker.log import log
from tenure.worker.orphan import reaping_orphans
from tenure.worker.stopping import taking_stop_requests

NO_AGENT: Final = 3
"""Exit code of a keeper that has none, and of an agent that lost its keeper before it began."""
_LOST: Final = 1
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGCONT)
_AT_PARENTS_END: Final[Mapping[Isolation, signal.Signals]] = {
    "namespace": signal.SIGKILL,
    "subreaper": signal.SIGCONT,
}
"""Killed where the kernel does the rest; woken, even if stopped, where that is still to be done."""
_SIGNAL_CODE_BASE: Final = 128

WorkAs: TypeAlias = Callable[[Mapping[str, str], ProcessIdentity], int]
"""Works on the attempt of an environment under a name, and gives the process's exit code."""


class _Child(msgspec.Struct, frozen=True, kw_only=True):
    """The agent's process, as its keeper has it."""

    pid: int
    says: int
    """What it says before it begins: an empty line, or what went wrong."""
    hears: int
    """It hears its name, and then, by the end, that the keeper is gone."""


def keep(environment: Mapping[str, str], work_as: WorkAs) -> int:
    """Fork the agent of an attempt and keep it, or be it.

    Guarantees: nothing runs before the provisioner's end would be noticed; the keeper's file is on
    disk before the agent has a name; the agent begins only under a living keeper.

    Returns:
        The exit code of the process, the keeper's or the agent's.
    """
    tether = parse_tether(environment[TETHER_VARIABLE])
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # a SIGTERM waits for who can take it
    try:
        _isolate(tether.isolation)
    except OSError as exc:
        return _give_up(tether, str(exc))
    signal_at_parents_end(_AT_PARENTS_END[tether.isolation])
    if _is_provisioner_gone(tether):
        log("the provisioner is gone: nothing is started")
        return NO_AGENT
    child = _fork(tether)
    if child is None:
        return NO_AGENT
    if child.pid == 0:
        return _be_agent(environment, tether.isolation, child, work_as)
    return _introduce(environment, tether, child) or _guard(tether, child.pid)


def _isolate(isolation: Isolation) -> None:
    if isolation == "namespace":
        give_children_a_pid_namespace()
    else:
        adopt_orphans()


def _fork(tether: Tether) -> _Child | None:
    said, says = os.pipe()
    hears, told = os.pipe()
    try:
        pid = os.fork()
    except OSError as exc:
        _give_up(tether, str(exc))
        return None
    for descriptor in (says, hears) if pid else (said, told, tether.descriptor):
        os.close(descriptor)
    return _Child(pid=pid, says=said, hears=told) if pid else _Child(pid=0, says=says, hears=hears)


def _be_agent(
    environment: Mapping[str, str], isolation: Isolation, child: _Child, work_as: WorkAs
) -> int:
    try:
        os.setsid()
        signal_at_parents_end(_AT_PARENTS_END[isolation])
        if isolation == "namespace":
            mount_own_proc()
        else:
            adopt_orphans()
    except OSError as exc:
        os.write(child.says, f"{exc}\n".encode())
        return NO_AGENT
    os.write(child.says, b"\n")
    os.close(child.says)
    name = _read_line(child.hears)
    if not name:
        return NO_AGENT
    # Started while all signals are blocked, so that none is ever taken by this thread.
    threading.Thread(target=_end_with_keeper, args=(isolation, child.hears), daemon=True).start()
    own = {name: value for name, value in environment.items() if name != TETHER_VARIABLE}
    return work_as(own, ProcessIdentity.from_json(json.loads(name)))


def _end_with_keeper(isolation: Isolation, hears: int) -> None:
    while os.read(hears, 1):
        pass
    if isolation == "subreaper":
        end_descendants()
    os._exit(_LOST)


def _introduce(environment: Mapping[str, str], tether: Tether, child: _Child) -> int:
    """Tell everybody who the agent is; returns an exit code if there is none."""
    said = _read_line(child.says)
    if said != b"\n":
        os.waitpid(child.pid, 0)
        return _give_up(tether, said.decode(errors="replace").strip() or "the agent died")
    keeper, agent = identify(os.getpid()), identify(child.pid)
    assert keeper is not None  # whoever asks exists
    assert agent is not None  # a child that was not reaped
    record = KeeperRecord(process=dict(keeper.to_json()), isolation=tether.isolation)
    write_durably(Path(environment[FOLDER_VARIABLE]) / KEEPER_FILE, encode_keeper(record))
    os.write(child.hears, json.dumps(agent.to_json()).encode() + b"\n")
    _report(tether, Kept(agent=dict(agent.to_json())))
    return 0


def _guard(tether: Tether, agent: int) -> int:
    """Wait for the end of the provisioner or of the agent, and end the rest."""
    pidfd = os.pidfd_open(agent)
    signal.signal(signal.SIGCONT, lambda _signum, _frame: None)  # taken, so that it wakes the wait
    forwarded = 0
    with taking_stop_requests() as stop, reaping_orphans() as orphans, orphans.reaped_but(agent):
        while not _is_readable(pidfd) and not _is_provisioner_gone(tether):
            if stop.count > forwarded:
                forwarded = stop.count
                os.kill(agent, signal.SIGTERM)
            stop.wait(pidfd, tether.descriptor, timeout_seconds=None)
        if not _is_readable(pidfd):
            log("the provisioner is gone: everything ends")
            os.kill(agent, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(agent, 0)[1])
        if tether.isolation == "subreaper":
            end_descendants()
    return status if status >= 0 else _SIGNAL_CODE_BASE - status


def _is_provisioner_gone(tether: Tether) -> bool:
    # It never says anything: whatever can be read is the end.
    return os.getppid() != tether.provisioner_pid or _is_readable(tether.descriptor)


def _is_readable(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 0)[0])


def _give_up(tether: Tether, reason: str) -> int:
    log(f"no agent: {reason}")
    _report(tether, Unavailable(reason=reason))
    return NO_AGENT


def _report(tether: Tether, report: Report) -> None:
    with contextlib.suppress(OSError):  # who does not hear it is gone, which is seen next
        os.write(tether.descriptor, encode_report(report))


def _read_line(descriptor: int) -> bytes:
    line = b""
    while not line.endswith(b"\n") and len(line) < REPORT_BYTES_MAX:
        piece = os.read(descriptor, REPORT_BYTES_MAX)
        if not piece:
            break
        line += piece
    return line
