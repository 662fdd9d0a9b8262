"""Tenure: a durable ledger of execution attempts on rented infrastructure.

``async with tenure.open_ledger("sqlite:///ledger.sqlite") as ledger`` gives the whole port and its
extensions. Everything public is importable from here, and is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tenure.authority.authority import (
        Authority as Authority,
        ExecutionEnd as ExecutionEnd,
    )
    from tenure.authority.dispatch import (
        Dispatch as Dispatch,
    )
    from tenure.errors import (
        CallerError as CallerError,
        CommitUnknownError as CommitUnknownError,
        CorruptRecordError as CorruptRecordError,
        DuplicateExecutionAttemptError as DuplicateExecutionAttemptError,
        ForeignProviderError as ForeignProviderError,
        InvalidInputError as InvalidInputError,
        LedgerClosedError as LedgerClosedError,
        LedgerOpenError as LedgerOpenError,
        OverloadedError as OverloadedError,
        ProviderError as ProviderError,
        StorageUnavailableError as StorageUnavailableError,
        TenureError as TenureError,
        WorldError as WorldError,
    )
    from tenure.ledger.intake import (
        Limits as Limits,
    )
    from tenure.ledger.ledger import (
        Ledger as Ledger,
    )
    from tenure.model.allocation import (
        ALLOCATION_LIFETIMES as ALLOCATION_LIFETIMES,
        AllocationLifetime as AllocationLifetime,
        ProcessBoundProvisionerLossProof as ProcessBoundProvisionerLossProof,
        ProviderAllocationRef as ProviderAllocationRef,
        same_allocation_ref as same_allocation_ref,
    )
    from tenure.model.attempt import (
        EXECUTION_ATTEMPT_STATUSES as EXECUTION_ATTEMPT_STATUSES,
        SETTLEMENT_KINDS as SETTLEMENT_KINDS,
        ExecutionAttemptRecord as ExecutionAttemptRecord,
        ExecutionAttemptStatus as ExecutionAttemptStatus,
        RecoverableAttemptRecord as RecoverableAttemptRecord,
        SettlementKind as SettlementKind,
    )
    from tenure.model.decision import (
        Abandoned as Abandoned,
        AcceptedOutcome as AcceptedOutcome,
        Allocated as Allocated,
        AllocatedReference as AllocatedReference,
        AllocationRecordingDecision as AllocationRecordingDecision,
        AllocationRefEvolutionDecision as AllocationRefEvolutionDecision,
        AllocationTerminationDecision as AllocationTerminationDecision,
        AlreadyAbandoned as AlreadyAbandoned,
        AlreadyConverged as AlreadyConverged,
        AlreadyProvisioning as AlreadyProvisioning,
        AlreadySettled as AlreadySettled,
        AttemptCreated as AttemptCreated,
        AttemptExists as AttemptExists,
        CancellationAlreadyRequested as CancellationAlreadyRequested,
        CancellationDecision as CancellationDecision,
        CancellationPending as CancellationPending,
        CancellationRequested as CancellationRequested,
        Claimed as Claimed,
        Concluded as Concluded,
        Conflict as Conflict,
        ConflictReference as ConflictReference,
        ConflictSubmission as ConflictSubmission,
        ConvergenceDecision as ConvergenceDecision,
        Decision as Decision,
        DiscoveredAllocationDecision as DiscoveredAllocationDecision,
        DuplicateOutcome as DuplicateOutcome,
        DuplicateReference as DuplicateReference,
        DuplicateSubmission as DuplicateSubmission,
        EnsureAttemptDecision as EnsureAttemptDecision,
        Evolved as Evolved,
        ExecutionAttemptOutcomeDecision as ExecutionAttemptOutcomeDecision,
        Fenced as Fenced,
        IncarnationMismatch as IncarnationMismatch,
        InfrastructureFailureDecision as InfrastructureFailureDecision,
        NotAllocated as NotAllocated,
        NotConcluded as NotConcluded,
        NotFound as NotFound,
        NotProcessBound as NotProcessBound,
        NotTerminated as NotTerminated,
        Occupied as Occupied,
        PendingAttemptAbandonmentDecision as PendingAttemptAbandonmentDecision,
        ProviderOperationClaimDecision as ProviderOperationClaimDecision,
        ProviderOperationMutationDecision as ProviderOperationMutationDecision,
        ProvisionerIncarnationLossDecision as ProvisionerIncarnationLossDecision,
        Provisioning as Provisioning,
        ProvisioningAbsenceDecision as ProvisioningAbsenceDecision,
        ProvisioningClaimDecision as ProvisioningClaimDecision,
        ReclamationEvolutionDecision as ReclamationEvolutionDecision,
        ReclamationReferenceDecision as ReclamationReferenceDecision,
        Recorded as Recorded,
        Resolved as Resolved,
        ResolvedReference as ResolvedReference,
        Stale as Stale,
        StaleReference as StaleReference,
        Started as Started,
        SubmissionDecision as SubmissionDecision,
        Submitted as Submitted,
    )
    from tenure.model.evidence import (
        AMBIGUOUS_ALLOCATION_MATCH as AMBIGUOUS_ALLOCATION_MATCH,
        EXHAUSTIVE_SEARCH_UNAVAILABLE as EXHAUSTIVE_SEARCH_UNAVAILABLE,
        NO_ALLOCATION_OBSERVED as NO_ALLOCATION_OBSERVED,
        PRE_REQUEST_REJECTION as PRE_REQUEST_REJECTION,
        BoundedRecoveryEvidence as BoundedRecoveryEvidence,
        make_evidence as make_evidence,
    )
    from tenure.model.execution import (
        CancellationRecord as CancellationRecord,
        Conclusion as Conclusion,
        ExecutionRecord as ExecutionRecord,
        ExecutionSubmission as ExecutionSubmission,
        SettlementRecord as SettlementRecord,
    )
    from tenure.model.journal import (
        JournalEntry as JournalEntry,
    )
    from tenure.model.open_work import (
        OpenWork as OpenWork,
        ReclamationClosure as ReclamationClosure,
        ReclamationRecord as ReclamationRecord,
        UnreadableWork as UnreadableWork,
    )
    from tenure.model.operation import (
        OBLIGATIONS as OBLIGATIONS,
        Obligation as Obligation,
        ProviderOperationClaim as ProviderOperationClaim,
        ProviderOperationRecord as ProviderOperationRecord,
    )
    from tenure.model.result import (
        CancelledResult as CancelledResult,
        CompletedResult as CompletedResult,
        FailedResult as FailedResult,
        PausedResult as PausedResult,
        WorkflowRunResult as WorkflowRunResult,
        same_workflow_result as same_workflow_result,
    )
    from tenure.remediation.controller import (
        Controller as Controller,
        WorkReport as WorkReport,
    )
    from tenure.remediation.settings import (
        ControllerSettings as ControllerSettings,
    )
    from tenure.wiring.authorities import (
        open_authority as open_authority,
    )
    from tenure.wiring.ledgers import (
        open_ledger as open_ledger,
    )

__version__ = "0.1.0"

_HOMES: Final = {
    "tenure.wiring.authorities": ("open_authority",),
    "tenure.authority.authority": (
        "Authority",
        "ExecutionEnd",
    ),
    "tenure.authority.dispatch": ("Dispatch",),
    "tenure.remediation.settings": ("ControllerSettings",),
    "tenure.remediation.controller": (
        "Controller",
        "WorkReport",
    ),
    "tenure.errors": (
        "CallerError",
        "CommitUnknownError",
        "CorruptRecordError",
        "DuplicateExecutionAttemptError",
        "ForeignProviderError",
        "InvalidInputError",
        "LedgerClosedError",
        "LedgerOpenError",
        "OverloadedError",
        "ProviderError",
        "StorageUnavailableError",
        "TenureError",
        "WorldError",
    ),
    "tenure.ledger.intake": ("Limits",),
    "tenure.ledger.ledger": ("Ledger",),
    "tenure.model.allocation": (
        "ALLOCATION_LIFETIMES",
        "AllocationLifetime",
        "ProcessBoundProvisionerLossProof",
        "ProviderAllocationRef",
        "same_allocation_ref",
    ),
    "tenure.model.attempt": (
        "EXECUTION_ATTEMPT_STATUSES",
        "ExecutionAttemptRecord",
        "ExecutionAttemptStatus",
        "RecoverableAttemptRecord",
        "SETTLEMENT_KINDS",
        "SettlementKind",
    ),
    "tenure.model.decision": (
        "Abandoned",
        "AcceptedOutcome",
        "Allocated",
        "AllocatedReference",
        "AllocationRecordingDecision",
        "AllocationRefEvolutionDecision",
        "AllocationTerminationDecision",
        "AlreadyAbandoned",
        "AlreadyConverged",
        "AlreadyProvisioning",
        "AlreadySettled",
        "AttemptCreated",
        "AttemptExists",
        "CancellationAlreadyRequested",
        "CancellationDecision",
        "CancellationPending",
        "CancellationRequested",
        "Claimed",
        "Concluded",
        "Conflict",
        "ConflictReference",
        "ConflictSubmission",
        "ConvergenceDecision",
        "Decision",
        "DiscoveredAllocationDecision",
        "DuplicateOutcome",
        "DuplicateReference",
        "DuplicateSubmission",
        "EnsureAttemptDecision",
        "Evolved",
        "ExecutionAttemptOutcomeDecision",
        "Fenced",
        "IncarnationMismatch",
        "InfrastructureFailureDecision",
        "NotAllocated",
        "NotConcluded",
        "NotFound",
        "NotProcessBound",
        "NotTerminated",
        "Occupied",
        "PendingAttemptAbandonmentDecision",
        "ProviderOperationClaimDecision",
        "ProviderOperationMutationDecision",
        "ProvisionerIncarnationLossDecision",
        "Provisioning",
        "ProvisioningAbsenceDecision",
        "ProvisioningClaimDecision",
        "ReclamationEvolutionDecision",
        "ReclamationReferenceDecision",
        "Recorded",
        "Resolved",
        "ResolvedReference",
        "Stale",
        "StaleReference",
        "Started",
        "SubmissionDecision",
        "Submitted",
    ),
    "tenure.model.evidence": (
        "AMBIGUOUS_ALLOCATION_MATCH",
        "BoundedRecoveryEvidence",
        "EXHAUSTIVE_SEARCH_UNAVAILABLE",
        "NO_ALLOCATION_OBSERVED",
        "PRE_REQUEST_REJECTION",
        "make_evidence",
    ),
    "tenure.model.execution": (
        "CancellationRecord",
        "Conclusion",
        "ExecutionRecord",
        "ExecutionSubmission",
        "SettlementRecord",
    ),
    "tenure.model.journal": ("JournalEntry",),
    "tenure.model.open_work": (
        "OpenWork",
        "ReclamationClosure",
        "ReclamationRecord",
        "UnreadableWork",
    ),
    "tenure.model.operation": (
        "OBLIGATIONS",
        "Obligation",
        "ProviderOperationClaim",
        "ProviderOperationRecord",
    ),
    "tenure.model.result": (
        "CancelledResult",
        "CompletedResult",
        "FailedResult",
        "PausedResult",
        "WorkflowRunResult",
        "same_workflow_result",
    ),
    "tenure.wiring.ledgers": ("open_ledger",),
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME_OF)]  # noqa: PLE0604 - names, from the table above


def __getattr__(name: str) -> object:
    """Load a public name from its home."""
    home = _HOME_OF.get(name)
    if home is None:
        message = f"module 'tenure' has no attribute {name!r}"
        raise AttributeError(message)
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
