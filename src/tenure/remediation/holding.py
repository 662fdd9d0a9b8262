"""Holding open work: one face for the operation and for the reclamation that follows it.

A reclamation inherits the claim of the operation, so whoever holds one just goes on with the same
claim when an outcome settles the attempt in between.
"""

import contextlib
from datetime import timedelta
from typing import Final

import anyio

from tenure.errors import CorruptRecordError, TenureError
from tenure.ledger.ledger import Ledger
from tenure.model.allocation import ProviderAllocationRef
from tenure.model.decision import (
    Claimed,
    ProviderOperationClaimDecision,
    ProviderOperationMutationDecision,
    ReclamationReferenceDecision,
    Resolved,
)
from tenure.model.evidence import BoundedRecoveryEvidence, make_evidence
from tenure.model.instant import parse_instant, to_datetime
from tenure.model.open_work import OPEN_WORK_PAGE_MAX, OpenWork, UnreadableWork
from tenure.model.operation import ProviderOperationClaim

_LEAVE_SECONDS: Final = 5.0
"""How long a cancelled holder may take to hand off; else its lease runs out."""


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

    async def remaining(self) -> timedelta:
        """Tell how much of the lease is left; negative when it has run out."""
        ends_at = to_datetime(parse_instant(self.claim.lease_expires_at, field="lease"))
        return ends_at - await self._ledger.now()

    async def renew(self, lease: timedelta) -> bool:
        """Move the lease; False when the claim is lost or nothing is open."""
        until = await self._ledger.now() + lease
        decision: ProviderOperationClaimDecision
        if self.work.kind == "operation":
            decision = await self._ledger.renew_provider_operation_claim(
                claim=self.claim, lease_expires_at=until
            )
            if not isinstance(decision, Resolved):
                return self._keep(decision)
        decision = await self._ledger.renew_reclamation_claim(
            claim=self.claim, lease_expires_at=until
        )
        return self._keep(decision)

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

    async def leave(
        self, *, next_look_after: timedelta, source: str, reason: str, code: str
    ) -> None:
        """Let go because the holder is being cancelled; for a bounded time, and without raising.

        Whatever stands in the way, the lease runs out by itself.
        """
        with (
            anyio.move_on_after(_LEAVE_SECONDS, shield=True),
            contextlib.suppress(TenureError),
        ):
            now = await self._ledger.now()
            evidence = make_evidence(source=source, summary=reason, observed_at=now, code=code)
            await self.hand_off(next_look_after=next_look_after, evidence=evidence)

    async def record_reference(self, ref: ProviderAllocationRef) -> ReclamationReferenceDecision:
        """Record a reference that came after the settlement."""
        return await self._ledger.record_reclamation_reference(claim=self.claim, allocation_ref=ref)

    def _keep(self, decision: ProviderOperationClaimDecision) -> bool:
        if not isinstance(decision, Claimed):
            return False
        self.claim = decision.claim
        return True


async def take_over(
    ledger: Ledger, work: OpenWork, *, owner_id: str, lease: timedelta
) -> Holding | None:
    """Take open work over, or None when somebody's lease runs or nothing is open any more.

    An operation that was settled meanwhile is taken over as the reclamation that it became.
    """
    now = await ledger.now()
    decision: ProviderOperationClaimDecision = Resolved()
    if work.kind == "operation":
        decision = await ledger.take_over_provider_operation(
            execution_attempt_id=work.execution_attempt_id,
            owner_id=owner_id,
            observed_at=now,
            lease_expires_at=now + lease,
        )
    if isinstance(decision, Resolved):
        decision = await ledger.take_over_reclamation(
            execution_attempt_id=work.execution_attempt_id,
            owner_id=owner_id,
            observed_at=now,
            lease_expires_at=now + lease,
        )
    return Holding(ledger, work, decision.claim) if isinstance(decision, Claimed) else None


async def find_open_work(
    ledger: Ledger, execution_id: str, execution_attempt_id: str
) -> OpenWork | None:
    """Find the open work of one attempt, or None when it has none.

    Raises:
        CorruptRecordError: the attempt has open work that cannot be read.
    """
    after = None
    while True:
        page = await ledger.list_open(
            execution_id=execution_id, after=after, limit=OPEN_WORK_PAGE_MAX
        )
        for work in page:
            if work.execution_attempt_id != execution_attempt_id:
                continue
            if isinstance(work, UnreadableWork):
                raise CorruptRecordError(record=f"attempt {execution_attempt_id!r}", seen=work.seen)
            return work
        if len(page) < OPEN_WORK_PAGE_MAX:
            return None
        after = page[-1]
