"""The JSON of every decision, written down by hand from the port's declaration."""

from types import UnionType
from typing import get_args

import msgspec
import pytest
from tests.unit.wire import samples

from tenure.errors import InvalidInputError
from tenure.model import decision as d
from tenure.wire.codec import from_json, to_json

REF, RESULT = samples.REF, samples.RESULT
REF_FORM, RESULT_FORM = samples.REF_FORM, samples.RESULT_FORM

NOT_FOUND = (d.NotFound(), {"kind": "not-found"})
STALE = (d.Stale(), {"kind": "stale"})
RESOLVED = (d.Resolved(), {"kind": "resolved"})
RESOLVED_REF = (
    d.ResolvedReference(allocation_ref=REF),
    {"kind": "resolved", "allocationRef": REF_FORM},
)
RESOLVED_NULL = (
    d.ResolvedReference(allocation_ref=None),
    {"kind": "resolved", "allocationRef": None},
)
FENCED = (d.Fenced(), {"kind": "fenced"})
RECORDED = (d.Recorded(), {"kind": "recorded"})
NOT_ALLOCATED = (d.NotAllocated(), {"kind": "not-allocated"})
ALLOCATED_REF = (
    d.AllocatedReference(allocation_ref=REF),
    {"kind": "allocated", "allocationRef": REF_FORM},
)
DUPLICATE_REF = (
    d.DuplicateReference(allocation_ref=REF),
    {"kind": "duplicate", "allocationRef": REF_FORM},
)
STALE_REF = (d.StaleReference(stored_ref=REF), {"kind": "stale", "storedRef": REF_FORM})
STALE_NULL = (d.StaleReference(stored_ref=None), {"kind": "stale", "storedRef": None})
EVOLVED = (d.Evolved(), {"kind": "evolved"})

Answer = tuple[msgspec.Struct, dict[str, object]]
DECLARED: dict[str, tuple[UnionType, list[Answer]]] = {
    "ProvisioningClaimDecision": (
        d.ProvisioningClaimDecision,
        [
            (d.Started(claim=samples.CLAIM), {"kind": "started", "claim": samples.CLAIM_FORM}),
            (d.AlreadyProvisioning(), {"kind": "already-provisioning"}),
            ALLOCATED_REF,
            RESOLVED_REF,
            RESOLVED_NULL,
            FENCED,
            NOT_FOUND,
        ],
    ),
    "ProviderOperationClaimDecision": (
        d.ProviderOperationClaimDecision,
        [
            (d.Claimed(claim=samples.CLAIM), {"kind": "claimed", "claim": samples.CLAIM_FORM}),
            RESOLVED,
            STALE,
            NOT_FOUND,
        ],
    ),
    "ProviderOperationMutationDecision": (
        d.ProviderOperationMutationDecision,
        [RECORDED, RESOLVED, STALE, NOT_FOUND],
    ),
    "AllocationRecordingDecision": (
        d.AllocationRecordingDecision,
        [
            RECORDED,
            DUPLICATE_REF,
            (
                d.ConflictReference(allocation_ref=REF),
                {"kind": "conflict", "allocationRef": REF_FORM},
            ),
            RESOLVED_REF,
            RESOLVED_NULL,
            STALE,
            NOT_FOUND,
        ],
    ),
    "ProvisioningAbsenceDecision": (
        d.ProvisioningAbsenceDecision,
        [RECORDED, ALLOCATED_REF, RESOLVED, STALE, NOT_FOUND],
    ),
    "ProvisionerIncarnationLossDecision": (
        d.ProvisionerIncarnationLossDecision,
        [
            RECORDED,
            (
                d.NotProcessBound(allocation_lifetime="provider-managed"),
                {"kind": "not-process-bound", "allocationLifetime": "provider-managed"},
            ),
            (
                d.NotProcessBound(allocation_lifetime=None),
                {"kind": "not-process-bound", "allocationLifetime": None},
            ),
            (
                d.IncarnationMismatch(provisioner_incarnation_id="i"),
                {"kind": "incarnation-mismatch", "provisionerIncarnationId": "i"},
            ),
            (
                d.IncarnationMismatch(provisioner_incarnation_id=None),
                {"kind": "incarnation-mismatch", "provisionerIncarnationId": None},
            ),
            ALLOCATED_REF,
            RESOLVED,
            STALE,
            NOT_FOUND,
        ],
    ),
    "InfrastructureFailureDecision": (
        d.InfrastructureFailureDecision,
        [
            RECORDED,
            RESOLVED,
            NOT_ALLOCATED,
            (d.NotTerminated(), {"kind": "not-terminated"}),
            STALE,
            NOT_FOUND,
        ],
    ),
    "AllocationTerminationDecision": (
        d.AllocationTerminationDecision,
        [RECORDED, RESOLVED, STALE, NOT_FOUND, NOT_ALLOCATED],
    ),
    "AllocationRefEvolutionDecision": (
        d.AllocationRefEvolutionDecision,
        [EVOLVED, STALE_REF, STALE_NULL, RESOLVED, NOT_ALLOCATED, NOT_FOUND],
    ),
    "PendingAttemptAbandonmentDecision": (
        d.PendingAttemptAbandonmentDecision,
        [
            (d.Abandoned(), {"kind": "abandoned"}),
            (d.AlreadyAbandoned(), {"kind": "already-abandoned"}),
            (d.AlreadySettled(), {"kind": "already-settled"}),
            (d.Allocated(), {"kind": "allocated"}),
            (d.Provisioning(), {"kind": "provisioning"}),
            FENCED,
        ],
    ),
    "ExecutionAttemptOutcomeDecision": (
        d.ExecutionAttemptOutcomeDecision,
        [
            (d.AcceptedOutcome(outcome=RESULT), {"kind": "accepted", "outcome": RESULT_FORM}),
            (d.DuplicateOutcome(outcome=RESULT), {"kind": "duplicate", "outcome": RESULT_FORM}),
            (d.Conflict(), {"kind": "conflict"}),
            FENCED,
        ],
    ),
}
_EXECUTION = {"execution": samples.EXECUTION_FORM}
OUR_OWN: dict[str, tuple[UnionType, list[Answer]]] = {
    "SubmissionDecision": (
        d.SubmissionDecision,
        [
            (d.Submitted(execution=samples.EXECUTION), {"kind": "submitted", **_EXECUTION}),
            (
                d.DuplicateSubmission(execution=samples.EXECUTION),
                {"kind": "duplicate", **_EXECUTION},
            ),
            (d.ConflictSubmission(execution=samples.EXECUTION), {"kind": "conflict", **_EXECUTION}),
        ],
    ),
    "EnsureAttemptDecision": (
        d.EnsureAttemptDecision,
        [
            (
                d.AttemptCreated(attempt=samples.PENDING),
                {"kind": "created", "attempt": samples.PENDING_FORM},
            ),
            (
                d.AttemptExists(attempt=samples.ATTEMPT, active=True),
                {"kind": "existing", "attempt": samples.ATTEMPT_FORM, "active": True},
            ),
            (d.Occupied(active_attempt_id="a"), {"kind": "occupied", "activeAttemptId": "a"}),
            (d.Occupied(active_attempt_id=None), {"kind": "occupied", "activeAttemptId": None}),
            (d.Concluded(), {"kind": "concluded"}),
            (d.CancellationPending(), {"kind": "cancelled"}),
        ],
    ),
    "CancellationDecision": (
        d.CancellationDecision,
        [
            (
                d.CancellationRequested(execution=samples.EXECUTION),
                {"kind": "requested", **_EXECUTION},
            ),
            (
                d.CancellationAlreadyRequested(execution=samples.EXECUTION),
                {"kind": "already-requested", **_EXECUTION},
            ),
            (d.Concluded(), {"kind": "concluded"}),
            NOT_FOUND,
        ],
    ),
    "ConvergenceDecision": (
        d.ConvergenceDecision,
        [
            RECORDED,
            (d.AlreadyConverged(), {"kind": "already-converged"}),
            (d.NotConcluded(), {"kind": "not-concluded"}),
            NOT_FOUND,
        ],
    ),
    "ReclamationReferenceDecision": (
        d.ReclamationReferenceDecision,
        [RECORDED, DUPLICATE_REF, RESOLVED, STALE, NOT_FOUND],
    ),
    "ReclamationEvolutionDecision": (
        d.ReclamationEvolutionDecision,
        [EVOLVED, STALE_REF, STALE_NULL, RESOLVED, NOT_FOUND],
    ),
}
ALL = DECLARED | OUR_OWN


