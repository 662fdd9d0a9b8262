"""The public record of one execution attempt."""

from datetime import datetime
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from tenure.model.allocation import AllocationLifetime, ProviderAllocationRef

ExecutionAttemptStatus: TypeAlias = Literal["pending", "provisioning", "allocated", "settled"]
EXECUTION_ATTEMPT_STATUSES: Final[tuple[ExecutionAttemptStatus, ...]] = get_args(
    ExecutionAttemptStatus
)
"""In the order in which an attempt goes through them; never backwards."""

SettlementKind: TypeAlias = Literal["outcome", "abandoned", "infrastructure-failure"]
SETTLEMENT_KINDS: Final[tuple[SettlementKind, ...]] = get_args(SettlementKind)


class ExecutionAttemptRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt as the ledger holds it. Every read makes a value of its own."""

    execution_attempt_id: str
    execution_id: str
    status: ExecutionAttemptStatus
    allocation_ref: ProviderAllocationRef | None
    """Set by allocation or discovery, replaced by an evolution, kept through settlement."""
    created_at: datetime
    """The ledger's clock at creation; aware, UTC, milliseconds."""
    provider_id: str | None
    """Bound by the one successful begin, together with the next two; never changes."""
    allocation_lifetime: AllocationLifetime | None
    provisioner_incarnation_id: str | None
    settlement_kind: SettlementKind | None
    """How the attempt settled; null while it has not."""
    claimable: bool
    """Whether its worker may bootstrap: allocated while active, recorded and not discovered."""
    claim_expires_at: datetime | None
    """When claimability ends. Only the host writes it; every transition preserves it."""


class RecoverableAttemptRecord(ExecutionAttemptRecord, frozen=True, kw_only=True):
    """An attempt that is allocated, claimable, unsettled, and bound to its provider."""

    status: Literal["allocated"]
    allocation_ref: ProviderAllocationRef
    provider_id: str
    allocation_lifetime: AllocationLifetime
    provisioner_incarnation_id: str
    settlement_kind: None
    claimable: Literal[True]
