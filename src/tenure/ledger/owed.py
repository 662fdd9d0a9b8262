"""Entries of the owed list, made from rows."""

from tenure.errors import CorruptRecordError
from tenure.kernel.record import operation_record, reclamation_record, stored_ref
from tenure.kernel.state import Attempt, Execution, Operation, Reclamation
from tenure.model.instant import to_datetime, to_optional_datetime
from tenure.model.open_work import OpenWork, UnreadableWork


def entry_of(attempt: Attempt, execution: Execution) -> OpenWork | UnreadableWork:
    """Describe the open part of an attempt, or say that it cannot be read.

    Raises:
        CorruptRecordError: the attempt has nothing open, so that it has no place in the list.
    """
    held = _held(attempt)
    try:
        return open_work_of(attempt, execution)
    except CorruptRecordError as exc:
        return UnreadableWork(
            execution_attempt_id=attempt.execution_attempt_id,
            execution_id=attempt.execution_id,
            opened_at=to_datetime(held.opened_ms),
            seen=exc.seen,
        )


def open_work_of(attempt: Attempt, execution: Execution) -> OpenWork:
    """Describe the open part of an attempt: its operation, or its reclamation once it settled.

    Raises:
        CorruptRecordError: the attempt has nothing open, lacks its binding, or is unreadable.
    """
    attempt_id, operation, reclamation = (
        attempt.execution_attempt_id,
        attempt.operation,
        attempt.reclamation,
    )
    bound = (
        attempt.provider_id,
        attempt.allocation_lifetime,
        attempt.provisioner_incarnation_id,
        attempt.mark,
    )
    provider_id, lifetime, incarnation_id, mark = bound
    if provider_id is None or lifetime is None or incarnation_id is None or mark is None:
        seen = "it has open work but lacks its provider binding"
        raise CorruptRecordError(record=f"attempt {attempt_id!r}", seen=seen)
    held = _held(attempt)
    if operation is None:
        seen = "its reclamation is open but it has no operation"
        raise CorruptRecordError(record=f"attempt {attempt_id!r}", seen=seen)
    if reclamation is not None:
        view = reclamation_record(attempt_id, reclamation)
        references, last_failure = view.references, view.last_failure
    else:
        ref = stored_ref(attempt)
        references = () if ref is None else (ref,)
        last_failure = operation_record(attempt_id, operation).last_failure
    return OpenWork(
        kind="operation" if reclamation is None else "reclamation",
        execution_attempt_id=attempt_id,
        execution_id=attempt.execution_id,
        attempt_status=attempt.status,
        active=execution.active_attempt_id == attempt_id,
        provider_id=provider_id,
        allocation_lifetime=lifetime,
        provisioner_incarnation_id=incarnation_id,
        mark=mark,
        obligation=operation.obligation if reclamation is None else None,
        references=references,
        generation=held.generation,
        owner_id=held.owner_id,
        lease_expires_at=to_optional_datetime(held.lease_expires_ms),
        failure_count=held.failure_count,
        last_failure=last_failure,
        begun_at=to_datetime(operation.opened_ms),
        opened_at=to_datetime(held.opened_ms),
        next_look_at=to_datetime(held.next_look_ms),
        deadline_at=to_optional_datetime(attempt.deadline_ms),
        cancellation_requested=execution.cancellation is not None,
    )


def _held(attempt: Attempt) -> Operation | Reclamation:
    held = attempt.reclamation if attempt.status == "settled" else attempt.operation
    if held is None:
        seen = "it is listed as open but has nothing open"
        raise CorruptRecordError(record=f"attempt {attempt.execution_attempt_id!r}", seen=seen)
    return held
