"""Ownership: renewing, taking over and handing off a provider operation, doubts, and looks.

A takeover always makes a new generation with a fresh token, which fences every claim issued before
it at once. It needs no active attempt: what is owed stays owed after a supersession.
"""

import msgspec

from tenure.kernel.authorization import (
    HeldOperation,
    HeldReclamation,
    authorize,
    authorize_reclamation,
)
from tenure.kernel.doubt import fold_key, next_failure_count, next_streak
from tenure.kernel.journal import detail, entry
from tenure.kernel.record import claim_of
from tenure.kernel.state import Operation, Reclamation, State, Verdict
from tenure.model.command import (
    HandOffOperation,
    RecordUncertainty,
    RenewClaim,
    ScheduleLook,
    TakeOverOperation,
)
from tenure.model.decision import (
    Claimed,
    NotFound,
    ProviderOperationClaimDecision,
    ProviderOperationMutationDecision,
    Recorded,
    Resolved,
    Stale,
)
from tenure.model.instant import InstantMs
from tenure.model.json_value import JsonText


def renew_claim(state: State, command: RenewClaim) -> Verdict[ProviderOperationClaimDecision]:
    """Move the lease; generation and token stay, so that nobody is fenced. Not journaled."""
    held = authorize(state, command.claim)
    if not isinstance(held, HeldOperation):
        return Verdict(decision=held)
    renewed = msgspec.structs.replace(held.operation, lease_expires_ms=command.lease_expires_ms)
    return Verdict(
        decision=Claimed(claim=claim_of(command.execution_attempt_id, renewed)),
        attempt=msgspec.structs.replace(held.attempt, operation=renewed),
    )


def take_over_operation(
    state: State, command: TakeOverOperation, fresh_token: str
) -> Verdict[ProviderOperationClaimDecision]:
    """Take an operation that nobody holds now.

    Precedence: ``not-found`` → ``resolved`` → ``stale`` while it is owned and its lease is strictly
    later than the observation → ``claimed``.
    """
    attempt = state.attempt
    if attempt is None or attempt.operation is None:
        return Verdict(decision=NotFound())
    if attempt.status == "settled":
        return Verdict(decision=Resolved())
    operation = attempt.operation
    if lease_runs(operation, command.observed_ms):
        return Verdict(decision=Stale())
    taken = msgspec.structs.replace(
        operation,
        generation=operation.generation + 1,
        owner_id=command.owner_id,
        token=fresh_token,
        lease_expires_ms=command.lease_expires_ms,
        doubt_streak=0,
    )
    journaled = entry(
        attempt,
        "claim-taken-over",
        actor=command.owner_id,
        generation=taken.generation,
        detail=takeover_detail(operation, command.observed_ms, command.lease_expires_ms),
    )
    return Verdict(
        decision=Claimed(claim=claim_of(attempt.execution_attempt_id, taken)),
        attempt=msgspec.structs.replace(attempt, operation=taken),
        entries=(journaled,),
    )


def hand_off_operation(
    state: State, command: HandOffOperation
) -> Verdict[ProviderOperationMutationDecision]:
    """Release a held operation: owner, token and lease go together, all else stays."""
    held = authorize(state, command.claim)
    if not isinstance(held, HeldOperation):
        return Verdict(decision=held)
    released = msgspec.structs.replace(
        held.operation,
        owner_id=None,
        token=None,
        lease_expires_ms=None,
        last_failure=command.evidence or held.operation.last_failure,
        doubt_streak=0,
    )
    journaled = entry(
        held.attempt,
        "claim-handed-off",
        actor=command.claim.owner_id,
        generation=released.generation,
        evidence=command.evidence,
    )
    return Verdict(
        decision=Recorded(),
        attempt=msgspec.structs.replace(held.attempt, operation=released),
        entries=(journaled,),
    )


def record_uncertainty(
    state: State, command: RecordUncertainty
) -> Verdict[ProviderOperationMutationDecision]:
    """Keep a doubt: count it, keep its evidence, change nothing else, whatever is owed."""
    held = authorize(state, command.claim)
    if not isinstance(held, HeldOperation):
        return Verdict(decision=held)
    operation = held.operation
    streak = next_streak(operation, command.evidence)
    doubtful = msgspec.structs.replace(
        operation,
        failure_count=next_failure_count(operation),
        last_failure=command.evidence,
        doubt_streak=streak,
    )
    journaled = entry(
        held.attempt,
        "uncertainty-recorded",
        actor=command.claim.owner_id,
        generation=operation.generation,
        evidence=command.evidence,
        detail=detail(obligation=operation.obligation),
        fold_key=fold_key(command.execution_attempt_id, operation, streak),
    )
    return Verdict(
        decision=Recorded(),
        attempt=msgspec.structs.replace(held.attempt, operation=doubtful),
        entries=(journaled,),
    )


def schedule_look(
    state: State, command: ScheduleLook
) -> Verdict[ProviderOperationMutationDecision]:
    """Say when open work is due again, under the claim on whichever part of it is open.

    Authorized like the operation, or, once the attempt has settled, like the reclamation. Not
    journaled: it says nothing about the infrastructure.
    """
    held = authorize(state, command.claim)
    if isinstance(held, HeldOperation):
        looked = msgspec.structs.replace(held.operation, next_look_ms=command.next_look_ms)
        attempt = msgspec.structs.replace(held.attempt, operation=looked)
        return Verdict(decision=Recorded(), attempt=attempt)
    if not isinstance(held, Resolved):
        return Verdict(decision=held)
    reclaimed = authorize_reclamation(state, command.claim)
    if isinstance(reclaimed, NotFound):
        return Verdict(decision=held)
    if not isinstance(reclaimed, HeldReclamation):
        return Verdict(decision=reclaimed)
    later = msgspec.structs.replace(reclaimed.reclamation, next_look_ms=command.next_look_ms)
    attempt = msgspec.structs.replace(reclaimed.attempt, reclamation=later)
    return Verdict(decision=Recorded(), attempt=attempt)


def lease_runs(held: Operation | Reclamation, observed_ms: InstantMs) -> bool:
    """Tell whether somebody's lease is strictly later than the observation."""
    return held.lease_expires_ms is not None and held.lease_expires_ms > observed_ms


def takeover_detail(
    held: Operation | Reclamation, observed_ms: InstantMs, lease_expires_ms: InstantMs
) -> JsonText:
    """Encode what a takeover displaced: whose lease, until when, and what is owed."""
    return detail(
        previousOwnerId=held.owner_id,
        previousLeaseExpiresAt=held.lease_expires_ms,
        observedAt=observed_ms,
        leaseExpiresAt=lease_expires_ms,
        obligation=held.obligation if isinstance(held, Operation) else "reclamation",
    )
