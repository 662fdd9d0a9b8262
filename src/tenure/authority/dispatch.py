"""Dispatch: from a durable submission to one provider call, and the record of its answer."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Final, TypeVar

import anyio
import msgspec

from tenure.errors import (
    CommitUnknownError,
    InvalidInputError,
    ProviderError,
    StorageUnavailableError,
)
from tenure.ledger.attempt_id import derive_attempt_id
from tenure.ledger.ledger import Ledger
from tenure.model.attempt import ExecutionAttemptRecord
from tenure.model.decision import AttemptCreated, AttemptExists, ResolvedReference, Started
from tenure.model.evidence import (
    PRE_REQUEST_REJECTION,
    BoundedRecoveryEvidence,
    make_evidence,
)
from tenure.model.execution import ExecutionRecord, ExecutionSubmission
from tenure.model.open_work import OPEN_WORK_PAGE_MAX, OpenWork
from tenure.ports.provider import (
    Allocated,
    ConfirmedAbsent,
    Provider,
    ProvisionAnswer,
    ProvisionRequest,
)
from tenure.remediation.calls import Caller, ClaimLost, NotCalled, describe_failure
from tenure.remediation.holding import Holding, find_open_work
from tenure.remediation.settings import ControllerSettings

SOURCE: Final = "tenure.authority"
CALL_UNRESOLVED: Final = "provider-call-unresolved"
INSIST_POLL_SECONDS: Final = 0.1
"""How often a store that could not serve a call is asked again."""
T = TypeVar("T")
ROOM_POLL_SECONDS: Final = 0.2
"""How often a full provider is asked for room."""


class Dispatch(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt whose provider was called by this process, and the claim on it."""

    execution_id: str
    execution_attempt_id: str
    mark: str
    provider_id: str
    holding: Holding


class _Step(msgspec.Struct, frozen=True):
    """Which attempt to make: its place, its derived id, and the one that it replaces."""

    ordinal: int
    execution_attempt_id: str
    replaces: str | None


