"""Dispatch: from a durable submission to one provider call, and the record of its answer."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import anyio
import msgspec

from tenure.errors import ProviderError
from tenure.ledger.attempt_id import derive_attempt_id
from tenure.ledger.ledger import Ledger
from tenure.model.attempt import ExecutionAttemptRecord
from tenure.model.decision import AttemptCreated, AttemptExists, ResolvedReference, Started
from tenure.model.evidence import BoundedRecoveryEvidence, make_evidence
from tenure.model.execution import ExecutionRecord, ExecutionSubmission
from tenure.model.operation import ProviderOperationClaim
from tenure.ports.provider import Allocated, ConfirmedAbsent, Provider, ProvisionRequest
from tenure.remediation.holding import Holding, find_open_work
from tenure.remediation.observation import bounded_call, describe_failure
from tenure.remediation.settings import ControllerSettings

SOURCE = "tenure.authority"


class Dispatch(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt whose provider was called by this process, and the claim on it."""

    execution_id: str
    execution_attempt_id: str
    mark: str
    provider_id: str
    holding: Holding


class Dispatcher:
    """Makes provider calls, each authorized by the ledger exactly once."""

    def __init__(
        self,
        ledger: Ledger,
        providers: Mapping[str, Provider],
        *,
        owner_id: str,
        settings: ControllerSettings,
    ) -> None:
        """Call ``providers`` in the name of ``owner_id``."""
        self._ledger = ledger
        self._providers = providers
        self._owner_id = owner_id
        self._settings = settings

    async def dispatch(self, execution_id: str) -> Dispatch | None:
        """Begin the first attempt and call its provider; see ``Authority.dispatch``."""
        execution = await self._ledger.get_execution(execution_id=execution_id)
        if execution is None or execution.submission is None:
            return None
        attempt = await self._attempt(execution)
        if attempt is None or attempt.status != "pending":
            return None
        provider = self._provider(execution.submission)
        if execution.cancellation is not None:
            await self._abandon(attempt)
            return None
        claim = await self._begin(attempt, provider)
        if claim is None:
            return None
        try:
            await self._call(attempt, execution.submission, provider, claim)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._ledger.handoff_provider_operation(
                    claim=claim, evidence=await self._doubt("stopped with a call in flight")
                )
            raise
        return await self._dispatched(attempt, provider, claim)

    async def _attempt(self, execution: ExecutionRecord) -> ExecutionAttemptRecord | None:
        execution_id = execution.execution_id
        attempt_id = execution.active_attempt_id or derive_attempt_id(execution_id, 1)
        decision = await self._ledger.ensure_attempt(
            execution_id=execution_id, execution_attempt_id=attempt_id
        )
        if isinstance(decision, AttemptCreated):
            return decision.attempt
        if isinstance(decision, AttemptExists) and decision.active:
            return decision.attempt
        return None

    def _provider(self, submission: ExecutionSubmission) -> Provider:
        provider_id = submission.provider_ids[0]
        provider = self._providers.get(provider_id)
        if provider is None:
            known = ", ".join(sorted(self._providers)) or "none"
            raise ProviderError(
                provider_id=provider_id,
                seen="there is no such provider here",
                advice=f"dispatch where it is, or use one of: {known}",
            )
        return provider

    async def _abandon(self, attempt: ExecutionAttemptRecord) -> None:
        await self._ledger.abandon_pending_attempt(
            execution_attempt_id=attempt.execution_attempt_id, execution_id=attempt.execution_id
        )

    async def _begin(
        self, attempt: ExecutionAttemptRecord, provider: Provider
    ) -> ProviderOperationClaim | None:
        lease = timedelta(seconds=self._settings.lease_seconds)
        decision = await self._ledger.begin_provisioning(
            execution_attempt_id=attempt.execution_attempt_id,
            execution_id=attempt.execution_id,
            provider_id=provider.provider_id,
            allocation_lifetime=provider.traits.allocation_lifetime,
            provisioner_incarnation_id=self._owner_id,
            owner_id=self._owner_id,
            lease_expires_at=await self._ledger.now() + lease,
        )
        return decision.claim if isinstance(decision, Started) else None

    async def _call(
        self,
        attempt: ExecutionAttemptRecord,
        submission: ExecutionSubmission,
        provider: Provider,
        claim: ProviderOperationClaim,
    ) -> None:
        """Call the provider, once, and record whatever it answered."""
        now = await self._ledger.now()
        request = ProvisionRequest(
            execution_id=attempt.execution_id,
            execution_attempt_id=attempt.execution_attempt_id,
            workflow_id=submission.workflow_id,
            instruction=submission.instruction,
            mark=self._ledger.mark_of(attempt.execution_attempt_id),
            ledger_url=self._ledger.url,
            begun_at=now,
            call_deadline_at=now + timedelta(seconds=self._settings.call_seconds),
            deadline_at=_deadline(submission, now),
        )
        answer = await bounded_call(provider.provision(request), self._settings.call_seconds)
        match answer:
            case Allocated():
                await self._record(claim, answer)
            case ConfirmedAbsent():
                await self._ledger.record_provisioning_absent(
                    claim=claim, execution_id=attempt.execution_id, evidence=answer.evidence
                )
            case _:
                seen = describe_failure(answer)
                await self._ledger.record_provider_operation_uncertainty(
                    claim=claim, evidence=await self._doubt(seen)
                )

    async def _record(self, claim: ProviderOperationClaim, answer: Allocated) -> None:
        decision = await self._ledger.record_allocation(
            claim=claim, allocation_ref=answer.allocation_ref
        )
        if isinstance(decision, ResolvedReference):
            # The worker's outcome was faster than the call's answer: what is owed is told here.
            await self._ledger.record_reclamation_reference(
                claim=claim, allocation_ref=answer.allocation_ref
            )

    async def _dispatched(
        self,
        attempt: ExecutionAttemptRecord,
        provider: Provider,
        claim: ProviderOperationClaim,
    ) -> Dispatch | None:
        work = await find_open_work(
            self._ledger, attempt.execution_id, attempt.execution_attempt_id
        )
        if work is None:
            return None
        return Dispatch(
            execution_id=attempt.execution_id,
            execution_attempt_id=attempt.execution_attempt_id,
            mark=work.mark,
            provider_id=provider.provider_id,
            holding=Holding(self._ledger, work, claim),
        )

    async def _doubt(self, summary: str) -> BoundedRecoveryEvidence:
        return make_evidence(
            source=SOURCE,
            summary=summary,
            observed_at=await self._ledger.now(),
            code="provider-call-unresolved",
        )


def _deadline(submission: ExecutionSubmission, begun_at: datetime) -> datetime | None:
    if submission.attempt_timeout_ms is None:
        return None
    return begun_at + timedelta(milliseconds=submission.attempt_timeout_ms)
