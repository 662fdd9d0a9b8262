"""What the port leaves open: separate, small capabilities, all offered by our ledger.

A plain realization of the port stays one without them. Cancelling a call does not undo it.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from tenure.model.allocation import ProviderAllocationRef
from tenure.model.decision import (
    CancellationDecision,
    ConvergenceDecision,
    EnsureAttemptDecision,
    ProviderOperationClaimDecision,
    ProviderOperationMutationDecision,
    ReclamationEvolutionDecision,
    ReclamationReferenceDecision,
    SubmissionDecision,
)
from tenure.model.evidence import BoundedRecoveryEvidence
from tenure.model.execution import ExecutionRecord, ExecutionSubmission, SettlementRecord
from tenure.model.instant import Instant
from tenure.model.journal import JournalEntry
from tenure.model.open_work import (
    OpenWork,
    ReclamationClosure,
    ReclamationRecord,
    UnreadableWork,
)
from tenure.model.operation import ProviderOperationClaim


class Executions(Protocol):
    """The promise to do a piece of work, above its attempts."""

    async def submit_execution(
        self, *, execution_id: str, submission: ExecutionSubmission, submitted_by: str
    ) -> SubmissionDecision:
        """Make a submission durable. The same one again is ``duplicate``."""
        ...

    async def get_execution(self, *, execution_id: str) -> ExecutionRecord | None:
        """Read an execution, or None when there is none."""
        ...

    async def list_executions(
        self,
        *,
        concluded: bool | None = None,
        after: ExecutionRecord | None = None,
        limit: int = 100,
    ) -> Sequence[ExecutionRecord]:
        """List submitted executions, newest first."""
        ...

    async def ensure_attempt(
        self,
        *,
        execution_id: str,
        execution_attempt_id: str,
        replaces: str | None = None,
        supersede: bool = False,
    ) -> EnsureAttemptDecision:
        """Create an attempt unless it exists, replacing exactly ``replaces``.

        It creates only if the active attempt is ``replaces`` (None: there is none) and has settled,
        or ``supersede`` is given. An id that exists is answered with its record and never moves the
        pointer, so that two authorities that derive the same id make one attempt.

        Raises:
            DuplicateExecutionAttemptError: the id names an attempt of another execution.
        """
        ...

    async def request_cancellation(
        self, *, execution_id: str, requested_by: str, reason: str | None = None
    ) -> CancellationDecision:
        """Ask durably that an execution be stopped. The first request wins."""
        ...

    async def record_convergence(self, *, execution_id: str) -> ConvergenceDecision:
        """Record that the host has taken the conclusion over."""
        ...

    async def get_settlement(self, *, execution_attempt_id: str) -> SettlementRecord | None:
        """Read how an attempt settled, with its committed result, or None while it has not."""
        ...


class OwedList(Protocol):
    """What may still be running."""

    async def list_open(
        self,
        *,
        due_before: Instant | None = None,
        providers: Sequence[str] | None = None,
        execution_id: str | None = None,
        after: OpenWork | UnreadableWork | None = None,
        limit: int = 100,
    ) -> Sequence[OpenWork | UnreadableWork]:
        """List open operations and reclamations, oldest first; filters apply before the limit.

        What cannot be read is listed as ``UnreadableWork`` in its place.
        """
        ...

    async def schedule_look(
        self, *, claim: ProviderOperationClaim, next_look_at: Instant
    ) -> ProviderOperationMutationDecision:
        """Say when held open work has to be looked at again; parked doubt starves nobody."""
        ...


class Reclamations(Protocol):
    """Infrastructure that may outlive a settlement. Authorized like the operation it follows."""

    async def get_reclamation(self, *, execution_attempt_id: str) -> ReclamationRecord | None:
        """Read a reclamation, open or closed, or None when nothing was owed at settlement."""
        ...

    async def take_over_reclamation(
        self,
        *,
        execution_attempt_id: str,
        owner_id: str,
        observed_at: Instant,
        lease_expires_at: Instant,
    ) -> ProviderOperationClaimDecision:
        """Take a reclamation that is unowned or whose lease has run out."""
        ...

    async def renew_reclamation_claim(
        self, *, claim: ProviderOperationClaim, lease_expires_at: Instant
    ) -> ProviderOperationClaimDecision:
        """Move the lease of a held reclamation."""
        ...

    async def handoff_reclamation(
        self, *, claim: ProviderOperationClaim, evidence: BoundedRecoveryEvidence | None = None
    ) -> ProviderOperationMutationDecision:
        """Release a held reclamation without closing it."""
        ...

    async def record_reclamation_uncertainty(
        self, *, claim: ProviderOperationClaim, evidence: BoundedRecoveryEvidence
    ) -> ProviderOperationMutationDecision:
        """Record that an observation stayed inconclusive."""
        ...

    async def record_reclamation_reference(
        self, *, claim: ProviderOperationClaim, allocation_ref: ProviderAllocationRef
    ) -> ReclamationReferenceDecision:
        """Record a reference that came late, or one more."""
        ...

    async def evolve_reclamation_reference(
        self,
        *,
        claim: ProviderOperationClaim,
        current_ref: ProviderAllocationRef,
        next_ref: ProviderAllocationRef,
    ) -> ReclamationEvolutionDecision:
        """Replace one known reference by a finer one of the same allocation."""
        ...

    async def close_reclamation(
        self,
        *,
        claim: ProviderOperationClaim,
        closure: ReclamationClosure,
        evidence: BoundedRecoveryEvidence,
    ) -> ProviderOperationMutationDecision:
        """Close with the proof that nothing is left."""
        ...


class Journal(Protocol):
    """What happened."""

    async def read_journal(
        self,
        *,
        execution_id: str | None = None,
        execution_attempt_id: str | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> Sequence[JournalEntry]:
        """List entries with a sequence over ``after``, in order."""
        ...


class LedgerIdentity(Protocol):
    """Which ledger this is, and its time."""

    @property
    def ledger_id(self) -> str:
        """The ledger's own id."""
        ...

    @property
    def url(self) -> str:
        """Where the ledger is, without secrets."""
        ...

    async def now(self) -> datetime:
        """Read the ledger's clock; the only source of ``observed_at`` for controllers."""
        ...

    def mark_of(self, execution_attempt_id: str) -> str:
        """Compute the mark that an attempt's infrastructure carries."""
        ...
