"""Settlement: the one end of an attempt, and what is still owed after it.

The first durable settlement wins; nothing reopens an attempt. Every settlement closes the operation
(owner, token and lease go together). When a provider call had begun and neither absence nor
termination is proven, the same transition opens a reclamation, because the machine may still run.
"""

import msgspec

from tenure.kernel.authorization import HeldOperation, authorize
from tenure.kernel.journal import detail, entry
from tenure.kernel.record import stored_ref
from tenure.kernel.state import Attempt, Entry, Execution, Operation, Reclamation, State, Verdict
from tenure.model.attempt import SettlementKind
from tenure.model.command import (
    CommitOutcome,
    RecordInfrastructureFailure,
    RecordProvisionerIncarnationLost,
    RecordProvisioningAbsent,
)
from tenure.model.decision import (
    AcceptedOutcome,
    AllocatedReference,
    Conflict,
    DuplicateOutcome,
    ExecutionAttemptOutcomeDecision,
    Fenced,
    IncarnationMismatch,
    InfrastructureFailureDecision,
    NotAllocated,
    NotFound,
    NotProcessBound,
    NotTerminated,
    ProvisionerIncarnationLossDecision,
    ProvisioningAbsenceDecision,
    Recorded,
)
from tenure.model.execution import (
    Conclusion,
    ExecutionSubmission,
    decode_submission,
    retry_delay_ms,
)
from tenure.model.instant import InstantMs
from tenure.model.json_value import JsonText
from tenure.model.result import (
    FailedResult,
    PausedResult,
    WorkflowRunResult,
    decode_result,
    same_workflow_result,
)

WORKER = "worker"
"""Who committed an outcome: workers hold no claim and are not named."""


def commit_outcome(
    state: State, command: CommitOutcome, now: InstantMs
) -> Verdict[ExecutionAttemptOutcomeDecision]:
    """Commit a worker's result, whoever holds the claim.

    Precedence: ``fenced`` → ``duplicate`` or ``conflict`` against a committed result → ``conflict``
    when it settled without one → ``accepted``. A replay is ``fenced`` once a newer attempt exists.
    """
    attempt = state.attempt
    if attempt is None or attempt.execution_id != command.execution_id:
        return Verdict(decision=Fenced())
    if state.active is not attempt:
        return Verdict(decision=Fenced())
    result = decode_result(command.result, record="the given result")
    if attempt.result is not None:
        committed = decode_result(
            attempt.result, record=f"attempt {command.execution_attempt_id!r}"
        )
        if same_workflow_result(committed, result):
            return Verdict(decision=DuplicateOutcome(outcome=committed))
        return Verdict(decision=Conflict())
    if attempt.status == "settled":
        return Verdict(decision=Conflict())
    settled = settle(attempt, "outcome", now)
    settled = msgspec.structs.replace(
        settled, result=command.result, reclamation=_reclamation(attempt, now)
    )
    journaled = [_settled_entry(attempt, "outcome-committed", WORKER, status=result.status)]
    if settled.reclamation is not None:
        journaled.append(_opened_entry(attempt, settled.reclamation))
    execution, concluded = _conclude_answered(state, result, now)
    return Verdict(
        decision=AcceptedOutcome(outcome=result),
        attempt=settled,
        execution=execution,
        entries=(*journaled, *concluded),
    )


def record_provisioning_absent(
    state: State, command: RecordProvisioningAbsent, now: InstantMs
) -> Verdict[ProvisioningAbsenceDecision]:
    """Settle as abandoned: nothing was ever made.

    Precedence: authorization → execution → ``allocated`` → ``recorded``.
    """
    held = authorize(state, command.claim)
    if not isinstance(held, HeldOperation):
        return Verdict(decision=held)
    if held.attempt.execution_id != command.execution_id:
        return Verdict(decision=NotFound())
    ref = stored_ref(held.attempt)
    if ref is not None:
        return Verdict(decision=AllocatedReference(allocation_ref=ref))
    return _abandon(state, held, "absence-recorded", command.evidence, now)


