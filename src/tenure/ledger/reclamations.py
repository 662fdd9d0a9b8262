"""Reclamations over a store: infrastructure that may outlive a settlement."""

from typing import cast

from tenure.errors import InvalidInputError
from tenure.kernel import record as records
from tenure.ledger.core import LedgerCore
from tenure.ledger.intake import evidence_text, instant_ms, presented_claim, ref_text
from tenure.ledger.recovery import reference_pair
from tenure.model import command as commands, decision as decisions
from tenure.model.allocation import ProviderAllocationRef
from tenure.model.evidence import BoundedRecoveryEvidence
from tenure.model.identifier import check_identifier
from tenure.model.instant import Instant
from tenure.model.open_work import (
    RECLAMATION_CLOSURES,
    ReclamationClosure,
    ReclamationRecord,
)
from tenure.model.operation import ProviderOperationClaim
from tenure.model.text import describe


class ReclamationOperations:
    """The operations of ``ports.extension.Reclamations``; see there."""

    _core: LedgerCore

    async def get_reclamation(self, *, execution_attempt_id: str) -> ReclamationRecord | None:
        """Read a reclamation, open or closed, or None when nothing was owed at settlement."""
        check_identifier(execution_attempt_id, field="execution_attempt_id")
        attempt = await self._core.attempt(execution_attempt_id)
        if attempt is None or attempt.reclamation is None:
            return None
        return records.reclamation_record(execution_attempt_id, attempt.reclamation)

    async def take_over_reclamation(
        self,
        *,
        execution_attempt_id: str,
        owner_id: str,
        observed_at: Instant,
        lease_expires_at: Instant,
    ) -> decisions.ProviderOperationClaimDecision:
        """Take a reclamation that is unowned or whose lease has run out."""
        command = commands.TakeOverReclamation(
            execution_attempt_id=check_identifier(
                execution_attempt_id, field="execution_attempt_id"
            ),
            owner_id=check_identifier(owner_id, field="owner_id"),
            observed_ms=instant_ms(observed_at, "observed_at"),
            lease_expires_ms=instant_ms(lease_expires_at, "lease_expires_at"),
        )
        return cast("decisions.ProviderOperationClaimDecision", await self._core.submit(command))

    async def renew_reclamation_claim(
        self, *, claim: ProviderOperationClaim, lease_expires_at: Instant
    ) -> decisions.ProviderOperationClaimDecision:
        """Move the lease of a held reclamation."""
        command = commands.RenewReclamationClaim(
            claim=presented_claim(claim),
            lease_expires_ms=instant_ms(lease_expires_at, "lease_expires_at"),
        )
        return cast("decisions.ProviderOperationClaimDecision", await self._core.submit(command))

    async def handoff_reclamation(
        self, *, claim: ProviderOperationClaim, evidence: BoundedRecoveryEvidence | None = None
    ) -> decisions.ProviderOperationMutationDecision:
        """Release a held reclamation without closing it."""
        text = None if evidence is None else evidence_text(evidence)
        command = commands.HandOffReclamation(claim=presented_claim(claim), evidence=text)
        return cast("decisions.ProviderOperationMutationDecision", await self._core.submit(command))

    async def record_reclamation_uncertainty(
        self, *, claim: ProviderOperationClaim, evidence: BoundedRecoveryEvidence
    ) -> decisions.ProviderOperationMutationDecision:
        """Record that an observation stayed inconclusive."""
        command = commands.RecordReclamationUncertainty(
            claim=presented_claim(claim), evidence=evidence_text(evidence)
        )
        return cast("decisions.ProviderOperationMutationDecision", await self._core.submit(command))

    async def record_reclamation_reference(
        self, *, claim: ProviderOperationClaim, allocation_ref: ProviderAllocationRef
    ) -> decisions.ReclamationReferenceDecision:
        """Record a reference that came late, or one more.

        Raises:
            ForeignProviderError: it names another provider than the attempt, whatever the claim.
        """
        provider_id, text = ref_text(allocation_ref, "allocation_ref", self._core.limits)
        command = commands.RecordReclamationReference(
            claim=presented_claim(claim), provider_id=provider_id, allocation_ref=text
        )
        return cast("decisions.ReclamationReferenceDecision", await self._core.submit(command))

    async def evolve_reclamation_reference(
        self,
        *,
        claim: ProviderOperationClaim,
        current_ref: ProviderAllocationRef,
        next_ref: ProviderAllocationRef,
    ) -> decisions.ReclamationEvolutionDecision:
        """Replace one known reference by a finer one of the same allocation.

        Raises:
            ForeignProviderError: the two name different providers.
        """
        current, following = reference_pair(self._core, current_ref, next_ref)
        command = commands.EvolveReclamationReference(
            claim=presented_claim(claim), current_ref=current, next_ref=following
        )
        return cast("decisions.ReclamationEvolutionDecision", await self._core.submit(command))

    async def close_reclamation(
        self,
        *,
        claim: ProviderOperationClaim,
        closure: ReclamationClosure,
        evidence: BoundedRecoveryEvidence,
    ) -> decisions.ProviderOperationMutationDecision:
        """Close with the proof that nothing is left."""
        command = commands.CloseReclamation(
            claim=presented_claim(claim),
            closure=_closure(closure),
            evidence=evidence_text(evidence),
        )
        return cast("decisions.ProviderOperationMutationDecision", await self._core.submit(command))


def _closure(value: object) -> ReclamationClosure:
    for closure in RECLAMATION_CLOSURES:
        if type(value) is str and value == closure:
            return closure
    allowed = ", ".join(RECLAMATION_CLOSURES)
    raise InvalidInputError(field="closure", given=describe(value), allowed=allowed)
