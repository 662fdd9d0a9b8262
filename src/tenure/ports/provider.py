"""What infrastructure has to offer: one call that makes it, and ways to find, see and end it.

A provider is one object. Its ``provision`` is called at most once for each attempt, only after the
ledger granted it, and whatever it raises means *unknown*: an error is never proof that nothing was
made. Proof of absence and proof of termination are answers of their own types.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import ClassVar, Literal, Protocol, TypeAlias

import msgspec

from tenure.model.allocation import AllocationLifetime, ProviderAllocationRef
from tenure.model.evidence import BoundedRecoveryEvidence
from tenure.model.json_value import JsonObject
from tenure.model.result import WorkflowRunResult


class ProviderTraits(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider declares about itself."""

    allocation_lifetime: AllocationLifetime
    reach: str
    """Which machine or account its allocations live in: a controller elsewhere cannot see them."""
    read_lag_ms: int = 0
    """How long after a change reads may still show the old state, in milliseconds."""
    needs_bootstrap: bool = False
    """Whether its workers have to claim their identity after they start."""


class ProvisionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one provider call is given."""

    execution_id: str
    execution_attempt_id: str
    workflow_id: str
    instruction: JsonObject
    mark: str
    """Goes onto the infrastructure, and is the idempotency key: two digests, ASCII, short."""
    ledger_url: str
    """Where the worker delivers its outcome."""
    begun_at: datetime
    """The durable begin, on the ledger's clock."""
    call_deadline_at: datetime
    """The call must be over by then."""
    deadline_at: datetime | None
    """Past it the work itself has to stop."""


class Allocated(msgspec.Struct, frozen=True, kw_only=True):
    """The infrastructure exists."""

    allocation_ref: ProviderAllocationRef


class ConfirmedAbsent(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing was made, and nothing can be made by this call any more."""

    evidence: BoundedRecoveryEvidence


ProvisionAnswer: TypeAlias = Allocated | ConfirmedAbsent


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A complete search found exactly one allocation."""

    allocation_ref: ProviderAllocationRef
    evidence: BoundedRecoveryEvidence


class FoundSeveral(msgspec.Struct, frozen=True, kw_only=True):
    """A search found more than one allocation for one mark."""

    allocation_refs: Sequence[ProviderAllocationRef]
    evidence: BoundedRecoveryEvidence


class ProvenAbsent(msgspec.Struct, frozen=True, kw_only=True):
    """A complete search found none, and the provider made sure that none can appear later.

    The search was past the read lag, and something that the provider names in the evidence (a
    tombstone on the key, the proven death of the caller, an expired credential) refuses a late
    call.
    """

    evidence: BoundedRecoveryEvidence


class Undetermined(msgspec.Struct, frozen=True, kw_only=True):
    """No conclusion: incomplete, too early, denied, contradictory, or an error."""

    evidence: BoundedRecoveryEvidence


Discovery: TypeAlias = Found | FoundSeveral | ProvenAbsent | Undetermined


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """The allocation exists."""

    evidence: BoundedRecoveryEvidence
    worker: Literal["alive", "dead", "unknown"]
    """Whether its worker, which alone can deliver the outcome, still runs."""


class Gone(msgspec.Struct, frozen=True, kw_only=True):
    """The allocation was seen to be gone; nothing of it is left."""

    evidence: BoundedRecoveryEvidence


Inspection: TypeAlias = Running | Gone | Undetermined


class SpooledOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """An outcome that a worker wrote down and may not have delivered."""

    execution_id: str
    execution_attempt_id: str
    result: WorkflowRunResult


class ProviderRecovery(Protocol):
    """Finding, seeing and ending allocations: all of it, or none."""

    async def discover(self, *, mark: str, begun_at: datetime) -> Discovery:
        """Search for the allocation that carries ``mark``. Idempotent.

        ``begun_at`` is the durable begin on the ledger's clock: nothing older can be what is
        searched for.
        """
        ...

    async def inspect(self, *, mark: str, allocation_ref: ProviderAllocationRef) -> Inspection:
        """Look at one allocation. Changes nothing."""
        ...

    async def terminate(self, *, mark: str, allocation_ref: ProviderAllocationRef) -> Inspection:
        """Ask for its end, wait a bounded time, and say what is seen then. Idempotent.

        A request that was sent proves nothing: only an inspection that says ``Gone`` does.
        """
        ...

    async def spooled_outcome(self, *, mark: str) -> SpooledOutcome | None:
        """Read the outcome that the worker left behind, or None when there is none to deliver."""
        ...

    async def acknowledge_outcome(self, *, mark: str) -> None:
        """Drop the spooled outcome after the ledger has answered it. Idempotent."""
        ...


class OutputPage(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a worker's output."""

    data: bytes
    next_offset: int


class Provider(Protocol):
    """One kind of infrastructure."""

    provider_id: ClassVar[str]
    traits: ProviderTraits
    recovery: ProviderRecovery | None
    """Null when its allocations cannot be found again."""

    def check_instruction(self, instruction: JsonObject) -> None:
        """Check an instruction before it is submitted.

        Raises:
            InvalidInputError: this provider could never carry it out.
        """
        ...

    async def provision(self, request: ProvisionRequest) -> ProvisionAnswer:
        """Make the infrastructure for one attempt. Called at most once for each.

        Whatever it raises, cancellation included, means that infrastructure may exist.
        """
        ...

    async def read_output(self, *, mark: str, offset: int, limit: int) -> OutputPage | None:
        """Read what the worker has printed from ``offset`` on; None when none is kept."""
        ...


class ProviderSite(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider is given where it is opened."""

    now: Callable[[], Awaitable[datetime]]
    """The ledger's time: the only one to compare with instants that come from the ledger."""
    root: Path
    """The folder of this user's attempts. One that keeps files of an attempt here keeps them in a
    folder named by its mark; the root itself may not exist yet."""


ProviderFactory: TypeAlias = Callable[[ProviderSite], Provider]
"""Opens a provider; what an entry point of the group ``tenure.providers`` names.

It calls nobody and blocks nowhere: opening is not using. It raises ``ProviderError`` when this
machine cannot offer the provider.
"""
