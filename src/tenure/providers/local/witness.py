"""What can be seen of an attempt on this machine. Blocking; changes nothing but a tombstone.

The lock is the first witness: held means that something of the attempt exists, also between fork
and exec, where a look at processes sees nothing. The folder's files say what there was. The scan
for the mark is the last resort, when somebody deleted the folder under a living agent.
"""

import time
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

import msgspec

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
from tenure.machine.inheritor import lock_holders
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
from tenure.providers.local.belonging import Belonging, belonging, is_lock_of
from tenure.providers.local.folder import AttemptFolder
from tenure.providers.local.reference import Allocation, Form, Keeper
from tenure.providers.local.stray import inherited_lock, tell_apart
from tenure.wire import attempt_folder
from tenure.wire.attempt_folder import LockIdentity

_RUNNING: Final = frozenset({Belonging.OURS, Belonging.UNKNOWN})
"""A recorded process that may not be read is still the one of its number and start."""

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


class Witness(msgspec.Struct, frozen=True, kw_only=True):
    """Looks at one attempt, in the words of its provider."""

    folder: AttemptFolder
    mark: str
    form: Form
    evidence: Evidence

    def discover(self, since_ticks: int) -> Discovery:
        """Find the agent of the mark, or prove that there is none and refuse any later one.

        Nothing of the attempt started before ``since_ticks`` of this boot; 0: that is not known.
        """
        try:
            self.folder.make()
            lock = self.folder.lock()
            if lock is None:
                return self._discover_locked(since_ticks)
            with lock:
                return self._discover_free(lock, since_ticks)
        except (OSError, ValueError) as exc:
            return self._doubt(f"the attempt's folder: {exc}", UNREADABLE)

    def inspect(self, allocation: Allocation) -> Inspection:
        """See what is left of an allocation."""
        agent = allocation.agent
        try:
            match None if agent is None else observe(agent):
                case Unknown(reason, detail):
                    summary = f"nothing is known of the agent: {reason} {detail}".strip()
                    return self._doubt(summary, OUT_OF_REACH)
                case Dead(DeathProof.OTHER_BOOT):
                    return self._gone("the machine was booted since; nothing of the agent is left")
                case Alive() if agent and self._whose(agent, allocation.lock) in _RUNNING:
                    return self._running("the agent runs", RUNNING, is_alive=True)
                case _:
                    return self._inspect_leftovers(allocation)
        except OSError as exc:
            return self._doubt(f"cannot look: {exc}", UNREADABLE)

    def _discover_locked(self, since_ticks: int) -> Discovery:
        agent = self.folder.read_agent()
        if agent is None:
            summary = "the lock is held and no agent has said who it is: one may be starting"
            return self._doubt(summary, STARTING)
        return self._found_in_folder(agent, "the lock is held, its agent is known", since_ticks)

    def _discover_free(self, lock: HeldLock, since_ticks: int) -> Discovery:
        agent = self.folder.read_agent()
        has_tombstone = self.folder.has(attempt_folder.TOMBSTONE_FILE)
        if agent is not None and has_tombstone:
            summary = "there are an agent and a tombstone, which exclude each other"
            return self._doubt(summary, UNREADABLE)
        if agent is not None:
            return self._found_in_folder(agent, "an agent was started and has ended", since_ticks)
        if has_tombstone:
            return self._absent(
                "the lock is free, no agent ever was, a tombstone refuses any later one"
            )
        seen = scan(self.mark, since_ticks)
        if seen.found:
            return self._discover_strays(seen, lock=None, where="their folder is lost")
        if not seen.complete and not self._is_call_over(lock):
            summary = f"no trace of a call, and {len(seen.unreadable)} processes could not be read"
            return self._doubt(summary, EXHAUSTIVE_SEARCH_UNAVAILABLE)
        self.folder.write_tombstone("nothing was found, so nothing may start any more")
        return self._absent(
            "the lock is free, no agent ever was, no process seen on this machine carries the"
            " mark, and a tombstone written under the lock refuses any later agent"
        )

    def _is_call_over(self, lock: HeldLock) -> bool:
        # The call took this very lock, and all who inherited it are gone: no look at processes can
        # say more. Without its request the folder may be new, in the place of one that was deleted.
        request = self.folder.read_request()
        taken = None if request is None else request.lock
        return taken == LockIdentity(device=lock.inode.device, inode=lock.inode.inode)

    def _discover_strays(self, seen: Scan, *, lock: FileInode | None, where: str) -> Discovery:
        agents, keepers = tell_apart(seen, is_kept=self.form.is_kept)
        if len(agents) > 1 or len(keepers) > 1:
            summary = f"{len(agents)} agents carry the mark, and {where}"
            return self._doubt(summary, AMBIGUOUS_ALLOCATION_MATCH)
        keeper = Keeper(process=keepers[0], isolation=None) if keepers else None
        agent = agents[0] if agents else None
        if lock is None and agent is not None:
            lock = inherited_lock(agent)
        allocation = Allocation(agent=agent, lock=lock, keeper=keeper)
        return self._found(allocation, f"processes that carry the mark were found, and {where}")

    def _inspect_leftovers(self, allocation: Allocation) -> Inspection:
        seen = scan(self.mark, allocation.since_ticks)
        if seen.found:
            summary = f"the agent is dead, {len(seen.found)} processes that carry its mark are left"
            return self._running(summary, LEFTOVERS, is_alive=False)
        if not seen.complete:
            summary = f"the agent is dead, {len(seen.unreadable)} processes could not be read"
            return self._doubt(summary, EXHAUSTIVE_SEARCH_UNAVAILABLE)
        # The lock last: whoever sheds the mark while being looked for still holds it.
        return self._inspect_lock(allocation)

    def _inspect_lock(self, allocation: Allocation) -> Inspection:
        if allocation.lock is None:
            return self._gone("the agent is dead, no process carries its mark, its lock is unknown")
        if self.folder.lock_inode() != allocation.lock:
            return self._inspect_lost_lock(allocation.lock, allocation.since_ticks)
        held = is_held(self.folder.path / attempt_folder.LOCK_FILE, allocation.lock)
        if held is None:
            return self._doubt("the lock cannot be examined", UNREADABLE)
        if held:
            summary = "the agent is dead, something that it started still holds its lock"
            return self._running(summary, LEFTOVERS, is_alive=False)
        return self._gone("the agent is dead, no process carries its mark, nobody holds its lock")

    def _inspect_lost_lock(self, lock: FileInode, since_ticks: int) -> Inspection:
        """Look for those who hold a lock whose file was deleted or replaced."""
        lost = "the agent is dead, its lock's file was deleted or replaced"
        seen = lock_holders(lock, is_name=is_lock_of(self.mark), since_ticks=since_ticks)
        if seen.found:
            summary = f"{lost}, {len(seen.found)} processes hold it"
            return self._running(summary, LEFTOVERS, is_alive=False)
        if not seen.complete:
            summary = f"{lost}, {len(seen.unreadable)} processes could not be read"
            return self._doubt(summary, EXHAUSTIVE_SEARCH_UNAVAILABLE)
        return self._gone(f"{lost}, no process carries its mark, nobody holds its lock")

    def _found_in_folder(self, agent: ProcessIdentity, summary: str, since_ticks: int) -> Discovery:
        """Take the folder's word for who the agent is, unless what is seen is against it."""
        keeper = self.folder.read_keeper() if self.form.is_kept else None
        lock = self.folder.lock_inode()
        named = [agent] if keeper is None else [agent, keeper.process]
        whose = {self._whose(process, lock) for process in named}
        if Belonging.STRANGER in whose:
            return self._found_by_mark(lock, since_ticks)
        if Belonging.UNKNOWN in whose:
            summary = "the folder names a process of which it cannot be seen whose it is"
            return self._doubt(summary, UNREADABLE)
        return self._found(Allocation(agent=agent, lock=lock, keeper=keeper), summary)

    def _found_by_mark(self, lock: FileInode | None, since_ticks: int) -> Discovery:
        where = "their folder names a stranger as agent or keeper"
        seen = scan(self.mark, since_ticks)
        if seen.found:
            return self._discover_strays(seen, lock=lock, where=where)
        return self._found(Allocation(agent=None, lock=lock), f"no agent was found, and {where}")

    def _whose(self, process: ProcessIdentity, lock: FileInode | None) -> Belonging | None:
        """Tell whose a process is; None when it does not live, or nothing can be known of it."""
        if not isinstance(observe(process), Alive):
            return None
        whose = belonging(process, mark=self.mark, lock=lock)
        has_ended = whose is Belonging.UNKNOWN and not isinstance(observe(process), Alive)
        return None if has_ended else whose

    def _found(self, allocation: Allocation, summary: str) -> Found:
        reference = self.form.render(allocation)
        return Found(allocation_ref=reference, evidence=self.evidence(summary, FOUND))

    def _absent(self, summary: str) -> ProvenAbsent:
        return ProvenAbsent(evidence=self.evidence(summary, NO_ALLOCATION_OBSERVED))

    def _running(self, summary: str, code: str, *, is_alive: bool) -> Running:
        worker: Literal["alive", "dead"] = "alive" if is_alive else "dead"
        return Running(evidence=self.evidence(summary, code), worker=worker)

    def _gone(self, summary: str) -> Gone:
        return Gone(evidence=self.evidence(summary, PROVEN_GONE))

    def _doubt(self, summary: str, code: str) -> Undetermined:
        return Undetermined(evidence=self.evidence(summary, code))


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