def test_the_table_holds_each_union_of_the_model_whole() -> None:
    unions = {name for name in vars(d) if name.endswith("Decision")} - {"Decision"}
    assert set(ALL) | {"DiscoveredAllocationDecision"} == unions
    assert d.DiscoveredAllocationDecision == d.AllocationRecordingDecision
    for name, (union, answers) in ALL.items():
        assert {type(answer) for answer, _ in answers} == set(get_args(union)), name


@pytest.mark.parametrize("name", ALL)
def test_each_answer_has_exactly_the_declared_members(name: str) -> None:
    for answer, form in ALL[name][1]:
        assert to_json(answer) == form
        assert next(iter(to_json(answer))) == "kind"


@pytest.mark.parametrize("name", ALL)
def test_each_answer_is_read_back_by_its_operations_union(name: str) -> None:
    union, answers = ALL[name]
    for answer, form in answers:
        back = from_json(union, form)
        assert type(back) is type(answer)
        assert back == answer


@pytest.mark.parametrize("name", ALL)
def test_no_answer_of_another_operation_is_taken(name: str) -> None:
    union, answers = ALL[name]
    kinds = {form["kind"] for _, form in answers}
    for _, others in ALL.values():
        for _, form in others:
            if form["kind"] not in kinds:
                with pytest.raises(InvalidInputError) as caught:
                    from_json(union, form, field="decision")
                assert caught.value.field == "decision.kind"


@pytest.mark.parametrize("name", ALL)
def test_no_member_is_lacking_and_none_is_new(name: str) -> None:
    union, answers = ALL[name]
    for _, form in answers:
        for member in form:
            less = {key: value for key, value in form.items() if key != member}
            with pytest.raises(InvalidInputError):
                from_json(union, less)
        with pytest.raises(InvalidInputError, match="unknown more"):
            from_json(union, {**form, "more": None})


@pytest.mark.parametrize("value", [None, [], "recorded", {}, {"kind": None}, {"kind": ["stale"]}])
def test_what_is_no_decision_is_refused(value: object) -> None:
    with pytest.raises(InvalidInputError):
        from_json(d.ProviderOperationMutationDecision, value)


def test_one_decision_alone_is_told_by_its_kind() -> None:
    assert from_json(d.Stale, {"kind": "stale"}) == d.Stale()
    with pytest.raises(InvalidInputError, match="'stale'"):
        from_json(d.Stale, {"kind": "recorded"})
