"""The controller: take over, observe, plan, act, record, hand off.

Rules: it acts only under a claim that was renewed just before; ``stale`` on any write stops all
acting on that attempt at once; a spooled outcome is delivered before any termination or loss is
recorded; termination and absence are recorded only as observed. One attempt's trouble never stops
a pass.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

import anyio
import msgspec

from tenure.errors import TenureError
from tenure.ledger.ledger import Ledger
from tenure.model.decision import AcceptedOutcome
from tenure.model.evidence import BoundedRecoveryEvidence, make_evidence
from tenure.model.instant import format_instant
from tenure.model.open_work import OPEN_WORK_PAGE_MAX, OpenWork
from tenure.ports.provider import Provider, SpooledOutcome
from tenure.remediation.holding import Holding, take_over
from tenure.remediation.observation import (
    SOURCE,
    Sight,
    bounded_call,
    doubt_delay,
    end,
    look,
)
from tenure.remediation.plan import Circumstances, Owed, Stop, plan
from tenure.remediation.settings import ControllerSettings

Ending: TypeAlias = Literal["closed", "kept", "doubtful", "held", "lost", "unreachable", "failed"]
"""What became of one piece of open work in a pass.

``closed``: nothing of it is owed any more. ``kept``: it runs as it should. ``doubtful``: nothing
could be concluded. ``held``: somebody else's lease runs. ``lost``: the claim was taken over while
acting. ``unreachable``: this controller has no such provider. ``failed``: the ledger or the code
raised.
"""
_STEPS_MAX: Final = 12
"""Most actions on one piece of work in one pass; the longest path has seven."""


class WorkReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a pass did about one piece of open work."""

    execution_id: str
    execution_attempt_id: str
    ending: Ending
    detail: str
    """One line for people."""
    until: datetime | None = None
    """When it makes sense to look again: the end of a lease, or the next look."""


