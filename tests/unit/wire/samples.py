"""One value of each kind of record, with every member set."""

from datetime import UTC, datetime

from tenure.model.allocation import ProcessBoundProvisionerLossProof, ProviderAllocationRef
from tenure.model.attempt import ExecutionAttemptRecord, RecoverableAttemptRecord
from tenure.model.evidence import BoundedRecoveryEvidence
from tenure.model.execution import (
    CancellationRecord,
    ExecutionRecord,
    ExecutionSubmission,
    SettlementRecord,
)
from tenure.model.journal import JournalEntry
from tenure.model.open_work import OpenWork, ReclamationRecord, UnreadableWork
from tenure.model.operation import ProviderOperationClaim, ProviderOperationRecord
from tenure.model.result import CompletedResult

AT = datetime(2026, 2, 3, 4, 5, 6, 789000, tzinfo=UTC)
AT_TEXT = "2026-02-03T04:05:06.789Z"

REF = ProviderAllocationRef(provider_id="p", provider_data={"b": [1, None, {"c": "\0"}], "a": 1.5})
REF_FORM = {"version": 1, "providerId": "p", "providerData": REF.provider_data}

EVIDENCE = BoundedRecoveryEvidence(
    source="s", summary="w", observed_at="2026-02-03T04:05+02:00", code="c"
)
EVIDENCE_FORM = {
    "source": "s",
    "summary": "w",
    "observedAt": "2026-02-03T04:05+02:00",
    "code": "c",
}

CLAIM = ProviderOperationClaim(
    execution_attempt_id="a", generation=2, owner_id="o", token="t", lease_expires_at=AT
)
CLAIM_FORM = {
    "executionAttemptId": "a",
    "generation": 2,
    "ownerId": "o",
    "token": "t",
    "leaseExpiresAt": AT_TEXT,
}

PROOF = ProcessBoundProvisionerLossProof(provisioner_incarnation_id="i", evidence=EVIDENCE)
PROOF_FORM = {
    "kind": "provisioner-incarnation-lost",
    "provisionerIncarnationId": "i",
    "evidence": EVIDENCE_FORM,
}

RESULT = CompletedResult(execution_id="e", workflow_id="w", artifact={"x": [1]})
RESULT_FORM = {
    "status": "completed",
    "executionId": "e",
    "workflowId": "w",
    "artifact": {"x": [1]},
}

ATTEMPT = ExecutionAttemptRecord(
    execution_attempt_id="a",
    execution_id="e",
    status="settled",
    allocation_ref=REF,
    created_at=AT,
    provider_id="p",
    allocation_lifetime="provider-managed",
    provisioner_incarnation_id="i",
    settlement_kind="outcome",
    claimable=False,
    claim_expires_at=AT,
)
ATTEMPT_FORM = {
    "executionAttemptId": "a",
    "executionId": "e",
    "status": "settled",
    "allocationRef": REF_FORM,
    "createdAt": AT_TEXT,
    "providerId": "p",
    "allocationLifetime": "provider-managed",
    "provisionerIncarnationId": "i",
    "settlementKind": "outcome",
    "claimable": False,
    "claimExpiresAt": AT_TEXT,
}

PENDING = ExecutionAttemptRecord(
    execution_attempt_id="a",
    execution_id="e",
    status="pending",
    allocation_ref=None,
    created_at=AT,
    provider_id=None,
    allocation_lifetime=None,
    provisioner_incarnation_id=None,
    settlement_kind=None,
    claimable=False,
    claim_expires_at=None,
)
PENDING_FORM = {
    "executionAttemptId": "a",
    "executionId": "e",
    "status": "pending",
    "allocationRef": None,
    "createdAt": AT_TEXT,
    "providerId": None,
    "allocationLifetime": None,
    "provisionerIncarnationId": None,
    "settlementKind": None,
    "claimable": False,
    "claimExpiresAt": None,
}

RECOVERABLE = RecoverableAttemptRecord(
    execution_attempt_id="a",
    execution_id="e",
    status="allocated",
    allocation_ref=REF,
    created_at=AT,
    provider_id="p",
    allocation_lifetime="provisioner-process-bound",
    provisioner_incarnation_id="i",
    settlement_kind=None,
    claimable=True,
    claim_expires_at=None,
)
RECOVERABLE_FORM = {
    **ATTEMPT_FORM,
    "status": "allocated",
    "allocationLifetime": "provisioner-process-bound",
    "settlementKind": None,
    "claimable": True,
    "claimExpiresAt": None,
}

OPERATION = ProviderOperationRecord(
    execution_attempt_id="a",
    generation=2,
    owner_id="o",
    token="t",
    lease_expires_at=AT,
    obligation="allocation-control",
    failure_count=3,
    last_failure=EVIDENCE,
)
OPERATION_FORM = {
    **CLAIM_FORM,
    "obligation": "allocation-control",
    "failureCount": 3,
    "lastFailure": EVIDENCE_FORM,
}

SUBMISSION = ExecutionSubmission(
    workflow_id="w",
    instruction={"run": ["x"]},
    provider_ids=("p", "q"),
    attempts_max=3,
    attempt_timeout_ms=1000,
    retry_failed=True,
    retry_delay_ms=5,
    retry_delay_ms_max=50,
    labels={"team": "t"},
)
SUBMISSION_FORM = {
    "workflowId": "w",
    "instruction": {"run": ["x"]},
    "providerIds": ["p", "q"],
    "attemptsMax": 3,
    "attemptTimeoutMs": 1000,
    "retryFailed": True,
    "retryDelayMs": 5,
    "retryDelayMsMax": 50,
    "labels": {"team": "t"},
}

