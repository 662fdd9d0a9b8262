"""Allocation: the reference of what a provider made, recorded, discovered, evolved, terminated.

Only a call's own record makes an attempt claimable, and only while the attempt is active; what a
search finds is there to be ended or watched, never to be bootstrapped. A termination is recorded
when it was seen, and is the only way towards an infrastructure failure.
"""

import msgspec

from tenure.errors import CorruptRecordError, ForeignProviderError
from tenure.kernel.authorization import HeldOperation, authorize
from tenure.kernel.journal import entry, with_ref
from tenure.kernel.record import stored_ref
from tenure.kernel.state import Attempt, State, Verdict
from tenure.model.allocation import (
    ProviderAllocationRef,
    decode_allocation_ref,
    same_allocation_ref,
)
from tenure.model.command import (
    EvolveAllocationRef,
    RecordAllocation,
    RecordAllocationTerminated,
    RecordDiscoveredAllocation,
)
from tenure.model.decision import (
    AllocationRecordingDecision,
    AllocationRefEvolutionDecision,
    AllocationTerminationDecision,
    ConflictReference,
    DuplicateReference,
    Evolved,
    NotAllocated,
    NotFound,
    Recorded,
    Resolved,
    ResolvedReference,
    Stale,
    StaleReference,
)
from tenure.model.json_value import JsonText


def record_allocation(
    state: State, command: RecordAllocation
) -> Verdict[AllocationRecordingDecision]:
    """Record the allocation of a provider call; the active attempt becomes claimable.

    Precedence: the reference names another provider (an error, whatever the claim) → authorization
    → ``duplicate`` or ``conflict`` when a reference is stored → ``recorded``.

    Raises:
        ForeignProviderError: the reference names another provider than the attempt's.
    """
    claimable = state.attempt is not None and state.active is state.attempt
    return _record(state, command, claimable=claimable, event="allocation-recorded")


def record_discovered_allocation(
    state: State, command: RecordDiscoveredAllocation
) -> Verdict[AllocationRecordingDecision]:
    """Record what a complete search found; as ``record_allocation``, but never claimable.

    Raises:
        ForeignProviderError: the reference names another provider than the attempt's.
    """
    return _record(state, command, claimable=False, event="allocation-discovered")


def record_allocation_terminated(
    state: State, command: RecordAllocationTerminated
) -> Verdict[AllocationTerminationDecision]:
    """Record that the known allocation was seen to be gone; the newest evidence is kept.

    Precedence: authorization → ``not-allocated`` → ``recorded``, also when repeated.
    """
    held = authorize(state, command.claim)
    if not isinstance(held, HeldOperation):
        return Verdict(decision=held)
    if held.attempt.allocation_ref is None:
        return Verdict(decision=NotAllocated())
    ended = msgspec.structs.replace(
        held.operation,
        obligation="terminal-convergence",
        last_failure=command.evidence,
        doubt_streak=0,
    )
    journaled = entry(
        held.attempt,
        "allocation-terminated",
        actor=command.claim.owner_id,
        generation=ended.generation,
        evidence=command.evidence,
    )
    return Verdict(
        decision=Recorded(),
        attempt=msgspec.structs.replace(held.attempt, operation=ended),
        entries=(journaled,),
    )


def evolve_allocation_ref(
    state: State, command: EvolveAllocationRef
) -> Verdict[AllocationRefEvolutionDecision]:
    """Replace the stored reference if it is still the expected one.

    Precedence: authorization (``stale`` tells the stored reference) → execution → ``not-allocated``
    → ``stale`` when another reference is stored → ``evolved``.
    """
    held = authorize(state, command.claim)
    if isinstance(held, Stale):
        assert state.attempt is not None
        return Verdict(decision=StaleReference(stored_ref=stored_ref(state.attempt)))
    if not isinstance(held, HeldOperation):
        return Verdict(decision=held)
    if held.attempt.execution_id != command.execution_id:
        return Verdict(decision=NotFound())
    stored = stored_ref(held.attempt)
    if stored is None:
        return Verdict(decision=NotAllocated())
    if not same_allocation_ref(stored, _given(command.current_ref)):
        return Verdict(decision=StaleReference(stored_ref=stored))
    journaled = entry(
        held.attempt,
        "allocation-evolved",
        actor=command.claim.owner_id,
        generation=held.operation.generation,
        detail=with_ref(command.next_ref),
    )
    return Verdict(
        decision=Evolved(),
        attempt=msgspec.structs.replace(held.attempt, allocation_ref=command.next_ref),
        entries=(journaled,),
    )


def check_provider(attempt: Attempt, provider_id: str) -> None:
    """Refuse a reference that names another provider than the one the attempt is bound to.

    Raises:
        ForeignProviderError: it does.
        CorruptRecordError: the attempt has begun and is bound to none.
    """
    if attempt.provider_id is None:
        seen = "it was begun but is bound to no provider"
        raise CorruptRecordError(record=f"attempt {attempt.execution_attempt_id!r}", seen=seen)
    if attempt.provider_id != provider_id:
        raise ForeignProviderError(
            field="allocation_ref",
            provider_id=provider_id,
            expected_provider_id=attempt.provider_id,
        )


def _record(
    state: State,
    command: RecordAllocation | RecordDiscoveredAllocation,
    *,
    claimable: bool,
    event: str,
) -> Verdict[AllocationRecordingDecision]:
    if state.attempt is not None and state.attempt.operation is not None:
        check_provider(state.attempt, command.provider_id)
    held = authorize(state, command.claim)
    if isinstance(held, Resolved):
        assert state.attempt is not None
        return Verdict(decision=ResolvedReference(allocation_ref=stored_ref(state.attempt)))
    if not isinstance(held, HeldOperation):
        return Verdict(decision=held)
    stored = stored_ref(held.attempt)
    if stored is not None:
        return Verdict(decision=_against(stored, command.allocation_ref))
    allocated = msgspec.structs.replace(
        held.attempt,
        status="allocated",
        allocation_ref=command.allocation_ref,
        claimable=claimable,
        operation=msgspec.structs.replace(held.operation, obligation="allocation-control"),
    )
    journaled = entry(
        held.attempt,
        event,
        actor=command.claim.owner_id,
        generation=held.operation.generation,
        detail=with_ref(command.allocation_ref),
    )
    return Verdict(decision=Recorded(), attempt=allocated, entries=(journaled,))


def _against(
    stored: ProviderAllocationRef, candidate: JsonText
) -> DuplicateReference | ConflictReference:
    if same_allocation_ref(stored, _given(candidate)):
        return DuplicateReference(allocation_ref=stored)
    return ConflictReference(allocation_ref=stored)


def _given(ref: JsonText) -> ProviderAllocationRef:
    """Decode a reference of a command, which was checked when the command was made."""
    return decode_allocation_ref(ref, record="the given reference")
