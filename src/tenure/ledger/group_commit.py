"""Group commit: one writer, one transaction for all that wait.

While a batch commits, callers' commands queue; the next batch takes all of them, up to a cap. There
is no timer: an idle ledger answers at once, a busy one fills its batches by itself. Each command is
stepped, in the order of arrival, on an overlay of the loaded rows, so that several commands on one
attempt fold into one write. Nobody is answered before the commit has returned.

One bad command harms no neighbour: validation precedes queueing, an error that a step raises goes
to its own caller, and a batch that one row makes impossible is run again one by one.

Cancelling a caller does not take its command back: it commits or not with its batch. The drain runs
in a task of its own, which ends with the queue and which closing waits for.

The natural batch is the classic group commit of databases (DeWitt et al., 1984).
"""

import asyncio
import copy
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Final

import msgspec

from tenure.errors import (
    CommitUnknownError,
    InvalidInputError,
    LedgerClosedError,
    OverloadedError,
    StorageUnavailableError,
    TenureError,
)
from tenure.kernel.machine import Answer, AnyCommand, step
from tenure.kernel.state import Attempt, Entry, Execution, State, Verdict
from tenure.model.command import BeginProvisioning, TakeOverOperation, TakeOverReclamation
from tenure.model.instant import InstantMs
from tenure.model.text import is_unicode
from tenure.ports.store import Changes, Keys, Rows, Store

BATCH_MAX: Final = 512
"""Most commands of one transaction."""
QUEUE_DEPTH_MAX: Final = 20_000
"""Most commands that may wait."""
_TOKEN_BYTES: Final = 18
_CLAIMING: Final = (BeginProvisioning, TakeOverOperation, TakeOverReclamation)
"""Commands that make a claim, and so need a token that was never used."""

NoteRefusal = Callable[[State, AnyCommand, Answer], Sequence[Entry]]
"""Called for each verdict; adds journal entries about refusals."""


class _Waiting(msgspec.Struct, eq=False):
    command: AnyCommand
    token: str
    future: "asyncio.Future[Answer]"


class _Batch:
    """One transaction's commands, and the answers of its last run."""

    def __init__(self, waiting: Sequence[_Waiting], note_refusal: NoteRefusal) -> None:
        self.waiting = waiting
        self.answers: list[Answer | TenureError] = []
        self._note_refusal = note_refusal

    @property
    def keys(self) -> Keys:
        attempts = set()
        executions = set()
        for item in self.waiting:
            attempt_id = getattr(item.command, "execution_attempt_id", None)
            execution_id = getattr(item.command, "execution_id", None)
            if attempt_id is not None and is_unicode(attempt_id):
                attempts.add(attempt_id)
            if execution_id is not None:
                executions.add(execution_id)
        return Keys(attempts=frozenset(attempts), executions=frozenset(executions))

    def decide(self, rows: Rows, now: InstantMs) -> Changes:
        """Step every command; pure but for the answers, which only the last run leaves."""
        overlay = _Overlay(rows)
        self.answers = []
        for item in self.waiting:
            state = overlay.state_of(item.command)
            try:
                verdict = step(state, item.command, now, item.token)
            except TenureError as error:
                self.answers.append(error)
                continue
            overlay.apply(verdict, self._note_refusal(state, item.command, verdict.decision))
            self.answers.append(verdict.decision)
        return overlay.changes()


class _Overlay:
    """The loaded rows with the batch's own writes on top."""

    def __init__(self, rows: Rows) -> None:
        self._attempts = dict(rows.attempts)
        self._executions = dict(rows.executions)
        self._changed_attempts: dict[str, Attempt] = {}
        self._changed_executions: dict[str, Execution] = {}
        self._entries: list[Entry] = []

    def state_of(self, command: AnyCommand) -> State:
        attempt = self._attempts.get(getattr(command, "execution_attempt_id", ""))
        if attempt is not None:
            execution_id = attempt.execution_id
        else:
            execution_id = getattr(command, "execution_id", "")
        execution = self._executions.get(execution_id)
        active = None
        if execution is not None and execution.active_attempt_id is not None:
            active = self._attempts.get(execution.active_attempt_id)
        return State(attempt=attempt, execution=execution, active=active)

    def apply(self, verdict: Verdict[Answer], more: Sequence[Entry]) -> None:
        for attempt in (verdict.attempt, verdict.superseded):
            if attempt is not None:
                self._attempts[attempt.execution_attempt_id] = attempt
                self._changed_attempts[attempt.execution_attempt_id] = attempt
        if verdict.execution is not None:
            self._executions[verdict.execution.execution_id] = verdict.execution
            self._changed_executions[verdict.execution.execution_id] = verdict.execution
        self._entries.extend(verdict.entries)
        self._entries.extend(more)

    def changes(self) -> Changes:
        return Changes(
            attempts=list(self._changed_attempts.values()),
            executions=list(self._changed_executions.values()),
            entries=self._entries,
        )


