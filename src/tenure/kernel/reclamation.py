"""Reclamation: infrastructure that may outlive a settlement, worked off under its own claim.

It never touches attempt, pointer or settlement: the port's answers stay ``resolved``. Its
generation goes on from the operation's, so that a claim of the operation keeps holding it.
"""

from typing import Final, TypeVar

import msgspec

from tenure.errors import InvalidInputError
from tenure.kernel.allocation import check_provider
from tenure.kernel.authorization import HeldReclamation, authorize_reclamation
from tenure.kernel.doubt import fold_key, next_failure_count, next_streak
from tenure.kernel.journal import detail, entry, with_ref
from tenure.kernel.ownership import lease_runs, takeover_detail
from tenure.kernel.record import claim_of
from tenure.kernel.state import Attempt, Reclamation, State, Verdict
from tenure.model.allocation import (
    ProviderAllocationRef,
    decode_allocation_ref,
    same_allocation_ref,
)
from tenure.model.command import (
    CloseReclamation,
    EvolveReclamationReference,
    HandOffReclamation,
    RecordReclamationReference,
    RecordReclamationUncertainty,
    RenewReclamationClaim,
    TakeOverReclamation,
)
from tenure.model.decision import (
    Claimed,
    DuplicateReference,
    Evolved,
    NotFound,
    ProviderOperationClaimDecision,
    ProviderOperationMutationDecision,
    ReclamationEvolutionDecision,
    ReclamationReferenceDecision,
    Recorded,
    Resolved,
    Stale,
    StaleReference,
)
from tenure.model.instant import InstantMs
from tenure.model.json_value import JsonText

DecisionT = TypeVar("DecisionT")
REFERENCES_MAX: Final = 64
"""Most allocations of one attempt; each further one is a provider gone wild."""


def take_over_reclamation(
    state: State, command: TakeOverReclamation, fresh_token: str
) -> Verdict[ProviderOperationClaimDecision]:
    """Take a reclamation that nobody holds now.

    Precedence: ``not-found`` → ``resolved`` → ``stale`` while it is owned and its lease is strictly
    later than the observation → ``claimed``.
    """
    attempt = state.attempt
    if attempt is None or attempt.reclamation is None:
        return Verdict(decision=NotFound())
    reclamation = attempt.reclamation
    if reclamation.closure is not None:
        return Verdict(decision=Resolved())
    if lease_runs(reclamation, command.observed_ms):
        return Verdict(decision=Stale())
    taken = msgspec.structs.replace(
        reclamation,
        generation=reclamation.generation + 1,
        owner_id=command.owner_id,
        token=fresh_token,
        lease_expires_ms=command.lease_expires_ms,
        doubt_streak=0,
    )
    journaled = entry(
        attempt,
        "reclamation-taken-over",
        actor=command.owner_id,
        generation=taken.generation,
        detail=takeover_detail(reclamation, command.observed_ms, command.lease_expires_ms),
    )
    return Verdict(
        decision=Claimed(claim=claim_of(attempt.execution_attempt_id, taken)),
        attempt=msgspec.structs.replace(attempt, reclamation=taken),
        entries=(journaled,),
    )


def renew_reclamation_claim(
    state: State, command: RenewReclamationClaim
) -> Verdict[ProviderOperationClaimDecision]:
    """Move the lease; generation and token stay. Not journaled."""
    held = authorize_reclamation(state, command.claim)
    if not isinstance(held, HeldReclamation):
        return Verdict(decision=held)
    renewed = msgspec.structs.replace(held.reclamation, lease_expires_ms=command.lease_expires_ms)
    return Verdict(
        decision=Claimed(claim=claim_of(command.execution_attempt_id, renewed)),
        attempt=msgspec.structs.replace(held.attempt, reclamation=renewed),
    )


def hand_off_reclamation(
    state: State, command: HandOffReclamation
) -> Verdict[ProviderOperationMutationDecision]:
    """Release a held reclamation: owner, token and lease go together, all else stays."""
    held = authorize_reclamation(state, command.claim)
    if not isinstance(held, HeldReclamation):
        return Verdict(decision=held)
    released = msgspec.structs.replace(
        held.reclamation,
        owner_id=None,
        token=None,
        lease_expires_ms=None,
        last_failure=command.evidence or held.reclamation.last_failure,
        doubt_streak=0,
    )
    return _recorded(
        held, released, "reclamation-handed-off", command.claim.owner_id, command.evidence
    )


def record_reclamation_uncertainty(
    state: State, command: RecordReclamationUncertainty
) -> Verdict[ProviderOperationMutationDecision]:
    """Keep a doubt: count it, keep its evidence, change nothing else."""
    held = authorize_reclamation(state, command.claim)
    if not isinstance(held, HeldReclamation):
        return Verdict(decision=held)
    reclamation = held.reclamation
    streak = next_streak(reclamation, command.evidence)
    doubtful = msgspec.structs.replace(
        reclamation,
        failure_count=next_failure_count(reclamation),
        last_failure=command.evidence,
        doubt_streak=streak,
    )
    journaled = entry(
        held.attempt,
        "reclamation-uncertainty-recorded",
        actor=command.claim.owner_id,
        generation=reclamation.generation,
        evidence=command.evidence,
        detail=detail(obligation="reclamation"),
        fold_key=_reclamation_fold_key(command.execution_attempt_id, reclamation, streak),
    )
    return Verdict(
        decision=Recorded(),
        attempt=msgspec.structs.replace(held.attempt, reclamation=doubtful),
        entries=(journaled,),
    )


