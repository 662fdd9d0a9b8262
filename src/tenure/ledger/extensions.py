"""Our extensions over a store: executions, the owed list, reclamations, the journal."""

from collections.abc import Sequence
from datetime import datetime
from typing import cast

from tenure.errors import InvalidInputError
from tenure.kernel import record as records
from tenure.kernel.state import Attempt, Execution
from tenure.ledger.core import LedgerCore
from tenure.ledger.intake import flag, instant_ms, page_limit, presented_claim
from tenure.ledger.owed import entry_of
from tenure.model import command as commands, decision as decisions
from tenure.model.execution import (
    ExecutionRecord,
    ExecutionSubmission,
    SettlementRecord,
    check_reason,
    encode_submission,
)
from tenure.model.identifier import check_identifier
from tenure.model.instant import Instant, InstantMs, to_datetime
from tenure.model.journal import JOURNAL_PAGE_MAX, JournalEntry
from tenure.model.mark import make_mark
from tenure.model.open_work import OPEN_WORK_PAGE_MAX, OpenWork, UnreadableWork
from tenure.model.operation import ProviderOperationClaim
from tenure.model.text import describe
from tenure.ports.store import OpenWorkQuery

EXECUTIONS_PAGE_MAX = 1000
"""Most executions of one page."""


class ExtensionOperations:
    """The operations of ``ports.extension``; see there. Cancelling one does not take it back."""

    _core: LedgerCore

    @property
    def ledger_id(self) -> str:
        """The ledger's own id."""
        return self._core.store.ledger_id

    @property
    def url(self) -> str:
        """Where the ledger is, without secrets."""
        return self._core.store.name

    async def now(self) -> datetime:
        """Read the ledger's clock; the only source of ``observed_at`` for controllers."""
        return to_datetime(self._core.store.clock.now_ms())

    def mark_of(self, execution_attempt_id: str) -> str:
        """Compute the mark that an attempt's infrastructure carries."""
        check_identifier(execution_attempt_id, field="execution_attempt_id")
        return make_mark(self.ledger_id, execution_attempt_id)

    async def check(self) -> Sequence[str]:
        """Examine the whole storage; one line for each problem, none means sound."""
        return await self._core.store.check()

    async def submit_execution(
        self, *, execution_id: str, submission: ExecutionSubmission, submitted_by: str
    ) -> decisions.SubmissionDecision:
        """Make a submission durable. The same one again is ``duplicate``."""
        bytes_max = self._core.limits.submission_bytes_max
        text = encode_submission(submission, field="submission", bytes_max=bytes_max)
        command = commands.SubmitExecution(
            execution_id=check_identifier(execution_id, field="execution_id"),
            submission=text,
            attempts_max=submission.attempts_max,
            attempt_timeout_ms=submission.attempt_timeout_ms,
            submitted_by=check_identifier(submitted_by, field="submitted_by"),
        )
        return cast("decisions.SubmissionDecision", await self._core.submit(command))

    async def get_execution(self, *, execution_id: str) -> ExecutionRecord | None:
        """Read an execution, or None when there is none."""
        check_identifier(execution_id, field="execution_id")
        execution, _ = await self._core.execution(execution_id)
        return None if execution is None else records.execution_record(execution)

    async def list_executions(
        self,
        *,
        concluded: bool | None = None,
        after: ExecutionRecord | None = None,
        limit: int = 100,
    ) -> Sequence[ExecutionRecord]:
        """List submitted executions, newest first."""
        wanted = None if concluded is None else flag(concluded, "concluded")
        rows = await self._core.store.executions(
            concluded=wanted,
            after=None if after is None else _execution_cursor(after),
            limit=page_limit(limit, EXECUTIONS_PAGE_MAX),
        )
        return [records.execution_record(row) for row in rows]

    async def ensure_attempt(
        self,
        *,
        execution_id: str,
        execution_attempt_id: str,
        replaces: str | None = None,
        supersede: bool = False,
    ) -> decisions.EnsureAttemptDecision:
        """Create an attempt unless it exists, replacing exactly ``replaces``.

        Raises:
            DuplicateExecutionAttemptError: the id names an attempt of another execution.
        """
        command = commands.EnsureAttempt(
            execution_attempt_id=check_identifier(
                execution_attempt_id, field="execution_attempt_id"
            ),
            execution_id=check_identifier(execution_id, field="execution_id"),
            replaces=None if replaces is None else check_identifier(replaces, field="replaces"),
            supersede=flag(supersede, "supersede"),
            actor=self._core.actor,
        )
        return cast("decisions.EnsureAttemptDecision", await self._core.submit(command))

    async def request_cancellation(
        self, *, execution_id: str, requested_by: str, reason: str | None = None
    ) -> decisions.CancellationDecision:
        """Ask durably that an execution be stopped. The first request wins."""
        command = commands.RequestCancellation(
            execution_id=check_identifier(execution_id, field="execution_id"),
            requested_by=check_identifier(requested_by, field="requested_by"),
            reason=check_reason(reason, field="reason"),
        )
        return cast("decisions.CancellationDecision", await self._core.submit(command))

    async def record_convergence(self, *, execution_id: str) -> decisions.ConvergenceDecision:
        """Record that the host has taken the conclusion over."""
        command = commands.RecordConvergence(
            execution_id=check_identifier(execution_id, field="execution_id"),
            actor=self._core.actor,
        )
        return cast("decisions.ConvergenceDecision", await self._core.submit(command))

    async def get_settlement(self, *, execution_attempt_id: str) -> SettlementRecord | None:
        """Read how an attempt settled, with its committed result, or None while it has not."""
        check_identifier(execution_attempt_id, field="execution_attempt_id")
        attempt = await self._core.attempt(execution_attempt_id)
        return None if attempt is None else records.settlement_record(attempt)

    async def list_open(
        self,
        *,
        due_before: Instant | None = None,
        providers: Sequence[str] | None = None,
        execution_id: str | None = None,
        after: OpenWork | UnreadableWork | None = None,
        limit: int = 100,
    ) -> Sequence[OpenWork | UnreadableWork]:
        """List open operations and reclamations, oldest first; filters apply before the limit.

        What cannot be read is listed as ``UnreadableWork`` in its place.
        """
        query = OpenWorkQuery(
            due_before_ms=None if due_before is None else instant_ms(due_before, "due_before"),
            providers=None if providers is None else _provider_set(providers),
            execution_id=execution_id
            if execution_id is None
            else check_identifier(execution_id, field="execution_id"),
            after=None if after is None else _open_work_cursor(after),
            limit=page_limit(limit, OPEN_WORK_PAGE_MAX),
        )
        rows: Sequence[tuple[Attempt, Execution]] = await self._core.store.open_work(query)
        return [entry_of(attempt, execution) for attempt, execution in rows]

    async def schedule_look(
        self, *, claim: ProviderOperationClaim, next_look_at: Instant
    ) -> decisions.ProviderOperationMutationDecision:
        """Say when held open work has to be looked at again; parked doubt starves nobody."""
        command = commands.ScheduleLook(
            claim=presented_claim(claim), next_look_ms=instant_ms(next_look_at, "next_look_at")
        )
        return cast("decisions.ProviderOperationMutationDecision", await self._core.submit(command))

    async def read_journal(
        self,
        *,
        execution_id: str | None = None,
        execution_attempt_id: str | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> Sequence[JournalEntry]:
        """List entries with a sequence over ``after``, in order."""
        for value, field in (
            (execution_id, "execution_id"),
            (execution_attempt_id, "execution_attempt_id"),
        ):
            if value is not None:
                check_identifier(value, field=field)
        if type(after) is not int or not 0 <= after < 2**63:
            allowed = "an integer from 0 to 2**63 - 1"
            raise InvalidInputError(field="after", given=describe(after), allowed=allowed)
        return await self._core.store.journal(
            execution_id=execution_id,
            execution_attempt_id=execution_attempt_id,
            after=after,
            limit=page_limit(limit, JOURNAL_PAGE_MAX),
        )


def _provider_set(value: object) -> frozenset[str]:
    if not isinstance(value, list | tuple | set | frozenset):
        allowed = "a list of provider ids"
        raise InvalidInputError(field="providers", given=describe(value), allowed=allowed)
    return frozenset(check_identifier(item, field="providers") for item in value)


def _execution_cursor(after: object) -> tuple[InstantMs, str]:
    if type(after) is not ExecutionRecord or after.submitted_at is None:
        allowed = "the last ExecutionRecord of the page before"
        raise InvalidInputError(field="after", given=describe(after), allowed=allowed)
    return instant_ms(after.submitted_at, "after.submitted_at"), after.execution_id


def _open_work_cursor(after: object) -> tuple[InstantMs, str]:
    if not isinstance(after, OpenWork | UnreadableWork):
        allowed = "the last entry of the page before"
        raise InvalidInputError(field="after", given=describe(after), allowed=allowed)
    return instant_ms(after.opened_at, "after.opened_at"), after.execution_attempt_id