class Controller:
    """Works off what a ledger owes, through the providers that this process can reach."""

    def __init__(
        self,
        ledger: Ledger,
        providers: Mapping[str, Provider],
        *,
        owner_id: str,
        settings: ControllerSettings | None = None,
    ) -> None:
        """Act as ``owner_id``, which names this process incarnation.

        Raises:
            InvalidInputError: the settings break their rules.
        """
        self._ledger = ledger
        self._providers = providers
        self._owner_id = owner_id
        self.settings = (settings or ControllerSettings()).check()

    async def run_pass(
        self, *, execution_id: str | None = None, due_only: bool = True
    ) -> Sequence[WorkReport]:
        """Work once through all open work, or one execution's.

        Args:
            execution_id: only this execution's work.
            due_only: leave out what has to be looked at later; False looks at everything.
        """
        reports: list[WorkReport] = []
        limiter = anyio.CapacityLimiter(self.settings.parallel_max)
        due_before = await self._ledger.now() + timedelta(milliseconds=1) if due_only else None
        after: OpenWork | None = None
        while True:
            page = await self._ledger.list_open(
                due_before=due_before,
                execution_id=execution_id,
                after=after,
                limit=OPEN_WORK_PAGE_MAX,
            )
            async with anyio.create_task_group() as group:
                for work in page:
                    group.start_soon(self._work_into, reports, work, limiter)
            if len(page) < OPEN_WORK_PAGE_MAX:
                return sorted(reports, key=lambda report: report.execution_attempt_id)
            after = page[-1]

    async def take_over(self, work: OpenWork) -> Holding | None:
        """Take open work over, or None when somebody's lease runs or nothing is open."""
        return await take_over(self._ledger, work, owner_id=self._owner_id, lease=self._lease)

    async def converge(self, holding: Holding) -> WorkReport:
        """Do all that can be done now about work that is held already, and keep holding it."""
        provider = self._providers.get(holding.work.provider_id)
        if provider is None:
            return self._unreachable(holding.work)
        return await self._work_off(holding, provider)

    async def _work_into(
        self, reports: list[WorkReport], work: OpenWork, limiter: anyio.CapacityLimiter
    ) -> None:
        async with limiter:
            try:
                reports.append(await self._take_and_work(work))
            except Exception as exc:  # noqa: BLE001 - one attempt's trouble never stops a pass
                seen = str(exc) if isinstance(exc, TenureError) else type(exc).__name__
                reports.append(_report(work, "failed", seen))

    async def _take_and_work(self, work: OpenWork) -> WorkReport:
        provider = self._providers.get(work.provider_id)
        if provider is None:
            return self._unreachable(work)
        if work.lease_expires_at is not None and work.lease_expires_at > await self._ledger.now():
            return self._held(work, work.lease_expires_at)
        holding = await self.take_over(work)
        if holding is None:
            return _report(work, "lost", "another controller was faster")
        report = await self._work_off(holding, provider)
        if report.ending in ("kept", "doubtful"):
            await holding.hand_off(next_look_after=self._next_look(holding.work, report))
        return report

    def _held(self, work: OpenWork, until: datetime) -> WorkReport:
        seen = f"held by {work.owner_id} until {format_instant(until)}"
        return _report(work, "held", seen, until=until)

    async def _work_off(self, holding: Holding, provider: Provider) -> WorkReport:
        report: WorkReport | None = None
        for _ in range(_STEPS_MAX):
            work = await holding.reload()
            if work is None:
                return _report(holding.work, "closed", "nothing is owed any more")
            if not await holding.renew(self._lease):
                if await holding.reload() is None:
                    return _report(work, "closed", "nothing is owed any more")
                return _report(work, "lost", "the claim was taken over by somebody else")
            report = await self._step(holding, work, provider)
            if report is not None:
                return report
        return _report(holding.work, "doubtful", "no end in sight; looking again later")

    async def _step(
        self, holding: Holding, work: OpenWork, provider: Provider
    ) -> WorkReport | None:
        """Observe once and act once; None means that the work moved on and wants another step."""
        now = await self._ledger.now()
        sight = await look(work, provider, now=now, call_seconds=self.settings.call_seconds)
        if sight.observed in ("gone", "worker-dead", "undetermined") and await self._deliver(
            work, provider
        ):
            return None
        action = plan(_owed(work), sight.observed, self._circumstances(work, now))
        if action == "terminate":
            return await self._terminate(holding, work, provider)
        if action == "keep":
            return _report(work, "kept", _summary(sight))
        return await self._record(holding, work, action, sight)

    async def _record(
        self, holding: Holding, work: OpenWork, action: str, sight: Sight
    ) -> WorkReport | None:
        if action == "record-uncertainty":
            assert sight.evidence is not None
            await holding.record_uncertainty(sight.evidence)
            await holding.reload()
            return _report(work, "doubtful", _summary(sight))
        await self._write(holding, work, action, sight)
        return None

    async def _write(self, holding: Holding, work: OpenWork, action: str, sight: Sight) -> None:
        """Write one conclusion. What the ledger refuses shows when the work is read again."""
        ledger, claim, evidence = self._ledger, holding.claim, sight.evidence
        match action:
            case "record-discovered":
                assert sight.found is not None
                await ledger.recovery.record_discovered_allocation(
                    claim=claim, allocation_ref=sight.found
                )
            case "record-absent":
                assert evidence is not None
                await ledger.record_provisioning_absent(
                    claim=claim, execution_id=work.execution_id, evidence=evidence
                )
            case "record-terminated":
                assert evidence is not None
                await ledger.record_allocation_terminated(claim=claim, evidence=evidence)
            case "record-failure":
                await ledger.record_infrastructure_failure(
                    claim=claim, execution_id=work.execution_id
                )
            case "record-reference":
                assert sight.found is not None
                await holding.record_reference(sight.found)
            case _:
                assert evidence is not None
                closure: Literal["absent", "released"] = (
                    "absent" if action == "close-absent" else "released"
                )
                await ledger.close_reclamation(claim=claim, closure=closure, evidence=evidence)

    async def _terminate(
        self, holding: Holding, work: OpenWork, provider: Provider
    ) -> WorkReport | None:
        assert provider.recovery is not None
        now = await self._ledger.now()
        sight = await end(work, provider.recovery, now=now, call_seconds=self.settings.call_seconds)
        if sight.observed == "gone":
            return None
        evidence = sight.evidence or _still_there(now)
        if sight.observed in ("alive", "worker-dead"):
            evidence = _still_there(now)
        await holding.record_uncertainty(evidence)
        await holding.reload()
        return _report(work, "doubtful", f"termination requested: {_summary(sight)}")

    async def _deliver(self, work: OpenWork, provider: Provider) -> bool:
        """Commit an outcome that the worker left behind; True when that settled the attempt.

        Whatever the answer, it is final, so the spool is dropped with it.
        """
        if provider.recovery is None:
            return False
        call = provider.recovery.spooled_outcome(mark=work.mark)
        spooled = await bounded_call(call, self.settings.call_seconds)
        if not isinstance(spooled, SpooledOutcome):
            return False
        ids = (spooled.execution_id, spooled.execution_attempt_id)
        if (
            ids != (work.execution_id, work.execution_attempt_id)
            or spooled.result.execution_id != work.execution_id
        ):
            return False
        decision = await self._ledger.commit_outcome(
            execution_attempt_id=work.execution_attempt_id,
            execution_id=work.execution_id,
            result=spooled.result,
        )
        await bounded_call(
            provider.recovery.acknowledge_outcome(mark=work.mark), self.settings.call_seconds
        )
        return isinstance(decision, AcceptedOutcome)

    def _circumstances(self, work: OpenWork, now: datetime) -> Circumstances:
        grace = timedelta(seconds=self.settings.reclamation_grace_seconds)
        return Circumstances(
            stop=self._stop(work, now),
            grace_is_over=work.kind == "reclamation" and now >= work.opened_at + grace,
        )

    def _stop(self, work: OpenWork, now: datetime) -> Stop | None:
        if not work.active:
            return "superseded"
        if work.cancellation_requested:
            return "cancelled"
        grace = timedelta(seconds=self.settings.deadline_grace_seconds)
        if work.deadline_at is not None and now >= work.deadline_at + grace:
            return "past-deadline"
        return None

    def _next_look(self, work: OpenWork, report: WorkReport) -> timedelta:
        if report.ending == "kept":
            grace = self.settings.reclamation_grace_seconds
            seconds = grace if work.kind == "reclamation" else self.settings.look_seconds
            return timedelta(seconds=seconds)
        return doubt_delay(
            work.failure_count,
            first=self.settings.doubt_seconds,
            longest=self.settings.doubt_seconds_max,
        )

    def _unreachable(self, work: OpenWork) -> WorkReport:
        known = ", ".join(sorted(self._providers)) or "none"
        seen = f"no provider {work.provider_id!r} here (known: {known})"
        return _report(work, "unreachable", seen)

    @property
    def _lease(self) -> timedelta:
        return timedelta(seconds=self.settings.lease_seconds)


def _owed(work: OpenWork) -> Owed:
    return "reclamation" if work.obligation is None else work.obligation


def _summary(sight: Sight) -> str:
    return "nothing to look at" if sight.evidence is None else sight.evidence.summary


def _still_there(now: datetime) -> BoundedRecoveryEvidence:
    return make_evidence(
        source=SOURCE,
        summary="termination was requested, the allocation is still there",
        observed_at=now,
        code="termination-pending",
    )


def _report(
    work: OpenWork, ending: Ending, detail: str, *, until: datetime | None = None
) -> WorkReport:
    return WorkReport(
        execution_id=work.execution_id,
        execution_attempt_id=work.execution_attempt_id,
        ending=ending,
        detail=detail,
        until=until,
    )