def record_provisioner_incarnation_lost(
    state: State, command: RecordProvisionerIncarnationLost, now: InstantMs
) -> Verdict[ProvisionerIncarnationLossDecision]:
    """Settle as abandoned: the process that provisioned is gone, and what it made with it.

    Precedence: authorization → execution → ``not-process-bound`` → ``incarnation-mismatch`` →
    ``allocated`` → ``recorded``.
    """
    held = authorize(state, command.claim)
    if not isinstance(held, HeldOperation):
        return Verdict(decision=held)
    attempt = held.attempt
    if attempt.execution_id != command.execution_id:
        return Verdict(decision=NotFound())
    if attempt.allocation_lifetime != "provisioner-process-bound":
        lifetime = attempt.allocation_lifetime
        return Verdict(decision=NotProcessBound(allocation_lifetime=lifetime))
    if attempt.provisioner_incarnation_id != command.provisioner_incarnation_id:
        stored = attempt.provisioner_incarnation_id
        return Verdict(decision=IncarnationMismatch(provisioner_incarnation_id=stored))
    ref = stored_ref(attempt)
    if ref is not None:
        return Verdict(decision=AllocatedReference(allocation_ref=ref))
    return _abandon(state, held, "provisioner-incarnation-lost", command.evidence, now)


def record_infrastructure_failure(
    state: State, command: RecordInfrastructureFailure, now: InstantMs
) -> Verdict[InfrastructureFailureDecision]:
    """Settle an attempt whose infrastructure was seen to end without an answer.

    Precedence: authorization → execution → ``not-allocated`` → ``not-terminated`` → ``recorded``.
    The evidence of the termination stays the operation's newest.
    """
    held = authorize(state, command.claim)
    if not isinstance(held, HeldOperation):
        return Verdict(decision=held)
    attempt = held.attempt
    if attempt.execution_id != command.execution_id:
        return Verdict(decision=NotFound())
    if attempt.allocation_ref is None:
        return Verdict(decision=NotAllocated())
    if held.operation.obligation != "terminal-convergence":
        return Verdict(decision=NotTerminated())
    actor = command.claim.owner_id
    execution, concluded = conclude(state, attempt, now, actor)
    journaled = _settled_entry(attempt, "infrastructure-failure-recorded", actor)
    return Verdict(
        decision=Recorded(),
        attempt=settle(attempt, "infrastructure-failure", now),
        execution=execution,
        entries=(journaled, *concluded),
    )


def conclude(
    state: State, attempt: Attempt, now: InstantMs, actor: str
) -> tuple[Execution | None, tuple[Entry, ...]]:
    """Say what an execution comes to whose active attempt settles without an answer.

    It is ``cancelled`` when that was asked for, ``exhausted`` when no attempt is left; otherwise
    the next attempt becomes due.
    """
    execution = _unconcluded(state)
    if execution is None or state.active is not attempt:
        return None, ()
    if execution.cancellation is not None:
        return concluded_execution(execution, "cancelled", now, actor)
    if execution.attempt_count >= execution.attempts_max:
        return concluded_execution(execution, "exhausted", now, actor)
    return _retried_later(execution, now, actor)


def _conclude_answered(
    state: State, result: WorkflowRunResult, now: InstantMs
) -> tuple[Execution | None, tuple[Entry, ...]]:
    """Say what an answer makes of its execution.

    A pause is no conclusion, unless nobody may resume because cancellation was requested; a failure
    is none where the policy retries it and an attempt is left.
    """
    execution = _unconcluded(state)
    if execution is None:
        return None, ()
    if isinstance(result, PausedResult):
        if execution.cancellation is None:
            return None, ()
        return concluded_execution(execution, "cancelled", now, WORKER)
    left = execution.attempt_count < execution.attempts_max and execution.cancellation is None
    if isinstance(result, FailedResult) and left and _submission(execution).retry_failed:
        return _retried_later(execution, now, WORKER)
    return concluded_execution(execution, "outcome", now, WORKER)


