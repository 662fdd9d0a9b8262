"""State invariants: what holds of one attempt with its execution, in every state."""

from typing import Final

from tenure.errors import CorruptRecordError
from tenure.kernel.invariants.kind import (
    Held,
    Invariant,
    on_attempt,
    on_execution,
    on_operation,
    on_reclamation,
)
from tenure.kernel.reclamation import REFERENCES_MAX
from tenure.kernel.state import Attempt, Execution, Reclamation, State
from tenure.model.allocation import decode_allocation_ref
from tenure.model.json_value import JsonText
from tenure.model.operation import FAILURE_COUNT_MAX


def _together(*members: object) -> bool:
    return len({member is None for member in members}) == 1


def _ownership_whole(held: Held) -> bool:
    return _together(held.owner_id, held.token, held.lease_expires_ms)


def _unowned(held: Held) -> bool:
    return (held.owner_id, held.token, held.lease_expires_ms) == (None, None, None)


def _counts_sane(held: Held) -> bool:
    counted = 0 <= held.failure_count <= FAILURE_COUNT_MAX
    evidenced = held.failure_count == 0 or held.last_failure is not None
    return held.generation >= 1 and held.doubt_streak >= 0 and counted and evidenced


def _operation_fits_status(row: Attempt) -> bool:
    if row.status == "settled":
        return True
    return (row.operation is None) == (row.status == "pending")


def _claimable_fits(state: State) -> bool:
    row = state.attempt
    if row is None or not row.claimable:
        return True
    active_id = None if state.execution is None else state.execution.active_attempt_id
    return row.status == "allocated" and active_id == row.execution_attempt_id


def _failure_was_terminated(row: Attempt) -> bool:
    if row.settlement_kind != "infrastructure-failure":
        return True
    ended = row.operation is not None and row.operation.obligation == "terminal-convergence"
    return ended and row.allocation_ref is not None


def _reclamation_owed(row: Attempt) -> bool:
    owed = (
        row.settlement_kind == "outcome"
        and row.operation is not None
        and row.operation.obligation != "terminal-convergence"
    )
    return owed == (row.reclamation is not None)


def _closed_whole(_: Attempt, held: Reclamation) -> bool:
    if held.closure is None:
        return held.closed_ms is None
    return held.closed_ms is not None and held.last_failure is not None and _unowned(held)


def _reclamation_follows(row: Attempt, held: Reclamation) -> bool:
    knows = row.allocation_ref is None or len(held.references) > 0
    return row.operation is not None and held.generation >= row.operation.generation and knows


def _references_own(row: Attempt) -> bool:
    known = () if row.reclamation is None else row.reclamation.references
    refs = known if row.allocation_ref is None else (row.allocation_ref, *known)
    return all(_provider_of(ref) == row.provider_id for ref in refs)


def _provider_of(ref: JsonText) -> str | None:
    try:
        return decode_allocation_ref(ref, record="reference").provider_id
    except CorruptRecordError:
        return None


def _in_order(row: Attempt) -> bool:
    opened = None if row.operation is None else row.operation.opened_ms
    owed = None if row.reclamation is None else row.reclamation.opened_ms
    closed = None if row.reclamation is None else row.reclamation.closed_ms
    known = [
        instant
        for instant in (row.created_ms, opened, row.settled_ms, owed, closed)
        if instant is not None
    ]
    return known == sorted(known) and (owed is None or owed == row.settled_ms)


def _has_execution(state: State) -> bool:
    row, execution = state.attempt, state.execution
    if row is None:
        return True
    if execution is None or execution.execution_id != row.execution_id:
        return False
    return 1 <= row.ordinal <= execution.attempt_count


def _active_is_newest(state: State) -> bool:
    execution, active = state.execution, state.active
    if execution is None or execution.active_attempt_id is None:
        return active is None and (execution is None or execution.attempt_count == 0)
    return (
        active is not None
        and active.execution_attempt_id == execution.active_attempt_id
        and active.execution_id == execution.execution_id
        and active.ordinal == execution.attempt_count
    )


def _next_attempt_is_due(state: State) -> bool:
    execution, active = state.execution, state.active
    if execution is None or execution.next_attempt_ms is None:
        return True
    settled = active is not None and active.status == "settled"
    return settled and execution.conclusion is None and execution.submission is not None


def _submission_whole(row: Execution) -> bool:
    submitted = row.submission is not None
    whole = _together(row.submission, row.submitted_ms, row.submitted_by)
    bounded = (row.attempts_max > 0) == submitted
    return whole and bounded and (submitted or row.attempt_timeout_ms is None)


def _conclusion_whole(row: Execution) -> bool:
    concluded = row.conclusion is not None
    asked = row.conclusion != "cancelled" or row.cancellation is not None
    whole = _together(row.conclusion, row.concluded_ms)
    return whole and asked and (concluded or row.converged_ms is None)


def _only_promises_end(row: Execution) -> bool:
    return row.submission is not None or (row.cancellation is None and row.conclusion is None)


