"""Codecs: the kernel's rows as tuples of columns, in the order of ``queries.sql``, and back.

A row that comes back is checked as far as a decision could depend on it: words that the kernel does
not know and half an operation are corruption. Payloads are only decoded by those who need them.
"""

import json
from typing import Any, Final, TypeAlias

from tenure.errors import CorruptRecordError
from tenure.kernel.state import Attempt, Entry, Execution, Operation, Reclamation
from tenure.model.allocation import ALLOCATION_LIFETIMES
from tenure.model.attempt import EXECUTION_ATTEMPT_STATUSES, SETTLEMENT_KINDS
from tenure.model.evidence import decode_evidence
from tenure.model.instant import InstantMs, to_datetime
from tenure.model.journal import JournalEntry
from tenure.model.json_value import JsonObject, JsonText, decode_json
from tenure.model.operation import OBLIGATIONS

Row: TypeAlias = tuple[Any, ...]
"""Columns as SQLite holds them."""

ATTEMPT_COLUMNS: Final = 27
"""How many columns of a loaded row are the attempt's; the rest are its reclamation's."""
ATTEMPT_INDEXED: Final = slice(1, 7)
"""Columns of an attempt that an index holds."""
EXECUTION_INDEXED: Final = slice(1, 3)
"""Columns of an execution that an index holds."""

_LIFETIMES: Final = frozenset({None, *ALLOCATION_LIFETIMES})
_KINDS: Final = frozenset({None, *SETTLEMENT_KINDS})
_CLOSURES: Final = frozenset({None, "released", "absent", "incarnation-lost"})
_CONCLUSIONS: Final = frozenset({None, "outcome", "exhausted", "cancelled"})
_NO_OPERATION: Final[Row] = (None,) * 10


def attempt_row(attempt: Attempt) -> Row:
    """Make the columns of an attempt and its operation."""
    operation = attempt.operation
    operation_columns: Row = _NO_OPERATION
    if operation is not None:
        operation_columns = (
            operation.generation,
            operation.obligation,
            operation.owner_id,
            operation.token,
            operation.lease_expires_ms,
            operation.failure_count,
            operation.doubt_streak,
            operation.opened_ms,
            operation.next_look_ms,
            operation.last_failure,
        )
    return (
        attempt.execution_attempt_id,
        attempt.execution_id,
        attempt.ordinal,
        attempt.created_ms,
        owed_since(attempt),
        int(attempt.claimable),
        attempt.mark,
        attempt.status,
        attempt.provider_id,
        attempt.allocation_lifetime,
        attempt.provisioner_incarnation_id,
        attempt.deadline_ms,
        attempt.settlement_kind,
        attempt.settled_ms,
        attempt.claim_expires_ms,
        *operation_columns,
        attempt.allocation_ref,
        attempt.result,
    )


def owed_since(attempt: Attempt) -> InstantMs | None:
    """Tell since when the open part of an attempt is open; None when nothing is owed."""
    if attempt.settlement_kind is None:
        return None if attempt.operation is None else attempt.operation.opened_ms
    reclamation = attempt.reclamation
    return None if reclamation is None or reclamation.closure else reclamation.opened_ms


def reclamation_row(attempt_id: str, reclamation: Reclamation) -> Row:
    """Make the columns of a reclamation."""
    return (
        attempt_id,
        reclamation.generation,
        reclamation.owner_id,
        reclamation.token,
        reclamation.lease_expires_ms,
        reclamation.failure_count,
        reclamation.doubt_streak,
        reclamation.opened_ms,
        reclamation.next_look_ms,
        reclamation.closure,
        reclamation.closed_ms,
        reclamation.last_failure,
        json.dumps(reclamation.references, ensure_ascii=False),
    )


def execution_row(execution: Execution) -> Row:
    """Make the columns of an execution."""
    return (
        execution.execution_id,
        execution.submitted_ms,
        execution.conclusion,
        execution.active_attempt_id,
        execution.attempt_count,
        execution.attempts_max,
        execution.attempt_timeout_ms,
        execution.submitted_by,
        execution.concluded_ms,
        execution.converged_ms,
        execution.next_attempt_ms,
        execution.cancellation,
        execution.submission,
    )


def entry_row(entry: Entry, sequence: int, at_ms: InstantMs) -> Row:
    """Make the columns of a journal entry."""
    return (
        sequence,
        at_ms,
        entry.event,
        entry.execution_id,
        entry.execution_attempt_id,
        entry.actor,
        entry.generation,
        entry.fold_key,
        entry.evidence,
        entry.detail,
    )


