"""Judging open work by what the ledger says about it: healthy or not, whose, and what to do."""

from collections.abc import Container
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

import msgspec

from tenure.cli.duration import render_clock, render_instant, render_relative
from tenure.cli.names import describe_actor
from tenure.cli.opening import hint, quote
from tenure.ledger.ledger import Ledger
from tenure.model.open_work import OPEN_WORK_PAGE_MAX, OpenWork, UnreadableWork
from tenure.ports.incarnation import IncarnationAlive, IncarnationDead, IncarnationWitness
from tenure.remediation.spool import SPOOL_UNREADABLE
from tenure.wire.attempt_folder import OUTCOME_FILE
from tenure.wiring.ledgers import state_folder
from tenure.wiring.providers import ATTEMPTS_FOLDER

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
    is_reachable: bool
    """Whether there is its provider here."""
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


def judge(
    work: OpenWork,
    witness: IncarnationWitness,
    now: datetime,
    url: str,
    *,
    is_submitted: bool = True,
    providers: Container[str] | None = None,
) -> Debt:
    """Judge a piece of open work by what the ledger says about it.

    Args:
        work: What is judged.
        witness: Tells whether its holder lives.
        now: The ledger's time.
        url: Which ledger, for the advice.
        is_submitted: Whether its execution is one that can be waited for and cancelled.
        providers: Which providers there are here; None: its own is one of them.
    """
    holder = _holder(work, witness, now)
    is_healthy = _is_healthy(work, holder, now)
    reason = _reason(work, holder, now)
    if is_healthy or not _is_unattended(work, holder, now):
        advice = _advice(holder, url, is_healthy=is_healthy)
    else:
        reason = f"{reason}; not looked at since {_describe_last_look(work, now)}"
        advice = _advice_to_look(work, url, is_submitted=is_submitted)
    if is_submitted and _can_be_cancelled(work):
        advice += f"; `{hint('cancel', work.execution_id, url=url)}` ends it"
    is_reachable = providers is None or work.provider_id in providers
    if not is_reachable:
        reason = f"{reason}; this process has no provider {work.provider_id!r}"
        if holder != "alive":
            is_healthy = False
            advice = "leave it to its holder, or settle it where there is that provider"
    advice = _advice_to_unblock(work) + advice
    return Debt(
        work=work,
        holder=holder,
        is_healthy=is_healthy,
        is_reachable=is_reachable,
        reason=reason,
        advice=advice,
    )


def describe_moment(at: datetime, now: datetime) -> str:
    """Show an instant to the second in UTC, with its date where that is not today's."""
    return f"{render_clock(at)[:8]}Z" if at.date() == now.date() else render_instant(at)


def describe_holder(work: OpenWork, holder: Holder, now: datetime) -> str:
    """Tell who answers for a piece of work, and until when."""
    if work.lease_expires_at is None:
        return "nobody; it was handed off"
    until = describe_moment(work.lease_expires_at, now)
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
    if work.failure_count or holder == "dead" or _is_unattended(work, holder, now):
        return False
    if work.obligation == "provisioning-resolution":
        return holder in ("alive", "unknown")  # the call is under way
    return work.obligation == "allocation-control"


def _is_unattended(work: OpenWork, holder: Holder, now: datetime) -> bool:
    """Tell whether nobody answers for it, though somebody should have looked by now."""
    return holder == "lapsed" or (holder == "nobody" and work.next_look_at <= now)


def _describe_last_look(work: OpenWork, now: datetime) -> str:
    at = work.lease_expires_at or work.next_look_at
    return f"{describe_moment(at, now)} ({render_relative(at, now=now)})"


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


def _advice(holder: Holder, url: str, *, is_healthy: bool) -> str:
    recover = hint("recover", None, url=url)
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
    return told


def _advice_to_look(work: OpenWork, url: str, *, is_submitted: bool) -> str:
    recover = f"`{hint('recover', None, url=url)}`"
    if is_submitted and work.active and work.kind == "operation":
        return f"{recover} or `{hint('wait', work.execution_id, url=url)}`"
    return recover


def _advice_to_unblock(work: OpenWork) -> str:
    """Say what has to be removed first, where a worker's outcome cannot be read on this machine."""
    if work.last_failure is None or work.last_failure.code != SPOOL_UNREADABLE:
        return ""
    path = state_folder() / ATTEMPTS_FOLDER / work.mark / OUTCOME_FILE
    if path.is_dir() and not path.is_symlink():
        return f"remove the folder {quote(str(path))}, which stands in the place of a file; then "
    if path.exists() or path.is_symlink():
        return f"make {quote(str(path))} readable, or remove it; then "
    return ""


def _can_be_cancelled(work: OpenWork) -> bool:
    return work.active and work.kind == "operation" and not work.cancellation_requested
