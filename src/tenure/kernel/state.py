"""What the kernel decides on: rows, and the verdict that changes them.

Rows are immutable and hold only scalars and encoded text, so that a store loads and saves them as
they are, and a batch may share them without copies. Instants are milliseconds of ledger time.
"""

from typing import Generic, TypeVar

import msgspec

from tenure.model.allocation import AllocationLifetime
from tenure.model.attempt import ExecutionAttemptStatus, SettlementKind
from tenure.model.execution import Conclusion
from tenure.model.instant import InstantMs
from tenure.model.json_value import JsonText
from tenure.model.open_work import ReclamationClosure
from tenure.model.operation import Obligation

DecisionT_co = TypeVar("DecisionT_co", covariant=True)


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """A provider operation; closed exactly when its attempt has settled."""

    generation: int
    obligation: Obligation
    owner_id: str | None
    token: str | None
    lease_expires_ms: InstantMs | None
    failure_count: int
    last_failure: JsonText | None
    doubt_streak: int
    """How many equal doubts came in a row in this generation; only the journal is folded by it."""
    opened_ms: InstantMs
    next_look_ms: InstantMs


class Reclamation(msgspec.Struct, frozen=True, kw_only=True):
    """What is owed after settlement; closed when ``closure`` is set."""

    generation: int
    owner_id: str | None
    token: str | None
    lease_expires_ms: InstantMs | None
    references: tuple[JsonText, ...]
    failure_count: int
    last_failure: JsonText | None
    doubt_streak: int
    opened_ms: InstantMs
    next_look_ms: InstantMs
    closure: ReclamationClosure | None
    closed_ms: InstantMs | None


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt with its operation, its reclamation and its committed result."""

    execution_attempt_id: str
    execution_id: str
    ordinal: int
    """1 for the execution's first attempt."""
    created_ms: InstantMs
    status: ExecutionAttemptStatus
    allocation_ref: JsonText | None
    provider_id: str | None
    allocation_lifetime: AllocationLifetime | None
    provisioner_incarnation_id: str | None
    mark: str | None
    deadline_ms: InstantMs | None
    settlement_kind: SettlementKind | None
    settled_ms: InstantMs | None
    claimable: bool
    claim_expires_ms: InstantMs | None
    result: JsonText | None
    operation: Operation | None
    reclamation: Reclamation | None


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """One execution with its pointer to the active attempt."""

    execution_id: str
    active_attempt_id: str | None
    attempt_count: int
    submission: JsonText | None
    attempts_max: int
    attempt_timeout_ms: int | None
    submitted_ms: InstantMs | None
    submitted_by: str | None
    cancellation: JsonText | None
    conclusion: Conclusion | None
    concluded_ms: InstantMs | None
    converged_ms: InstantMs | None
    next_attempt_ms: InstantMs | None


class State(msgspec.Struct, frozen=True, kw_only=True):
    """The rows that one command may look at."""

    attempt: Attempt | None
    """The attempt that the command names."""
    execution: Execution | None
    """The attempt's execution; when there is no such attempt, the one that the command names."""
    active: Attempt | None
    """The active attempt of ``execution``: the same object as ``attempt`` when it is that one."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A journal entry before the store gives it its place and time."""

    event: str
    execution_id: str
    execution_attempt_id: str | None
    actor: str
    generation: int | None = None
    evidence: JsonText | None = None
    detail: JsonText | None = None
    fold_key: str | None = None
    """Entries with one key are folded into the first: it is counted up, its ``last_at`` moved."""


class Verdict(msgspec.Struct, Generic[DecisionT_co], frozen=True, kw_only=True):
    """An answer with everything that it changes; a row that is None did not change."""

    decision: DecisionT_co
    attempt: Attempt | None = None
    superseded: Attempt | None = None
    execution: Execution | None = None
    entries: tuple[Entry, ...] = ()
