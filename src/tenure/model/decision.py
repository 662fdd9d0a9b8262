"""Decisions: what the ledger answers. One small type for each kind *and* payload.

Made for ``match``: a union names exactly the answers of its operation, and two unions share a type
only where the declaration gives them the same members. A bare name has no payload; ``…Reference``
and ``…Outcome`` carry one.
"""

from typing import Any, ClassVar, Literal, TypeAlias

import msgspec

from tenure.model.allocation import AllocationLifetime, ProviderAllocationRef
from tenure.model.attempt import ExecutionAttemptRecord
from tenure.model.execution import ExecutionRecord
from tenure.model.operation import ProviderOperationClaim
from tenure.model.result import WorkflowRunResult


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What every decision has."""

    kind: ClassVar[Any]
    """The declaration's literal; each decision narrows it."""


class Started(Decision, frozen=True):
    """The one grant to call the provider for this attempt."""

    kind: ClassVar[Literal["started"]] = "started"
    claim: ProviderOperationClaim


class Claimed(Decision, frozen=True):
    """The caller holds the claim."""

    kind: ClassVar[Literal["claimed"]] = "claimed"
    claim: ProviderOperationClaim


class Recorded(Decision, frozen=True):
    """The transition was written."""

    kind: ClassVar[Literal["recorded"]] = "recorded"


class NotFound(Decision, frozen=True):
    """No such attempt, no operation yet, or another execution's."""

    kind: ClassVar[Literal["not-found"]] = "not-found"


class Stale(Decision, frozen=True):
    """The claim no longer holds, or somebody else's lease still runs. Stop acting."""

    kind: ClassVar[Literal["stale"]] = "stale"


class StaleReference(Decision, frozen=True):
    """The claim or the expected reference is out of date."""

    kind: ClassVar[Literal["stale"]] = "stale"
    stored_ref: ProviderAllocationRef | None


class Resolved(Decision, frozen=True):
    """The attempt has settled; its operation is closed."""

    kind: ClassVar[Literal["resolved"]] = "resolved"


class ResolvedReference(Decision, frozen=True):
    """The attempt has settled, with this reference or none."""

    kind: ClassVar[Literal["resolved"]] = "resolved"
    allocation_ref: ProviderAllocationRef | None


class Fenced(Decision, frozen=True):
    """The attempt is not the active one of its execution."""

    kind: ClassVar[Literal["fenced"]] = "fenced"


class AlreadyProvisioning(Decision, frozen=True):
    """A begin already succeeded. Converge its operation, never call again."""

    kind: ClassVar[Literal["already-provisioning"]] = "already-provisioning"


class Allocated(Decision, frozen=True):
    """An allocation is recorded."""

    kind: ClassVar[Literal["allocated"]] = "allocated"


class AllocatedReference(Decision, frozen=True):
    """This allocation is recorded."""

    kind: ClassVar[Literal["allocated"]] = "allocated"
    allocation_ref: ProviderAllocationRef


class DuplicateReference(Decision, frozen=True):
    """The same reference was stored before."""

    kind: ClassVar[Literal["duplicate"]] = "duplicate"
    allocation_ref: ProviderAllocationRef


class ConflictReference(Decision, frozen=True):
    """Another reference is stored."""

    kind: ClassVar[Literal["conflict"]] = "conflict"
    allocation_ref: ProviderAllocationRef


class NotProcessBound(Decision, frozen=True):
    """Losing a process says nothing about this attempt's allocation."""

    kind: ClassVar[Literal["not-process-bound"]] = "not-process-bound"
    allocation_lifetime: AllocationLifetime | None


class IncarnationMismatch(Decision, frozen=True):
    """The proof names another incarnation than the one recorded."""

    kind: ClassVar[Literal["incarnation-mismatch"]] = "incarnation-mismatch"
    provisioner_incarnation_id: str | None


class NotAllocated(Decision, frozen=True):
    """The claim is good, but no allocation is known. Prove absence instead."""

    kind: ClassVar[Literal["not-allocated"]] = "not-allocated"


class NotTerminated(Decision, frozen=True):
    """The claim is good, but termination is not confirmed yet."""

    kind: ClassVar[Literal["not-terminated"]] = "not-terminated"


class Evolved(Decision, frozen=True):
    """The reference was replaced."""

    kind: ClassVar[Literal["evolved"]] = "evolved"


class AcceptedOutcome(Decision, frozen=True):
    """The result is canonical now."""

    kind: ClassVar[Literal["accepted"]] = "accepted"
    outcome: WorkflowRunResult


class DuplicateOutcome(Decision, frozen=True):
    """The same result was committed before; this is the committed one."""

    kind: ClassVar[Literal["duplicate"]] = "duplicate"
    outcome: WorkflowRunResult


class Conflict(Decision, frozen=True):
    """The attempt has already reached another end."""

    kind: ClassVar[Literal["conflict"]] = "conflict"


class Abandoned(Decision, frozen=True):
    """The pending attempt is settled as abandoned."""

    kind: ClassVar[Literal["abandoned"]] = "abandoned"


