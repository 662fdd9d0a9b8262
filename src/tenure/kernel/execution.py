"""Executions: the promise to do a piece of work, its cancellation, and its convergence.

A submission is frozen. The first cancellation wins and is never withdrawn; it stops retries, and
concludes the execution at once when nothing is under way. A conclusion is written by the settlement
that brings it about (see ``settlement``), exactly once.
"""

import msgspec

from tenure.kernel.creation import bare_execution
from tenure.kernel.record import execution_record
from tenure.kernel.settlement import concluded_execution
from tenure.kernel.state import Entry, Execution, State, Verdict
from tenure.model.command import RecordConvergence, RequestCancellation, SubmitExecution
from tenure.model.decision import (
    AlreadyConverged,
    CancellationAlreadyRequested,
    CancellationDecision,
    CancellationRequested,
    Concluded,
    ConflictSubmission,
    ConvergenceDecision,
    DuplicateSubmission,
    NotConcluded,
    NotFound,
    Recorded,
    SubmissionDecision,
    Submitted,
)
from tenure.model.execution import (
    CancellationRecord,
    decode_submission,
    encode_cancellation,
    submission_to_json,
)
from tenure.model.instant import InstantMs, to_datetime
from tenure.model.json_value import same_json


def submit_execution(
    state: State, command: SubmitExecution, now: InstantMs
) -> Verdict[SubmissionDecision]:
    """Make a submission durable.

    Precedence: the id exists: ``duplicate`` for the same submission, else ``conflict`` →
    ``submitted``.
    """
    execution = state.execution
    if execution is not None:
        record = execution_record(execution)
        if _same_submission(execution, command):
            return Verdict(decision=DuplicateSubmission(execution=record))
        return Verdict(decision=ConflictSubmission(execution=record))
    submitted = msgspec.structs.replace(
        bare_execution(command.execution_id),
        submission=command.submission,
        attempts_max=command.attempts_max,
        attempt_timeout_ms=command.attempt_timeout_ms,
        submitted_ms=now,
        submitted_by=command.submitted_by,
    )
    journaled = Entry(
        event="execution-submitted",
        execution_id=command.execution_id,
        execution_attempt_id=None,
        actor=command.submitted_by,
        detail=command.submission,
    )
    return Verdict(
        decision=Submitted(execution=execution_record(submitted)),
        execution=submitted,
        entries=(journaled,),
    )


def request_cancellation(
    state: State, command: RequestCancellation, now: InstantMs
) -> Verdict[CancellationDecision]:
    """Ask that an execution be stopped.

    Precedence: ``not-found`` unless it was submitted → ``concluded`` → ``already-requested`` →
    ``requested``.
    """
    execution = state.execution
    if execution is None or execution.submission is None:
        return Verdict(decision=NotFound())
    if execution.conclusion is not None:
        return Verdict(decision=Concluded())
    if execution.cancellation is not None:
        already = CancellationAlreadyRequested(execution=execution_record(execution))
        return Verdict(decision=already)
    request = encode_cancellation(
        CancellationRecord(
            requested_at=to_datetime(now),
            requested_by=command.requested_by,
            reason=command.reason,
        )
    )
    cancelled = msgspec.structs.replace(execution, cancellation=request)
    journaled = Entry(
        event="cancellation-requested",
        execution_id=execution.execution_id,
        execution_attempt_id=execution.active_attempt_id,
        actor=command.requested_by,
        detail=request,
    )
    ended: tuple[Entry, ...] = ()
    if state.active is None or state.active.status == "settled":
        cancelled, ended = concluded_execution(cancelled, "cancelled", now, command.requested_by)
    return Verdict(
        decision=CancellationRequested(execution=execution_record(cancelled)),
        execution=cancelled,
        entries=(journaled, *ended),
    )


def record_convergence(
    state: State, command: RecordConvergence, now: InstantMs
) -> Verdict[ConvergenceDecision]:
    """Record that the host has taken the conclusion over.

    Precedence: ``not-found`` → ``not-concluded`` → ``already-converged`` → ``recorded``.
    """
    execution = state.execution
    if execution is None or execution.submission is None:
        return Verdict(decision=NotFound())
    if execution.conclusion is None:
        return Verdict(decision=NotConcluded())
    if execution.converged_ms is not None:
        return Verdict(decision=AlreadyConverged())
    journaled = Entry(
        event="execution-converged",
        execution_id=execution.execution_id,
        execution_attempt_id=execution.active_attempt_id,
        actor=command.actor,
    )
    return Verdict(
        decision=Recorded(),
        execution=msgspec.structs.replace(execution, converged_ms=now),
        entries=(journaled,),
    )


def _same_submission(execution: Execution, command: SubmitExecution) -> bool:
    if execution.submission is None:
        return False
    if execution.submission == command.submission:
        return True
    stored = decode_submission(execution.submission, record=f"execution {command.execution_id!r}")
    given = decode_submission(command.submission, record="the given submission")
    return same_json(submission_to_json(stored), submission_to_json(given))