class _Gate:
    """What one provider's calls of this process go through: few at once, begun one by one.

    Calls that crowd each other miss their deadlines, and then nothing is started by any of them.
    """

    def __init__(self, calls_max: int) -> None:
        self.calls = anyio.CapacityLimiter(calls_max)
        self.begins = anyio.Lock()


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
        self._gates: dict[str, _Gate] = {}

    async def dispatch(self, execution_id: str, *, supersede: bool = False) -> Dispatch | None:
        """Begin the attempt that is due and call its provider; see ``Authority.dispatch``."""
        execution = await self._ledger.get_execution(execution_id=execution_id)
        if execution is None or execution.submission is None:
            return None
        if execution.cancellation is not None:
            await self._abandon(execution)
            return None
        step = await self._next_step(execution, supersede=supersede)
        if step is None:
            return None
        provider = self._provider(execution.submission, step.ordinal)
        gate = self._gates.setdefault(provider.provider_id, _Gate(self._settings.parallel_max))
        async with gate.calls:
            holding = await self._grant(execution, step, provider, gate, supersede=supersede)
            if holding is None:
                return None
            return await self._make_call(holding, execution.submission, provider)

    async def _make_call(
        self, holding: Holding, submission: ExecutionSubmission, provider: Provider
    ) -> Dispatch | None:
        try:
            await self._call(holding, submission, provider)
            work = await holding.reload()
        except ClaimLost:
            return None
        except anyio.get_cancelled_exc_class():
            await holding.leave(
                next_look_after=timedelta(),
                source=SOURCE,
                reason="stopped with a provider call in flight",
                code=CALL_UNRESOLVED,
            )
            raise
        return None if work is None else _dispatched(holding)

    async def _grant(
        self,
        execution: ExecutionRecord,
        step: _Step,
        provider: Provider,
        gate: _Gate,
        *,
        supersede: bool,
    ) -> Holding | None:
        """Make sure of the attempt and begin it, once its provider has room for it."""
        async with gate.begins:  # so that those of this process count each other
            await self._until_room(provider)
            attempt = await self._attempt(execution, step, supersede=supersede)
            if attempt is None or attempt.status != "pending":
                return None
            return await self._begin(attempt, provider)

    async def _next_step(self, execution: ExecutionRecord, *, supersede: bool) -> _Step | None:
        """Say which attempt to begin, or None when none is due."""
        active_id, count = execution.active_attempt_id, execution.attempt_count
        if active_id is None:
            return _Step(1, derive_attempt_id(execution.execution_id, 1), None)
        following = _Step(
            count + 1, derive_attempt_id(execution.execution_id, count + 1), active_id
        )
        if supersede:
            return following
        attempt = await self._ledger.get_active_attempt(
            execution_id=execution.execution_id, execution_attempt_id=active_id
        )
        if attempt is not None and attempt.status == "pending":
            return _Step(count, active_id, None)
        due = execution.next_attempt_at
        return following if due is not None and await self._ledger.now() >= due else None

    async def _attempt(
        self, execution: ExecutionRecord, step: _Step, *, supersede: bool
    ) -> ExecutionAttemptRecord | None:
        decision = await self._ledger.ensure_attempt(
            execution_id=execution.execution_id,
            execution_attempt_id=step.execution_attempt_id,
            replaces=step.replaces,
            supersede=supersede,
        )
        if isinstance(decision, AttemptCreated):
            return decision.attempt
        if isinstance(decision, AttemptExists) and decision.active:
            return decision.attempt
        return None

    def _provider(self, submission: ExecutionSubmission, ordinal: int) -> Provider:
        provider_id = provider_of(submission, ordinal)
        provider = self._providers.get(provider_id)
        if provider is None:
            known = ", ".join(sorted(self._providers)) or "none"
            raise ProviderError(
                provider_id=provider_id,
                seen="there is no such provider here",
                advice=f"dispatch where it is, or use one of: {known}",
            )
        return provider

    async def _until_room(self, provider: Provider) -> None:
        """Wait until the provider has fewer open attempts than it may have."""
        most = min(self._settings.open_max, OPEN_WORK_PAGE_MAX)
        while True:
            page = await self._ledger.list_open(providers=[provider.provider_id], limit=most)
            if len(page) < most:
                return
            await anyio.sleep(ROOM_POLL_SECONDS)

    async def _abandon(self, execution: ExecutionRecord) -> None:
        if execution.active_attempt_id is not None:
            await self._ledger.abandon_pending_attempt(
                execution_attempt_id=execution.active_attempt_id,
                execution_id=execution.execution_id,
            )

    async def _begin(self, attempt: ExecutionAttemptRecord, provider: Provider) -> Holding | None:
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
        if not isinstance(decision, Started):
            return None
        work = await _insisting(
            lambda: find_open_work(
                self._ledger, attempt.execution_id, attempt.execution_attempt_id
            ),
            seconds=self._settings.lease_seconds,
        )
        return None if work is None else Holding(self._ledger, work, decision.claim)

    async def _call(
        self, holding: Holding, submission: ExecutionSubmission, provider: Provider
    ) -> None:
        """Call the provider, once, and record whatever it answered.

        Raises:
            ClaimLost: the claim was taken over before the call, which was not made.
        """

        async def provision() -> ProvisionAnswer:
            return await provider.provision(await self._request(holding.work, submission))

        answer = await Caller(holding, self._settings).call(provision)
        # An answer is recorded also when its caller is being cancelled: nobody else was told it.
        with anyio.CancelScope(shield=True):
            try:
                left = (await holding.remaining()).total_seconds()
                await _insisting(lambda: self._record(holding, answer), seconds=left)
            except InvalidInputError as exc:  # its text may hold what the provider said
                seen = f"the provider's answer was refused as {exc.code}"
                await self._doubt(holding, seen)

    async def _request(self, work: OpenWork, submission: ExecutionSubmission) -> ProvisionRequest:
        call = timedelta(seconds=self._settings.call_seconds)
        return ProvisionRequest(
            execution_id=work.execution_id,
            execution_attempt_id=work.execution_attempt_id,
            workflow_id=submission.workflow_id,
            instruction=submission.instruction,
            mark=work.mark,
            ledger_url=self._ledger.url,
            begun_at=work.begun_at,
            call_deadline_at=await self._ledger.now() + call,
            deadline_at=work.deadline_at,
        )

    async def _record(self, holding: Holding, answer: object) -> None:
        claim, execution_id = holding.claim, holding.work.execution_id
        match answer:
            case Allocated(allocation_ref=ref):
                decision = await self._ledger.record_allocation(claim=claim, allocation_ref=ref)
                if isinstance(decision, ResolvedReference):
                    # The worker's outcome was faster than the call's answer: what is owed is
                    # told here.
                    await holding.record_reference(ref)
            case ConfirmedAbsent(evidence=evidence):
                await self._ledger.record_provisioning_absent(
                    claim=claim, execution_id=execution_id, evidence=evidence
                )
            case NotCalled():
                evidence = await self._evidence("no lease outlasts the call", PRE_REQUEST_REJECTION)
                await self._ledger.record_provisioning_absent(
                    claim=claim, execution_id=execution_id, evidence=evidence
                )
            case _:
                await self._doubt(holding, describe_failure(answer))

    async def _doubt(self, holding: Holding, summary: str) -> None:
        await holding.record_uncertainty(await self._evidence(summary, CALL_UNRESOLVED))

    async def _evidence(self, summary: str, code: str) -> BoundedRecoveryEvidence:
        now = await self._ledger.now()
        return make_evidence(source=SOURCE, summary=summary, observed_at=now, code=code)


def provider_of(submission: ExecutionSubmission, ordinal: int) -> str:
    """Name the provider of the n-th attempt: the candidates in turn, again from the start."""
    return submission.provider_ids[(ordinal - 1) % len(submission.provider_ids)]


async def _insisting(call: Callable[[], Awaitable[T]], *, seconds: float) -> T:
    """Call again while the store cannot serve it, as long as the lease runs; it is idempotent."""
    until = anyio.current_time() + seconds
    while True:
        try:
            return await call()
        except (StorageUnavailableError, CommitUnknownError):
            if anyio.current_time() >= until:
                raise
            await anyio.sleep(INSIST_POLL_SECONDS)


def _dispatched(holding: Holding) -> Dispatch:
    work = holding.work
    return Dispatch(
        execution_id=work.execution_id,
        execution_attempt_id=work.execution_attempt_id,
        mark=work.mark,
        provider_id=work.provider_id,
        holding=holding,
    )
