"""Holding open work: one face for the operation and for the reclamation that follows it.

A reclamation inherits the claim of the operation, so whoever holds one just goes on with the same
claim when an outcome settles the attempt in between.
"""

from datetime import timedelta

from tenure.ledger.ledger import Ledger
from tenure.model.allocation import ProviderAllocationRef
from tenure.model.decision import (
    Claimed,
    ProviderOperationClaimDecision,
    ProviderOperationMutationDecision,
    Resolved,
)
from tenure.model.evidence import BoundedRecoveryEvidence
from tenure.model.open_work import OPEN_WORK_PAGE_MAX, OpenWork
from tenure.model.operation import ProviderOperationClaim


class Holding:
    """A claim on the open work of one attempt, whichever part of it is open."""

    def __init__(self, ledger: Ledger, work: OpenWork, claim: ProviderOperationClaim) -> None:
        """Hold ``work`` under ``claim``."""
        self._ledger = ledger
        self.work = work
        self.claim = claim

    async def reload(self) -> OpenWork | None:
        """Read the work again; None when nothing is open any more."""
        found = await find_open_work(
            self._ledger, self.work.execution_id, self.work.execution_attempt_id
        )
        if found is not None:
            self.work = found
        return found

    async def renew(self, lease: timedelta) -> bool:
        """Move the lease; False when the claim is lost or nothing is open."""
        until = await self._ledger.now() + lease
        decision: ProviderOperationClaimDecision
        if self.work.kind == "operation":
            decision = await self._ledger.renew_provider_operation_claim(
                claim=self.claim, lease_expires_at=until
            )
            if not isinstance(decision, Resolved):
                return isinstance(decision, Claimed)
        decision = await self._ledger.renew_reclamation_claim(
            claim=self.claim, lease_expires_at=until
        )
        return isinstance(decision, Claimed)

    async def record_uncertainty(
        self, evidence: BoundedRecoveryEvidence
    ) -> ProviderOperationMutationDecision:
        """Record a doubt."""
        if self.work.kind == "operation":
            return await self._ledger.record_provider_operation_uncertainty(
                claim=self.claim, evidence=evidence
            )
        return await self._ledger.record_reclamation_uncertainty(
            claim=self.claim, evidence=evidence
        )

    async def hand_off(
        self, *, next_look_after: timedelta, evidence: BoundedRecoveryEvidence | None = None
    ) -> None:
        """Say when to look again, and let go. Losing the claim in between is fine."""
        due = await self._ledger.now() + next_look_after
        await self._ledger.schedule_look(claim=self.claim, next_look_at=due)
        if self.work.kind == "operation":
            decision = await self._ledger.handoff_provider_operation(
                claim=self.claim, evidence=evidence
            )
            if not isinstance(decision, Resolved):
                return
        await self._ledger.handoff_reclamation(claim=self.claim, evidence=evidence)

    async def record_reference(self, ref: ProviderAllocationRef) -> None:
        """Record a reference that came after the settlement."""
        await self._ledger.record_reclamation_reference(claim=self.claim, allocation_ref=ref)


async def take_over(
    ledger: Ledger, work: OpenWork, *, owner_id: str, lease: timedelta
) -> Holding | None:
    """Take open work over, or None when somebody's lease runs or nothing is open any more."""
    now = await ledger.now()
    if work.kind == "operation":
        decision = await ledger.take_over_provider_operation(
            execution_attempt_id=work.execution_attempt_id,
            owner_id=owner_id,
            observed_at=now,
            lease_expires_at=now + lease,
        )
    else:
        decision = await ledger.take_over_reclamation(
            execution_attempt_id=work.execution_attempt_id,
            owner_id=owner_id,
            observed_at=now,
            lease_expires_at=now + lease,
        )
    if not isinstance(decision, Claimed):
        return None
    return Holding(ledger, work, decision.claim)


async def find_open_work(
    ledger: Ledger, execution_id: str, execution_attempt_id: str
) -> OpenWork | None:
    """Find the open work of one attempt, or None when it has none."""
    after = None
    while True:
        page = await ledger.list_open(
            execution_id=execution_id, after=after, limit=OPEN_WORK_PAGE_MAX
        )
        for work in page:
            if work.execution_attempt_id == execution_attempt_id:
                return work
        if len(page) < OPEN_WORK_PAGE_MAX:
            return None
        after = page[-1]
