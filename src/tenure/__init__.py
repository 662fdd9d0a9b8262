"""Tenure: a durable ledger of execution attempts on rented infrastructure.

``async with tenure.open_ledger("sqlite:///ledger.sqlite") as ledger`` gives the whole port and its
extensions. Everything public is importable from here, and is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tenure.errors import (
        CallerError as CallerError,
    )
    from tenure.errors import (
        CommitUnknownError as CommitUnknownError,
    )
    from tenure.errors import (
        CorruptRecordError as CorruptRecordError,
    )
    from tenure.errors import (
        DuplicateExecutionAttemptError as DuplicateExecutionAttemptError,
    )
    from tenure.errors import (
        ForeignProviderError as ForeignProviderError,
    )
    from tenure.errors import (
        InvalidInputError as InvalidInputError,
    )
    from tenure.errors import (
        LedgerClosedError as LedgerClosedError,
    )
    from tenure.errors import (
        LedgerOpenError as LedgerOpenError,
    )
    from tenure.errors import (
        OverloadedError as OverloadedError,
    )
    from tenure.errors import (
        ProviderError as ProviderError,
    )
    from tenure.errors import (
        StorageUnavailableError as StorageUnavailableError,
    )
    from tenure.errors import (
        TenureError as TenureError,
    )
    from tenure.errors import (
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
    )
    from tenure.model.allocation import (
        AllocationLifetime as AllocationLifetime,
    )
    from tenure.model.allocation import (
        ProcessBoundProvisionerLossProof as ProcessBoundProvisionerLossProof,
    )
    from tenure.model.allocation import (
        ProviderAllocationRef as ProviderAllocationRef,
    )
    from tenure.model.allocation import (
        same_allocation_ref as same_allocation_ref,
    )
    from tenure.model.attempt import (
        EXECUTION_ATTEMPT_STATUSES as EXECUTION_ATTEMPT_STATUSES,
    )
    from tenure.model.attempt import (
        SETTLEMENT_KINDS as SETTLEMENT_KINDS,
    )
    from tenure.model.attempt import (
        ExecutionAttemptRecord as ExecutionAttemptRecord,
    )
    from tenure.model.attempt import (
        ExecutionAttemptStatus as ExecutionAttemptStatus,
    )
    from tenure.model.attempt import (
        RecoverableAttemptRecord as RecoverableAttemptRecord,
    )
    from tenure.model.attempt import (
        SettlementKind as SettlementKind,
    )
    from tenure.model.decision import (
        Abandoned as Abandoned,
    )
    from tenure.model.decision import (
        AcceptedOutcome as AcceptedOutcome,
    )
    from tenure.model.decision import (
        Allocated as Allocated,
    )
    from tenure.model.decision import (
        AllocatedReference as AllocatedReference,
    )
    from tenure.model.decision import (
        AllocationRecordingDecision as AllocationRecordingDecision,
    )
    from tenure.model.decision import (
        AllocationRefEvolutionDecision as AllocationRefEvolutionDecision,
    )
    from tenure.model.decision import (
        AllocationTerminationDecision as AllocationTerminationDecision,
    )
    from tenure.model.decision import (
        AlreadyAbandoned as AlreadyAbandoned,
    )
    from tenure.model.decision import (
        AlreadyConverged as AlreadyConverged,
    )
    from tenure.model.decision import (
        AlreadyProvisioning as AlreadyProvisioning,
    )
    from tenure.model.decision import (
        AlreadySettled as AlreadySettled,
    )
    from tenure.model.decision import (
        AttemptCreated as AttemptCreated,
    )
    from tenure.model.decision import (
        AttemptExists as AttemptExists,
    )
    from tenure.model.decision import (
        AttemptsExhausted as AttemptsExhausted,
    )
    from tenure.model.decision import (
        CancellationAlreadyRequested as CancellationAlreadyRequested,
    )
    from tenure.model.decision import (
        CancellationDecision as CancellationDecision,
    )
    from tenure.model.decision import (
        CancellationPending as CancellationPending,
    )
    from tenure.model.decision import (
        CancellationRequested as CancellationRequested,
    )
    from tenure.model.decision import (
        Claimed as Claimed,
    )
    from tenure.model.decision import (
        Concluded as Concluded,
    )
    from tenure.model.decision import (
        Conflict as Conflict,
    )
    from tenure.model.decision import (
        ConflictReference as ConflictReference,
    )
    from tenure.model.decision import (
        ConflictSubmission as ConflictSubmission,
    )
    from tenure.model.decision import (
        ConvergenceDecision as ConvergenceDecision,
    )
    from tenure.model.decision import (
        Decision as Decision,
    )
    from tenure.model.decision import (
        DiscoveredAllocationDecision as DiscoveredAllocationDecision,
    )
    from tenure.model.decision import (
        DuplicateOutcome as DuplicateOutcome,
    )
    from tenure.model.decision import (
        DuplicateReference as DuplicateReference,
    )
    from tenure.model.decision import (
        DuplicateSubmission as DuplicateSubmission,
    )
    from tenure.model.decision import (
        EnsureAttemptDecision as EnsureAttemptDecision,
    )
    from tenure.model.decision import (
        Evolved as Evolved,
    )
    from tenure.model.decision import (
        ExecutionAttemptOutcomeDecision as ExecutionAttemptOutcomeDecision,
    )
    from tenure.model.decision import (
        Fenced as Fenced,
    )
    from tenure.model.decision import (
        IncarnationMismatch as IncarnationMismatch,
    )
    from tenure.model.decision import (
        InfrastructureFailureDecision as InfrastructureFailureDecision,
    )
    from tenure.model.decision import (
        NotAllocated as NotAllocated,
    )
    from tenure.model.decision import (
        NotConcluded as NotConcluded,
    )
    from tenure.model.decision import (
        NotFound as NotFound,
    )
    from tenure.model.decision import (
        NotProcessBound as NotProcessBound,
    )
    from tenure.model.decision import (
        NotTerminated as NotTerminated,
    )
    from tenure.model.decision import (
        Occupied as Occupied,
    )
    from tenure.model.decision import (
        PendingAttemptAbandonmentDecision as PendingAttemptAbandonmentDecision,
    )
    from tenure.model.decision import (
        ProviderOperationClaimDecision as ProviderOperationClaimDecision,
    )
    from tenure.model.decision import (
        ProviderOperationMutationDecision as ProviderOperationMutationDecision,
    )
    from tenure.model.decision import (
        ProvisionerIncarnationLossDecision as ProvisionerIncarnationLossDecision,
    )
    from tenure.model.decision import (
        Provisioning as Provisioning,
    )
    from tenure.model.decision import (
        ProvisioningAbsenceDecision as ProvisioningAbsenceDecision,
    )
    from tenure.model.decision import (
        ProvisioningClaimDecision as ProvisioningClaimDecision,
    )
    from tenure.model.decision import (
        ReclamationEvolutionDecision as ReclamationEvolutionDecision,
    )
    from tenure.model.decision import (
        ReclamationReferenceDecision as ReclamationReferenceDecision,
    )
    from tenure.model.decision import (
        Recorded as Recorded,
    )
    from tenure.model.decision import (
        Resolved as Resolved,
    )
    from tenure.model.decision import (
        ResolvedReference as ResolvedReference,
    )
    from tenure.model.decision import (
        Stale as Stale,
    )
    from tenure.model.decision import (
        StaleReference as StaleReference,
    )
    from tenure.model.decision import (
        Started as Started,
    )
    from tenure.model.decision import (
        SubmissionDecision as SubmissionDecision,
    )
    from tenure.model.decision import (
        Submitted as Submitted,
    )
    from tenure.model.evidence import (
        AMBIGUOUS_ALLOCATION_MATCH as AMBIGUOUS_ALLOCATION_MATCH,
    )
    from tenure.model.evidence import (
        EXHAUSTIVE_SEARCH_UNAVAILABLE as EXHAUSTIVE_SEARCH_UNAVAILABLE,
    )
    from tenure.model.evidence import (
        NO_ALLOCATION_OBSERVED as NO_ALLOCATION_OBSERVED,
    )
    from tenure.model.evidence import (
        PRE_REQUEST_REJECTION as PRE_REQUEST_REJECTION,
    )
    from tenure.model.evidence import (
        BoundedRecoveryEvidence as BoundedRecoveryEvidence,
    )
    from tenure.model.evidence import (
        make_evidence as make_evidence,
    )
    from tenure.model.execution import (
        CancellationRecord as CancellationRecord,
    )
    from tenure.model.execution import (
        Conclusion as Conclusion,
    )
    from tenure.model.execution import (
        ExecutionRecord as ExecutionRecord,
    )
    from tenure.model.execution import (
        ExecutionSubmission as ExecutionSubmission,
    )
    from tenure.model.execution import (
        SettlementRecord as SettlementRecord,
    )
    from tenure.model.journal import (
        JournalEntry as JournalEntry,
    )
    from tenure.model.open_work import (
        OpenWork as OpenWork,
    )
    from tenure.model.open_work import (
        ReclamationClosure as ReclamationClosure,
    )
    from tenure.model.open_work import (
        ReclamationRecord as ReclamationRecord,
    )
    from tenure.model.operation import (
        OBLIGATIONS as OBLIGATIONS,
    )
    from tenure.model.operation import (
        Obligation as Obligation,
    )
    from tenure.model.operation import (
        ProviderOperationClaim as ProviderOperationClaim,
    )
    from tenure.model.operation import (
        ProviderOperationRecord as ProviderOperationRecord,
    )
    from tenure.model.result import (
        CancelledResult as CancelledResult,
    )
    from tenure.model.result import (
        CompletedResult as CompletedResult,
    )
    from tenure.model.result import (
        FailedResult as FailedResult,
    )
    from tenure.model.result import (
        PausedResult as PausedResult,
    )
    from tenure.model.result import (
        WorkflowRunResult as WorkflowRunResult,
    )
    from tenure.model.result import (
        same_workflow_result as same_workflow_result,
    )
    from tenure.wiring.ledgers import (
        open_ledger as open_ledger,
    )

__version__ = "0.1.0"

_HOMES: Final = {
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
        "AttemptsExhausted",
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
