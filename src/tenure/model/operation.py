"""The public record of who may act on an attempt's infrastructure, and what is still owed."""

from datetime import datetime
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from tenure.model.evidence import BoundedRecoveryEvidence

Obligation: TypeAlias = Literal[
    "provisioning-resolution", "allocation-control", "terminal-convergence"
]
OBLIGATIONS: Final[tuple[Obligation, ...]] = get_args(Obligation)
"""In the order in which an operation goes through them; never backwards."""

FAILURE_COUNT_MAX: Final = 2**31 - 1
"""Where a failure count saturates."""


class ProviderOperationClaim(msgspec.Struct, frozen=True, kw_only=True):
    """Authority over one attempt's infrastructure, until a takeover or handoff ends it.

    Presenting one that no ledger ever made is no error, it only does not hold. Its
    ``lease_expires_at`` is never compared, so a claim stays good across renewals.
    """

    execution_attempt_id: str
    generation: int
    """Grows by one at each takeover, starting at 1."""
    owner_id: str
    """The controller process incarnation that holds it."""
    token: str
    """The secret of this generation: drawn afresh by begin and by each takeover."""
    lease_expires_at: datetime | str


class ProviderOperationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One provider operation as the ledger holds it, open or closed."""

    execution_attempt_id: str
    generation: int
    owner_id: str | None
    """Null together with token and lease: unowned by handoff, or closed by settlement."""
    token: str | None
    lease_expires_at: datetime | None
    obligation: Obligation
    """What is owed, or, once the attempt has settled, what was owed last."""
    failure_count: int
    """How many observations stayed inconclusive; saturates at 2**31 - 1."""
    last_failure: BoundedRecoveryEvidence | None
    """The newest evidence of any kind."""
