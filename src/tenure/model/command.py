"""Commands: one for each operation, holding checked and encoded input only.

A command is what the kernel decides on. Whoever makes one has validated everything, so that a
decision never depends on whether the input was well-formed; payloads are JSON text, instants are
milliseconds, so that nothing in a command can change after the call.
"""

import msgspec

from tenure.model.allocation import AllocationLifetime
from tenure.model.instant import InstantMs
from tenure.model.json_value import JsonText
from tenure.model.open_work import ReclamationClosure


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What every command has."""


class PresentedClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim as a caller presented it: type-checked, then only compared."""

    execution_attempt_id: str
    generation: int
    owner_id: str
    token: str


class CreateAttempt(Command, frozen=True):
    """Create an attempt and make it the active one."""

    execution_attempt_id: str
    execution_id: str
    actor: str


class BeginProvisioning(Command, frozen=True):
    """Claim the one provider call of an attempt."""

    execution_attempt_id: str
    execution_id: str
    provider_id: str
    allocation_lifetime: AllocationLifetime
    provisioner_incarnation_id: str
    owner_id: str
    lease_expires_ms: InstantMs
    mark: str


class ClaimCommand(Command, frozen=True):
    """A command that is authorized by a claim."""

    claim: PresentedClaim

    @property
    def execution_attempt_id(self) -> str:
        """The attempt that the claim names."""
        return self.claim.execution_attempt_id


class RenewClaim(ClaimCommand, frozen=True):
    """Extend the lease of a held operation."""

    lease_expires_ms: InstantMs


class TakeOverOperation(Command, frozen=True):
    """Take an operation that is unowned or whose lease has run out."""

    execution_attempt_id: str
    owner_id: str
    observed_ms: InstantMs
    lease_expires_ms: InstantMs


class HandOffOperation(ClaimCommand, frozen=True):
    """Release a held operation without resolving it."""

    evidence: JsonText | None


class RecordUncertainty(ClaimCommand, frozen=True):
    """Record that an observation stayed inconclusive."""

    evidence: JsonText


class RecordAllocation(ClaimCommand, frozen=True):
    """Record the allocation that the provider call made."""

    provider_id: str
    allocation_ref: JsonText


class RecordDiscoveredAllocation(ClaimCommand, frozen=True):
    """Record the allocation that a complete search found."""

    provider_id: str
    allocation_ref: JsonText


class RecordProvisioningAbsent(ClaimCommand, frozen=True):
    """Record that nothing was ever made."""

    execution_id: str
    evidence: JsonText


class RecordProvisionerIncarnationLost(ClaimCommand, frozen=True):
    """Record that the process that provisioned is gone, and its allocation with it."""

    execution_id: str
    provisioner_incarnation_id: str
    evidence: JsonText


class RecordAllocationTerminated(ClaimCommand, frozen=True):
    """Record that the known allocation was seen to be gone."""

    evidence: JsonText


class RecordInfrastructureFailure(ClaimCommand, frozen=True):
    """Settle an attempt whose allocation ended without an answer."""

    execution_id: str


class EvolveAllocationRef(ClaimCommand, frozen=True):
    """Replace the stored reference by a finer one of the same allocation."""

    execution_id: str
    current_ref: JsonText
    next_ref: JsonText


class CommitOutcome(Command, frozen=True):
    """Commit a worker's result."""

    execution_attempt_id: str
    execution_id: str
    result: JsonText


class AbandonPendingAttempt(Command, frozen=True):
    """Settle an attempt whose provider call never began."""

    execution_attempt_id: str
    execution_id: str
    actor: str


class SubmitExecution(Command, frozen=True):
    """Make the promise to do a piece of work durable."""

    execution_id: str
    submission: JsonText
    attempts_max: int
    attempt_timeout_ms: int | None
    submitted_by: str


class EnsureAttempt(Command, frozen=True):
    """Create an attempt unless it exists, replacing exactly the named one."""

    execution_attempt_id: str
    execution_id: str
    replaces: str | None
    supersede: bool
    actor: str


class RequestCancellation(Command, frozen=True):
    """Ask durably that an execution be stopped."""

    execution_id: str
    requested_by: str
    reason: str | None


class RecordConvergence(Command, frozen=True):
    """Record that the host took the conclusion over."""

    execution_id: str
    actor: str


class ScheduleLook(ClaimCommand, frozen=True):
    """Say when open work has to be looked at again."""

    next_look_ms: InstantMs


class TakeOverReclamation(Command, frozen=True):
    """Take a reclamation that is unowned or whose lease has run out."""

    execution_attempt_id: str
    owner_id: str
    observed_ms: InstantMs
    lease_expires_ms: InstantMs


class RenewReclamationClaim(ClaimCommand, frozen=True):
    """Extend the lease of a held reclamation."""

    lease_expires_ms: InstantMs


class HandOffReclamation(ClaimCommand, frozen=True):
    """Release a held reclamation without closing it."""

    evidence: JsonText | None


class RecordReclamationUncertainty(ClaimCommand, frozen=True):
    """Record that an observation stayed inconclusive."""

    evidence: JsonText


class RecordReclamationReference(ClaimCommand, frozen=True):
    """Record a late reference, or one more."""

    provider_id: str
    allocation_ref: JsonText


class EvolveReclamationReference(ClaimCommand, frozen=True):
    """Replace one stored reference by a finer one of the same allocation."""

    current_ref: JsonText
    next_ref: JsonText


class CloseReclamation(ClaimCommand, frozen=True):
    """Close a reclamation with the evidence that nothing is left."""

    closure: ReclamationClosure
    evidence: JsonText
