"""The controller: take over, observe, plan, act, record, hand off.

Rules: it acts only under a claim whose lease outlasts the act; ``stale`` on any write stops all
acting on that attempt at once; a spooled outcome is delivered before any termination or loss is
recorded; termination and absence are recorded only as observed. One attempt's trouble never stops
a pass.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

import anyio
import msgspec

from tenure.errors import InvalidInputError, TenureError
from tenure.ledger.ledger import Ledger
from tenure.model.decision import Decision, Stale
from tenure.model.instant import format_instant
from tenure.model.open_work import OPEN_WORK_PAGE_MAX, OpenWork, UnreadableWork
from tenure.ports.incarnation import IncarnationDead, IncarnationWitness
from tenure.ports.provider import Provider
from tenure.remediation.calls import Caller, ClaimLost
from tenure.remediation.conclusion import write_conclusion
from tenure.remediation.holding import Holding, take_over
from tenure.remediation.observation import (
    MALFORMED_ANSWER,
    SOURCE,
    Sight,
    doubt_delay,
    end,
    look,
    look_after_death,
    undetermined,
)
from tenure.remediation.plan import Action, Circumstances, Observed, Owed, Stop, plan
from tenure.remediation.settings import ControllerSettings
from tenure.remediation.spool import deliver_spool

Ending: TypeAlias = Literal["closed", "kept", "doubtful", "held", "lost", "unreachable", "failed"]
"""What became of one piece of open work in a pass.