def attempt_of(row: Row) -> Attempt:
    """Make an attempt of a loaded row.

    Raises:
        CorruptRecordError: a column holds what no attempt can have.
    """
    status, lifetime, kind = row[7], row[9], row[12]
    known = status in EXECUTION_ATTEMPT_STATUSES and lifetime in _LIFETIMES and kind in _KINDS
    if not known or row[5] not in (0, 1):
        raise _corrupt(row[0], "its status, lifetime, settlement or claimability is unknown")
    return Attempt(
        execution_attempt_id=row[0],
        execution_id=row[1],
        ordinal=row[2],
        created_ms=row[3],
        claimable=row[5] == 1,
        mark=row[6],
        status=status,
        provider_id=row[8],
        allocation_lifetime=lifetime,
        provisioner_incarnation_id=row[10],
        deadline_ms=row[11],
        settlement_kind=kind,
        settled_ms=row[13],
        claim_expires_ms=row[14],
        allocation_ref=row[25],
        result=row[26],
        operation=None if row[15:25] == _NO_OPERATION else _operation_of(row),
        reclamation=None if row[27] is None else _reclamation_of(row),
    )


def _operation_of(row: Row) -> Operation:
    generation, obligation, owner_id, token, lease, failures, streak, opened, look = row[15:24]
    if obligation not in OBLIGATIONS or None in (generation, failures, streak, opened, look):
        raise _corrupt(row[0], "half of its operation is missing")
    return Operation(
        generation=generation,
        obligation=obligation,
        owner_id=owner_id,
        token=token,
        lease_expires_ms=lease,
        failure_count=failures,
        doubt_streak=streak,
        opened_ms=opened,
        next_look_ms=look,
        last_failure=row[24],
    )


def _reclamation_of(row: Row) -> Reclamation:
    columns = row[ATTEMPT_COLUMNS:]
    if columns[8] not in _CLOSURES:
        raise _corrupt(row[0], "the closure of its reclamation is unknown")
    return Reclamation(
        generation=columns[0],
        owner_id=columns[1],
        token=columns[2],
        lease_expires_ms=columns[3],
        failure_count=columns[4],
        doubt_streak=columns[5],
        opened_ms=columns[6],
        next_look_ms=columns[7],
        closure=columns[8],
        closed_ms=columns[9],
        last_failure=columns[10],
        references=_references(columns[11], row[0]),
    )


def _references(text: str, attempt_id: str) -> tuple[JsonText, ...]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise _corrupt(attempt_id, f"the references of its reclamation: {exc}") from exc
    if not isinstance(found, list) or not all(type(ref) is str for ref in found):
        raise _corrupt(attempt_id, "the references of its reclamation are no list of texts")
    return tuple(found)


def execution_of(row: Row) -> Execution:
    """Make an execution of a loaded row.

    Raises:
        CorruptRecordError: a column holds what no execution can have.
    """
    if row[2] not in _CONCLUSIONS:
        record = f"execution {row[0]!r}"
        raise CorruptRecordError(record=record, seen="its conclusion is unknown")
    return Execution(
        execution_id=row[0],
        submitted_ms=row[1],
        conclusion=row[2],
        active_attempt_id=row[3],
        attempt_count=row[4],
        attempts_max=row[5],
        attempt_timeout_ms=row[6],
        submitted_by=row[7],
        concluded_ms=row[8],
        converged_ms=row[9],
        next_attempt_ms=row[10],
        cancellation=row[11],
        submission=row[12],
    )


def journal_entry_of(row: Row) -> JournalEntry:
    """Make a journal entry of a loaded row.

    Raises:
        CorruptRecordError: an instant, the evidence or the detail is unreadable.
    """
    record = f"journal entry {row[0]}"
    try:
        at, last_at = to_datetime(row[1]), to_datetime(row[8])
        detail = {} if row[10] is None else decode_json(row[10])
    except (ValueError, OverflowError, RecursionError) as exc:
        raise CorruptRecordError(record=record, seen=f"it is unreadable: {exc}") from exc
    if not isinstance(detail, dict):
        raise CorruptRecordError(record=record, seen="its detail is not an object")
    members: JsonObject = detail
    return JournalEntry(
        sequence=row[0],
        at=at,
        event=row[2],
        execution_id=row[3],
        execution_attempt_id=row[4],
        actor=row[5],
        generation=row[6],
        count=row[7],
        last_at=last_at,
        evidence=None if row[9] is None else decode_evidence(row[9], record=record),
        detail=members,
    )


def _corrupt(attempt_id: str, seen: str) -> CorruptRecordError:
    return CorruptRecordError(record=f"attempt {attempt_id!r}", seen=seen)
