"""What a type checker knows of each operation's answer. mypy reads this, pytest runs it."""

from collections.abc import Sequence
from typing import assert_type

import tenure
from tenure.ports.extension import Executions, Journal, LedgerIdentity, OwedList, Reclamations
from tenure.ports.repository import ExecutionAttemptRepository, RecoveryOperations

AT = "2027-01-15T08:00Z"
EVIDENCE = tenure.BoundedRecoveryEvidence(source="s", summary="s", observed_at=AT)
REF = tenure.ProviderAllocationRef(provider_id="cloud", provider_data={})
RESULT = tenure.CompletedResult(execution_id="e", workflow_id="w")
PROOF = tenure.ProcessBoundProvisionerLossProof(provisioner_incarnation_id="i", evidence=EVIDENCE)
CLAIM = tenure.ProviderOperationClaim(
    execution_attempt_id="a", generation=1, owner_id="o", token="t", lease_expires_at=AT
)
SUBMISSION = tenure.ExecutionSubmission(workflow_id="w", instruction={}, provider_ids=("cloud",))


async def test_ledger_offers_the_port_and_every_extension() -> None:
    async with tenure.open_ledger("memory:") as ledger:
        assert_type(ledger, tenure.Ledger)
        port: ExecutionAttemptRepository = ledger
        recovery: RecoveryOperations = ledger.recovery
        executions: Executions = ledger
        owed: OwedList = ledger
        reclamations: Reclamations = ledger
        journal: Journal = ledger
        identity: LedgerIdentity = ledger
        offered: list[object] = [port, executions, owed, reclamations, journal, identity]
        assert all(part is ledger for part in offered)
        assert port.recovery is recovery
    opened = await tenure.open_ledger("memory:")
    assert_type(opened, tenure.Ledger)
    await opened.aclose()


async def test_answers_of_the_port() -> None:
    async with tenure.open_ledger("memory:") as ledger:
        record = await ledger.create_attempt(execution_attempt_id="a", execution_id="e")
        assert_type(record, tenure.ExecutionAttemptRecord)
        begun = await ledger.begin_provisioning(
            execution_attempt_id="a",
            execution_id="e",
            provider_id="cloud",
            allocation_lifetime="provider-managed",
            provisioner_incarnation_id="i",
            owner_id="o",
            lease_expires_at=AT,
        )
        assert_type(begun, tenure.ProvisioningClaimDecision)
        operation = await ledger.get_provider_operation(execution_attempt_id="a")
        assert_type(operation, tenure.ProviderOperationRecord | None)
        active = await ledger.get_active_attempt(execution_id="e", execution_attempt_id="a")
        assert_type(active, tenure.ExecutionAttemptRecord | None)
        outcome = await ledger.commit_outcome(
            execution_attempt_id="a", execution_id="e", result=RESULT
        )
        assert_type(outcome, tenure.ExecutionAttemptOutcomeDecision)
        abandoned = await ledger.abandon_pending_attempt(execution_attempt_id="a", execution_id="e")
        assert_type(abandoned, tenure.PendingAttemptAbandonmentDecision)


async def test_answers_of_what_a_claim_fences() -> None:
    async with tenure.open_ledger("memory:") as ledger:
        assert_type(
            await ledger.renew_provider_operation_claim(claim=CLAIM, lease_expires_at=AT),
            tenure.ProviderOperationClaimDecision,
        )
        assert_type(
            await ledger.take_over_provider_operation(
                execution_attempt_id="a", owner_id="o", observed_at=AT, lease_expires_at=AT
            ),
            tenure.ProviderOperationClaimDecision,
        )
        assert_type(
            await ledger.handoff_provider_operation(claim=CLAIM),
            tenure.ProviderOperationMutationDecision,
        )
        assert_type(
            await ledger.record_provider_operation_uncertainty(claim=CLAIM, evidence=EVIDENCE),
            tenure.ProviderOperationMutationDecision,
        )
        assert_type(
            await ledger.record_allocation(claim=CLAIM, allocation_ref=REF),
            tenure.AllocationRecordingDecision,
        )
        assert_type(
            await ledger.record_allocation_terminated(claim=CLAIM, evidence=EVIDENCE),
            tenure.AllocationTerminationDecision,
        )