class GroupCommit:
    """The one writer of a ledger handle. Serves one event loop at a time, and refuses another."""

    def __init__(self, store: Store, note_refusal: NoteRefusal) -> None:
        self._store = store
        self._note_refusal = note_refusal
        self._queue: deque[_Waiting] = deque()
        self._drain_task: asyncio.Task[None] | None = None
        self._lock = Lock()  # two loops that begin at once, each in a thread of its own
        self._closed = False

    async def submit(self, command: AnyCommand) -> Answer:
        """Commit a command with whatever else waits, and return its decision.

        Cancelling the call does not take the command back.

        Raises:
            TenureError: what the step or the store raised.
            InvalidInputError: calls of another event loop wait.
            OverloadedError: too many commands wait.
            LedgerClosedError: the ledger was closed.
        """
        if self._closed:
            raise LedgerClosedError(self._store.name)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        token = secrets.token_urlsafe(_TOKEN_BYTES) if isinstance(command, _CLAIMING) else ""
        with self._lock:
            is_draining = self._is_draining(loop)
            if len(self._queue) >= QUEUE_DEPTH_MAX:
                raise OverloadedError(ledger=self._store.name, queue_depth_max=QUEUE_DEPTH_MAX)
            self._queue.append(_Waiting(command=command, token=token, future=future))
            if not is_draining:
                # A task of its own, not of a caller's group: a cancelled caller must not stop
                # the commits of the others. ``aclose`` waits for it.
                self._drain_task = loop.create_task(self._drain(self._queue))
        return await future

    async def aclose(self) -> None:
        """Refuse new commands and finish those that wait. Idempotent.

        Raises:
            InvalidInputError: calls of another event loop wait.
        """
        with self._lock:
            is_draining = self._is_draining(asyncio.get_running_loop())
            self._closed = True
        if is_draining and self._drain_task is not None:
            await asyncio.wait([self._drain_task])

    def _is_draining(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Tell whether a task of this loop works off the queue; refuse if one of another does."""
        if self._drain_task is None or self._drain_task.done():
            return False
        owner = self._drain_task.get_loop()
        if owner is loop:
            return True
        if owner.is_closed():  # it ended without ending its tasks: nobody waits any more
            self._queue = deque()
            return False
        raise InvalidInputError(
            field="event loop",
            given="one loop while calls of another wait",
            allowed="one at a time for each ledger handle; open the ledger again in the other one",
        )

    async def _drain(self, queue: deque[_Waiting]) -> None:
        try:
            while queue:
                size = min(BATCH_MAX, len(queue))
                await self._commit([queue.popleft() for _ in range(size)])
        finally:
            # Only a dying event loop cancels this task; nobody may be left waiting for ever.
            _refuse_all(queue, LedgerClosedError(self._store.name))
            queue.clear()

    async def _commit(self, waiting: Sequence[_Waiting]) -> None:
        batch = _Batch(waiting, self._note_refusal)
        try:
            await self._store.apply(batch.keys, batch.decide)
        except (StorageUnavailableError, CommitUnknownError, LedgerClosedError) as error:
            _refuse_all(waiting, error)
            return
        except asyncio.CancelledError:
            _refuse_all(waiting, LedgerClosedError(self._store.name))
            raise
        except Exception as error:  # noqa: BLE001 - one command's fault, of whatever kind
            if len(waiting) == 1:
                _refuse(waiting[0], error)
                return
            for item in waiting:
                await self._commit([item])
            return
        for item, answer in zip(waiting, batch.answers, strict=True):
            _answer(item, answer)


def _answer(item: _Waiting, answer: Answer | TenureError) -> None:
    if isinstance(answer, TenureError):
        _refuse(item, answer)
    elif not item.future.done():
        item.future.set_result(answer)


def _refuse_all(waiting: Iterable[_Waiting], error: TenureError) -> None:
    """Give each caller an error of its own: whoever raises one adds his traceback to it."""
    for item in waiting:
        own = copy.copy(error)
        own.__cause__ = error
        _refuse(item, own)


def _refuse(item: _Waiting, error: Exception) -> None:
    if not item.future.done():
        item.future.set_exception(error)
