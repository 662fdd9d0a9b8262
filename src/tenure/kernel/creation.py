"""Creation: new attempts, the pointer to the active one, and supersession.

An attempt id is unique for all time. The newest attempt of an execution is its active one; the one
before it loses its claimability and nothing else, and its operation stays owed.
"""

import msgspec

from tenure.errors import DuplicateExecutionAttemptError
from tenure.kernel.journal import detail
from tenure.kernel.record import attempt_record
from tenure.kernel.state import Attempt, Entry, Execution, State, Verdict
from tenure.model.attempt import ExecutionAttemptRecord
from tenure.model.command import CreateAttempt, EnsureAttempt
from tenure.model.decision import (
    AttemptCreated,
    AttemptExists,
    CancellationPending,
    Concluded,
    EnsureAttemptDecision,
    Occupied,
)
from tenure.model.instant import InstantMs


def create_attempt(
    state: State, command: CreateAttempt, now: InstantMs
) -> Verdict[ExecutionAttemptRecord]:
    """Create a pending attempt and make it the active one.

    Raises:
        DuplicateExecutionAttemptError: the id exists, in whatever execution.
    """
    if state.attempt is not None:
        raise DuplicateExecutionAttemptError(command.execution_attempt_id)
    attempt, superseded, execution, entry = _create(state, command, now)
    return Verdict(
        decision=attempt_record(attempt),
        attempt=attempt,
        superseded=superseded,
        execution=execution,
        entries=(entry,),
    )


def ensure_attempt(
    state: State, command: EnsureAttempt, now: InstantMs
) -> Verdict[EnsureAttemptDecision]:
    """Create an attempt unless it exists, replacing exactly the one that is named.

    Precedence: the id exists (``existing``, or an error when it belongs to another execution) →
    ``concluded`` → ``cancelled`` → ``occupied`` unless the active attempt is ``replaces`` and has
    settled, or the supersede is explicit → ``created``. How many attempts there may be is decided
    where one settles: an execution with none left is concluded then. Explicit supersedes and
    resumed pauses need no spare one.

    Raises:
        DuplicateExecutionAttemptError: the id belongs to another execution.
    """
    if state.attempt is not None:
        return Verdict(decision=_existing(state, state.attempt, command))
    refusal = _refusal(state, command)
    if refusal is not None:
        return Verdict(decision=refusal)
    attempt, superseded, execution, entry = _create(state, command, now)
    return Verdict(
        decision=AttemptCreated(attempt=attempt_record(attempt)),
        attempt=attempt,
        superseded=superseded,
        execution=execution,
        entries=(entry,),
    )


def _existing(state: State, attempt: Attempt, command: EnsureAttempt) -> AttemptExists:
    if attempt.execution_id != command.execution_id:
        raise DuplicateExecutionAttemptError(command.execution_attempt_id)
    active = state.active is attempt
    return AttemptExists(attempt=attempt_record(attempt), active=active)


def _refusal(state: State, command: EnsureAttempt) -> EnsureAttemptDecision | None:
    execution, active = state.execution, state.active
    if execution is not None and execution.conclusion is not None:
        return Concluded()
    if execution is not None and execution.cancellation is not None:
        return CancellationPending()
    active_id = None if active is None else active.execution_attempt_id
    settled = active is None or active.status == "settled"
    if active_id != command.replaces or not (settled or command.supersede):
        return Occupied(active_attempt_id=active_id)
    return None


def _create(
    state: State, command: CreateAttempt | EnsureAttempt, now: InstantMs
) -> tuple[Attempt, Attempt | None, Execution, Entry]:
    execution = state.execution or bare_execution(command.execution_id)
    attempt = Attempt(
        execution_attempt_id=command.execution_attempt_id,
        execution_id=command.execution_id,
        ordinal=execution.attempt_count + 1,
        created_ms=now,
        status="pending",
        allocation_ref=None,
        provider_id=None,
        allocation_lifetime=None,
        provisioner_incarnation_id=None,
        mark=None,
        deadline_ms=None,
        settlement_kind=None,
        settled_ms=None,
        claimable=False,
        claim_expires_ms=None,
        result=None,
        operation=None,
        reclamation=None,
    )
    moved = msgspec.structs.replace(
        execution,
        active_attempt_id=command.execution_attempt_id,
        attempt_count=execution.attempt_count + 1,
        next_attempt_ms=None,
    )
    previous = state.active
    superseded = None
    if previous is not None and previous.claimable:
        superseded = msgspec.structs.replace(previous, claimable=False)
    return attempt, superseded, moved, _entry(command, previous, attempt.ordinal)


def bare_execution(execution_id: str) -> Execution:
    """Make the row of an execution of which nothing is known yet but its id."""
    return Execution(
        execution_id=execution_id,
        active_attempt_id=None,
        attempt_count=0,
        submission=None,
        attempts_max=0,
        attempt_timeout_ms=None,
        submitted_ms=None,
        submitted_by=None,
        cancellation=None,
        conclusion=None,
        concluded_ms=None,
        converged_ms=None,
        next_attempt_ms=None,
    )


def _entry(command: CreateAttempt | EnsureAttempt, previous: Attempt | None, ordinal: int) -> Entry:
    facts: dict[str, str | int] = {"ordinal": ordinal}
    if previous is not None:
        facts["supersedes"] = previous.execution_attempt_id
        facts["supersededStatus"] = previous.status
    return Entry(
        event="attempt-created",
        execution_id=command.execution_id,
        execution_attempt_id=command.execution_attempt_id,
        actor=command.actor,
        detail=detail(**facts),
    )
