"""Find, see and end the agents of one provider on this machine, and read what they left."""

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
from tenure.ports.provider import Discovery, Gone, Inspection, SpooledOutcome, Undetermined
from tenure.providers.local.folder import AttemptFolder
from tenure.providers.local.launch import Children
from tenure.providers.local.reference import Allocation, Form
from tenure.providers.local.termination import Ended, ask_agent, kill_everything, let_keeper_end
from tenure.providers.local.witness import PROVEN_GONE, UNREADABLE, Evidence, Witness
from tenure.wire.spool import SpoolDefect

KEEPER_SECONDS: Final = 5.0
"""How long a keeper may take to end all descendants of an agent that was killed."""

_MILLISECOND: Final = timedelta(milliseconds=1)
_SLACK: Final = timedelta(seconds=10)
_LOGGER: Final = logging.getLogger(__name__)


class LocalRecovery:
    """Recovery on one machine. Stateless but for the children that it has to reap."""

    def __init__(
        self,
        *,
        form: Form,
        root: Path,
        now: Callable[[], Awaitable[datetime]],
        children: Children,
        grace_seconds: float,
    ) -> None:
        """Take the folder of attempt folders, and the ledger's clock for evidence."""
        self._form = form
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
        witness = self._witness(mark, now)
        return await to_thread.run_sync(witness.discover, since)

    async def inspect(self, *, mark: str, allocation_ref: ProviderAllocationRef) -> Inspection:
        """Look at one allocation. Gone only if agent, marked processes and lock all say so."""
        allocation = self._parse(allocation_ref)
        if isinstance(allocation, ValueError):
            return await self._doubt(f"the reference: {allocation}")
        return await self._inspect(mark, allocation)

    async def terminate(self, *, mark: str, allocation_ref: ProviderAllocationRef) -> Inspection:
        """Ask the agent to end, kill what is left after the grace, and say what is seen then.

        Cancelling it stops it between two signals; what was signalled stays so.
        """
        allocation = self._parse(allocation_ref)
        if isinstance(allocation, ValueError):
            return await self._doubt(f"the reference: {allocation}")
        if not _is_within_reach(allocation):
            return await self._inspect(mark, allocation)
        try:
            ended = await self._end(mark, allocation)
        except OSError as exc:
            return await self._doubt(f"cannot look: {exc}")
        return self._told(await self._inspect(mark, allocation), ended)

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

    async def _end(self, mark: str, allocation: Allocation) -> Ended:
        await ask_agent(mark, allocation, grace_seconds=self._grace_seconds)
        if self._form.is_kept:
            await let_keeper_end(mark, allocation, seconds=KEEPER_SECONDS)
        return await kill_everything(mark, allocation)

    def _told(self, seen: Inspection, ended: Ended) -> Inspection:
        """Say also what had to be killed, so that nobody is surprised by what is missing."""
        if not isinstance(seen, Gone) or not ended.others:
            return seen
        processes = "1 process" if ended.others == 1 else f"{ended.others} processes"
        verb = "was" if ended.others == 1 else "were"
        told = f"{processes} that the command left behind {verb} ended"
        if ended.agent:
            told = f"the agent did not end in time and was killed, and {processes} with it"
        old = seen.evidence
        return Gone(
            evidence=make_evidence(
                source=old.source,
                summary=f"{told}; {old.summary}",
                observed_at=old.observed_at,
                code=PROVEN_GONE,
            )
        )

    async def _inspect(self, mark: str, allocation: Allocation) -> Inspection:
        witness = self._witness(mark, await self._now())
        seen = await to_thread.run_sync(witness.inspect, allocation)
        await to_thread.run_sync(self._children.reap)
        return seen

    async def _doubt(self, summary: str) -> Undetermined:
        return Undetermined(evidence=self._evidence(await self._now())(summary, UNREADABLE))

    def _parse(self, reference: ProviderAllocationRef) -> Allocation | ValueError:
        try:
            return self._form.parse(reference)
        except ValueError as exc:
            return exc

    def _witness(self, mark: str, observed_at: datetime) -> Witness:
        return Witness(
            folder=AttemptFolder(self._root, mark),
            mark=mark,
            form=self._form,
            evidence=self._evidence(observed_at),
        )

    def _evidence(self, observed_at: datetime) -> Evidence:
        return partial(_make_evidence, self._form.provider_id, observed_at)


def _make_evidence(
    source: str, observed_at: datetime, summary: str, code: str
) -> BoundedRecoveryEvidence:
    return make_evidence(source=source, summary=summary, observed_at=observed_at, code=code)


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
