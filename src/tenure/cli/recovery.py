"""Working off what is owed until nothing is left that can be settled now.

Everything that is open is looked at once. After that only what has a reason to be looked at again
is: a lease that has to run out first, a doubt (a bounded number of times), an allocation that is
given a moment to end by itself. What runs as it should is left alone.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

import anyio

from tenure.cli.debt import Debt, describe_holder, judge
from tenure.cli.host import Host
from tenure.cli.timeline import read_whole_journal
from tenure.errors import CorruptRecordError
from tenure.model.journal import JournalEntry
from tenure.remediation.controller import WorkReport
from tenure.remediation.holding import find_open_work
from tenure.remediation.undispatched import settle_undispatched

DOUBTS_MAX: Final = 5
"""How often something doubtful is looked at, each time when its next look is due."""
DOUBT_WAIT_MAX: Final = timedelta(seconds=30)
"""What is to be looked at later than that is reported instead."""
LEASES_MAX: Final = 2
"""How many leases of one piece of work are waited for; a holder that renews more often is alive."""
GRACE_LOOKS_MAX: Final = 60
_MOMENT: Final = timedelta(milliseconds=500)
_PAUSE_SECONDS: Final = 0.05
"""Least pause between two looks, whatever the clocks say."""

Ending: TypeAlias = Literal[
    "settled", "running", "retried", "held", "doubtful", "unreachable", "failed"
]
"""``settled``: nothing of it is owed any more. ``running``: as it should. ``retried``: it is a
further attempt, begun here. The others are owed."""


@dataclass(kw_only=True)
class Case:
    """What is known about one attempt in the course of a recovery."""

    execution_id: str
    execution_attempt_id: str
    ending: Ending = "doubtful"
    detail: str = ""
    until: datetime | None = None
    retry_at: datetime | None = None
    """When to look again; None when there is nothing more to do here."""
    looks: int = 0
    leases: set[datetime] = field(default_factory=set)
    did: Sequence[JournalEntry] = ()
    """What happened to it meanwhile, whoever did it."""

    @property
    def is_owed(self) -> bool:
        """Whether something of it is left that could not be settled."""
        return self.ending not in ("settled", "running", "retried")


class Recovery:
    """One recovery of one ledger. A pass that is cut anywhere is resumed from the ledger alone."""

    def __init__(self, host: Host, *, say: Callable[[str], Awaitable[None]]) -> None:
        """Work through ``host``; what it waits for is told to ``say``."""
        self._host = host
        self._say = say
        self._cases: dict[str, Case] = {}
        self._waits = True

    @property
    def cases(self) -> Sequence[Case]:
        """All attempts that were looked at, by execution."""
        return sorted(self._cases.values(), key=lambda case: case.execution_id)

    async def run(self, *, wait: bool) -> None:
        """Look at everything once, then at what has to be looked at again, if wanted."""
        self._waits = wait
        ledger, controller = self._host.ledger, self._host.authority.controller
        began_at = await ledger.now()
        await self._note_all(await settle_undispatched(ledger, self._host.witness))
        await self._note_all(await controller.run_pass(due_only=False))
        await self._retry()
        while wait and (due := await self._next_due()):
            for execution_id in sorted({case.execution_id for case in due}):
                reports = await controller.run_pass(execution_id=execution_id, due_only=False)
                await self._note_all(reports)
                await self._note_unreported(execution_id, reports, due)
            await self._retry()
        for case in self._cases.values():
            if case.ending not in ("running", "retried"):
                case.did = await self._read_what_happened(case, began_at)

    async def _retry(self) -> None:
        """Begin each further attempt that is due, and let it go: it runs as it should."""
        authority = self._host.authority
        for dispatch in await authority.retry_due():
            await authority.hand_off(dispatch, reason="begun by a recovery")
            self._cases[dispatch.execution_attempt_id] = Case(
                execution_id=dispatch.execution_id,
                execution_attempt_id=dispatch.execution_attempt_id,
                ending="retried",
                detail="a further attempt was begun",
            )

    async def _next_due(self) -> Sequence[Case]:
        """Wait until something is due, and at least a moment; nothing when nothing ever will be."""
        while waiting := [case for case in self._cases.values() if case.retry_at is not None]:
            now = await self._host.ledger.now()
            first = min(case.retry_at for case in waiting if case.retry_at is not None)
            await anyio.sleep(max(_PAUSE_SECONDS, (first - now).total_seconds()))
            now = await self._host.ledger.now()
            due = [c for c in waiting if c.retry_at is not None and c.retry_at <= now]
            if due:
                return due
        return ()

    async def _note_unreported(
        self, execution_id: str, reports: Sequence[WorkReport], due: Sequence[Case]
    ) -> None:
        """Read again what a pass said nothing about: somebody else has settled it meanwhile."""
        told = {report.execution_attempt_id for report in reports}
        for case in due:
            if case.execution_id == execution_id and case.execution_attempt_id not in told:
                seen = WorkReport(
                    execution_id=execution_id,
                    execution_attempt_id=case.execution_attempt_id,
                    ending="closed",
                    detail="nothing is owed any more",
                )
                await self._note(case, seen)

    async def _note_all(self, reports: Sequence[WorkReport]) -> None:
        for report in reports:
            case = self._cases.setdefault(
                report.execution_attempt_id,
                Case(
                    execution_id=report.execution_id,
                    execution_attempt_id=report.execution_attempt_id,
                ),
            )
            await self._note(case, report)

    async def _note(self, case: Case, report: WorkReport) -> None:
        ledger = self._host.ledger
        case.looks += 1
        case.detail, case.until, case.retry_at = report.detail, report.until, None
        try:
            work = await find_open_work(ledger, case.execution_id, case.execution_attempt_id)
        except CorruptRecordError as exc:
            case.ending, case.detail = "failed", str(exc)
            return
        if work is None:
            failed = report.ending == "failed"
            case.ending = "failed" if failed else "settled"
            return
        now = await ledger.now()
        debt = judge(work, self._host.witness, now, ledger.url)
        match report.ending:
            case "kept" if work.kind == "operation":
                case.ending = "running"
            case "held":
                await self._note_held(case, debt, now)
            case "unreachable":
                case.ending = "unreachable"
            case "kept" | "closed":
                case.ending = "doubtful"
                case.retry_at = now + _MOMENT if case.looks <= GRACE_LOOKS_MAX else None
            case _:
                case.ending = "failed" if report.ending == "failed" else "doubtful"
                self._look_again(case, work.next_look_at, now)

    def _look_again(self, case: Case, next_look_at: datetime, now: datetime) -> None:
        at = max(next_look_at, now + _MOMENT)
        if case.looks < DOUBTS_MAX and at - now <= DOUBT_WAIT_MAX:
            case.retry_at = at
        case.until = at

    async def _note_held(self, case: Case, debt: Debt, now: datetime) -> None:
        """Wait for a lease, unless it is one of a living process that looks after it."""
        work, until = debt.work, debt.work.lease_expires_at
        is_wanted = work.active and work.kind == "operation" and not work.cancellation_requested
        case.detail = f"held by {describe_holder(work, debt.holder, now)}"
        case.until = until
        if debt.is_healthy or (debt.holder == "alive" and is_wanted):
            case.ending = "running"
            return
        case.ending = "held"
        if until is None or until <= now:
            case.retry_at = now
            return
        if until not in case.leases:
            if len(case.leases) >= LEASES_MAX:
                return
            case.leases.add(until)
            if self._waits:
                await self._say(f"{case.execution_id} is {case.detail}; waiting")
        case.retry_at = min(until, now + 2 * _MOMENT)

    async def _read_what_happened(self, case: Case, since: datetime) -> Sequence[JournalEntry]:
        entries = await read_whole_journal(
            self._host.ledger, execution_attempt_id=case.execution_attempt_id
        )
        return [entry for entry in entries if entry.last_at >= since]