async def test_answers_of_what_settles_under_a_claim() -> None:
    async with tenure.open_ledger("memory:") as ledger:
        assert_type(
            await ledger.record_provisioning_absent(
                claim=CLAIM, execution_id="e", evidence=EVIDENCE
            ),
            tenure.ProvisioningAbsenceDecision,
        )
        assert_type(
            await ledger.record_provisioner_incarnation_lost(
                claim=CLAIM, execution_id="e", proof=PROOF
            ),
            tenure.ProvisionerIncarnationLossDecision,
        )
        assert_type(
            await ledger.record_infrastructure_failure(claim=CLAIM, execution_id="e"),
            tenure.InfrastructureFailureDecision,
        )


async def test_answers_of_recovery() -> None:
    async with tenure.open_ledger("memory:") as ledger:
        recovery = ledger.recovery
        assert_type(
            await recovery.get_attempt_with_allocation(execution_attempt_id="a"),
            tenure.ExecutionAttemptRecord | None,
        )
        assert_type(
            await recovery.record_discovered_allocation(claim=CLAIM, allocation_ref=REF),
            tenure.DiscoveredAllocationDecision,
        )
        assert_type(
            await recovery.evolve_allocation_ref(
                claim=CLAIM, execution_id="e", current_ref=REF, next_ref=REF
            ),
            tenure.AllocationRefEvolutionDecision,
        )
        assert_type(
            await recovery.get_recoverable_attempts(execution_id="e"),
            Sequence[tenure.RecoverableAttemptRecord],
        )


async def test_answers_about_executions() -> None:
    async with tenure.open_ledger("memory:") as ledger:
        assert_type(
            await ledger.submit_execution(
                execution_id="e", submission=SUBMISSION, submitted_by="h"
            ),
            tenure.SubmissionDecision,
        )
        assert_type(await ledger.get_execution(execution_id="e"), tenure.ExecutionRecord | None)
        assert_type(await ledger.list_executions(), Sequence[tenure.ExecutionRecord])
        assert_type(
            await ledger.ensure_attempt(execution_id="e", execution_attempt_id="a"),
            tenure.EnsureAttemptDecision,
        )
        assert_type(
            await ledger.request_cancellation(execution_id="e", requested_by="u"),
            tenure.CancellationDecision,
        )
        assert_type(await ledger.record_convergence(execution_id="e"), tenure.ConvergenceDecision)
        assert_type(
            await ledger.get_settlement(execution_attempt_id="a"), tenure.SettlementRecord | None
        )
        assert_type(await ledger.list_open(), Sequence[tenure.OpenWork | tenure.UnreadableWork])
        assert_type(await ledger.read_journal(), Sequence[tenure.JournalEntry])


async def test_answers_about_reclamations() -> None:
    async with tenure.open_ledger("memory:") as ledger:
        assert_type(
            await ledger.schedule_look(claim=CLAIM, next_look_at=AT),
            tenure.ProviderOperationMutationDecision,
        )
        assert_type(
            await ledger.get_reclamation(execution_attempt_id="a"),
            tenure.ReclamationRecord | None,
        )
        assert_type(
            await ledger.take_over_reclamation(
                execution_attempt_id="a", owner_id="o", observed_at=AT, lease_expires_at=AT
            ),
            tenure.ProviderOperationClaimDecision,
        )
        assert_type(
            await ledger.renew_reclamation_claim(claim=CLAIM, lease_expires_at=AT),
            tenure.ProviderOperationClaimDecision,
        )
        assert_type(
            await ledger.handoff_reclamation(claim=CLAIM),
            tenure.ProviderOperationMutationDecision,
        )
        assert_type(
            await ledger.record_reclamation_uncertainty(claim=CLAIM, evidence=EVIDENCE),
            tenure.ProviderOperationMutationDecision,
        )
        assert_type(
            await ledger.record_reclamation_reference(claim=CLAIM, allocation_ref=REF),
            tenure.ReclamationReferenceDecision,
        )
        assert_type(
            await ledger.evolve_reclamation_reference(claim=CLAIM, current_ref=REF, next_ref=REF),
            tenure.ReclamationEvolutionDecision,
        )
        assert_type(
            await ledger.close_reclamation(claim=CLAIM, closure="absent", evidence=EVIDENCE),
            tenure.ProviderOperationMutationDecision,
        )
