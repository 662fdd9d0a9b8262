"""The contract's port over a store: each operation checks its input, then submits one command."""

from typing import cast

from tenure.kernel import record as records
from tenure.ledger.core import LedgerCore
from tenure.ledger.intake import evidence_text, instant_ms, presented_claim, ref_text
from tenure.model import command as commands, decision as decisions
from tenure.model.allocation import (
    AllocationLifetime,
    ProcessBoundProvisionerLossProof,
    ProviderAllocationRef,
    check_allocation_lifetime,
    check_loss_proof,
)
from tenure.model.attempt import ExecutionAttemptRecord
from tenure.model.evidence import BoundedRecoveryEvidence
from tenure.model.identifier import check_identifier
from tenure.model.instant import Instant
from tenure.model.mark import make_mark
from tenure.model.operation import ProviderOperationClaim, ProviderOperationRecord
from tenure.model.result import WorkflowRunResult, encode_result


class PortOperations:
    """The operations of ``ports.repository.ExecutionAttemptRepository``; see there.

    Cancelling a mutation does not take it back. Any number of calls may run at once.
    """

    _core: LedgerCore

    async def create_attempt(
        self, *, execution_attempt_id: str, execution_id: str
    ) -> ExecutionAttemptRecord:
        """Create a pending attempt and make it the active one of its execution.

        Raises:
            DuplicateExecutionAttemptError: the id names an attempt already; nothing changed.
        """
        command = commands.CreateAttempt(
            execution_attempt_id=_attempt_id(execution_attempt_id),
            execution_id=_execution_id(execution_id),
            actor=self._core.actor,
        )
        return cast("ExecutionAttemptRecord", await self._core.submit(command))

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
    ) -> decisions.ProvisioningClaimDecision:
        """Claim the one provider call of an attempt. Only ``started`` authorizes it, once."""
        incarnation = check_identifier(
            provisioner_incarnation_id, field="provisioner_incarnation_id"
        )
        command = commands.BeginProvisioning(
            execution_attempt_id=_attempt_id(execution_attempt_id),
            execution_id=_execution_id(execution_id),
            provider_id=check_identifier(provider_id, field="provider_id"),
            allocation_lifetime=check_allocation_lifetime(
                allocation_lifetime, field="allocation_lifetime"
            ),
            provisioner_incarnation_id=incarnation,
            owner_id=check_identifier(owner_id, field="owner_id"),
            lease_expires_ms=instant_ms(lease_expires_at, "lease_expires_at"),
            mark=make_mark(self._core.store.ledger_id, execution_attempt_id),
        )
        return cast("decisions.ProvisioningClaimDecision", await self._core.submit(command))

    async def get_provider_operation(
        self, *, execution_attempt_id: str
    ) -> ProviderOperationRecord | None:
        """Read an operation, open or closed, or None before begin."""
        attempt = await self._core.attempt(_attempt_id(execution_attempt_id))
        if attempt is None or attempt.operation is None:
            return None
        return records.operation_record(execution_attempt_id, attempt.operation)

    async def renew_provider_operation_claim(
        self, *, claim: ProviderOperationClaim, lease_expires_at: Instant
    ) -> decisions.ProviderOperationClaimDecision:
        """Move the lease of a held operation; generation and token stay."""
        command = commands.RenewClaim(
            claim=presented_claim(claim),
            lease_expires_ms=instant_ms(lease_expires_at, "lease_expires_at"),
        )
        return cast("decisions.ProviderOperationClaimDecision", await self._core.submit(command))

    async def take_over_provider_operation(
        self,
        *,
        execution_attempt_id: str,
        owner_id: str,
        observed_at: Instant,
        lease_expires_at: Instant,
    ) -> decisions.ProviderOperationClaimDecision:
        """Take an operation that is unowned, or whose lease is not later than ``observed_at``."""
        command = commands.TakeOverOperation(
            execution_attempt_id=_attempt_id(execution_attempt_id),
            owner_id=check_identifier(owner_id, field="owner_id"),
            observed_ms=instant_ms(observed_at, "observed_at"),
            lease_expires_ms=instant_ms(lease_expires_at, "lease_expires_at"),
        )
        return cast("decisions.ProviderOperationClaimDecision", await self._core.submit(command))

    async def handoff_provider_operation(
        self, *, claim: ProviderOperationClaim, evidence: BoundedRecoveryEvidence | None = None
    ) -> decisions.ProviderOperationMutationDecision:
        """Release a held operation without resolving it; not a failure."""
        text = None if evidence is None else evidence_text(evidence)
        command = commands.HandOffOperation(claim=presented_claim(claim), evidence=text)
        return cast("decisions.ProviderOperationMutationDecision", await self._core.submit(command))

    async def record_provider_operation_uncertainty(
        self, *, claim: ProviderOperationClaim, evidence: BoundedRecoveryEvidence
    ) -> decisions.ProviderOperationMutationDecision:
        """Record that an observation stayed inconclusive; keeps the obligation."""
        command = commands.RecordUncertainty(
            claim=presented_claim(claim), evidence=evidence_text(evidence)
        )
        return cast("decisions.ProviderOperationMutationDecision", await self._core.submit(command))

    async def record_allocation(
        self, *, claim: ProviderOperationClaim, allocation_ref: ProviderAllocationRef
    ) -> decisions.AllocationRecordingDecision:
        """Record the allocation that the provider call made.

        Raises:
            ForeignProviderError: the reference names another provider, whatever the claim.
        """
        provider_id, text = ref_text(allocation_ref, "allocation_ref", self._core.limits)
        command = commands.RecordAllocation(
            claim=presented_claim(claim), provider_id=provider_id, allocation_ref=text
        )
        return cast("decisions.AllocationRecordingDecision", await self._core.submit(command))

    async def record_provisioning_absent(
        self,
        *,
        claim: ProviderOperationClaim,
        execution_id: str,
        evidence: BoundedRecoveryEvidence,
    ) -> decisions.ProvisioningAbsenceDecision:
        """Settle as abandoned on positive proof that nothing was made."""
        command = commands.RecordProvisioningAbsent(
            claim=presented_claim(claim),
            execution_id=_execution_id(execution_id),
            evidence=evidence_text(evidence),
        )
        return cast("decisions.ProvisioningAbsenceDecision", await self._core.submit(command))

    async def record_provisioner_incarnation_lost(
        self,
        *,
        claim: ProviderOperationClaim,
        execution_id: str,
        proof: ProcessBoundProvisionerLossProof,
    ) -> decisions.ProvisionerIncarnationLossDecision:
        """Settle as abandoned on proof that the process-bound provisioner is gone."""
        checked = check_loss_proof(proof, field="proof")
        command = commands.RecordProvisionerIncarnationLost(
            claim=presented_claim(claim),
            execution_id=_execution_id(execution_id),
            provisioner_incarnation_id=checked.provisioner_incarnation_id,
            evidence=evidence_text(checked.evidence, "proof.evidence"),
        )
        answer = await self._core.submit(command)
        return cast("decisions.ProvisionerIncarnationLossDecision", answer)

    async def record_infrastructure_failure(
        self, *, claim: ProviderOperationClaim, execution_id: str
    ) -> decisions.InfrastructureFailureDecision:
        """Settle an attempt whose termination is recorded and which left no answer."""
        command = commands.RecordInfrastructureFailure(
            claim=presented_claim(claim), execution_id=_execution_id(execution_id)
        )
        return cast("decisions.InfrastructureFailureDecision", await self._core.submit(command))

    async def record_allocation_terminated(
        self, *, claim: ProviderOperationClaim, evidence: BoundedRecoveryEvidence
    ) -> decisions.AllocationTerminationDecision:
        """Record that the known allocation was seen to be gone; does not settle."""
        command = commands.RecordAllocationTerminated(
            claim=presented_claim(claim), evidence=evidence_text(evidence)
        )
        return cast("decisions.AllocationTerminationDecision", await self._core.submit(command))

    async def get_active_attempt(
        self, *, execution_id: str, execution_attempt_id: str
    ) -> ExecutionAttemptRecord | None:
        """Read an attempt if it is the active one of its execution, else None."""
        _attempt_id(execution_attempt_id)
        _, active = await self._core.execution(_execution_id(execution_id))
        if active is None or active.execution_attempt_id != execution_attempt_id:
            return None
        return records.attempt_record(active)

    async def commit_outcome(
        self, *, execution_attempt_id: str, execution_id: str, result: WorkflowRunResult
    ) -> decisions.ExecutionAttemptOutcomeDecision:
        """Commit a worker's result, without a claim. The first one wins."""
        bytes_max = self._core.limits.result_bytes_max
        command = commands.CommitOutcome(
            execution_attempt_id=_attempt_id(execution_attempt_id),
            execution_id=_execution_id(execution_id),
            result=encode_result(result, field="result", bytes_max=bytes_max),
        )
        return cast("decisions.ExecutionAttemptOutcomeDecision", await self._core.submit(command))

    async def abandon_pending_attempt(
        self, *, execution_attempt_id: str, execution_id: str
    ) -> decisions.PendingAttemptAbandonmentDecision:
        """Settle an attempt whose provider call never began. Idempotent."""
        command = commands.AbandonPendingAttempt(
            execution_attempt_id=_attempt_id(execution_attempt_id),
            execution_id=_execution_id(execution_id),
            actor=self._core.actor,
        )
        return cast("decisions.PendingAttemptAbandonmentDecision", await self._core.submit(command))


def _attempt_id(value: object) -> str:
    return check_identifier(value, field="execution_attempt_id")


def _execution_id(value: object) -> str:
    return check_identifier(value, field="execution_id")
