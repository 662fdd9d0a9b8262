"""The reference store: dictionaries. Nothing survives the process.

One transaction at a time by construction: ``apply`` never awaits, and one event loop runs one
callback at a time. Rows are immutable, so handing them out needs no copies.
"""

import secrets
import time
from collections.abc import Sequence
from itertools import islice

import msgspec
from msgspec.structs import replace

from tenure.errors import LedgerClosedError
from tenure.kernel.record import optional_evidence
from tenure.kernel.state import Attempt, Entry, Execution
from tenure.model.instant import InstantMs, to_datetime
from tenure.model.journal import JournalEntry
from tenure.model.json_value import decode_json
from tenure.ports.clock import StoreClock
from tenure.ports.store import Changes, Decide, Keys, OpenWorkQuery, Rows


class _Noted(msgspec.Struct, frozen=True, kw_only=True):
    sequence: int
    entry: Entry
    at_ms: InstantMs
    last_ms: InstantMs
    count: int = 1


class MonotonicClock:
    """Starts at the host's wall clock once, then follows its monotonic one."""

    def __init__(self) -> None:
        self._anchor_ns = time.time_ns() - time.monotonic_ns()  # noqa: TID251 - read once

    def now_ms(self) -> InstantMs:
        """Read the time in milliseconds."""
        return InstantMs((self._anchor_ns + time.monotonic_ns()) // 1_000_000)


class MemoryStore:
    """A store in dictionaries; implements ``ports.store.Store``."""

    def __init__(self, *, name: str = "memory:", clock: StoreClock | None = None) -> None:
        self.name = name
        self.ledger_id = secrets.token_hex(16)
        self.clock: StoreClock = clock or MonotonicClock()
        self._attempts: dict[str, Attempt] = {}
        self._executions: dict[str, Execution] = {}
        self._journal: list[_Noted] = []
        self._folded: dict[str, int] = {}
        self._closed = False

    async def apply(self, keys: Keys, decide: Decide) -> None:
        """Load, decide, save."""
        self._check_open()
        now = self.clock.now_ms()
        changes = decide(self._rows(keys), now)
        self._save(changes, now)

    async def load(self, keys: Keys) -> Rows:
        """Read the rows of ``keys``."""
        self._check_open()
        return self._rows(keys)

    async def recoverable(self, execution_id: str) -> Sequence[Attempt]:
        """List claimable attempts of an execution, oldest first, then by id."""
        self._check_open()
        found = [
            row
            for row in self._attempts.values()
            if row.execution_id == execution_id
            and row.status == "allocated"
            and row.claimable
            and row.allocation_ref is not None
        ]
        return sorted(found, key=lambda row: (row.created_ms, row.execution_attempt_id))

    async def open_work(self, query: OpenWorkQuery) -> Sequence[tuple[Attempt, Execution]]:
        """List attempts with open work, oldest first."""
        self._check_open()
        found = []
        for row in self._attempts.values():
            part = row.reclamation if row.status == "settled" else row.operation
            if part is None or (row.reclamation is not None and row.reclamation.closure):
                continue
            place = (part.opened_ms, row.execution_attempt_id)
            if (
                (query.due_before_ms is None or part.next_look_ms < query.due_before_ms)
                and (query.providers is None or row.provider_id in query.providers)
                and (query.execution_id is None or row.execution_id == query.execution_id)
                and (query.after is None or place > query.after)
            ):
                found.append((place, row))
        found.sort(key=lambda item: item[0])
        return [(row, self._executions[row.execution_id]) for _, row in found[: query.limit]]

    async def executions(
        self, *, concluded: bool | None, after: tuple[InstantMs, str] | None, limit: int
    ) -> Sequence[Execution]:
        """List submitted executions, newest first, then by id."""
        self._check_open()
        found = [
            ((-row.submitted_ms, row.execution_id), row)
            for row in self._executions.values()
            if row.submitted_ms is not None
            and (concluded is None or concluded == (row.conclusion is not None))
        ]
        found.sort(key=lambda item: item[0])
        place = None if after is None else (-after[0], after[1])
        later = [row for key, row in found if place is None or key > place]
        return later[:limit]

    async def journal(
        self,
        *,
        execution_id: str | None,
        execution_attempt_id: str | None,
        after: int,
        limit: int,
    ) -> Sequence[JournalEntry]:
        """List journal entries in order."""
        self._check_open()
        found = (
            noted
            for noted in self._journal[after:]
            if execution_id in (None, noted.entry.execution_id)
            and execution_attempt_id in (None, noted.entry.execution_attempt_id)
        )
        return [_journal_entry(noted) for noted in islice(found, limit)]

    async def check(self) -> Sequence[str]:
        """Find nothing wrong: there is no storage to be damaged."""
        self._check_open()
        return ()

    async def aclose(self) -> None:
        """Forget everything. Idempotent."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise LedgerClosedError(self.name)

    def _rows(self, keys: Keys) -> Rows:
        attempts = {i: self._attempts[i] for i in keys.attempts if i in self._attempts}
        wanted = keys.executions | {row.execution_id for row in attempts.values()}
        executions = {i: self._executions[i] for i in wanted if i in self._executions}
        for execution in executions.values():
            if execution.active_attempt_id is not None:
                active = self._attempts[execution.active_attempt_id]
                attempts[active.execution_attempt_id] = active
        return Rows(attempts=attempts, executions=executions)

    def _save(self, changes: Changes, now: InstantMs) -> None:
        for attempt in changes.attempts:
            self._attempts[attempt.execution_attempt_id] = attempt
        for execution in changes.executions:
            self._executions[execution.execution_id] = execution
        for entry in changes.entries:
            self._append(entry, now)

    def _append(self, entry: Entry, now: InstantMs) -> None:
        place = None if entry.fold_key is None else self._folded.get(entry.fold_key)
        if place is not None:
            first = self._journal[place]
            self._journal[place] = replace(first, count=first.count + 1, last_ms=now)
            return
        if entry.fold_key is not None:
            self._folded[entry.fold_key] = len(self._journal)
        sequence = len(self._journal) + 1
        self._journal.append(_Noted(sequence=sequence, entry=entry, at_ms=now, last_ms=now))


def _journal_entry(noted: _Noted) -> JournalEntry:
    entry = noted.entry
    members = {} if entry.detail is None else decode_json(entry.detail)
    assert isinstance(members, dict)
    return JournalEntry(
        sequence=noted.sequence,
        at=to_datetime(noted.at_ms),
        event=entry.event,
        execution_id=entry.execution_id,
        execution_attempt_id=entry.execution_attempt_id,
        actor=entry.actor,
        generation=entry.generation,
        evidence=optional_evidence(entry.evidence, "journal"),
        detail=members,
        count=noted.count,
        last_at=to_datetime(noted.last_ms),
    )
