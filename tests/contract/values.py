"""Plain values for the tests of the contract: valid ones, and ways to vary them."""

from datetime import datetime
from typing import Any, TypeAlias

from msgspec.structs import replace

import tenure
from tenure.model.instant import InstantMs, to_datetime

Loose: TypeAlias = Any
"""Whatever an operation takes or gives: tables of calls know it, a type checker does not."""
START_MS = 1_800_000_000_000
"""When the tests' clocks start."""
LEASE_MS = 15_000

EVIDENCE = tenure.BoundedRecoveryEvidence(
    source="probe", summary="nothing conclusive", observed_at="2027-01-15T08:00:00+02:00"
)
OTHER_EVIDENCE = tenure.BoundedRecoveryEvidence(
    source="probe", summary="gone", observed_at="2027-01-15T09:00Z", code="gone"
)
REF = tenure.ProviderAllocationRef(provider_id="cloud", provider_data={"vm": "i-1", "zone": [1, 2]})
FINER_REF = tenure.ProviderAllocationRef(provider_id="cloud", provider_data={"vm": "i-1", "ip": 4})
OTHER_REF = tenure.ProviderAllocationRef(provider_id="cloud", provider_data={"vm": "i-2"})
FOREIGN_REF = tenure.ProviderAllocationRef(provider_id="rival", provider_data={})
RESULT = tenure.CompletedResult(
    execution_id="e", workflow_id="w", artifact={"n": 1, "list": [1, 2.5, None]}
)
OTHER_RESULT = tenure.FailedResult(execution_id="e", workflow_id="w", error="it broke")
PROOF = tenure.ProcessBoundProvisionerLossProof(
    provisioner_incarnation_id="incarnation-1", evidence=EVIDENCE
)
SUBMISSION = tenure.ExecutionSubmission(
    workflow_id="w",
    instruction={"command": ["true"]},
    provider_ids=("cloud",),
    attempts_max=2,
    attempt_timeout_ms=60_000,
    labels={"team": "a"},
)


def at(offset_ms: int = 0) -> datetime:
    """Give the instant ``offset_ms`` after the clocks' start."""
    return to_datetime(InstantMs(START_MS + offset_ms))


def claim_for(attempt_id: str = "a", **changed: Loose) -> tenure.ProviderOperationClaim:
    """Make a claim that nobody was ever given."""
    claim = tenure.ProviderOperationClaim(
        execution_attempt_id=attempt_id,
        generation=1,
        owner_id="nobody",
        token="never-issued",
        lease_expires_at=at(LEASE_MS),
    )
    return replace(claim, **changed)


ARGUMENTS: dict[str, dict[str, Any]] = {
    "create_attempt": {"execution_attempt_id": "a", "execution_id": "e"},
    "begin_provisioning": {
        "execution_attempt_id": "a",
        "execution_id": "e",
        "provider_id": "cloud",
        "allocation_lifetime": "provider-managed",
        "provisioner_incarnation_id": "incarnation-1",
        "owner_id": "owner-1",
        "lease_expires_at": at(LEASE_MS),
    },
    "get_provider_operation": {"execution_attempt_id": "a"},
    "renew_provider_operation_claim": {"claim": None, "lease_expires_at": at(2 * LEASE_MS)},
    "take_over_provider_operation": {
        "execution_attempt_id": "a",
        "owner_id": "owner-2",
        "observed_at": at(LEASE_MS),
        "lease_expires_at": at(2 * LEASE_MS),
    },
    "handoff_provider_operation": {"claim": None, "evidence": EVIDENCE},
    "record_provider_operation_uncertainty": {"claim": None, "evidence": EVIDENCE},
    "record_allocation": {"claim": None, "allocation_ref": REF},
    "record_provisioning_absent": {"claim": None, "execution_id": "e", "evidence": EVIDENCE},
    "record_provisioner_incarnation_lost": {"claim": None, "execution_id": "e", "proof": PROOF},
    "record_infrastructure_failure": {"claim": None, "execution_id": "e"},
    "record_allocation_terminated": {"claim": None, "evidence": OTHER_EVIDENCE},
    "get_active_attempt": {"execution_id": "e", "execution_attempt_id": "a"},
    "commit_outcome": {"execution_attempt_id": "a", "execution_id": "e", "result": RESULT},
    "abandon_pending_attempt": {"execution_attempt_id": "a", "execution_id": "e"},
    "recovery.get_attempt_with_allocation": {"execution_attempt_id": "a"},
    "recovery.record_discovered_allocation": {"claim": None, "allocation_ref": REF},
    "recovery.evolve_allocation_ref": {
        "claim": None,
        "execution_id": "e",
        "current_ref": REF,
        "next_ref": FINER_REF,
    },
    "recovery.get_recoverable_attempts": {"execution_id": "e"},
    "submit_execution": {
        "execution_id": "e",
        "submission": SUBMISSION,
        "submitted_by": "host-1",
    },
    "get_execution": {"execution_id": "e"},
    "list_executions": {},
    "ensure_attempt": {"execution_id": "e", "execution_attempt_id": "a"},
    "request_cancellation": {"execution_id": "e", "requested_by": "user-1", "reason": "enough"},
    "record_convergence": {"execution_id": "e"},
    "get_settlement": {"execution_attempt_id": "a"},
    "list_open": {},
    "schedule_look": {"claim": None, "next_look_at": at(60_000)},
    "get_reclamation": {"execution_attempt_id": "a"},
    "take_over_reclamation": {
        "execution_attempt_id": "a",
        "owner_id": "owner-2",
        "observed_at": at(LEASE_MS),
        "lease_expires_at": at(2 * LEASE_MS),
    },
    "renew_reclamation_claim": {"claim": None, "lease_expires_at": at(2 * LEASE_MS)},
    "handoff_reclamation": {"claim": None, "evidence": EVIDENCE},
    "record_reclamation_uncertainty": {"claim": None, "evidence": EVIDENCE},
    "record_reclamation_reference": {"claim": None, "allocation_ref": OTHER_REF},
    "evolve_reclamation_reference": {"claim": None, "current_ref": REF, "next_ref": FINER_REF},
    "close_reclamation": {"claim": None, "closure": "released", "evidence": OTHER_EVIDENCE},
    "read_journal": {},
}
"""Valid arguments of every operation; a claim of None stands for the one that the stage holds."""

RECLAMATION_FENCED = [
    name for name in ARGUMENTS if "reclamation" in name and "claim" in ARGUMENTS[name]
]
OPERATION_FENCED = [
    name for name in ARGUMENTS if "claim" in ARGUMENTS[name] and name not in RECLAMATION_FENCED
]
