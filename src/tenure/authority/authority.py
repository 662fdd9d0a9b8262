"""The authority over executions: submit → ensure an attempt → begin → call → record → wait → end.

Rules: the provider is called only on ``started``, once; whatever that call raises is recorded as a
doubt, never as a failure; the claim is held and renewed from begin to the end, and handed off when
the authority stops waiting. Between any two steps the process may die: each next step is found
again in the ledger, by this authority or by another.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Final

import anyio
import msgspec

from tenure.authority.dispatch import SOURCE, Dispatch, Dispatcher, provider_of
from tenure.errors import InvalidInputError, ProviderError
from tenure.ledger.ledger import Ledger
from tenure.model.decision import ConflictSubmission
from tenure.model.evidence import make_evidence
from tenure.model.execution import ExecutionRecord, ExecutionSubmission, SettlementRecord
from tenure.model.open_work import UnreadableWork
from tenure.model.result import PausedResult
from tenure.ports.incarnation import IncarnationWitness
from tenure.ports.provider import Provider
from tenure.remediation.controller import Controller, WorkReport
from tenure.remediation.holding import Holding
from tenure.remediation.observation import doubt_delay
from tenure.remediation.settings import ControllerSettings
from tenure.remediation.undispatched import abandon_if_undispatched

POLL_SECONDS: Final = 0.1
"""How often the ledger is asked whether an execution has ended."""
ORPHAN_LOOK_SECONDS: Final = 1.0
"""How often a waiter looks whether anybody still answers for the execution."""
PAGE: Final = 200

STOPPED_WAITING: Final = "stopped-waiting"


class ExecutionEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How an execution ended."""

    execution: ExecutionRecord
    settlement: SettlementRecord | None
    """How its active attempt settled; null when it was cancelled before any attempt."""


Converge = Callable[[ExecutionEnd], Awaitable[None]]
"""The host takes an end over. May be called again after a crash; whatever it raises undoes
nothing, and it is called again by the next waiter."""


