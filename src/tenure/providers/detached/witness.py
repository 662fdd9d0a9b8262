"""What can be seen of an attempt on this machine. Blocking; changes nothing but a tombstone.

The lock is the first witness: held means that something of the attempt exists, also between fork
and exec, where a look at processes sees nothing. The folder's files say what there was. The scan
for the mark is the last resort, when somebody deleted the folder under a living agent.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from tenure.machine import (
    Alive,
    Dead,
    DeathProof,
    FileInode,
    HeldLock,
    ProcessIdentity,
    Scan,
    Unknown,
    is_held,
    observe,
    processes_with_environment,
)
from tenure.model.evidence import (
    AMBIGUOUS_ALLOCATION_MATCH,
    EXHAUSTIVE_SEARCH_UNAVAILABLE,
    NO_ALLOCATION_OBSERVED,
    BoundedRecoveryEvidence,
)
from tenure.ports.provider import (
    Discovery,
    Found,
    Gone,
    Inspection,
    ProvenAbsent,
    Running,
    Undetermined,
)
from tenure.providers.detached.folder import AttemptFolder
from tenure.providers.detached.launch import AGENT_MODULE
from tenure.providers.detached.reference import Allocation, render_reference
from tenure.wire import attempt_folder
from tenure.wire.attempt_folder import LockIdentity

Evidence: TypeAlias = Callable[[str, str], BoundedRecoveryEvidence]
"""Makes evidence of a summary and a code, observed when the look began."""

REPEATS_MAX: Final = 4
REPEAT_SECONDS: Final = 0.05

STARTING: Final = "worker-starting"
UNREADABLE: Final = "unreadable"
OUT_OF_REACH: Final = "out-of-reach"
RUNNING: Final = "worker-running"
LEFTOVERS: Final = "leftovers-running"
PROVEN_GONE: Final = "proven-gone"
FOUND: Final = "allocation-found"


def discover(folder: AttemptFolder, mark: str, since_ticks: int, evidence: Evidence) -> Discovery:
    """Find the agent of a mark, or prove that there is none and refuse any later one.

    Nothing of the attempt started before ``since_ticks`` of this boot; 0 when that is not known.
    """
    try:
        folder.make()
        lock = folder.lock()
        if lock is None:
            return _discover_locked(folder, evidence)
        with lock:
            return _discover_free(folder, lock, mark, since_ticks, evidence)
    except (OSError, ValueError) as exc:
        return Undetermined(evidence=evidence(f"the attempt's folder: {exc}", UNREADABLE))


def inspect(
    folder: AttemptFolder, mark: str, allocation: Allocation, evidence: Evidence
) -> Inspection:
    """See what is left of an allocation."""
    seen = None if allocation.agent is None else observe(allocation.agent)
    match seen:
        case Alive():
            return Running(evidence=evidence("the agent runs", RUNNING), worker="alive")
        case Unknown(reason, detail):
            summary = f"nothing is known of the agent: {reason} {detail}".strip()
            return Undetermined(evidence=evidence(summary, OUT_OF_REACH))
        case Dead(DeathProof.OTHER_BOOT):
            summary = "the machine was booted since; nothing of the agent is left"
            return Gone(evidence=evidence(summary, PROVEN_GONE))
        case Dead() | None:
            try:
                return _inspect_leftovers(folder, mark, allocation, evidence)
            except OSError as exc:
                return Undetermined(evidence=evidence(f"cannot look: {exc}", UNREADABLE))


def scan(mark: str, since_ticks: int) -> Scan:
    """Find what carries the mark, the agent included.

    A scan that was incomplete is repeated a little later: mostly somebody was just being executed.

    Raises:
        OSError: the host cannot be read.
    """
    variable = attempt_folder.MARK_VARIABLE
    seen = processes_with_environment(variable, mark, since_ticks=since_ticks)
    for _ in range(REPEATS_MAX):
        if seen.complete:
            break
        time.sleep(REPEAT_SECONDS)
        seen = processes_with_environment(variable, mark, since_ticks=since_ticks)
    return seen


def _discover_locked(folder: AttemptFolder, evidence: Evidence) -> Discovery:
    agent = folder.read_agent()
    if agent is None:
        summary = "the lock is held and no agent has said who it is: one may be starting"
        return Undetermined(evidence=evidence(summary, STARTING))
    return _found(agent, folder.lock_inode(), "the lock is held, its agent is known", evidence)


def _discover_free(
    folder: AttemptFolder, lock: HeldLock, mark: str, since_ticks: int, evidence: Evidence
) -> Discovery:
    agent = folder.read_agent()
    has_tombstone = folder.has(attempt_folder.TOMBSTONE_FILE)
    if agent is not None and has_tombstone:
        summary = "there are an agent and a tombstone, which exclude each other"
        return Undetermined(evidence=evidence(summary, UNREADABLE))
    if agent is not None:
        return _found(agent, folder.lock_inode(), "an agent was started and has ended", evidence)
    if has_tombstone:
        summary = "the lock is free, no agent ever was, a tombstone refuses any later one"
        return ProvenAbsent(evidence=evidence(summary, NO_ALLOCATION_OBSERVED))
    seen = scan(mark, since_ticks)
    if seen.found:
        return _discover_strays(seen, evidence)
    if not seen.complete and not _is_call_over(folder, lock):
        summary = f"no trace of a call, and {len(seen.unreadable)} processes could not be read"
        return Undetermined(evidence=evidence(summary, EXHAUSTIVE_SEARCH_UNAVAILABLE))
    folder.write_tombstone("nothing was found, so nothing may start any more")
    summary = (
        "the lock is free, no agent ever was, no process seen on this machine carries the mark, "
        "and a tombstone written under the lock refuses any later agent"
    )
    return ProvenAbsent(evidence=evidence(summary, NO_ALLOCATION_OBSERVED))


def _is_call_over(folder: AttemptFolder, lock: HeldLock) -> bool:
    # The call took this very lock, and all who inherited it are gone: no look at processes can say
    # more. Without its request the folder may be a new one, in the place of one that was deleted.
    request = folder.read_request()
    taken = None if request is None else request.lock
    return taken == LockIdentity(device=lock.inode.device, inode=lock.inode.inode)


def _discover_strays(seen: Scan, evidence: Evidence) -> Discovery:
    agents = [identity for identity in seen.found if _is_agent(identity)]
    if len(agents) > 1:
        summary = f"{len(agents)} agents carry the mark, and their folder is lost"
        return Undetermined(evidence=evidence(summary, AMBIGUOUS_ALLOCATION_MATCH))
    summary = "the folder is lost, processes that carry the mark were found"
    return _found(agents[0] if agents else None, None, summary, evidence)


def _found(
    agent: ProcessIdentity | None, lock: FileInode | None, summary: str, evidence: Evidence
) -> Found:
    reference = render_reference(Allocation(agent=agent, lock=lock))
    return Found(allocation_ref=reference, evidence=evidence(summary, FOUND))


def _inspect_leftovers(
    folder: AttemptFolder, mark: str, allocation: Allocation, evidence: Evidence
) -> Inspection:
    seen = scan(mark, allocation.since_ticks)
    if seen.found:
        summary = f"the agent is dead, {len(seen.found)} processes that carry its mark are left"
        return Running(evidence=evidence(summary, LEFTOVERS), worker="dead")
    if not seen.complete:
        summary = f"the agent is dead, {len(seen.unreadable)} processes could not be read"
        return Undetermined(evidence=evidence(summary, EXHAUSTIVE_SEARCH_UNAVAILABLE))
    # The lock last: whoever sheds the mark while being looked for still holds it.
    if allocation.lock is not None and folder.lock_inode() == allocation.lock:
        held = is_held(folder.path / attempt_folder.LOCK_FILE, allocation.lock)
        if held is None:
            return Undetermined(evidence=evidence("the lock cannot be examined", UNREADABLE))
        if held:
            summary = "the agent is dead, something that it started still holds its lock"
            return Running(evidence=evidence(summary, LEFTOVERS), worker="dead")
    summary = "the agent is dead, no process carries its mark, nobody holds its lock"
    return Gone(evidence=evidence(summary, PROVEN_GONE))


def _is_agent(identity: ProcessIdentity) -> bool:
    process = Path("/proc") / str(identity.pid)
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
        entries = (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
    prefix = os.fsencode(f"{attempt_folder.FOLDER_VARIABLE}=")
    is_agent = AGENT_MODULE.encode() in words and any(e.startswith(prefix) for e in entries)
    return is_agent and isinstance(observe(identity), Alive)
