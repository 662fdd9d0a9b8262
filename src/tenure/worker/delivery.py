"""Bring an outcome to the ledger, however long the ledger is away.

The outcome is on disk before the first try, so that nothing here can lose it: who gives up leaves
the spool to whoever looks next. At the ledger's URL another ledger may be found, or an older copy
that never heard of the attempt: what that answers is no answer.
"""

import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final, Protocol, TypeAlias

import anyio
import msgspec

from tenure.errors import CallerError
from tenure.machine.durable import remove_durably
from tenure.model.attempt import ExecutionAttemptRecord
from tenure.model.decision import Conflict, ExecutionAttemptOutcomeDecision, Fenced
from tenure.model.execution import CancellationRecord, ExecutionRecord
from tenure.model.mark import is_mark_of
from tenure.model.result import WorkflowRunResult
from tenure.wire.spool import SpoolContent
from tenure.worker.log import log

CALL_SECONDS_MAX: Final = 60.0
"""One try, opening the ledger included."""
ASK_SECONDS_MAX: Final = 10.0
"""Asking whether a cancellation was requested, tries included."""
GIVE_UP_SECONDS: Final = 24 * 3600.0
BACKOFF_SECONDS_FIRST: Final = 0.1
BACKOFF_SECONDS_MAX: Final = 30.0
STOP_POLL_SECONDS: Final = 0.1
LEAVE_SECONDS: Final = 2.0
"""How long a try may go on after a SIGTERM."""


class AttemptReader(Protocol):
    """What a worker needs of the ledger's recovery."""

    async def get_attempt_with_allocation(
        self, *, execution_attempt_id: str
    ) -> ExecutionAttemptRecord | None:
        """Read an attempt whatever its state, or None when there is none."""
        ...


class WorkerLedger(Protocol):
    """What a worker needs of the ledger."""

    @property
    def ledger_id(self) -> str:
        """The ledger's own id."""
        ...

    @property
    def recovery(self) -> AttemptReader:
        """Where attempts are read."""
        ...

    async def get_execution(self, *, execution_id: str) -> ExecutionRecord | None:
        """Read an execution, or None when there is none."""
        ...

    async def commit_outcome(
        self, *, execution_attempt_id: str, execution_id: str, result: WorkflowRunResult
    ) -> ExecutionAttemptOutcomeDecision:
        """Commit the worker's result. The first one wins."""
        ...


OpenLedger: TypeAlias = Callable[[str], AbstractAsyncContextManager[WorkerLedger]]
"""Opens the ledger of a URL; called anew for each try."""


class Addressee(msgspec.Struct, frozen=True, kw_only=True):
    """The one attempt of the one ledger that a worker speaks for."""

    execution_id: str
    execution_attempt_id: str
    mark: str
    ledger_url: str


class AnotherLedgerError(Exception):
    """What is at the URL is not, or not yet again, the ledger of the attempt."""


async def deliver(
    content: SpoolContent,
    *,
    spool: Path,
    addressee: Addressee,
    open_ledger: OpenLedger,
    is_stopped: Callable[[], bool],
) -> bool:
    """Commit an outcome, tried again until the ledger answers; then remove the spool.

    Accepted, duplicate, conflict and fenced are all answers of the attempt's own ledger: the
    worker's part is over.

    Returns:
        Whether the ledger answered. If not, the spool is still there: a day went by, a SIGTERM
        came, or the ledger refuses the call itself, which no repetition mends.
    """
    give_up_at = time.monotonic() + GIVE_UP_SECONDS
    backoff = BACKOFF_SECONDS_FIRST
    while time.monotonic() < give_up_at:
        try:
            decision = await _commit(content, addressee, open_ledger, is_stopped)
        except CallerError as exc:
            log(f"outcome refused, it stays in the spool: {exc}")
            return False
        except Exception as exc:  # noqa: BLE001  (whatever it was, the outcome must get through)
            log(f"outcome not delivered yet: {type(exc).__name__}: {exc}")
        else:
            if decision is not None:
                log(f"outcome {content.result.status}: the ledger answered {decision.kind}")
                remove_durably(spool)
                return True
        if await _waited_in_vain(backoff, is_stopped):
            break
        backoff = min(2 * backoff, BACKOFF_SECONDS_MAX)
    log("outcome not delivered, it stays in the spool")
    return False


