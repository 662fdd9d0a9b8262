"""Verdict invariants: what an answer says about the rows and entries that come with it."""

from typing import Final

from tenure.kernel.invariants.kind import VerdictInvariant
from tenure.kernel.machine import Answer, AnyCommand
from tenure.kernel.state import Attempt, State, Verdict
from tenure.model import command as commands, decision as decisions
from tenure.model.attempt import ExecutionAttemptRecord
from tenure.model.operation import ProviderOperationClaim

_UNJOURNALED: Final = (commands.RenewClaim, commands.RenewReclamationClaim, commands.ScheduleLook)
_GRANTS: Final = (
    ExecutionAttemptRecord,
    decisions.Abandoned,
    decisions.AcceptedOutcome,
    decisions.AttemptCreated,
    decisions.CancellationRequested,
    decisions.Claimed,
    decisions.Evolved,
    decisions.Recorded,
    decisions.Started,
    decisions.Submitted,
)
"""The answers that say that something was written."""


def _grants(verdict: Verdict[Answer]) -> bool:
    return isinstance(verdict.decision, _GRANTS)


def _changes(verdict: Verdict[Answer]) -> bool:
    rows = (verdict.attempt, verdict.superseded, verdict.execution)
    return any(row is not None for row in rows)


def _journaled(_: State, command: AnyCommand, verdict: Verdict[Answer]) -> bool:
    expected = _grants(verdict) and not isinstance(command, _UNJOURNALED)
    return bool(verdict.entries) == expected


def _own_rows(state: State, command: AnyCommand, verdict: Verdict[Answer]) -> bool:
    named = getattr(command, "execution_attempt_id", None)
    own = verdict.attempt is None or verdict.attempt.execution_attempt_id == named
    if verdict.superseded is None:
        return own
    active_id = None if state.active is None else state.active.execution_attempt_id
    creates = isinstance(command, commands.CreateAttempt | commands.EnsureAttempt)
    return own and creates and verdict.superseded.execution_attempt_id == active_id


def _claim_is_stored(verdict: Verdict[Answer]) -> bool:
    answer = verdict.decision
    if not isinstance(answer, decisions.Started | decisions.Claimed):
        return True
    assert verdict.attempt is not None
    return _is_held(answer.claim, verdict.attempt)


def _is_held(claim: ProviderOperationClaim, row: Attempt) -> bool:
    presented = (claim.generation, claim.owner_id, claim.token)
    return claim.execution_attempt_id == row.execution_attempt_id and any(
        held is not None and presented == (held.generation, held.owner_id, held.token)
        for held in (row.operation, row.reclamation)
    )


VERDICT_INVARIANTS: Final = (
    VerdictInvariant(
        "V-01",
        "An answer changes rows exactly when it says that something was written.",
        lambda _, _command, verdict: _changes(verdict) == _grants(verdict),
    ),
    VerdictInvariant(
        "V-02",
        "Everything written is journaled, except renewals and looks; a refusal never is.",
        _journaled,
    ),
    VerdictInvariant(
        "V-03",
        "A command changes its own attempt, and a creation also the one that it supersedes.",
        _own_rows,
    ),
    VerdictInvariant(
        "V-04",
        "A granted claim is the one that is stored.",
        lambda _, _command, verdict: _claim_is_stored(verdict),
    ),
)
"""Every verdict invariant."""
