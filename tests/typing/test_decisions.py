"""Every union of answers can be matched exhaustively, each answer with exactly its payload.

mypy reads these files: a kind that is missing from a ``match`` is a type error at ``assert_never``.
"""

from typing import Literal, assert_never, assert_type

import tenure


def read_provisioning_claim_decision(answer: tenure.ProvisioningClaimDecision) -> str:
    match answer:
        case tenure.Started(claim=claim):
            assert_type(claim, tenure.ProviderOperationClaim)
            assert_type(answer.kind, Literal["started"])
        case tenure.AlreadyProvisioning():
            assert_type(answer.kind, Literal["already-provisioning"])
        case tenure.AllocatedReference(allocation_ref=allocation_ref):
            assert_type(allocation_ref, tenure.ProviderAllocationRef)
            assert_type(answer.kind, Literal["allocated"])
        case tenure.ResolvedReference(allocation_ref=allocation_ref):
            assert_type(allocation_ref, tenure.ProviderAllocationRef | None)
            assert_type(answer.kind, Literal["resolved"])
        case tenure.Fenced():
            assert_type(answer.kind, Literal["fenced"])
        case tenure.NotFound():
            assert_type(answer.kind, Literal["not-found"])
        case _:
            assert_never(answer)
    return answer.kind


def read_provider_operation_claim_decision(answer: tenure.ProviderOperationClaimDecision) -> str:
    match answer:
        case tenure.Claimed(claim=claim):
            assert_type(claim, tenure.ProviderOperationClaim)
            assert_type(answer.kind, Literal["claimed"])
        case tenure.Resolved():
            assert_type(answer.kind, Literal["resolved"])
        case tenure.Stale():
            assert_type(answer.kind, Literal["stale"])
        case tenure.NotFound():
            assert_type(answer.kind, Literal["not-found"])
        case _:
            assert_never(answer)
    return answer.kind


def read_provider_operation_mutation_decision(
    answer: tenure.ProviderOperationMutationDecision,
) -> str:
    match answer:
        case tenure.Recorded():
            assert_type(answer.kind, Literal["recorded"])
        case tenure.Resolved():
            assert_type(answer.kind, Literal["resolved"])
        case tenure.Stale():
            assert_type(answer.kind, Literal["stale"])
        case tenure.NotFound():
            assert_type(answer.kind, Literal["not-found"])
        case _:
            assert_never(answer)
    return answer.kind


def read_allocation_recording_decision(answer: tenure.AllocationRecordingDecision) -> str:
    match answer:
        case tenure.Recorded():
            assert_type(answer.kind, Literal["recorded"])
        case tenure.DuplicateReference(allocation_ref=allocation_ref):
            assert_type(allocation_ref, tenure.ProviderAllocationRef)
            assert_type(answer.kind, Literal["duplicate"])
        case tenure.ConflictReference(allocation_ref=allocation_ref):
            assert_type(allocation_ref, tenure.ProviderAllocationRef)
            assert_type(answer.kind, Literal["conflict"])
        case tenure.ResolvedReference(allocation_ref=allocation_ref):
            assert_type(allocation_ref, tenure.ProviderAllocationRef | None)
            assert_type(answer.kind, Literal["resolved"])
        case tenure.Stale():
            assert_type(answer.kind, Literal["stale"])
        case tenure.NotFound():
            assert_type(answer.kind, Literal["not-found"])
        case _:
            assert_never(answer)
    return answer.kind


