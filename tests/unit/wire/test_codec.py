"""JSON of the records and values, both ways: exact out, strict in."""

import inspect
import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from tests.unit.wire import samples

from tenure import model
from tenure.errors import InvalidInputError
from tenure.model.allocation import ProcessBoundProvisionerLossProof, ProviderAllocationRef
from tenure.model.attempt import ExecutionAttemptRecord, RecoverableAttemptRecord
from tenure.model.evidence import BoundedRecoveryEvidence
from tenure.model.execution import ExecutionSubmission
from tenure.model.operation import ProviderOperationClaim, ProviderOperationRecord
from tenure.model.result import CancelledResult, CompletedResult, FailedResult, WorkflowRunResult
from tenure.ports import extension, repository
from tenure.wire.codec import arguments_from_json, arguments_to_json, from_json, to_json
from tenure.wire.json_text import dump_json, parse_json_text

Repository = repository.ExecutionAttemptRepository
NAMES = [type(value).__name__ + str(place) for place, (value, _) in enumerate(samples.FORMS)]
CASES = pytest.mark.parametrize(("value", "form"), samples.FORMS, ids=NAMES)


@CASES
def test_a_value_has_exactly_this_form(value: msgspec.Struct, form: dict[str, object]) -> None:
    assert to_json(value) == form
    assert json.loads(dump_json(value)) == form


@CASES
def test_a_form_is_read_back(value: msgspec.Struct, form: dict[str, object]) -> None:
    assert from_json(type(value), form) == value
    assert from_json(type(value), parse_json_text(dump_json(value), field="body")) == value


@CASES
def test_a_further_member_is_refused(value: msgspec.Struct, form: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError, match="unknown more") as caught:
        from_json(type(value), {**form, "more": 1}, field="body")
    assert caught.value.field == "body"


def _may_be_left_out(value: msgspec.Struct) -> set[str]:
    if type(value) is ExecutionAttemptRecord:
        return {"settlementKind", "claimable", "claimExpiresAt"}
    if type(value) is RecoverableAttemptRecord:
        return {"claimExpiresAt"}
    if type(value) is ExecutionSubmission:
        return {
            "attemptsMax",
            "attemptTimeoutMs",
            "retryFailed",
            "retryDelayMs",
            "retryDelayMsMax",
            "labels",
        }
    return (
        {"code", "artifact"} if type(value) in {BoundedRecoveryEvidence, CompletedResult} else set()
    )


@CASES
def test_a_missing_member_is_refused(value: msgspec.Struct, form: dict[str, object]) -> None:
    for name in form:
        less = {key: member for key, member in form.items() if key != name}
        if name in _may_be_left_out(value):
            from_json(type(value), less)
            continue
        with pytest.raises(InvalidInputError):
            from_json(type(value), less)


@CASES
def test_a_member_of_another_type_is_refused_by_path(
    value: msgspec.Struct, form: dict[str, object]
) -> None:
    for name, member in form.items():
        wrong: object = 0 if isinstance(member, bool) else 1.5
        with pytest.raises(InvalidInputError) as caught:
            from_json(type(value), {**form, name: wrong}, field="body")
        assert caught.value.field == f"body.{name}"