CANCELLATION = CancellationRecord(requested_at=AT, requested_by="me", reason="because")
CANCELLATION_FORM = {"requestedAt": AT_TEXT, "requestedBy": "me", "reason": "because"}

EXECUTION = ExecutionRecord(
    execution_id="e",
    active_attempt_id="a",
    attempt_count=1,
    submission=SUBMISSION,
    submitted_at=AT,
    submitted_by="i",
    cancellation=CANCELLATION,
    conclusion="outcome",
    concluded_at=AT,
    converged_at=None,
    next_attempt_at=AT,
)
EXECUTION_FORM = {
    "executionId": "e",
    "activeAttemptId": "a",
    "attemptCount": 1,
    "submission": SUBMISSION_FORM,
    "submittedAt": AT_TEXT,
    "submittedBy": "i",
    "cancellation": CANCELLATION_FORM,
    "conclusion": "outcome",
    "concludedAt": AT_TEXT,
    "convergedAt": None,
    "nextAttemptAt": AT_TEXT,
}

SETTLEMENT = SettlementRecord(
    execution_attempt_id="a",
    execution_id="e",
    settlement_kind="outcome",
    settled_at=AT,
    result=RESULT,
)
SETTLEMENT_FORM = {
    "executionAttemptId": "a",
    "executionId": "e",
    "settlementKind": "outcome",
    "settledAt": AT_TEXT,
    "result": RESULT_FORM,
}

RECLAMATION = ReclamationRecord(
    execution_attempt_id="a",
    generation=2,
    owner_id=None,
    token=None,
    lease_expires_at=None,
    references=(REF, REF),
    failure_count=0,
    last_failure=None,
    opened_at=AT,
    next_look_at=AT,
    closure="released",
    closed_at=AT,
)
RECLAMATION_FORM = {
    "executionAttemptId": "a",
    "generation": 2,
    "ownerId": None,
    "token": None,
    "leaseExpiresAt": None,
    "references": [REF_FORM, REF_FORM],
    "failureCount": 0,
    "lastFailure": None,
    "openedAt": AT_TEXT,
    "nextLookAt": AT_TEXT,
    "closure": "released",
    "closedAt": AT_TEXT,
}

OPEN_WORK = OpenWork(
    kind="operation",
    execution_attempt_id="a",
    execution_id="e",
    attempt_status="allocated",
    active=True,
    provider_id="p",
    allocation_lifetime="provider-managed",
    provisioner_incarnation_id="i",
    mark="m",
    obligation="allocation-control",
    references=(REF,),
    generation=2,
    owner_id="o",
    lease_expires_at=AT,
    failure_count=0,
    last_failure=EVIDENCE,
    begun_at=AT,
    opened_at=AT,
    next_look_at=AT,
    deadline_at=None,
    cancellation_requested=False,
)
OPEN_WORK_FORM = {
    "kind": "operation",
    "executionAttemptId": "a",
    "executionId": "e",
    "attemptStatus": "allocated",
    "active": True,
    "providerId": "p",
    "allocationLifetime": "provider-managed",
    "provisionerIncarnationId": "i",
    "mark": "m",
    "obligation": "allocation-control",
    "references": [REF_FORM],
    "generation": 2,
    "ownerId": "o",
    "leaseExpiresAt": AT_TEXT,
    "failureCount": 0,
    "lastFailure": EVIDENCE_FORM,
    "begunAt": AT_TEXT,
    "openedAt": AT_TEXT,
    "nextLookAt": AT_TEXT,
    "deadlineAt": None,
    "cancellationRequested": False,
}

UNREADABLE = UnreadableWork(
    execution_attempt_id="a", execution_id="e", opened_at=AT, seen="half of it is missing"
)
UNREADABLE_FORM = {
    "kind": "unreadable",
    "executionAttemptId": "a",
    "executionId": "e",
    "openedAt": AT_TEXT,
    "seen": "half of it is missing",
}

ENTRY = JournalEntry(
    sequence=1,
    at=AT,
    event="allocation-recorded",
    execution_id="e",
    execution_attempt_id="a",
    actor="o",
    generation=2,
    evidence=EVIDENCE,
    detail={"allocationRef": REF_FORM},
    count=1,
    last_at=AT,
)
ENTRY_FORM = {
    "sequence": 1,
    "at": AT_TEXT,
    "event": "allocation-recorded",
    "executionId": "e",
    "executionAttemptId": "a",
    "actor": "o",
    "generation": 2,
    "evidence": EVIDENCE_FORM,
    "detail": {"allocationRef": REF_FORM},
    "count": 1,
    "lastAt": AT_TEXT,
}

FORMS = [
    (REF, REF_FORM),
    (EVIDENCE, EVIDENCE_FORM),
    (CLAIM, CLAIM_FORM),
    (PROOF, PROOF_FORM),
    (RESULT, RESULT_FORM),
    (ATTEMPT, ATTEMPT_FORM),
    (PENDING, PENDING_FORM),
    (RECOVERABLE, RECOVERABLE_FORM),
    (OPERATION, OPERATION_FORM),
    (SUBMISSION, SUBMISSION_FORM),
    (CANCELLATION, CANCELLATION_FORM),
    (EXECUTION, EXECUTION_FORM),
    (SETTLEMENT, SETTLEMENT_FORM),
    (RECLAMATION, RECLAMATION_FORM),
    (OPEN_WORK, OPEN_WORK_FORM),
    (UNREADABLE, UNREADABLE_FORM),
    (ENTRY, ENTRY_FORM),
]
