"""Views: the public records of the kernel's rows. Each call makes values of their own."""

from tenure.errors import CorruptRecordError
from tenure.kernel.state import Attempt, Execution, Operation, Reclamation
from tenure.model.allocation import ProviderAllocationRef, decode_allocation_ref
from tenure.model.attempt import ExecutionAttemptRecord, RecoverableAttemptRecord
from tenure.model.evidence import BoundedRecoveryEvidence, decode_evidence
from tenure.model.execution import (
    ExecutionRecord,
    SettlementRecord,
    decode_cancellation,
    decode_submission,
)
from tenure.model.instant import to_datetime, to_optional_datetime
from tenure.model.json_value import JsonText
from tenure.model.open_work import ReclamationRecord
from tenure.model.operation import ProviderOperationClaim, ProviderOperationRecord
from tenure.model.result import decode_result


def attempt_record(attempt: Attempt) -> ExecutionAttemptRecord:
    """Make the record of an attempt.

    Raises:
        CorruptRecordError: its stored reference does not satisfy the contract.
    """
    return ExecutionAttemptRecord(
        execution_attempt_id=attempt.execution_attempt_id,
        execution_id=attempt.execution_id,
        status=attempt.status,
        allocation_ref=stored_ref(attempt),
        created_at=to_datetime(attempt.created_ms),
        provider_id=attempt.provider_id,
        allocation_lifetime=attempt.allocation_lifetime,
        provisioner_incarnation_id=attempt.provisioner_incarnation_id,
        settlement_kind=attempt.settlement_kind,
        claimable=attempt.claimable,
        claim_expires_at=to_optional_datetime(attempt.claim_expires_ms),
    )


def recoverable_record(attempt: Attempt) -> RecoverableAttemptRecord:
    """Make the narrowed record of an attempt that was selected as recoverable.

    Raises:
        CorruptRecordError: it lacks its binding or its reference, or that one is unreadable.
    """
    ref = stored_ref(attempt)
    bound = (attempt.provider_id, attempt.allocation_lifetime, attempt.provisioner_incarnation_id)
    provider_id, lifetime, incarnation_id = bound
    if ref is None or provider_id is None or lifetime is None or incarnation_id is None:
        seen = "it is claimable but lacks its reference or its provider binding"
        raise CorruptRecordError(record=_name(attempt), seen=seen)
    return RecoverableAttemptRecord(
        execution_attempt_id=attempt.execution_attempt_id,
        execution_id=attempt.execution_id,
        status="allocated",
        allocation_ref=ref,
        created_at=to_datetime(attempt.created_ms),
        provider_id=provider_id,
        allocation_lifetime=lifetime,
        provisioner_incarnation_id=incarnation_id,
        settlement_kind=None,
        claimable=True,
        claim_expires_at=to_optional_datetime(attempt.claim_expires_ms),
    )


def stored_ref(attempt: Attempt) -> ProviderAllocationRef | None:
    """Decode the attempt's reference, or None when it has none.

    Raises:
        CorruptRecordError: the stored text does not satisfy the contract.
    """
    if attempt.allocation_ref is None:
        return None
    return decode_allocation_ref(attempt.allocation_ref, record=_name(attempt))


def operation_record(attempt_id: str, operation: Operation) -> ProviderOperationRecord:
    """Make the record of a provider operation.

    Raises:
        CorruptRecordError: its stored evidence does not satisfy the contract.
    """
    return ProviderOperationRecord(
        execution_attempt_id=attempt_id,
        generation=operation.generation,
        owner_id=operation.owner_id,
        token=operation.token,
        lease_expires_at=to_optional_datetime(operation.lease_expires_ms),
        obligation=operation.obligation,
        failure_count=operation.failure_count,
        last_failure=optional_evidence(operation.last_failure, f"operation of {attempt_id!r}"),
    )


def reclamation_record(attempt_id: str, reclamation: Reclamation) -> ReclamationRecord:
    """Make the record of a reclamation.

    Raises:
        CorruptRecordError: a stored reference or evidence does not satisfy the contract.
    """
    record = f"reclamation of {attempt_id!r}"
    return ReclamationRecord(
        execution_attempt_id=attempt_id,
        generation=reclamation.generation,
        owner_id=reclamation.owner_id,
        token=reclamation.token,
        lease_expires_at=to_optional_datetime(reclamation.lease_expires_ms),
        references=tuple(
            decode_allocation_ref(ref, record=record) for ref in reclamation.references
        ),
        failure_count=reclamation.failure_count,
        last_failure=optional_evidence(reclamation.last_failure, record),
        opened_at=to_datetime(reclamation.opened_ms),
        next_look_at=to_datetime(reclamation.next_look_ms),
        closure=reclamation.closure,
        closed_at=to_optional_datetime(reclamation.closed_ms),
    )


def claim_of(attempt_id: str, held: Operation | Reclamation) -> ProviderOperationClaim:
    """Make the claim on what is held. The caller has made sure that it is owned."""
    assert held.owner_id is not None
    assert held.token is not None
    assert held.lease_expires_ms is not None
    return ProviderOperationClaim(
        execution_attempt_id=attempt_id,
        generation=held.generation,
        owner_id=held.owner_id,
        token=held.token,
        lease_expires_at=to_datetime(held.lease_expires_ms),
    )


def settlement_record(attempt: Attempt) -> SettlementRecord | None:
    """Tell how an attempt settled, or None while it has not.

    Raises:
        CorruptRecordError: its stored result does not satisfy the contract.
    """
    if attempt.settlement_kind is None:
        return None
    if attempt.settled_ms is None:
        raise CorruptRecordError(record=_name(attempt), seen="it has settled at no instant")
    result = None
    if attempt.result is not None:
        result = decode_result(attempt.result, record=_name(attempt))
    return SettlementRecord(
        execution_attempt_id=attempt.execution_attempt_id,
        execution_id=attempt.execution_id,
        settlement_kind=attempt.settlement_kind,
        settled_at=to_datetime(attempt.settled_ms),
        result=result,
    )


def execution_record(execution: Execution) -> ExecutionRecord:
    """Make the record of an execution.

    Raises:
        CorruptRecordError: its stored submission or cancellation is unreadable.
    """
    record = f"execution {execution.execution_id!r}"
    return ExecutionRecord(
        execution_id=execution.execution_id,
        active_attempt_id=execution.active_attempt_id,
        attempt_count=execution.attempt_count,
        submission=None
        if execution.submission is None
        else decode_submission(execution.submission, record=record),
        submitted_at=to_optional_datetime(execution.submitted_ms),
        submitted_by=execution.submitted_by,
        cancellation=None
        if execution.cancellation is None
        else decode_cancellation(execution.cancellation, record=record),
        conclusion=execution.conclusion,
        concluded_at=to_optional_datetime(execution.concluded_ms),
        converged_at=to_optional_datetime(execution.converged_ms),
        next_attempt_at=to_optional_datetime(execution.next_attempt_ms),
    )


def optional_evidence(text: JsonText | None, record: str) -> BoundedRecoveryEvidence | None:
    """Decode stored evidence, or None when there is none.

    Raises:
        CorruptRecordError: the stored text does not satisfy the contract.
    """
    return None if text is None else decode_evidence(text, record=record)


def _name(attempt: Attempt) -> str:
    return f"attempt {attempt.execution_attempt_id!r}"