async def ask_cancellation(
    addressee: Addressee, *, open_ledger: OpenLedger
) -> CancellationRecord | None:
    """Ask whether somebody durably wants this execution stopped; None also when nobody answers."""
    backoff = BACKOFF_SECONDS_FIRST
    with anyio.move_on_after(ASK_SECONDS_MAX):
        while True:
            try:
                async with open_ledger(addressee.ledger_url) as ledger:
                    await _check(ledger, addressee)
                    execution = await ledger.get_execution(execution_id=addressee.execution_id)
            except CallerError as exc:
                log(f"cannot ask about a cancellation: {exc}")
                return None
            except Exception as exc:  # noqa: BLE001  (asked again while there is time)
                log(f"cannot ask about a cancellation yet: {type(exc).__name__}: {exc}")
                await anyio.sleep(backoff)
                backoff = min(2 * backoff, BACKOFF_SECONDS_MAX)
            else:
                return None if execution is None else execution.cancellation
    log(f"nobody said within {ASK_SECONDS_MAX:g} s whether a cancellation was requested")
    return None


async def _commit(
    content: SpoolContent,
    addressee: Addressee,
    open_ledger: OpenLedger,
    is_stopped: Callable[[], bool],
) -> ExecutionAttemptOutcomeDecision | None:
    decision: ExecutionAttemptOutcomeDecision | None = None
    failure: Exception | None = None
    with anyio.move_on_after(CALL_SECONDS_MAX) as call:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cut_short, call, is_stopped)
            try:
                async with open_ledger(addressee.ledger_url) as ledger:
                    decision = await _commit_to(ledger, content, addressee)
            except Exception as exc:  # noqa: BLE001  (raised below, out of the task group)
                failure = exc
            tasks.cancel_scope.cancel()
    if decision is None and failure is not None:
        raise failure
    return decision


async def _commit_to(
    ledger: WorkerLedger, content: SpoolContent, addressee: Addressee
) -> ExecutionAttemptOutcomeDecision:
    _check_id(ledger, addressee)
    decision = await ledger.commit_outcome(
        execution_attempt_id=content.execution_attempt_id,
        execution_id=content.execution_id,
        result=content.result,
    )
    if isinstance(decision, Fenced | Conflict):
        await _check(ledger, addressee)
    return decision


async def _check(ledger: WorkerLedger, addressee: Addressee) -> None:
    """Raise unless it is the ledger of the attempt, and knows the attempt."""
    _check_id(ledger, addressee)
    attempt = await ledger.recovery.get_attempt_with_allocation(
        execution_attempt_id=addressee.execution_attempt_id
    )
    if attempt is None or attempt.execution_id != addressee.execution_id:
        message = "the ledger at the URL is not yet again the one of this attempt, which it lacks"
        raise AnotherLedgerError(message)


def _check_id(ledger: WorkerLedger, addressee: Addressee) -> None:
    if not is_mark_of(ledger.ledger_id, addressee.mark):
        message = "the ledger at the URL is not the one of this attempt: it has another id"
        raise AnotherLedgerError(message)


async def _cut_short(call: anyio.CancelScope, is_stopped: Callable[[], bool]) -> None:
    await _stopped(is_stopped)
    call.deadline = min(call.deadline, anyio.current_time() + LEAVE_SECONDS)


async def _waited_in_vain(seconds: float, is_stopped: Callable[[], bool]) -> bool:
    with anyio.move_on_after(seconds):
        await _stopped(is_stopped)
    return is_stopped()


async def _stopped(is_stopped: Callable[[], bool]) -> None:
    while not is_stopped():  # noqa: ASYNC110  (a handler of a signal cannot set an event)
        await anyio.sleep(STOP_POLL_SECONDS)
