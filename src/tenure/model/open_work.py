"""Open work: what may still be running, who holds it, and what is owed."""

from datetime import datetime
from typing import ClassVar, Final, Literal, TypeAlias, get_args

import msgspec

from tenure.model.allocation import AllocationLifetime, ProviderAllocationRef
from tenure.model.attempt import ExecutionAttemptStatus
from tenure.model.evidence import BoundedRecoveryEvidence
from tenure.model.operation import Obligation

ReclamationClosure: TypeAlias = Literal["released", "absent", "incarnation-lost"]
"""How infrastructure was proven gone: seen to end, proven never made, or dead with its process."""
RECLAMATION_CLOSURES: Final[tuple[ReclamationClosure, ...]] = get_args(ReclamationClosure)
OpenWorkKind: TypeAlias = Literal["operation", "reclamation"]
OPEN_WORK_PAGE_MAX: Final = 1000
"""Most entries of one page of the owed list."""


class ReclamationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What is owed after settlement: infrastructure that may outlive a committed answer.

    Opened in the settling transaction whenever a provider call had begun and neither absence nor
    termination was proven. It never touches attempt, pointer or settlement.
    """

    execution_attempt_id: str
    generation: int
    """Goes on from the operation's."""
    owner_id: str | None
    token: str | None
    lease_expires_at: datetime | None
    """Owner, token and lease are inherited: the holder of the operation's claim just goes on."""
    references: tuple[ProviderAllocationRef, ...]
    """Every allocation known for the attempt, oldest first; may be empty."""
    failure_count: int
    last_failure: BoundedRecoveryEvidence | None
    opened_at: datetime
    next_look_at: datetime
    closure: ReclamationClosure | None
    """Null while it is open."""
    closed_at: datetime | None


class OpenWork(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the owed list: an open operation or an open reclamation."""

    kind: OpenWorkKind
    execution_attempt_id: str
    execution_id: str
    attempt_status: ExecutionAttemptStatus
    active: bool
    """Whether the attempt is still the active one of its execution."""
    provider_id: str
    allocation_lifetime: AllocationLifetime
    provisioner_incarnation_id: str
    mark: str
    """What the infrastructure carries so that it can be found again."""
    obligation: Obligation | None
    """Null for a reclamation."""
    references: tuple[ProviderAllocationRef, ...]
    generation: int
    owner_id: str | None
    lease_expires_at: datetime | None
    failure_count: int
    last_failure: BoundedRecoveryEvidence | None
    begun_at: datetime
    """Since when infrastructure may exist: the durable begin."""
    opened_at: datetime
    """Since when this part is owed: the begin, or the settlement for a reclamation."""
    next_look_at: datetime
    """Not before this instant does a controller have to look again."""
    deadline_at: datetime | None
    """Past it the attempt's work has to be stopped."""
    cancellation_requested: bool


class UnreadableWork(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the owed list whose stored text breaks the contract.

    It stands where the entry would, so that it hides nothing else: something may still be running.
    """

    kind: ClassVar[Literal["unreadable"]] = "unreadable"
    execution_attempt_id: str
    execution_id: str
    opened_at: datetime
    """Since when this part is owed."""
    seen: str
    """What is wrong with it."""