class AlreadyAbandoned(Decision, frozen=True):
    """It was abandoned before."""

    kind: ClassVar[Literal["already-abandoned"]] = "already-abandoned"


class AlreadySettled(Decision, frozen=True):
    """It has settled in another way."""

    kind: ClassVar[Literal["already-settled"]] = "already-settled"


class Provisioning(Decision, frozen=True):
    """Provisioning has begun. Converge the operation instead."""

    kind: ClassVar[Literal["provisioning"]] = "provisioning"


# The extensions' own answers.


class Submitted(Decision, frozen=True):
    """The execution is durable now."""

    kind: ClassVar[Literal["submitted"]] = "submitted"
    execution: ExecutionRecord


class DuplicateSubmission(Decision, frozen=True):
    """The same submission was made before."""

    kind: ClassVar[Literal["duplicate"]] = "duplicate"
    execution: ExecutionRecord


class ConflictSubmission(Decision, frozen=True):
    """The execution id exists with another submission, or with none."""

    kind: ClassVar[Literal["conflict"]] = "conflict"
    execution: ExecutionRecord


class AttemptCreated(Decision, frozen=True):
    """A new attempt was created and is the active one."""

    kind: ClassVar[Literal["created"]] = "created"
    attempt: ExecutionAttemptRecord


class AttemptExists(Decision, frozen=True):
    """The attempt was created before; the pointer was not moved."""

    kind: ClassVar[Literal["existing"]] = "existing"
    attempt: ExecutionAttemptRecord
    active: bool


class Occupied(Decision, frozen=True):
    """Another attempt than the one to be replaced is active, or that one has not settled."""

    kind: ClassVar[Literal["occupied"]] = "occupied"
    active_attempt_id: str | None


class Concluded(Decision, frozen=True):
    """The execution has been concluded; nothing is left to do."""

    kind: ClassVar[Literal["concluded"]] = "concluded"


class CancellationPending(Decision, frozen=True):
    """Cancellation was requested; no new attempt is made."""

    kind: ClassVar[Literal["cancelled"]] = "cancelled"


class CancellationRequested(Decision, frozen=True):
    """The request is durable and is the first."""

    kind: ClassVar[Literal["requested"]] = "requested"
    execution: ExecutionRecord


class CancellationAlreadyRequested(Decision, frozen=True):
    """Somebody asked before; the first request stands."""

    kind: ClassVar[Literal["already-requested"]] = "already-requested"
    execution: ExecutionRecord


class AlreadyConverged(Decision, frozen=True):
    """The conclusion was taken over before."""

    kind: ClassVar[Literal["already-converged"]] = "already-converged"


class NotConcluded(Decision, frozen=True):
    """There is no conclusion to take over yet."""

    kind: ClassVar[Literal["not-concluded"]] = "not-concluded"


ProvisioningClaimDecision: TypeAlias = (
    Started | AlreadyProvisioning | AllocatedReference | ResolvedReference | Fenced | NotFound
)
ProviderOperationClaimDecision: TypeAlias = Claimed | Resolved | Stale | NotFound
ProviderOperationMutationDecision: TypeAlias = Recorded | Resolved | Stale | NotFound
AllocationRecordingDecision: TypeAlias = (
    Recorded | DuplicateReference | ConflictReference | ResolvedReference | Stale | NotFound
)
DiscoveredAllocationDecision: TypeAlias = AllocationRecordingDecision
ProvisioningAbsenceDecision: TypeAlias = Recorded | AllocatedReference | Resolved | Stale | NotFound
ProvisionerIncarnationLossDecision: TypeAlias = (
    Recorded
    | NotProcessBound
    | IncarnationMismatch
    | AllocatedReference
    | Resolved
    | Stale
    | NotFound
)
InfrastructureFailureDecision: TypeAlias = (
    Recorded | Resolved | NotAllocated | NotTerminated | Stale | NotFound
)
AllocationTerminationDecision: TypeAlias = ProviderOperationMutationDecision | NotAllocated
AllocationRefEvolutionDecision: TypeAlias = (
    Evolved | StaleReference | Resolved | NotAllocated | NotFound
)
PendingAttemptAbandonmentDecision: TypeAlias = (
    Abandoned | AlreadyAbandoned | AlreadySettled | Allocated | Provisioning | Fenced
)
ExecutionAttemptOutcomeDecision: TypeAlias = AcceptedOutcome | DuplicateOutcome | Conflict | Fenced

SubmissionDecision: TypeAlias = Submitted | DuplicateSubmission | ConflictSubmission
EnsureAttemptDecision: TypeAlias = (
    AttemptCreated | AttemptExists | Occupied | Concluded | CancellationPending
)
CancellationDecision: TypeAlias = (
    CancellationRequested | CancellationAlreadyRequested | Concluded | NotFound
)
ConvergenceDecision: TypeAlias = Recorded | AlreadyConverged | NotConcluded | NotFound
ReclamationReferenceDecision: TypeAlias = (
    Recorded | DuplicateReference | Resolved | Stale | NotFound
)
ReclamationEvolutionDecision: TypeAlias = Evolved | StaleReference | Resolved | NotFound
