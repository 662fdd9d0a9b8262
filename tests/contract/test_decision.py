"""Every answer that an operation can give is reached, with exactly its payload."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, get_args, get_type_hints

import pytest
from tests.contract.stage import Stage
from tests.contract.values import (
    FINER_REF,
    OTHER_REF,
    OTHER_RESULT,
    PROOF,
    REF,
    RESULT,
    at,
    claim_for,
)

import tenure
from tenure.model.decision import Decision
from tenure.ports import extension, repository

OTHER_PROOF = tenure.ProcessBoundProvisionerLossProof(
    provisioner_incarnation_id="incarnation-2", evidence=PROOF.evidence
)
OTHER_SUBMISSION = tenure.ExecutionSubmission(
    workflow_id="other", instruction={}, provider_ids=("cloud",)
)


class Case(NamedTuple):
    """After these steps, this call is answered so: by an equal value, or by one of the type."""

    operation: str
    steps: str
    answer: Any
    changed: Mapping[str, Any] = MappingProxyType({})


CASES = [
    Case("create_attempt", "", tenure.ExecutionAttemptRecord),
    Case("begin_provisioning", "created", tenure.Started),
    Case("begin_provisioning", "created begun", tenure.AlreadyProvisioning()),
    Case(
        "begin_provisioning",
        "created begun allocated",
        tenure.AllocatedReference(allocation_ref=REF),
    ),
    Case(
        "begin_provisioning",
        "created begun allocated answered",
        tenure.ResolvedReference(allocation_ref=REF),
    ),
    Case("begin_provisioning", "created abandoned", tenure.ResolvedReference(allocation_ref=None)),
    Case("begin_provisioning", "created superseded", tenure.Fenced()),
    Case("begin_provisioning", "", tenure.NotFound()),
    Case("begin_provisioning", "created", tenure.NotFound(), {"execution_id": "other"}),
    Case("renew_provider_operation_claim", "created begun", tenure.Claimed),
    Case("take_over_provider_operation", "created begun", tenure.Claimed),
    Case("take_over_provider_operation", "created begun handed-off", tenure.Claimed),
    Case("take_over_provider_operation", "created begun superseded", tenure.Claimed),
    Case("take_over_provider_operation", "created begun renewed", tenure.Stale()),
    Case("take_over_provider_operation", "created begun absent", tenure.Resolved()),
    Case("take_over_provider_operation", "created", tenure.NotFound()),
    Case("take_over_provider_operation", "", tenure.NotFound()),
    Case("handoff_provider_operation", "created begun", tenure.Recorded()),
    Case("handoff_provider_operation", "created begun", tenure.Recorded(), {"evidence": None}),
    Case("handoff_provider_operation", "created begun handed-off", tenure.Stale()),
    Case("record_provider_operation_uncertainty", "created begun", tenure.Recorded()),
    Case("record_provider_operation_uncertainty", "created begun allocated", tenure.Recorded()),
    Case(
        "record_provider_operation_uncertainty",
        "created begun allocated terminated",
        tenure.Recorded(),
    ),
    Case("record_allocation", "created begun", tenure.Recorded()),
    Case("record_allocation", "created begun superseded", tenure.Recorded()),
    Case(
        "record_allocation",
        "created begun allocated",
        tenure.DuplicateReference(allocation_ref=REF),
    ),
    Case(
        "record_allocation",
        "created begun allocated",
        tenure.ConflictReference(allocation_ref=REF),
        {"allocation_ref": OTHER_REF},
    ),
    Case(
        "record_allocation",
        "created begun allocated answered",
        tenure.ResolvedReference(allocation_ref=REF),
    ),
    Case(
        "record_allocation",
        "created begun absent",
        tenure.ResolvedReference(allocation_ref=None),
    ),
    Case("record_provisioning_absent", "created begun", tenure.Recorded()),
    Case("record_provisioning_absent", "created begun superseded", tenure.Recorded()),
    Case(
        "record_provisioning_absent",
        "created begun allocated",
        tenure.AllocatedReference(allocation_ref=REF),
    ),
    Case("record_provisioner_incarnation_lost", "created begun-process-bound", tenure.Recorded()),
    Case(
        "record_provisioner_incarnation_lost",
        "created begun",
        tenure.NotProcessBound(allocation_lifetime="provider-managed"),
    ),
    Case(
        "record_provisioner_incarnation_lost",
        "created begun-process-bound",
        tenure.IncarnationMismatch(provisioner_incarnation_id="incarnation-1"),
        {"proof": OTHER_PROOF},
    ),
    Case(
        "record_provisioner_incarnation_lost",
        "created begun-process-bound allocated",
        tenure.AllocatedReference(allocation_ref=REF),
    ),
    Case("record_infrastructure_failure", "created begun allocated terminated", tenure.Recorded()),
    Case("record_infrastructure_failure", "created begun allocated", tenure.NotTerminated()),
    Case("record_infrastructure_failure", "created begun", tenure.NotAllocated()),
    Case("record_allocation_terminated", "created begun allocated", tenure.Recorded()),
    Case("record_allocation_terminated", "created begun allocated terminated", tenure.Recorded()),
    Case("record_allocation_terminated", "created begun", tenure.NotAllocated()),
    Case("commit_outcome", "created", tenure.AcceptedOutcome(outcome=RESULT)),
    Case("commit_outcome", "created begun", tenure.AcceptedOutcome(outcome=RESULT)),
    Case("commit_outcome", "created begun handed-off", tenure.AcceptedOutcome(outcome=RESULT)),
    Case(
        "commit_outcome",
        "created begun allocated terminated",
        tenure.AcceptedOutcome(outcome=RESULT),
    ),
    Case("commit_outcome", "created answered", tenure.DuplicateOutcome(outcome=RESULT)),
    Case("commit_outcome", "created answered", tenure.Conflict(), {"result": OTHER_RESULT}),
    Case("commit_outcome", "created abandoned", tenure.Conflict()),
    Case("commit_outcome", "created begun absent", tenure.Conflict()),
    Case("commit_outcome", "created begun-process-bound lost", tenure.Conflict()),
    Case("commit_outcome", "created begun allocated terminated failed", tenure.Conflict()),
    Case("commit_outcome", "", tenure.Fenced()),
    Case("commit_outcome", "created", tenure.Fenced(), {"execution_id": "other"}),
    Case("commit_outcome", "created superseded", tenure.Fenced()),
    Case("abandon_pending_attempt", "created", tenure.Abandoned()),
    Case("abandon_pending_attempt", "created abandoned", tenure.AlreadyAbandoned()),
    Case("abandon_pending_attempt", "created begun absent", tenure.AlreadyAbandoned()),
    Case("abandon_pending_attempt", "created answered", tenure.AlreadySettled()),
    Case("abandon_pending_attempt", "created begun allocated", tenure.Allocated()),
    Case("abandon_pending_attempt", "created begun", tenure.Provisioning()),
    Case("abandon_pending_attempt", "", tenure.Fenced()),
    Case("abandon_pending_attempt", "created superseded", tenure.Fenced()),
    Case("recovery.record_discovered_allocation", "created begun", tenure.Recorded()),
    Case(
        "recovery.record_discovered_allocation",
        "created begun allocated",
        tenure.DuplicateReference(allocation_ref=REF),
    ),
    Case(
        "recovery.record_discovered_allocation",
        "created begun allocated",
        tenure.ConflictReference(allocation_ref=REF),
        {"allocation_ref": OTHER_REF},
    ),
    Case(
        "recovery.record_discovered_allocation",
        "created begun discovered answered",
        tenure.ResolvedReference(allocation_ref=REF),
    ),
    Case("recovery.evolve_allocation_ref", "created begun allocated", tenure.Evolved()),
    Case("recovery.evolve_allocation_ref", "created begun allocated terminated", tenure.Evolved()),
    Case("recovery.evolve_allocation_ref", "created begun", tenure.NotAllocated()),
    Case(
        "recovery.evolve_allocation_ref",
        "created begun allocated evolved",
        tenure.StaleReference(stored_ref=FINER_REF),
    ),
    Case(
        "recovery.evolve_allocation_ref",
        "created begun allocated taken-over",
        tenure.StaleReference(stored_ref=REF),
    ),
    Case(
        "recovery.evolve_allocation_ref",
        "created begun taken-over",
        tenure.StaleReference(stored_ref=None),
    ),
    Case("submit_execution", "", tenure.Submitted),
    Case("submit_execution", "submitted", tenure.DuplicateSubmission),
    Case("submit_execution", "submitted", tenure.DuplicateSubmission, {"submitted_by": "host-2"}),
    Case(
        "submit_execution",
        "submitted",
        tenure.ConflictSubmission,
        {"submission": OTHER_SUBMISSION},
    ),
    Case("submit_execution", "created", tenure.ConflictSubmission),
    Case("ensure_attempt", "", tenure.AttemptCreated),
    Case("ensure_attempt", "submitted", tenure.AttemptCreated),
    Case("ensure_attempt", "created", tenure.AttemptExists),
    Case("ensure_attempt", "created superseded", tenure.AttemptExists),
    Case(
        "ensure_attempt",
        "created",
        tenure.Occupied(active_attempt_id="a"),
        {"execution_attempt_id": "c", "replaces": "a"},
    ),
    Case(
        "ensure_attempt",
        "created abandoned",
        tenure.Occupied(active_attempt_id="a"),
        {"execution_attempt_id": "c"},
    ),
    Case("ensure_attempt", "", tenure.Occupied(active_attempt_id=None), {"replaces": "a"}),
    Case(
        "ensure_attempt",
        "created abandoned",
        tenure.AttemptCreated,
        {"execution_attempt_id": "c", "replaces": "a"},
    ),
    Case(
        "ensure_attempt",
        "created begun",
        tenure.AttemptCreated,
        {"execution_attempt_id": "c", "replaces": "a", "supersede": True},
    ),
    Case(
        "ensure_attempt",
        "created begun",
        tenure.Occupied(active_attempt_id="a"),
        {"execution_attempt_id": "c", "replaces": "other", "supersede": True},
    ),
    Case(
        "ensure_attempt",
        "submitted created answered",
        tenure.Concluded(),
        {"execution_attempt_id": "c", "replaces": "a"},
    ),
    Case(
        "ensure_attempt",
        "submitted created cancelled",
        tenure.CancellationPending(),
        {"execution_attempt_id": "c", "replaces": "a", "supersede": True},
    ),
    Case("request_cancellation", "submitted", tenure.CancellationRequested),
    Case(
        "request_cancellation", "submitted created cancelled", tenure.CancellationAlreadyRequested
    ),
    Case("request_cancellation", "submitted cancelled", tenure.Concluded()),
    Case("request_cancellation", "submitted created answered", tenure.Concluded()),
    Case("request_cancellation", "", tenure.NotFound()),
    Case("request_cancellation", "created", tenure.NotFound()),
    Case("record_convergence", "submitted created answered", tenure.Recorded()),
    Case("record_convergence", "submitted created answered converged", tenure.AlreadyConverged()),
    Case("record_convergence", "submitted created", tenure.NotConcluded()),
    Case("record_convergence", "", tenure.NotFound()),
    Case("record_convergence", "created answered", tenure.NotFound()),
    Case("schedule_look", "created begun", tenure.Recorded()),
    Case("schedule_look", "created begun answered", tenure.Recorded()),
    Case("schedule_look", "created begun answered closed", tenure.Resolved()),
    Case("schedule_look", "created begun absent", tenure.Resolved()),
    Case("schedule_look", "created begun answered reclamation-taken-over", tenure.Stale()),
    Case("take_over_reclamation", "created begun answered", tenure.Claimed),
    Case("take_over_reclamation", "created begun handed-off answered", tenure.Claimed),
    Case("take_over_reclamation", "created begun renewed answered", tenure.Stale()),
    Case("take_over_reclamation", "created begun answered closed", tenure.Resolved()),
    Case("take_over_reclamation", "created begun absent", tenure.NotFound()),
    Case("renew_reclamation_claim", "created begun answered", tenure.Claimed),
    Case("handoff_reclamation", "created begun answered", tenure.Recorded()),
    Case("handoff_reclamation", "created begun answered", tenure.Recorded(), {"evidence": None}),
    Case("record_reclamation_uncertainty", "created begun answered", tenure.Recorded()),
    Case("record_reclamation_reference", "created begun answered", tenure.Recorded()),
    Case("record_reclamation_reference", "created begun allocated answered", tenure.Recorded()),
    Case(
        "record_reclamation_reference",
        "created begun allocated answered",
        tenure.DuplicateReference(allocation_ref=REF),
        {"allocation_ref": REF},
    ),
    Case("evolve_reclamation_reference", "created begun allocated answered", tenure.Evolved()),
    Case(
        "evolve_reclamation_reference",
        "created begun allocated answered",
        tenure.StaleReference(stored_ref=REF),
        {"current_ref": OTHER_REF},
    ),
    Case(
        "evolve_reclamation_reference",
        "created begun answered",
        tenure.StaleReference(stored_ref=None),
    ),
    Case("close_reclamation", "created begun answered", tenure.Recorded()),
    Case(
        "close_reclamation",
        "created begun answered",
        tenure.Recorded(),
        {"closure": "incarnation-lost"},
    ),
]
"""The answers of authorization are in ``test_authorization``, for all fenced operations alike."""

PROTOCOLS: dict[str, type] = {
    "": repository.ExecutionAttemptRepository,
    "recovery.": repository.RecoveryOperations,
    "executions": extension.Executions,
    "owed": extension.OwedList,
    "reclamations": extension.Reclamations,
}


def declared_answers() -> set[tuple[str, type]]:
    """List every operation with every decision type that its signature names."""
    found = set()
    for place, protocol in PROTOCOLS.items():
        prefix = place if place.endswith(".") else ""
        for name, method in vars(protocol).items():
            if name.startswith("_") or not callable(method):
                continue
            answer = get_type_hints(method)["return"]
            for kind in get_args(answer) or (answer,):
                if isinstance(kind, type) and issubclass(kind, Decision):
                    found.add((f"{prefix}{name}", kind))
    return found


def name_case(case: Case) -> str:
    """Name a case by its operation, its steps and its answer."""
    answer = case.answer if isinstance(case.answer, type) else type(case.answer)
    call = f"{case.operation}({','.join(case.changed)})"
    return f"{call} after {case.steps or 'nothing'} is {answer.__name__}"


@pytest.mark.parametrize("case", CASES, ids=name_case)
async def test_operation_answers(stage: Stage, case: Case) -> None:
    await stage.play(case.steps)
    answer = await stage.call(case.operation, **case.changed)
    if isinstance(case.answer, type):
        assert type(answer) is case.answer
    else:
        assert answer == case.answer


def test_every_declared_answer_is_reached() -> None:
    from tests.contract.test_authorization import reached_by_authorization  # noqa: PLC0415

    reached = {
        (case.operation, case.answer if isinstance(case.answer, type) else type(case.answer))
        for case in CASES
    }
    missing = declared_answers() - reached - reached_by_authorization()
    assert sorted(f"{name}: {kind.__name__}" for name, kind in missing) == []


async def test_claim_of_a_takeover_has_the_next_generation_and_a_fresh_token(stage: Stage) -> None:
    await stage.play("created begun")
    answer = await stage.call("take_over_provider_operation")
    assert answer.claim == claim_for(
        generation=2, owner_id="owner-2", token=answer.claim.token, lease_expires_at=at(30_000)
    )
    assert answer.claim.token != stage.claim.token
