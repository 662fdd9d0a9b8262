"""The recovery capability of the port."""

from collections.abc import Sequence
from typing import cast

from tenure.errors import ForeignProviderError
from tenure.kernel import record as records
from tenure.ledger.core import LedgerCore
from tenure.ledger.intake import presented_claim, ref_text
from tenure.model import command as commands, decision as decisions
from tenure.model.allocation import ProviderAllocationRef
from tenure.model.attempt import ExecutionAttemptRecord, RecoverableAttemptRecord
from tenure.model.identifier import check_identifier
from tenure.model.json_value import JsonText
from tenure.model.operation import ProviderOperationClaim


class LedgerRecovery:
    """The operations of ``ports.repository.RecoveryOperations``; see there."""

    def __init__(self, core: LedgerCore) -> None:
        self._core = core

    async def get_attempt_with_allocation(
        self, *, execution_attempt_id: str
    ) -> ExecutionAttemptRecord | None:
        """Read an attempt whatever its state, or None when there is none."""
        check_identifier(execution_attempt_id, field="execution_attempt_id")
        attempt = await self._core.attempt(execution_attempt_id)
        return None if attempt is None else records.attempt_record(attempt)

    async def record_discovered_allocation(
        self, *, claim: ProviderOperationClaim, allocation_ref: ProviderAllocationRef
    ) -> decisions.DiscoveredAllocationDecision:
        """Record what a complete search found; never makes the attempt claimable.

        Raises:
            ForeignProviderError: it names another provider than the attempt, whatever the claim.
        """
        provider_id, text = ref_text(allocation_ref, "allocation_ref", self._core.limits)
        command = commands.RecordDiscoveredAllocation(
            claim=presented_claim(claim), provider_id=provider_id, allocation_ref=text
        )
        return cast("decisions.DiscoveredAllocationDecision", await self._core.submit(command))

    async def evolve_allocation_ref(
        self,
        *,
        claim: ProviderOperationClaim,
        execution_id: str,
        current_ref: ProviderAllocationRef,
        next_ref: ProviderAllocationRef,
    ) -> decisions.AllocationRefEvolutionDecision:
        """Replace the stored reference if it is still ``current_ref``.

        Raises:
            ForeignProviderError: the two name different providers.
        """
        current, following = reference_pair(self._core, current_ref, next_ref)
        command = commands.EvolveAllocationRef(
            claim=presented_claim(claim),
            execution_id=check_identifier(execution_id, field="execution_id"),
            current_ref=current,
            next_ref=following,
        )
        return cast("decisions.AllocationRefEvolutionDecision", await self._core.submit(command))

    async def get_recoverable_attempts(
        self, *, execution_id: str
    ) -> Sequence[RecoverableAttemptRecord]:
        """List allocated, claimable, unsettled, unexpired attempts, oldest first, then by id.

        Raises:
            CorruptRecordError: a selected attempt lacks its binding.
        """
        check_identifier(execution_id, field="execution_id")
        rows = await self._core.store.recoverable(execution_id)
        now = self._core.store.clock.now_ms()
        return [
            records.recoverable_record(row)
            for row in rows
            if row.claim_expires_ms is None or row.claim_expires_ms >= now
        ]


def reference_pair(
    core: LedgerCore, current_ref: ProviderAllocationRef, next_ref: ProviderAllocationRef
) -> tuple[JsonText, JsonText]:
    """Check two references that must name one provider, and encode them.

    Raises:
        ForeignProviderError: they name different providers.
    """
    current_provider, current = ref_text(current_ref, "current_ref", core.limits)
    next_provider, following = ref_text(next_ref, "next_ref", core.limits)
    if current_provider != next_provider:
        raise ForeignProviderError(
            field="next_ref", provider_id=next_provider, expected_provider_id=current_provider
        )
    return current, following