@pytest.mark.parametrize(
    ("kind", "form", "changes", "field"),
    [
        (ExecutionAttemptRecord, samples.ATTEMPT_FORM, {"status": "done"}, "v.status"),
        (ExecutionAttemptRecord, samples.ATTEMPT_FORM, {"createdAt": None}, "v.createdAt"),
        (ExecutionAttemptRecord, samples.ATTEMPT_FORM, {"createdAt": "now"}, "v.createdAt"),
        (ExecutionAttemptRecord, samples.ATTEMPT_FORM, {"claimable": None}, "v.claimable"),
        (ExecutionAttemptRecord, samples.ATTEMPT_FORM, {"executionId": None}, "v.executionId"),
        (ExecutionAttemptRecord, samples.ATTEMPT_FORM, {"executionId": "\ud800"}, "v.executionId"),
        (
            ExecutionAttemptRecord,
            samples.ATTEMPT_FORM,
            {"allocationRef": {**samples.REF_FORM, "version": 2}},
            "v.allocationRef.version",
        ),
        (RecoverableAttemptRecord, samples.RECOVERABLE_FORM, {"claimable": False}, "v.claimable"),
        (RecoverableAttemptRecord, samples.RECOVERABLE_FORM, {"claimable": 1}, "v.claimable"),
        (RecoverableAttemptRecord, samples.RECOVERABLE_FORM, {"providerId": None}, "v.providerId"),
        (ProviderOperationRecord, samples.OPERATION_FORM, {"generation": True}, "v.generation"),
        (ProviderOperationRecord, samples.OPERATION_FORM, {"generation": 1.0}, "v.generation"),
        (ProviderOperationRecord, samples.OPERATION_FORM, {"generation": "1"}, "v.generation"),
        (
            ProviderOperationRecord,
            samples.OPERATION_FORM,
            {"lastFailure": {**samples.EVIDENCE_FORM, "code": None}},
            "v.lastFailure.code",
        ),
        (ExecutionSubmission, samples.SUBMISSION_FORM, {"providerIds": "p"}, "v.providerIds"),
        (
            ExecutionSubmission,
            samples.SUBMISSION_FORM,
            {"providerIds": ["p", 1]},
            "v.providerIds[1]",
        ),
        (ExecutionSubmission, samples.SUBMISSION_FORM, {"instruction": []}, "v.instruction"),
        (ProviderOperationClaim, samples.CLAIM_FORM, {"leaseExpiresAt": None}, "v.leaseExpiresAt"),
        (ProcessBoundProvisionerLossProof, samples.PROOF_FORM, {"kind": "x"}, "v.kind"),
        (
            ProcessBoundProvisionerLossProof,
            samples.PROOF_FORM,
            {"provisionerIncarnationId": ""},
            "v.provisionerIncarnationId",
        ),
    ],
)
def test_a_malformed_form_is_refused_by_path(
    kind: type, form: dict[str, object], changes: dict[str, object], field: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        from_json(kind, {**form, **changes}, field="v")
    assert caught.value.field == field


def test_optional_members_without_a_value_are_absent() -> None:
    plain = msgspec.structs.replace(samples.EVIDENCE, code=None)
    assert "code" not in to_json(plain)
    assert to_json(CompletedResult(execution_id="e", workflow_id="w")) == {
        "status": "completed",
        "executionId": "e",
        "workflowId": "w",
    }
    assert "reason" not in to_json(CancelledResult(execution_id="e", workflow_id="w"))
    assert to_json(samples.PENDING) == samples.PENDING_FORM  # nullable members stay


def test_what_a_writer_may_leave_out_has_its_default() -> None:
    optional = {"settlementKind", "claimable", "claimExpiresAt"}
    form = {name: value for name, value in samples.PENDING_FORM.items() if name not in optional}
    assert from_json(ExecutionAttemptRecord, form) == samples.PENDING
    least = {"workflowId": "w", "instruction": {}, "providerIds": ["p"]}
    assert from_json(ExecutionSubmission, least) == ExecutionSubmission(
        workflow_id="w", instruction={}, provider_ids=("p",)
    )


def test_a_result_is_told_by_its_status() -> None:
    form = {"status": "failed", "executionId": "e", "workflowId": "w", "error": "x"}
    failed = FailedResult(execution_id="e", workflow_id="w", error="x")
    assert from_json(WorkflowRunResult, form) == failed
    assert from_json(FailedResult, form) == failed
    with pytest.raises(InvalidInputError, match="'completed'"):
        from_json(CompletedResult, form)
    with pytest.raises(InvalidInputError) as caught:
        from_json(WorkflowRunResult, {**form, "error": ""}, field="body.result")
    assert caught.value.field == "body.result.error"


def test_instants_go_out_canonically_and_come_in_freely() -> None:
    form = {**samples.PENDING_FORM, "createdAt": "2026-02-03T06:05:06.7899+02:00"}
    record = from_json(ExecutionAttemptRecord, form)
    assert record == samples.PENDING
    assert to_json(record)["createdAt"] == samples.AT_TEXT


def test_a_presented_claim_is_only_checked_for_types() -> None:
    form = {**samples.CLAIM_FORM, "generation": -(10**30), "ownerId": "", "token": "\0"}
    assert from_json(ProviderOperationClaim, form).generation == -(10**30)
    strange = from_json(ProviderOperationClaim, {**samples.CLAIM_FORM, "leaseExpiresAt": "later"})
    assert strange.lease_expires_at == "later"
    assert to_json(strange)["leaseExpiresAt"] == "later"


def test_a_naive_datetime_is_not_written() -> None:
    naive = msgspec.structs.replace(samples.PENDING, created_at=datetime(2026, 1, 1))  # noqa: DTZ001
    with pytest.raises(InvalidInputError, match="naive"):
        to_json(naive)


def test_a_page_is_an_array() -> None:
    text = dump_json([samples.ENTRY, samples.ENTRY])
    assert json.loads(text) == [samples.ENTRY_FORM, samples.ENTRY_FORM]
    page = from_json(tuple[model.journal.JournalEntry, ...], json.loads(text), field="page")
    assert page == (samples.ENTRY, samples.ENTRY)
    with pytest.raises(InvalidInputError) as caught:
        from_json(
            tuple[model.journal.JournalEntry, ...],
            [samples.ENTRY_FORM, {**samples.ENTRY_FORM, "count": None}],
            field="page",
        )
    assert caught.value.field == "page[1].count"


def test_opaque_parts_are_not_looked_into() -> None:
    ref = ProviderAllocationRef(provider_id="p", provider_data={"leaseExpiresAt": [{"kind": None}]})
    assert from_json(ProviderAllocationRef, to_json(ref)) == ref


ARGUMENTS: list[tuple[Any, dict[str, object], dict[str, object]]] = [
    (
        Repository.create_attempt,
        {"execution_attempt_id": "a", "execution_id": "e"},
        {"executionAttemptId": "a", "executionId": "e"},
    ),
    (
        Repository.begin_provisioning,
        {
            "execution_attempt_id": "a",
            "execution_id": "e",
            "provider_id": "p",
            "allocation_lifetime": "provider-managed",
            "provisioner_incarnation_id": "i",
            "owner_id": "o",
            "lease_expires_at": samples.AT,
        },
        {
            "executionAttemptId": "a",
            "executionId": "e",
            "providerId": "p",
            "allocationLifetime": "provider-managed",
            "provisionerIncarnationId": "i",
            "ownerId": "o",
            "leaseExpiresAt": samples.AT_TEXT,
        },
    ),
    (
        Repository.renew_provider_operation_claim,
        {"claim": samples.CLAIM, "lease_expires_at": samples.AT},
        {"claim": samples.CLAIM_FORM, "leaseExpiresAt": samples.AT_TEXT},
    ),
    (
        Repository.handoff_provider_operation,
        {"claim": samples.CLAIM},
        {"claim": samples.CLAIM_FORM},
    ),
    (
        Repository.handoff_provider_operation,
        {"claim": samples.CLAIM, "evidence": samples.EVIDENCE},
        {"claim": samples.CLAIM_FORM, "evidence": samples.EVIDENCE_FORM},
    ),
    (
        Repository.record_provisioner_incarnation_lost,
        {"claim": samples.CLAIM, "execution_id": "e", "proof": samples.PROOF},
        {"claim": samples.CLAIM_FORM, "executionId": "e", "proof": samples.PROOF_FORM},
    ),
    (
        repository.RecoveryOperations.evolve_allocation_ref,
        {
            "claim": samples.CLAIM,
            "execution_id": "e",
            "current_ref": samples.REF,
            "next_ref": samples.REF,
        },
        {
            "claim": samples.CLAIM_FORM,
            "executionId": "e",
            "currentRef": samples.REF_FORM,
            "nextRef": samples.REF_FORM,
        },
    ),
    (
        Repository.commit_outcome,
        {"execution_attempt_id": "a", "execution_id": "e", "result": samples.RESULT},
        {"executionAttemptId": "a", "executionId": "e", "result": samples.RESULT_FORM},
    ),
]


@pytest.mark.parametrize("place", range(len(ARGUMENTS)))
def test_arguments_have_the_declared_names(place: int) -> None:
    operation, arguments, form = ARGUMENTS[place]
    assert arguments_to_json(operation, arguments) == form
    assert arguments_from_json(operation, form) == arguments


def test_an_argument_without_a_value_is_left_out_and_never_null() -> None:
    form = {"claim": samples.CLAIM_FORM, "evidence": None}
    arguments = {"claim": samples.CLAIM, "evidence": None}
    assert "evidence" not in arguments_to_json(Repository.handoff_provider_operation, arguments)
    with pytest.raises(InvalidInputError) as caught:
        arguments_from_json(Repository.handoff_provider_operation, form, field="body")
    assert caught.value.field == "body.evidence"


def test_a_malformed_instant_is_left_to_the_operation() -> None:
    form = {"claim": samples.CLAIM_FORM, "leaseExpiresAt": "later"}
    read = arguments_from_json(Repository.renew_provider_operation_claim, form)
    assert read["lease_expires_at"] == "later"


@pytest.mark.parametrize(
    "protocol",
    [
        Repository,
        repository.RecoveryOperations,
        extension.Executions,
        extension.OwedList,
        extension.Reclamations,
        extension.Journal,
    ],
)
def test_every_operation_refuses_unknown_arguments(protocol: type) -> None:
    operations = [
        member
        for name, member in vars(protocol).items()
        if inspect.isfunction(member) and not name.startswith("_")
    ]
    assert operations
    for operation in operations:
        with pytest.raises(InvalidInputError, match="unknown more"):
            arguments_from_json(operation, {"more": 1})


def test_the_time_zone_of_the_machine_plays_no_part() -> None:
    assert to_json(samples.PENDING)["createdAt"].endswith("Z")
    assert from_json(ExecutionAttemptRecord, samples.PENDING_FORM).created_at.tzinfo is UTC
