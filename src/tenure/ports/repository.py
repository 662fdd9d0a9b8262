"""The contract's port: what every realization offers, with one indivisible recovery capability.

Rules that bind every realization: input is validated before anything is read; every mutation is one
durable transaction; claim-fenced calls decide in the order not-found, resolved, stale, authorized;
a worker's outcome needs no claim; obligations never move backwards; evidence is kept verbatim.
``docs/contract.md`` says each in full. Cancelling a call does not undo it: a mutation that was
queued may still commit, so read before deciding.
"""

from collections.abc import Sequence
from typing import Protocol

from tenure.model.allocation import (
    AllocationLifetime,
    ProcessBoundProvisionerLossProof,
    ProviderAllocationRef,
)
from tenure.model.attempt import ExecutionAttemptRecord, RecoverableAttemptRecord
from tenure.model.decision import (
    AllocationRecordingDecision,
    AllocationRefEvolutionDecision,
    AllocationTerminationDecision,
    DiscoveredAllocationDecision,
    ExecutionAttemptOutcomeDecision,
    InfrastructureFailureDecision,
    PendingAttemptAbandonmentDecision,
    ProviderOperationClaimDecision,
    ProviderOperationMutationDecision,
    ProvisionerIncarnationLossDecision,
    ProvisioningAbsenceDecision,
    ProvisioningClaimDecision,
)
from tenure.model.evidence import BoundedRecoveryEvidence
from tenure.model.instant import Instant
from tenure.model.operation import ProviderOperationClaim, ProviderOperationRecord
from tenure.model.result import WorkflowRunResult


class RecoveryOperations(Protocol):
    """What a recovery pass needs, whole or not at all."""

    async def get_attempt_with_allocation(
        self, *, execution_attempt_id: str
    ) -> ExecutionAttemptRecord | None:
        """Read an attempt whatever its state, or None when there is none."""
        ...

    async def record_discovered_allocation(
        self, *, claim: ProviderOperationClaim, allocation_ref: ProviderAllocationRef
    ) -> DiscoveredAllocationDecision:
        """Record what a complete search found; never makes the attempt claimable.

        Raises:
            InvalidInputError: the reference is malformed.
            ForeignProviderError: it names another provider than the attempt, whatever the claim.
        """
        ...

    async def evolve_allocation_ref(
        self,
        *,
        claim: ProviderOperationClaim,
        execution_id: str,
        current_ref: ProviderAllocationRef,
        next_ref: ProviderAllocationRef,
    ) -> AllocationRefEvolutionDecision:
        """Replace the stored reference if it is still ``current_ref``.

        Raises:
            InvalidInputError: a reference is malformed.
            ForeignProviderError: the two name different providers.
        """
        ...

    async def get_recoverable_attempts(
        self, *, execution_id: str
    ) -> Sequence[RecoverableAttemptRecord]:
        """List allocated, claimable, unsettled, unexpired attempts, oldest first, then by id.

        Raises:
            CorruptRecordError: a selected attempt lacks its binding.
        """
        ...


class ExecutionAttemptRepository(Protocol):
    """Durable execution attempts and their fenced provider operations."""

    @property
    def recovery(self) -> RecoveryOperations | None:
        """The recovery capability, or None when the realization serves none."""
        ...

    async def create_attempt(
        self, *, execution_attempt_id: str, execution_id: str
    ) -> ExecutionAttemptRecord:
        """Create a pending attempt and make it the active one of its execution.

        Raises:
            DuplicateExecutionAttemptError: the id names an attempt already; nothing changed.
        """
        ...

    async def begin_provisioning(
        self,
        *,
        execution_attempt_id: str,
        execution_id: str,
        provider_id: str,
        allocation_lifetime: AllocationLifetime,
        provisioner_incarnation_id: str,
        owner_id: str,
        lease_expires_at: Instant,
    ) -> ProvisioningClaimDecision:
        """Claim the one provider call of an attempt. Only ``started`` authorizes it, once."""
        ...

    async def get_provider_operation(
        self, *, execution_attempt_id: str
    ) -> ProviderOperationRecord | None:
        """Read an operation, open or closed, or None before begin."""
        ...

    async def renew_provider_operation_claim(
        self, *, claim: ProviderOperationClaim, lease_expires_at: Instant
    ) -> ProviderOperationClaimDecision:
        """Move the lease of a held operation; generation and token stay."""
        ...

    async def take_over_provider_operation(
        self,
        *,
        execution_attempt_id: str,
        owner_id: str,
        observed_at: Instant,
        lease_expires_at: Instant,
    ) -> ProviderOperationClaimDecision:
        """Take an operation that is unowned, or whose lease is not later than ``observed_at``."""
        ...

    async def handoff_provider_operation(
        self, *, claim: ProviderOperationClaim, evidence: BoundedRecoveryEvidence | None = None
    ) -> ProviderOperationMutationDecision:
        """Release a held operation without resolving it; not a failure."""
        ...

    async def record_provider_operation_uncertainty(
        self, *, claim: ProviderOperationClaim, evidence: BoundedRecoveryEvidence
    ) -> ProviderOperationMutationDecision:
        """Record that an observation stayed inconclusive; keeps the obligation."""
        ...

    async def record_allocation(
        self, *, claim: ProviderOperationClaim, allocation_ref: ProviderAllocationRef
    ) -> AllocationRecordingDecision:
        """Record the allocation that the provider call made.

        Raises:
            ForeignProviderError: the reference names another provider, whatever the claim.
        """
        ...

    async def record_provisioning_absent(
        self,
        *,
        claim: ProviderOperationClaim,
        execution_id: str,
        evidence: BoundedRecoveryEvidence,
    ) -> ProvisioningAbsenceDecision:
        """Settle as abandoned on positive proof that nothing was made."""
        ...

    async def record_provisioner_incarnation_lost(
        self,
        *,
        claim: ProviderOperationClaim,
        execution_id: str,
        proof: ProcessBoundProvisionerLossProof,
    ) -> ProvisionerIncarnationLossDecision:
        """Settle as abandoned on proof that the process-bound provisioner is gone."""
        ...

    async def record_infrastructure_failure(
        self, *, claim: ProviderOperationClaim, execution_id: str
    ) -> InfrastructureFailureDecision:
        """Settle an attempt whose termination is recorded and which left no answer."""
        ...

    async def record_allocation_terminated(
        self, *, claim: ProviderOperationClaim, evidence: BoundedRecoveryEvidence
    ) -> AllocationTerminationDecision:
        """Record that the known allocation was seen to be gone; does not settle."""
        ...

    async def get_active_attempt(
        self, *, execution_id: str, execution_attempt_id: str
    ) -> ExecutionAttemptRecord | None:
        """Read an attempt if it is the active one of its execution, else None."""
        ...

    async def commit_outcome(
        self, *, execution_attempt_id: str, execution_id: str, result: WorkflowRunResult
    ) -> ExecutionAttemptOutcomeDecision:
        """Commit a worker's result, without a claim. The first one wins."""
        ...

    async def abandon_pending_attempt(
        self, *, execution_attempt_id: str, execution_id: str
    ) -> PendingAttemptAbandonmentDecision:
        """Settle an attempt whose provider call never began. Idempotent."""
        ...