``closed``: nothing of it is owed any more. ``kept``: it runs as it should. ``doubtful``: nothing
could be concluded. ``held``: somebody else's lease runs. ``lost``: the claim was taken over while
acting. ``unreachable``: this controller has no such provider. ``failed``: the ledger or the code
raised.
"""
_STEPS_MAX: Final = 12
"""Most actions on one piece of work in one pass; the longest path has seven."""
_CONCLUSIVE: Final[frozenset[Observed]] = frozenset(
    {"absent", "lost", "several", "worker-dead", "gone", "undetermined"}
)
"""Observations under which a worker may have left an outcome that it cannot deliver any more."""


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
        witness: IncarnationWitness | None = None,
        settings: ControllerSettings | None = None,
    ) -> None:
        """Act as ``owner_id``, which names this process incarnation.

        Without a ``witness`` no provisioner is ever proven dead.

        Raises:
            InvalidInputError: the settings break their rules.
        """
        self._ledger = ledger
        self._providers = providers
        self._owner_id = owner_id
        self._witness = witness
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
        after: OpenWork | UnreadableWork | None = None
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
        self,
        reports: list[WorkReport],
        work: OpenWork | UnreadableWork,
        limiter: anyio.CapacityLimiter,
    ) -> None:
        if isinstance(work, UnreadableWork):
            reports.append(_report(work, "failed", f"its record is unreadable: {work.seen}"))
            return
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
            return _report(work, "lost", "somebody else was faster")
        try:
            report = await self._work_off(holding, provider)
        except anyio.get_cancelled_exc_class():
            await holding.leave(
                next_look_after=timedelta(),
                source=SOURCE,
                reason="the controller was stopped in the middle of a pass",
                code="stopped",
            )
            raise
        if report.ending in ("kept", "doubtful"):
            await holding.hand_off(next_look_after=self._next_look(holding.work, report))
        return report

    def _held(self, work: OpenWork, until: datetime) -> WorkReport:
        seen = f"held by {work.owner_id} until {format_instant(until)}"
        return _report(work, "held", seen, until=until)

    async def _work_off(self, holding: Holding, provider: Provider) -> WorkReport:
        try:
            for _ in range(_STEPS_MAX):
                if await holding.reload() is None or not await holding.renew(self._lease):
                    return await self._lost(holding)
                report = await self._step(holding, provider)
                if report is not None:
                    return report
            now = await self._ledger.now()
            seen = f"no end in sight after {_STEPS_MAX} steps"
            return await self._doubt(holding, undetermined(now, seen, code="no-progress"))
        except ClaimLost:
            return await self._lost(holding)

    async def _lost(self, holding: Holding) -> WorkReport:
        if await holding.reload() is None:
            return _report(holding.work, "closed", "nothing is owed any more")
        return _report(holding.work, "lost", "the claim was taken over by somebody else")

    async def _step(self, holding: Holding, provider: Provider) -> WorkReport | None:
        """Observe once and act once; None means that the work moved on and wants another step."""
        work, caller = holding.work, Caller(holding, self.settings)
        now = await self._ledger.now()
        sight: Sight | None = await self._look(work, provider, caller, now)
        assert sight is not None
        if sight.observed in _CONCLUSIVE:
            sight = await self._deliver(holding, provider, caller, sight)
            if sight is None:
                return None
        owed, circumstances = _owed(work), await self._circumstances(work, provider, now)
        action = plan(owed, sight.observed, circumstances)
        if action == "terminate":
            sight = await end(work, provider, caller, now=now)
            if sight.observed == "gone":
                sight = await self._deliver(holding, provider, caller, sight)
                if sight is None:
                    return None
            action = plan(owed, sight.observed, circumstances)
        if action == "keep":
            return _report(work, "kept", sight.summary)
        if action == "record-uncertainty":
            return await self._doubt(holding, sight)
        return await self._conclude(holding, action, sight)

    async def _look(
        self, work: OpenWork, provider: Provider, caller: Caller, now: datetime
    ) -> Sight:
        if self._witness is not None and work.allocation_lifetime == "provisioner-process-bound":
            life = self._witness.observe(work.provisioner_incarnation_id)
            if isinstance(life, IncarnationDead) and work.obligation != "terminal-convergence":
                return await look_after_death(work, provider, caller, now=now, death=life.reason)
        return await look(work, provider, caller, now=now)

    async def _deliver(
        self, holding: Holding, provider: Provider, caller: Caller, sight: Sight
    ) -> Sight | None:
        """Deliver what the worker left before anything is concluded from ``sight``.

        Returns:
            None when that settled the attempt; the doubt that forbids a conclusion; or ``sight``.
        """
        if provider.recovery is None:
            return sight
        now = await self._ledger.now()
        delivery = await deliver_spool(
            self._ledger, holding.work, provider.recovery, caller, now=now
        )
        if delivery.accepted:
            return None
        if delivery.doubt is None or sight.observed == "undetermined":
            return sight
        if delivery.blocks:
            return delivery.doubt
        if sight.observed in ("absent", "lost", "gone"):  # told once, when the end is recorded
            await self._doubt(holding, delivery.doubt)
        return sight

    async def _doubt(self, holding: Holding, sight: Sight) -> WorkReport:
        assert sight.evidence is not None
        _still_held(await holding.record_uncertainty(sight.evidence))
        work = await holding.reload()
        return _report(work or holding.work, "doubtful", sight.summary)

    async def _conclude(self, holding: Holding, action: Action, sight: Sight) -> WorkReport | None:
        """Write one conclusion; what the ledger refuses shows when the work is read again."""
        try:
            _still_held(await write_conclusion(self._ledger, holding, action, sight))
        except InvalidInputError as exc:  # its text may hold what the provider said
            seen = f"the provider's answer was refused as {exc.code}"
            now = await self._ledger.now()
            return await self._doubt(holding, undetermined(now, seen, code=MALFORMED_ANSWER))
        return None

    async def _circumstances(
        self, work: OpenWork, provider: Provider, now: datetime
    ) -> Circumstances:
        grace = timedelta(seconds=self.settings.reclamation_grace_seconds)
        return Circumstances(
            stop=await self._stop(work, provider, now),
            grace_is_over=work.kind == "reclamation" and now >= work.opened_at + grace,
        )

    async def _stop(self, work: OpenWork, provider: Provider, now: datetime) -> Stop | None:
        if not work.active:
            return "superseded"
        if work.cancellation_requested:
            return "cancelled"
        grace = timedelta(seconds=self.settings.deadline_grace_seconds)
        if work.deadline_at is not None and now >= work.deadline_at + grace:
            return "past-deadline"
        if provider.traits.needs_bootstrap and work.obligation == "allocation-control":
            attempt = await self._ledger.recovery.get_attempt_with_allocation(
                execution_attempt_id=work.execution_attempt_id
            )
            if attempt is not None and not attempt.claimable:
                return "cannot-bootstrap"
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


def _still_held(decision: Decision) -> None:
    """Stop acting at once when a write says that the claim is stale."""
    if isinstance(decision, Stale):
        raise ClaimLost


def _report(
    work: OpenWork | UnreadableWork, ending: Ending, detail: str, *, until: datetime | None = None
) -> WorkReport:
    return WorkReport(
        execution_id=work.execution_id,
        execution_attempt_id=work.execution_attempt_id,
        ending=ending,
        detail=detail,
        until=until,
    )