INVARIANTS: Final = (
    Invariant(
        "I-01",
        "Provider, lifetime, provisioner incarnation and mark are set together.",
        on_attempt(
            lambda row: _together(
                row.provider_id, row.allocation_lifetime, row.provisioner_incarnation_id, row.mark
            )
        ),
    ),
    Invariant(
        "I-02",
        "An attempt is bound to a provider exactly when it has an operation.",
        on_attempt(lambda row: _together(row.provider_id, row.operation)),
    ),
    Invariant(
        "I-03",
        "An unsettled attempt has an operation exactly when it is no longer pending.",
        on_attempt(_operation_fits_status),
    ),
    Invariant(
        "I-04",
        "An unsettled attempt has a reference exactly when it is allocated.",
        on_attempt(
            lambda row: (
                row.status == "settled"
                or (row.allocation_ref is not None) == (row.status == "allocated")
            )
        ),
    ),
    Invariant(
        "I-05",
        "Provisioning resolution is owed exactly while no reference is known.",
        on_operation(
            lambda row, held: (
                (held.obligation == "provisioning-resolution") == (row.allocation_ref is None)
            )
        ),
    ),
    Invariant(
        "I-06",
        "An attempt has settled exactly when it has a settlement kind and a settlement instant.",
        on_attempt(
            lambda row: (
                _together(row.settlement_kind, row.settled_ms)
                and (row.status == "settled") == (row.settlement_kind is not None)
            )
        ),
    ),
    Invariant(
        "I-07",
        "A result is stored exactly when the attempt settled by an outcome.",
        on_attempt(lambda row: (row.result is not None) == (row.settlement_kind == "outcome")),
    ),
    Invariant(
        "I-08",
        "An infrastructure failure has a reference, and its termination was recorded before.",
        on_attempt(_failure_was_terminated),
    ),
    Invariant(
        "I-09",
        "An abandoned attempt has no reference.",
        on_attempt(lambda row: row.settlement_kind != "abandoned" or row.allocation_ref is None),
    ),
    Invariant(
        "I-10",
        "An operation's owner, token and lease are null together.",
        on_operation(lambda _, held: _ownership_whole(held)),
    ),
    Invariant(
        "I-11",
        "The operation of a settled attempt is unowned.",
        on_operation(lambda row, held: row.status != "settled" or _unowned(held)),
    ),
    Invariant(
        "I-12",
        "A claimable attempt is allocated and active.",
        _claimable_fits,
    ),
    Invariant(
        "I-13",
        "An operation's generation and counts are within bounds, and what failed has evidence.",
        on_operation(lambda _, held: _counts_sane(held)),
    ),
    Invariant(
        "I-14",
        "A reclamation exists exactly when an outcome settled an operation that was not terminal.",
        on_attempt(_reclamation_owed),
    ),
    Invariant(
        "I-15",
        "A reclamation's owner, token and lease are null together.",
        on_reclamation(lambda _, held: _ownership_whole(held)),
    ),
    Invariant(
        "I-16",
        "A closed reclamation has closure, instant and evidence, and is unowned.",
        on_reclamation(_closed_whole),
    ),
    Invariant(
        "I-17",
        "A reclamation goes on from its operation's generation and knows the attempt's reference.",
        on_reclamation(_reclamation_follows),
    ),
    Invariant(
        "I-18",
        "A reclamation's generation and counts are within bounds, and what failed has evidence.",
        on_reclamation(lambda _, held: _counts_sane(held)),
    ),
    Invariant(
        "I-19",
        "Every reference names the provider to which the attempt is bound.",
        on_attempt(_references_own),
    ),
    Invariant(
        "I-20",
        "Creation, begin, settlement and closure follow each other in time.",
        on_attempt(_in_order),
    ),
    Invariant(
        "I-21",
        "A deadline is set only with an operation.",
        on_attempt(lambda row: row.deadline_ms is None or row.operation is not None),
    ),
    Invariant(
        "I-22",
        "An attempt's execution exists and has counted it.",
        _has_execution,
    ),
    Invariant(
        "I-23",
        "The active attempt is the newest of its execution, and there is one once any was made.",
        _active_is_newest,
    ),
    Invariant(
        "I-24",
        "A submission is stored whole.",
        on_execution(_submission_whole),
    ),
    Invariant(
        "I-25",
        "A conclusion has its instant, a cancelled one its request, a convergence its conclusion.",
        on_execution(_conclusion_whole),
    ),
    Invariant(
        "I-26",
        "Only what was submitted is cancelled or concluded.",
        on_execution(_only_promises_end),
    ),
    Invariant(
        "I-27",
        "A reclamation's references are distinct and not too many.",
        on_reclamation(
            lambda _, held: len(set(held.references)) == len(held.references) <= REFERENCES_MAX
        ),
    ),
    Invariant(
        "I-28",
        "A next attempt is due only while nothing is concluded and the active one has settled.",
        _next_attempt_is_due,
    ),
)
"""Every state invariant."""