def _unconcluded(state: State) -> Execution | None:
    execution = state.execution
    if execution is None or execution.submission is None or execution.conclusion is not None:
        return None
    return execution


def _submission(execution: Execution) -> ExecutionSubmission:
    assert execution.submission is not None
    return decode_submission(execution.submission, record=f"execution {execution.execution_id!r}")


def _retried_later(
    execution: Execution, now: InstantMs, actor: str
) -> tuple[Execution, tuple[Entry, ...]]:
    delay = retry_delay_ms(_submission(execution), execution.attempt_count)
    due = InstantMs(now + delay)
    journaled = Entry(
        event="retry-scheduled",
        execution_id=execution.execution_id,
        execution_attempt_id=execution.active_attempt_id,
        actor=actor,
        detail=detail(nextAttemptAt=due),
    )
    return msgspec.structs.replace(execution, next_attempt_ms=due), (journaled,)


def concluded_execution(
    execution: Execution, conclusion: Conclusion, now: InstantMs, actor: str
) -> tuple[Execution, tuple[Entry, ...]]:
    """Conclude an execution, once and for all."""
    journaled = Entry(
        event="execution-concluded",
        execution_id=execution.execution_id,
        execution_attempt_id=execution.active_attempt_id,
        actor=actor,
        detail=detail(conclusion=conclusion),
    )
    ended = msgspec.structs.replace(
        execution, conclusion=conclusion, concluded_ms=now, next_attempt_ms=None
    )
    return ended, (journaled,)


def _abandon(
    state: State, held: HeldOperation, event: str, evidence: JsonText, now: InstantMs
) -> Verdict[Recorded]:
    actor = held.operation.owner_id or ""
    settled = settle(held.attempt, "abandoned", now)
    assert settled.operation is not None
    kept = msgspec.structs.replace(settled.operation, last_failure=evidence)
    execution, concluded = conclude(state, held.attempt, now, actor)
    journaled = entry(
        held.attempt,
        event,
        actor=actor,
        generation=held.operation.generation,
        evidence=evidence,
    )
    return Verdict(
        decision=Recorded(),
        attempt=msgspec.structs.replace(settled, operation=kept),
        execution=execution,
        entries=(journaled, *concluded),
    )


def settle(attempt: Attempt, kind: SettlementKind, now: InstantMs) -> Attempt:
    """Settle an attempt and close its operation; nothing else of either changes."""
    closed = None
    if attempt.operation is not None:
        closed = msgspec.structs.replace(
            attempt.operation, owner_id=None, token=None, lease_expires_ms=None
        )
    return msgspec.structs.replace(
        attempt,
        status="settled",
        settlement_kind=kind,
        settled_ms=now,
        claimable=False,
        operation=closed,
    )


def _reclamation(attempt: Attempt, now: InstantMs) -> Reclamation | None:
    """Open what is owed after an outcome; the holder of the operation just goes on."""
    operation = attempt.operation
    if operation is None or operation.obligation == "terminal-convergence":
        return None
    ref = attempt.allocation_ref
    return Reclamation(
        generation=operation.generation,
        owner_id=operation.owner_id,
        token=operation.token,
        lease_expires_ms=operation.lease_expires_ms,
        references=() if ref is None else (ref,),
        failure_count=0,
        last_failure=None,
        doubt_streak=0,
        opened_ms=now,
        next_look_ms=now,
        closure=None,
        closed_ms=None,
    )


def _settled_entry(attempt: Attempt, event: str, actor: str, *, status: str | None = None) -> Entry:
    operation: Operation | None = attempt.operation
    return entry(
        attempt,
        event,
        actor=actor,
        generation=None if operation is None else operation.generation,
        detail=None if status is None else detail(resultStatus=status),
    )


def _opened_entry(attempt: Attempt, reclamation: Reclamation) -> Entry:
    return entry(
        attempt,
        "reclamation-opened",
        actor=WORKER,
        generation=reclamation.generation,
        detail=detail(ownerId=reclamation.owner_id, leaseExpiresAt=reclamation.lease_expires_ms),
    )