def read_discovered_allocation_decision(answer: tenure.DiscoveredAllocationDecision) -> str:
    match answer:
        case tenure.Recorded():
            assert_type(answer.kind, Literal["recorded"])
        case tenure.DuplicateReference(allocation_ref=allocation_ref):
            assert_type(allocation_ref, tenure.ProviderAllocationRef)
            assert_type(answer.kind, Literal["duplicate"])
        case tenure.ConflictReference(allocation_ref=allocation_ref):
            assert_type(allocation_ref, tenure.ProviderAllocationRef)
            assert_type(answer.kind, Literal["conflict"])
        case tenure.ResolvedReference(allocation_ref=allocation_ref):
            assert_type(allocation_ref, tenure.ProviderAllocationRef | None)
            assert_type(answer.kind, Literal["resolved"])
        case tenure.Stale():
            assert_type(answer.kind, Literal["stale"])
        case tenure.NotFound():
            assert_type(answer.kind, Literal["not-found"])
        case _:
            assert_never(answer)
    return answer.kind


def read_provisioning_absence_decision(answer: tenure.ProvisioningAbsenceDecision) -> str:
    match answer:
        case tenure.Recorded():
            assert_type(answer.kind, Literal["recorded"])
        case tenure.AllocatedReference(allocation_ref=allocation_ref):
            assert_type(allocation_ref, tenure.ProviderAllocationRef)
            assert_type(answer.kind, Literal["allocated"])
        case tenure.Resolved():
            assert_type(answer.kind, Literal["resolved"])
        case tenure.Stale():
            assert_type(answer.kind, Literal["stale"])
        case tenure.NotFound():
            assert_type(answer.kind, Literal["not-found"])
        case _:
            assert_never(answer)
    return answer.kind


def read_provisioner_incarnation_loss_decision(
    answer: tenure.ProvisionerIncarnationLossDecision,
) -> str:
    match answer:
        case tenure.Recorded():
            assert_type(answer.kind, Literal["recorded"])
        case tenure.NotProcessBound(allocation_lifetime=allocation_lifetime):
            assert_type(allocation_lifetime, tenure.AllocationLifetime | None)
            assert_type(answer.kind, Literal["not-process-bound"])
        case tenure.IncarnationMismatch(provisioner_incarnation_id=provisioner_incarnation_id):
            assert_type(provisioner_incarnation_id, str | None)
            assert_type(answer.kind, Literal["incarnation-mismatch"])
        case tenure.AllocatedReference(allocation_ref=allocation_ref):
            assert_type(allocation_ref, tenure.ProviderAllocationRef)
            assert_type(answer.kind, Literal["allocated"])
        case tenure.Resolved():
            assert_type(answer.kind, Literal["resolved"])
        case tenure.Stale():
            assert_type(answer.kind, Literal["stale"])
        case tenure.NotFound():
            assert_type(answer.kind, Literal["not-found"])
        case _:
            assert_never(answer)
    return answer.kind


def read_infrastructure_failure_decision(answer: tenure.InfrastructureFailureDecision) -> str:
    match answer:
        case tenure.Recorded():
            assert_type(answer.kind, Literal["recorded"])
        case tenure.Resolved():
            assert_type(answer.kind, Literal["resolved"])
        case tenure.NotAllocated():
            assert_type(answer.kind, Literal["not-allocated"])
        case tenure.NotTerminated():
            assert_type(answer.kind, Literal["not-terminated"])
        case tenure.Stale():
            assert_type(answer.kind, Literal["stale"])
        case tenure.NotFound():
            assert_type(answer.kind, Literal["not-found"])
        case _:
            assert_never(answer)
    return answer.kind


def read_allocation_termination_decision(answer: tenure.AllocationTerminationDecision) -> str:
    match answer:
        case tenure.Recorded():
            assert_type(answer.kind, Literal["recorded"])
        case tenure.Resolved():
            assert_type(answer.kind, Literal["resolved"])
        case tenure.Stale():
            assert_type(answer.kind, Literal["stale"])
        case tenure.NotFound():
            assert_type(answer.kind, Literal["not-found"])
        case tenure.NotAllocated():
            assert_type(answer.kind, Literal["not-allocated"])
        case _:
            assert_never(answer)
    return answer.kind


