"""Provisioning: the one grant to call a provider.

``begin`` succeeds at most once for each attempt, and only while the attempt is active. The same
transition binds provider, lifetime and provisioner for life and opens the operation, so that no
attempt can be bound without an owner who answers for the call.
"""

import msgspec

from tenure.errors import CorruptRecordError
from tenure.kernel.journal import detail
from tenure.kernel.record import claim_of, stored_ref
from tenure.kernel.settlement import conclude, settle
from tenure.kernel.state import Attempt, Entry, Operation, State, Verdict
from tenure.model.command import AbandonPendingAttempt, BeginProvisioning
from tenure.model.decision import (
    Abandoned,
    Allocated,
    AllocatedReference,
    AlreadyAbandoned,
    AlreadyProvisioning,
    AlreadySettled,
    Fenced,
    NotFound,
    PendingAttemptAbandonmentDecision,
    Provisioning,
    ProvisioningClaimDecision,
    ResolvedReference,
    Started,
)
from tenure.model.instant import InstantMs


def begin_provisioning(
    state: State, command: BeginProvisioning, now: InstantMs, fresh_token: str
) -> Verdict[ProvisioningClaimDecision]:
    """Claim the provider call.

    Precedence: ``not-found`` → ``fenced`` → ``resolved`` → ``allocated`` →
    ``already-provisioning`` → ``started``.
    """
    attempt = state.attempt
    if attempt is None or attempt.execution_id != command.execution_id:
        return Verdict(decision=NotFound())
    if state.active is not attempt:
        return Verdict(decision=Fenced())
    if attempt.status != "pending":
        return Verdict(decision=_begun(attempt))
    operation = Operation(
        generation=1,
        obligation="provisioning-resolution",
        owner_id=command.owner_id,
        token=fresh_token,
        lease_expires_ms=command.lease_expires_ms,
        failure_count=0,
        last_failure=None,
        doubt_streak=0,
        opened_ms=now,
        next_look_ms=now,
    )
    begun = msgspec.structs.replace(
        attempt,
        status="provisioning",
        provider_id=command.provider_id,
        allocation_lifetime=command.allocation_lifetime,
        provisioner_incarnation_id=command.provisioner_incarnation_id,
        mark=command.mark,
        deadline_ms=_deadline(state, now),
        operation=operation,
    )
    return Verdict(
        decision=Started(claim=claim_of(attempt.execution_attempt_id, operation)),
        attempt=begun,
        entries=(_begun_entry(command, attempt),),
    )


def abandon_pending_attempt(
    state: State, command: AbandonPendingAttempt, now: InstantMs
) -> Verdict[PendingAttemptAbandonmentDecision]:
    """Settle an attempt whose provider call never began.

    Precedence: ``fenced`` → ``allocated`` → ``provisioning`` → ``already-abandoned`` or
    ``already-settled`` → ``abandoned``.
    """
    attempt = state.attempt
    if attempt is None or attempt.execution_id != command.execution_id:
        return Verdict(decision=Fenced())
    if state.active is not attempt:
        return Verdict(decision=Fenced())
    match attempt.status:
        case "allocated":
            return Verdict(decision=Allocated())
        case "provisioning":
            return Verdict(decision=Provisioning())
        case "settled":
            abandoned = attempt.settlement_kind == "abandoned"
            return Verdict(decision=AlreadyAbandoned() if abandoned else AlreadySettled())
        case "pending":
            return _abandon(state, attempt, command, now)


def _abandon(
    state: State, attempt: Attempt, command: AbandonPendingAttempt, now: InstantMs
) -> Verdict[PendingAttemptAbandonmentDecision]:
    settled = settle(attempt, "abandoned", now)
    entry = Entry(
        event="attempt-abandoned",
        execution_id=attempt.execution_id,
        execution_attempt_id=attempt.execution_attempt_id,
        actor=command.actor,
    )
    execution, concluded = conclude(state, attempt, now, command.actor)
    return Verdict(
        decision=Abandoned(), attempt=settled, execution=execution, entries=(entry, *concluded)
    )


def _begun(attempt: Attempt) -> ProvisioningClaimDecision:
    """Say what stands in the way of a second begin."""
    ref = stored_ref(attempt)
    if attempt.status == "settled":
        return ResolvedReference(allocation_ref=ref)
    if attempt.status == "provisioning":
        return AlreadyProvisioning()
    if ref is None:
        seen = "it is allocated but has no reference"
        raise CorruptRecordError(record=f"attempt {attempt.execution_attempt_id!r}", seen=seen)
    return AllocatedReference(allocation_ref=ref)


def _deadline(state: State, now: InstantMs) -> InstantMs | None:
    if state.execution is None or state.execution.attempt_timeout_ms is None:
        return None
    return InstantMs(now + state.execution.attempt_timeout_ms)


def _begun_entry(command: BeginProvisioning, attempt: Attempt) -> Entry:
    return Entry(
        event="provisioning-begun",
        execution_id=attempt.execution_id,
        execution_attempt_id=attempt.execution_attempt_id,
        actor=command.owner_id,
        generation=1,
        detail=detail(
            providerId=command.provider_id,
            allocationLifetime=command.allocation_lifetime,
            provisionerIncarnationId=command.provisioner_incarnation_id,
            leaseExpiresAt=command.lease_expires_ms,
            mark=command.mark,
        ),
    )