class Authority:
    """Runs executions of one ledger through the providers that this process can reach.

    Safe to use from many tasks of one event loop; many processes may run one each on one ledger.
    """

    def __init__(
        self,
        ledger: Ledger,
        providers: Mapping[str, Provider],
        *,
        witness: IncarnationWitness,
        settings: ControllerSettings | None = None,
        converge: Converge | None = None,
    ) -> None:
        """Act in the name of this process incarnation, as ``witness`` names it.

        Raises:
            InvalidInputError: the settings break their rules.
        """
        self._ledger = ledger
        self._providers = providers
        self._witness = witness
        self._converge = converge
        self._owner_id = witness.current()
        self._controller = Controller(
            ledger, providers, owner_id=self._owner_id, witness=witness, settings=settings
        )
        self._settings = self._controller.settings
        self._dispatcher = Dispatcher(
            ledger, providers, owner_id=self._owner_id, settings=self._settings
        )

    @property
    def controller(self) -> Controller:
        """The controller that works for this authority."""
        return self._controller

    async def submit(
        self, *, execution_id: str, submission: ExecutionSubmission
    ) -> ExecutionRecord:
        """Make the promise durable. The same submission again returns the execution as it is.

        Raises:
            ProviderError: this process cannot reach the first candidate provider.
            InvalidInputError: the submission breaks the contract, its provider could never carry
                the instruction out, or the id names another submission.
        """
        for provider_id in submission.provider_ids[:1]:
            provider = self._providers.get(provider_id)
            if provider is None:
                known = ", ".join(sorted(self._providers)) or "none"
                raise ProviderError(
                    provider_id=provider_id,
                    seen="there is no such provider here",
                    advice=f"use one of: {known}",
                )
            provider.check_instruction(submission.instruction)
        decision = await self._ledger.submit_execution(
            execution_id=execution_id, submission=submission, submitted_by=self._owner_id
        )
        if isinstance(decision, ConflictSubmission):
            raise InvalidInputError(
                field="execution_id",
                given=f"{execution_id!r}, which exists with another submission",
                allowed="a new id, or the same submission again",
            )
        return decision.execution

    async def dispatch(self, *, execution_id: str) -> Dispatch | None:
        """Begin the attempt that is due and call its provider, at most once for each attempt.

        That is the first attempt, one that was created and not begun, or the next one once its
        delay is over. It waits while the provider has as many open attempts as it may have.

        Returns:
            The held claim, also when the call left a doubt; None when nothing is due: somebody else
            has begun it, it has settled, or the execution is over.

        Raises:
            ProviderError: this process cannot reach the attempt's provider.

        Cancelling it hands the claim off with the evidence that a call may be in flight.
        """
        return await self._dispatcher.dispatch(execution_id)

    async def supersede(self, *, execution_id: str) -> Dispatch | None:
        """Give up waiting for the active attempt: begin another one in its place, at once.

        What the old one made stays owed and is worked off; an outcome that it delivers later is
        ``fenced``. The answers and errors are those of ``dispatch``.
        """
        return await self._dispatcher.dispatch(execution_id, supersede=True)

    async def retry_due(self) -> Sequence[Dispatch]:
        """Begin every attempt that is due and whose provider outlives this process.

        For a service, or a recovery, that looks after a whole ledger: whoever submitted an
        execution may be gone when its next attempt becomes due. The claims are held; attend them,
        or hand them off. Attempts that are bound to their provisioner are left to who waits.
        """
        begun: list[Dispatch] = []
        after: ExecutionRecord | None = None
        while True:
            page = await self._ledger.list_executions(concluded=False, after=after, limit=PAGE)
            for execution in page:
                if self._is_retried_here(execution):
                    dispatch = await self._dispatcher.dispatch(execution.execution_id)
                    begun += [] if dispatch is None else [dispatch]
            if len(page) < PAGE:
                return begun
            after = page[-1]

    async def attend(self, dispatch: Dispatch) -> WorkReport:
        """Hold a dispatched attempt until nothing of it is owed, or the claim is lost.

        Cancelling it hands the claim off; the work goes on.
        """
        return await self._attend(dispatch.holding)

    async def wait(self, *, execution_id: str) -> ExecutionEnd:
        """Wait for an execution's end, whoever runs it, and let the host take it over.

        A waiter answers for what nobody answers for: when a lease has run out it takes over and
        converges the attempt, and it begins the next attempt when that is due, so that waiting
        always ends when the work does. Several waiters begin one attempt once.

        Raises:
            InvalidInputError: the ledger has no such execution.
        """
        while True:
            end = await self.find_end(execution_id=execution_id)
            if end is not None:
                await self._take_over_end(end)
                return end
            await self._attend_orphan(execution_id)
            await self._retry(execution_id)
            await self._until_end(execution_id, ORPHAN_LOOK_SECONDS)

    async def find_end(self, *, execution_id: str) -> ExecutionEnd | None:
        """Read how an execution ended, or None while it has not.

        Raises:
            InvalidInputError: the ledger has no such execution.
        """
        execution = await self._ledger.get_execution(execution_id=execution_id)
        if execution is None or execution.submission is None:
            seen = f"is not in ledger {self._ledger.url}"
            if execution is not None:
                seen = "was never submitted: its attempts were made through the port"
            raise InvalidInputError(
                field="execution_id",
                given=f"{execution_id!r}, which {seen}",
                allowed="the id of a submitted execution",
            )
        settlement = None
        if execution.active_attempt_id is not None:
            settlement = await self._ledger.get_settlement(
                execution_attempt_id=execution.active_attempt_id
            )
        paused = settlement is not None and isinstance(settlement.result, PausedResult)
        if execution.conclusion is None and not paused:
            return None
        return ExecutionEnd(execution=execution, settlement=settlement)

    async def hand_off(self, dispatch: Dispatch, *, reason: str) -> None:
        """Let a held claim go without stopping the work; ``reason`` is kept as evidence."""
        await self._hand_off(dispatch.holding, reason)

    async def _take_over_end(self, end: ExecutionEnd) -> None:
        if end.execution.conclusion is None or end.execution.converged_at is not None:
            return
        if self._converge is not None:
            await self._converge(end)
        await self._ledger.record_convergence(execution_id=end.execution.execution_id)

    async def _attend_orphan(self, execution_id: str) -> None:
        execution = await self._ledger.get_execution(execution_id=execution_id)
        assert execution is not None
        if await abandon_if_undispatched(self._ledger, self._witness, execution):
            return
        now = await self._ledger.now()
        for work in await self._ledger.list_open(execution_id=execution_id):
            if isinstance(work, UnreadableWork):
                continue
            held = work.lease_expires_at is not None and work.lease_expires_at > now
            if held or not work.active or work.provider_id not in self._providers:
                continue
            holding = await self._controller.take_over(work)
            if holding is not None:
                await self._attend(holding, until_end=True)

    async def _retry(self, execution_id: str) -> None:
        """Begin a further attempt that is due, or that was made and not begun; attend it."""
        execution = await self._ledger.get_execution(execution_id=execution_id)
        if execution is None or not (execution.next_attempt_at or execution.attempt_count > 1):
            return  # a first attempt is its submitter's to begin
        try:
            dispatch = await self._dispatcher.dispatch(execution_id)
        except ProviderError:
            return  # whoever reaches that provider has to begin it
        if dispatch is not None:
            await self._attend(dispatch.holding, until_end=True)

    def _is_retried_here(self, execution: ExecutionRecord) -> bool:
        if execution.next_attempt_at is None or execution.submission is None:
            return False
        provider_id = provider_of(execution.submission, execution.attempt_count + 1)
        if provider_id not in self._providers:
            return False
        return self._providers[provider_id].traits.allocation_lifetime == "provider-managed"

    async def _attend(self, holding: Holding, *, until_end: bool = False) -> WorkReport:
        """Converge until nothing is owed; ``until_end``: doubt about an ended one is left."""
        try:
            while True:
                report = await self._controller.converge(holding)
                if report.ending not in ("kept", "doubtful"):
                    return report
                if until_end and report.ending == "doubtful" and await self._has_ended(holding):
                    await self._hand_off(holding, "the execution has ended")
                    return report
                await self._rest(holding, report)
        except anyio.get_cancelled_exc_class():
            await holding.leave(
                next_look_after=timedelta(seconds=self._settings.look_seconds),
                source=SOURCE,
                reason="the authority stopped waiting",
                code=STOPPED_WAITING,
            )
            raise

    async def _has_ended(self, holding: Holding) -> bool:
        return await self.find_end(execution_id=holding.work.execution_id) is not None

    def _pause(self, holding: Holding, report: WorkReport) -> float:
        if report.ending == "kept":
            reclaiming = holding.work.kind == "reclamation"
            return POLL_SECONDS if reclaiming else self._settings.look_seconds
        delay = doubt_delay(
            holding.work.failure_count,
            first=min(POLL_SECONDS, self._settings.doubt_seconds),
            longest=self._settings.doubt_seconds_max,
        )
        return delay.total_seconds()

    async def _rest(self, holding: Holding, report: WorkReport) -> None:
        """Rest until the next look; wake when the attempt settles or is to be cancelled.

        The claim is renewed meanwhile, however long the rest is.
        """
        lease = timedelta(seconds=self._settings.lease_seconds)
        before = (holding.work.kind, holding.work.cancellation_requested)
        renew_at = anyio.current_time() + self._settings.renewal_seconds
        with anyio.move_on_after(self._pause(holding, report)):
            while True:
                await anyio.sleep(min(POLL_SECONDS, self._settings.renewal_seconds))
                if anyio.current_time() >= renew_at:
                    renew_at = anyio.current_time() + self._settings.renewal_seconds
                    if not await holding.renew(lease):
                        return
                work = await holding.reload()
                if work is None or (work.kind, work.cancellation_requested) != before:
                    return

    async def _until_end(self, execution_id: str, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            while True:
                await anyio.sleep(POLL_SECONDS)
                if await self.find_end(execution_id=execution_id) is not None:
                    return

    async def _hand_off(self, holding: Holding, reason: str) -> None:
        await holding.hand_off(
            next_look_after=timedelta(seconds=self._settings.look_seconds),
            evidence=make_evidence(
                source=SOURCE,
                summary=reason,
                observed_at=await self._ledger.now(),
                code=STOPPED_WAITING,
            ),
        )