def read_allocation_ref_evolution_decision(answer: tenure.AllocationRefEvolutionDecision) -> str:
    match answer:
        case tenure.Evolved():
            assert_type(answer.kind, Literal["evolved"])
        case tenure.StaleReference(stored_ref=stored_ref):
            assert_type(stored_ref, tenure.ProviderAllocationRef | None)
            assert_type(answer.kind, Literal["stale"])
        case tenure.Resolved():
            assert_type(answer.kind, Literal["resolved"])
        case tenure.NotAllocated():
            assert_type(answer.kind, Literal["not-allocated"])
        case tenure.NotFound():
            assert_type(answer.kind, Literal["not-found"])
        case _:
            assert_never(answer)
    return answer.kind


def read_pending_attempt_abandonment_decision(
    answer: tenure.PendingAttemptAbandonmentDecision,
) -> str:
    match answer:
        case tenure.Abandoned():
            assert_type(answer.kind, Literal["abandoned"])
        case tenure.AlreadyAbandoned():
            assert_type(answer.kind, Literal["already-abandoned"])
        case tenure.AlreadySettled():
            assert_type(answer.kind, Literal["already-settled"])
        case tenure.Allocated():
            assert_type(answer.kind, Literal["allocated"])
        case tenure.Provisioning():
            assert_type(answer.kind, Literal["provisioning"])
        case tenure.Fenced():
            assert_type(answer.kind, Literal["fenced"])
        case _:
            assert_never(answer)
    return answer.kind


def read_execution_attempt_outcome_decision(answer: tenure.ExecutionAttemptOutcomeDecision) -> str:
    match answer:
        case tenure.AcceptedOutcome(outcome=outcome):
            assert_type(outcome, tenure.WorkflowRunResult)
            assert_type(answer.kind, Literal["accepted"])
        case tenure.DuplicateOutcome(outcome=outcome):
            assert_type(outcome, tenure.WorkflowRunResult)
            assert_type(answer.kind, Literal["duplicate"])
        case tenure.Conflict():
            assert_type(answer.kind, Literal["conflict"])
        case tenure.Fenced():
            assert_type(answer.kind, Literal["fenced"])
        case _:
            assert_never(answer)
    return answer.kind


def read_submission_decision(answer: tenure.SubmissionDecision) -> str:
    match answer:
        case tenure.Submitted(execution=execution):
            assert_type(execution, tenure.ExecutionRecord)
            assert_type(answer.kind, Literal["submitted"])
        case tenure.DuplicateSubmission(execution=execution):
            assert_type(execution, tenure.ExecutionRecord)
            assert_type(answer.kind, Literal["duplicate"])
        case tenure.ConflictSubmission(execution=execution):
            assert_type(execution, tenure.ExecutionRecord)
            assert_type(answer.kind, Literal["conflict"])
        case _:
            assert_never(answer)
    return answer.kind


def read_ensure_attempt_decision(answer: tenure.EnsureAttemptDecision) -> str:
    match answer:
        case tenure.AttemptCreated(attempt=attempt):
            assert_type(attempt, tenure.ExecutionAttemptRecord)
            assert_type(answer.kind, Literal["created"])
        case tenure.AttemptExists(attempt=attempt, active=active):
            assert_type(attempt, tenure.ExecutionAttemptRecord)
            assert_type(active, bool)
            assert_type(answer.kind, Literal["existing"])
        case tenure.Occupied(active_attempt_id=active_attempt_id):
            assert_type(active_attempt_id, str | None)
            assert_type(answer.kind, Literal["occupied"])
        case tenure.Concluded():
            assert_type(answer.kind, Literal["concluded"])
        case tenure.CancellationPending():
            assert_type(answer.kind, Literal["cancelled"])
        case _:
            assert_never(answer)
    return answer.kind


