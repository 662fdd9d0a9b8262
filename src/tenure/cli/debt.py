"""Judging open work by what the ledger says about it: healthy or not, whose, and what to do."""

from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

import msgspec

from tenure.cli.duration import render_clock, render_relative
from tenure.cli.names import describe_actor
from tenure.cli.opening import hint
from tenure.ledger.ledger import Ledger
from tenure.model.open_work import OPEN_WORK_PAGE_MAX, OpenWork, UnreadableWork
from tenure.ports.incarnation import IncarnationAlive, IncarnationDead, IncarnationWitness

DEADLINE_GRACE: Final = timedelta(seconds=15)
"""How long after its deadline an attempt still counts as healthy: its agent is stopping it."""

Holder: TypeAlias = Literal["nobody", "lapsed", "alive", "dead", "unknown"]
"""Who answers for a piece of work: nobody (it was handed off), somebody whose lease has run out,
or a process with a lease, which is alive, proven dead, or cannot be seen from here."""


class Debt(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of open work, judged without looking at the infrastructure."""

    work: OpenWork
    holder: Holder
    is_healthy: bool
    reason: str
    """Why it is on the list."""
    advice: str
    """What one may do."""


async def list_all_open(ledger: Ledger, *, execution_id: str | None = None) -> list[OpenWork]:
    """List all open work that can be read, oldest first."""
    entries = await list_entries(ledger, execution_id=execution_id)
    return [entry for entry in entries if isinstance(entry, OpenWork)]


async def list_entries(
    ledger: Ledger, *, execution_id: str | None = None
) -> list[OpenWork | UnreadableWork]:
    """List all open work, oldest first, and what of it cannot be read."""
    found: list[OpenWork | UnreadableWork] = []
    while True:
        page = await ledger.list_open(
            execution_id=execution_id,
            after=found[-1] if found else None,
            limit=OPEN_WORK_PAGE_MAX,
        )
        found.extend(page)
        if len(page) < OPEN_WORK_PAGE_MAX:
            return found


def judge(work: OpenWork, witness: IncarnationWitness, now: datetime, url: str) -> Debt:
    """Judge a piece of open work by what the ledger says about it."""
    holder = _holder(work, witness, now)
    is_healthy = _is_healthy(work, holder, now)
    return Debt(
        work=work,
        holder=holder,
        is_healthy=is_healthy,
        reason=_reason(work, holder, now),
        advice=_advice(work, holder, url, is_healthy=is_healthy),
    )


def describe_holder(work: OpenWork, holder: Holder, now: datetime) -> str:
    """Tell who answers for a piece of work, and until when."""
    if work.lease_expires_at is None:
        return "nobody; it was handed off"
    until = f"{render_clock(work.lease_expires_at)[:8]}Z"
    relative = render_relative(work.lease_expires_at, now=now)
    if holder == "lapsed":
        return f"nobody; the lease ran out at {until} ({relative})"
    seen = {"alive": "alive", "dead": "dead"}.get(holder, "cannot be seen from here")
    assert work.owner_id is not None
    return f"{describe_actor(work.owner_id)} ({seen}) until {until} ({relative})"


def _holder(work: OpenWork, witness: IncarnationWitness, now: datetime) -> Holder:
    if work.owner_id is None or work.lease_expires_at is None:
        return "nobody"
    if work.lease_expires_at <= now:
        return "lapsed"
    match witness.observe(work.owner_id):
        case IncarnationAlive():
            return "alive"
        case IncarnationDead():
            return "dead"
        case _:
            return "unknown"


def _is_healthy(work: OpenWork, holder: Holder, now: datetime) -> bool:
    if work.kind == "reclamation" or not work.active or work.cancellation_requested:
        return False
    if work.deadline_at is not None and now > work.deadline_at + DEADLINE_GRACE:
        return False
    if work.failure_count or holder in ("lapsed", "dead"):
        return False
    if work.obligation == "provisioning-resolution":
        return holder in ("alive", "unknown")  # the call is under way
    return work.obligation == "allocation-control"


def _reason(work: OpenWork, holder: Holder, now: datetime) -> str:
    if work.kind == "reclamation":
        told = "its answer is in; that nothing of it is left has not been seen"
    elif work.obligation == "terminal-convergence":
        told = "it ended without an answer, which is not recorded yet"
    elif work.obligation == "provisioning-resolution":
        is_calling = holder in ("alive", "unknown") and not work.failure_count
        told = "it is being started" if is_calling else "it is not known whether it was started"
    elif not work.active:
        told = "it was superseded, and has not been seen to end"
    elif work.cancellation_requested:
        told = "its cancellation was requested, and it has not been seen to end"
    elif work.deadline_at is not None and now > work.deadline_at + DEADLINE_GRACE:
        told = "its deadline is over, and it has not been seen to end"
    else:
        told = "it runs, as far as is known"
    return told


def _advice(work: OpenWork, holder: Holder, url: str, *, is_healthy: bool) -> str:
    recover = hint("recover", None, url=url)
    cancel = hint("cancel", work.execution_id, url=url)
    if holder == "alive":
        told = "nothing: its holder looks after it"
    elif is_healthy:
        told = "nothing"
    elif holder == "dead":
        told = f"`{recover}`, which waits until the lease has run out"
    elif holder == "unknown":
        told = f"wait for its holder, or `{recover}` when the lease has run out"
    else:
        told = f"`{recover}`"
    can_be_cancelled = work.active and work.kind == "operation" and not work.cancellation_requested
    return f"{told}; `{cancel}` ends it" if can_be_cancelled else told
