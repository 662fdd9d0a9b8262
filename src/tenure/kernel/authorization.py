"""Who may write: the one order in which every claim-fenced command is authorized.

First whether there is an operation at all (``not-found``), then whether it is still open
(``resolved``), then whether the claim is the one that is held (``stale``): generation, owner and
token must all be equal. The clock has no say: authority ends with a takeover or a handoff, not with
the lease.
"""

import msgspec

from tenure.kernel.state import Attempt, Operation, Reclamation, State
from tenure.model.command import PresentedClaim
from tenure.model.decision import NotFound, Resolved, Stale


class HeldOperation(msgspec.Struct, frozen=True):
    """Proof of authorization: the attempt and the open operation that the claim holds."""

    attempt: Attempt
    operation: Operation


class HeldReclamation(msgspec.Struct, frozen=True):
    """Proof of authorization: the attempt and the open reclamation that the claim holds."""

    attempt: Attempt
    reclamation: Reclamation


def authorize(state: State, claim: PresentedClaim) -> HeldOperation | NotFound | Resolved | Stale:
    """Authorize a command on a provider operation."""
    attempt = state.attempt
    if attempt is None or attempt.operation is None:
        return NotFound()
    if attempt.status == "settled":
        return Resolved()
    if not _holds(claim, attempt.operation):
        return Stale()
    return HeldOperation(attempt, attempt.operation)


def authorize_reclamation(
    state: State, claim: PresentedClaim
) -> HeldReclamation | NotFound | Resolved | Stale:
    """Authorize a command on a reclamation: the same order, ``resolved`` once it is closed."""
    attempt = state.attempt
    if attempt is None or attempt.reclamation is None:
        return NotFound()
    if attempt.reclamation.closure is not None:
        return Resolved()
    if not _holds(claim, attempt.reclamation):
        return Stale()
    return HeldReclamation(attempt, attempt.reclamation)


def _holds(claim: PresentedClaim, held: Operation | Reclamation) -> bool:
    return (
        held.token is not None
        and claim.generation == held.generation
        and claim.owner_id == held.owner_id
        and claim.token == held.token
    )