def read_cancellation_decision(answer: tenure.CancellationDecision) -> str:
    match answer:
        case tenure.CancellationRequested(execution=execution):
            assert_type(execution, tenure.ExecutionRecord)
            assert_type(answer.kind, Literal["requested"])
        case tenure.CancellationAlreadyRequested(execution=execution):
            assert_type(execution, tenure.ExecutionRecord)
            assert_type(answer.kind, Literal["already-requested"])
        case tenure.Concluded():
            assert_type(answer.kind, Literal["concluded"])
        case tenure.NotFound():
            assert_type(answer.kind, Literal["not-found"])
        case _:
            assert_never(answer)
    return answer.kind


def read_convergence_decision(answer: tenure.ConvergenceDecision) -> str:
    match answer:
        case tenure.Recorded():
            assert_type(answer.kind, Literal["recorded"])
        case tenure.AlreadyConverged():
            assert_type(answer.kind, Literal["already-converged"])
        case tenure.NotConcluded():
            assert_type(answer.kind, Literal["not-concluded"])
        case tenure.NotFound():
            assert_type(answer.kind, Literal["not-found"])
        case _:
            assert_never(answer)
    return answer.kind


def read_reclamation_reference_decision(answer: tenure.ReclamationReferenceDecision) -> str:
    match answer:
        case tenure.Recorded():
            assert_type(answer.kind, Literal["recorded"])
        case tenure.DuplicateReference(allocation_ref=allocation_ref):
            assert_type(allocation_ref, tenure.ProviderAllocationRef)
            assert_type(answer.kind, Literal["duplicate"])
        case tenure.Resolved():
            assert_type(answer.kind, Literal["resolved"])
        case tenure.Stale():
            assert_type(answer.kind, Literal["stale"])
        case tenure.NotFound():
            assert_type(answer.kind, Literal["not-found"])
        case _:
            assert_never(answer)
    return answer.kind


def read_reclamation_evolution_decision(answer: tenure.ReclamationEvolutionDecision) -> str:
    match answer:
        case tenure.Evolved():
            assert_type(answer.kind, Literal["evolved"])
        case tenure.StaleReference(stored_ref=stored_ref):
            assert_type(stored_ref, tenure.ProviderAllocationRef | None)
            assert_type(answer.kind, Literal["stale"])
        case tenure.Resolved():
            assert_type(answer.kind, Literal["resolved"])
        case tenure.NotFound():
            assert_type(answer.kind, Literal["not-found"])
        case _:
            assert_never(answer)
    return answer.kind


def read_workflow_run_result(answer: tenure.WorkflowRunResult) -> str:
    match answer:
        case tenure.CompletedResult():
            assert_type(answer.status, Literal["completed"])
        case tenure.FailedResult():
            assert_type(answer.status, Literal["failed"])
        case tenure.CancelledResult():
            assert_type(answer.status, Literal["cancelled"])
        case tenure.PausedResult():
            assert_type(answer.status, Literal["paused"])
        case _:
            assert_never(answer)
    return answer.status


def test_every_union_is_read() -> None:
    unions = {name for name in tenure.__all__ if name.endswith("Decision")} - {"Decision"}
    read = {name for name in globals() if name.startswith("read_")}
    assert len(read - {"read_workflow_run_result"}) == len(unions)


def test_kinds_are_read_at_run_time_too() -> None:
    ref = tenure.ProviderAllocationRef(provider_id="cloud", provider_data={})
    result = tenure.CompletedResult(execution_id="e", workflow_id="w")
    assert read_provisioning_claim_decision(tenure.Fenced()) == "fenced"
    conflict = tenure.ConflictReference(allocation_ref=ref)
    assert read_allocation_recording_decision(conflict) == "conflict"
    stale = tenure.StaleReference(stored_ref=None)
    assert read_allocation_ref_evolution_decision(stale) == "stale"
    accepted = tenure.AcceptedOutcome(outcome=result)
    assert read_execution_attempt_outcome_decision(accepted) == "accepted"
    assert read_workflow_run_result(result) == "completed"
