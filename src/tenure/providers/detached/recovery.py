"""Find, see and end the agents of this machine, and read what they left."""

import logging
import os
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

from anyio import to_thread

from tenure.machine import Dead, DeathProof, Unknown, boottime_ms, observe
from tenure.model.allocation import ProviderAllocationRef
from tenure.model.evidence import BoundedRecoveryEvidence, make_evidence
from tenure.ports.provider import Discovery, Inspection, SpooledOutcome, Undetermined
from tenure.providers.detached import witness
from tenure.providers.detached.folder import AttemptFolder
from tenure.providers.detached.launch import Children
from tenure.providers.detached.reference import PROVIDER_ID, Allocation, parse_reference
from tenure.providers.detached.termination import ask_agent, kill_everything
from tenure.wire.spool import SpoolDefect

_MILLISECOND: Final = timedelta(milliseconds=1)
_SLACK: Final = timedelta(seconds=10)
_LOGGER: Final = logging.getLogger(__name__)


class DetachedRecovery:
    """Recovery on one machine. Stateless but for the children that it has to reap."""

    def __init__(
        self,
        *,
        root: Path,
        now: Callable[[], Awaitable[datetime]],
        children: Children,
        grace_seconds: float,
    ) -> None:
        """Take the folder of attempt folders, and the ledger's clock for evidence."""
        self._root = root
        self._now = now
        self._children = children
        self._grace_seconds = grace_seconds

    async def discover(self, *, mark: str, begun_at: datetime) -> Discovery:
        """Search for the agent of a mark; an absence leaves a tombstone that refuses later ones.

        Never raises for what the machine does; `now` may.

        Args:
            mark: whose agent.
            begun_at: the attempt's durable begin, on the ledger's clock. A process that is older
                and may not be read (an agent for keys, say) leaves no doubt then.
        """
        boot_ms = boottime_ms()
        now = await self._now()
        since = _ticks_of(begun_at, now=now, boot_ms=boot_ms)
        folder = AttemptFolder(self._root, mark)
        evidence = partial(_make_evidence, now)
        return await to_thread.run_sync(witness.discover, folder, mark, since, evidence)

    async def inspect(self, *, mark: str, allocation_ref: ProviderAllocationRef) -> Inspection:
        """Look at one allocation. Gone only if agent, marked processes and lock all say so."""
        evidence = await self._evidence()
        try:
            allocation = parse_reference(allocation_ref)
        except ValueError as exc:
            return Undetermined(evidence=evidence(f"the reference: {exc}", witness.UNREADABLE))
        return await self._inspect(mark, allocation, evidence)

    async def terminate(self, *, mark: str, allocation_ref: ProviderAllocationRef) -> Inspection:
        """Ask the agent to end, kill what is left after the grace, and say what is seen then.

        Cancelling it stops it between two signals; what was signalled stays so.
        """
        evidence = await self._evidence()
        try:
            allocation = parse_reference(allocation_ref)
        except ValueError as exc:
            return Undetermined(evidence=evidence(f"the reference: {exc}", witness.UNREADABLE))
        if _is_within_reach(allocation):
            try:
                if allocation.agent is not None:
                    await ask_agent(allocation.agent, grace_seconds=self._grace_seconds)
                await kill_everything(mark, allocation)
            except OSError as exc:
                return Undetermined(evidence=evidence(f"cannot look: {exc}", witness.UNREADABLE))
        return await self._inspect(mark, allocation, await self._evidence())

    async def spooled_outcome(self, *, mark: str) -> SpooledOutcome | None:
        """Read the spool. One that cannot be trusted is reported to the log and is no outcome.

        Raises:
            OSError: it is there and cannot be read.
        """
        folder = AttemptFolder(self._root, mark)
        content = await to_thread.run_sync(folder.read_outcome)
        if isinstance(content, SpoolDefect):
            _LOGGER.warning("spool of mark %s is not trusted: it is %s", mark, content.seen)
            return None
        if content is None:
            return None
        return SpooledOutcome(
            execution_id=content.execution_id,
            execution_attempt_id=content.execution_attempt_id,
            result=content.result,
        )

    async def acknowledge_outcome(self, *, mark: str) -> None:
        """Remove the spool durably. Idempotent.

        Raises:
            OSError: it may still be there.
        """
        await to_thread.run_sync(AttemptFolder(self._root, mark).remove_outcome)

    async def _inspect(
        self, mark: str, allocation: Allocation, evidence: witness.Evidence
    ) -> Inspection:
        folder = AttemptFolder(self._root, mark)
        seen = await to_thread.run_sync(witness.inspect, folder, mark, allocation, evidence)
        await to_thread.run_sync(self._children.reap)
        return seen

    async def _evidence(self) -> witness.Evidence:
        return partial(_make_evidence, await self._now())


def _make_evidence(observed_at: datetime, summary: str, code: str) -> BoundedRecoveryEvidence:
    return make_evidence(source=PROVIDER_ID, summary=summary, observed_at=observed_at, code=code)


def _ticks_of(begun_at: datetime, *, now: datetime, boot_ms: int) -> int:
    # The ledger may keep another host's time: its second and ours differ by less than a hundredth.
    span = (now - begun_at) * 1.01 + _SLACK
    begun_boot_ms = boot_ms - span // _MILLISECOND
    return max(0, begun_boot_ms * os.sysconf("SC_CLK_TCK") // 1000)


def _is_within_reach(allocation: Allocation) -> bool:
    if allocation.agent is None:
        return True
    seen = observe(allocation.agent)
    return not isinstance(seen, Unknown) and seen != Dead(DeathProof.OTHER_BOOT)