def record_reclamation_reference(
    state: State, command: RecordReclamationReference
) -> Verdict[ReclamationReferenceDecision]:
    """Record a reference that came after the settlement, or one more.

    Precedence: another provider's reference (an error, whatever the claim) → authorization →
    ``duplicate`` → ``recorded``.

    Raises:
        ForeignProviderError: the reference names another provider than the attempt's.
        InvalidInputError: more references than one attempt may have.
    """
    if state.attempt is not None and state.attempt.reclamation is not None:
        check_provider(state.attempt, command.provider_id)
    held = authorize_reclamation(state, command.claim)
    if not isinstance(held, HeldReclamation):
        return Verdict(decision=held)
    place = _place(held, command.allocation_ref)
    if place is not None:
        return Verdict(decision=DuplicateReference(allocation_ref=_known(held)[place]))
    if len(held.reclamation.references) >= REFERENCES_MAX:
        raise InvalidInputError(
            field="allocation_ref",
            given=f"one more than {REFERENCES_MAX} references for one attempt",
            allowed=f"at most {REFERENCES_MAX}",
        )
    more = (*held.reclamation.references, command.allocation_ref)
    known = msgspec.structs.replace(held.reclamation, references=more)
    return _referenced(held, known, "reclamation-reference-recorded", command, Recorded())


def evolve_reclamation_reference(
    state: State, command: EvolveReclamationReference
) -> Verdict[ReclamationEvolutionDecision]:
    """Replace one known reference by a finer one of the same allocation.

    Precedence: authorization → ``stale`` when the expected one is not known → ``evolved``.
    """
    held = authorize_reclamation(state, command.claim)
    if isinstance(held, Stale):
        return Verdict(decision=StaleReference(stored_ref=None))
    if not isinstance(held, HeldReclamation):
        return Verdict(decision=held)
    place = _place(held, command.current_ref)
    if place is None:
        newest = _known(held)[-1] if held.reclamation.references else None
        return Verdict(decision=StaleReference(stored_ref=newest))
    finer = list(held.reclamation.references)
    known = _place(held, command.next_ref)
    if known in (None, place):
        finer[place] = command.next_ref
    else:
        del finer[place]  # the finer one is known: two names were one allocation
    evolved = msgspec.structs.replace(held.reclamation, references=tuple(finer))
    return _referenced(held, evolved, "reclamation-reference-evolved", command, Evolved())


def close_reclamation(
    state: State, command: CloseReclamation, now: InstantMs
) -> Verdict[ProviderOperationMutationDecision]:
    """Close with the proof that nothing is left; owner, token and lease go together."""
    held = authorize_reclamation(state, command.claim)
    if not isinstance(held, HeldReclamation):
        return Verdict(decision=held)
    closed = msgspec.structs.replace(
        held.reclamation,
        owner_id=None,
        token=None,
        lease_expires_ms=None,
        last_failure=command.evidence,
        closure=command.closure,
        closed_ms=now,
    )
    return _recorded(
        held,
        closed,
        "reclamation-closed",
        command.claim.owner_id,
        command.evidence,
        facts=detail(closure=command.closure),
    )


def _recorded(
    held: HeldReclamation,
    changed: Reclamation,
    event: str,
    actor: str,
    evidence: JsonText | None,
    *,
    facts: JsonText | None = None,
) -> Verdict[Recorded]:
    journaled = entry(
        held.attempt,
        event,
        actor=actor,
        generation=changed.generation,
        evidence=evidence,
        detail=facts,
    )
    attempt: Attempt = msgspec.structs.replace(held.attempt, reclamation=changed)
    return Verdict(decision=Recorded(), attempt=attempt, entries=(journaled,))


def _referenced(
    held: HeldReclamation,
    changed: Reclamation,
    event: str,
    command: RecordReclamationReference | EvolveReclamationReference,
    decision: DecisionT,
) -> Verdict[DecisionT]:
    if isinstance(command, RecordReclamationReference):
        ref = command.allocation_ref
    else:
        ref = command.next_ref
    journaled = entry(
        held.attempt,
        event,
        actor=command.claim.owner_id,
        generation=changed.generation,
        detail=with_ref(ref),
    )
    attempt = msgspec.structs.replace(held.attempt, reclamation=changed)
    return Verdict(decision=decision, attempt=attempt, entries=(journaled,))


def _known(held: HeldReclamation) -> list[ProviderAllocationRef]:
    record = f"reclamation of {held.attempt.execution_attempt_id!r}"
    return [decode_allocation_ref(ref, record=record) for ref in held.reclamation.references]


def _place(held: HeldReclamation, ref: JsonText) -> int | None:
    given = decode_allocation_ref(ref, record="the given reference")
    for place, known in enumerate(_known(held)):
        if same_allocation_ref(known, given):
            return place
    return None


def _reclamation_fold_key(attempt_id: str, reclamation: Reclamation, streak: int) -> str | None:
    """Keep the reclamation's doubts apart from the operation's of the same generation."""
    key = fold_key(attempt_id, reclamation, streak)
    return None if key is None else f"{key}\nreclamation"
