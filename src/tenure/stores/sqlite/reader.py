"""Reading: pages and records, each call in one snapshot that holds every acknowledged commit."""

import json
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import apsw

from tenure.kernel.state import Attempt, Execution
from tenure.model.instant import InstantMs
from tenure.model.journal import JournalEntry
from tenure.ports.store import Keys, OpenWorkQuery, Rows
from tenure.stores.sqlite.connection import close_quietly, roll_back
from tenure.stores.sqlite.fault import storage_fault
from tenure.stores.sqlite.file import LedgerFile
from tenure.stores.sqlite.loading import load_attempts, load_executions, load_rows
from tenure.stores.sqlite.query import QUERIES
from tenure.stores.sqlite.row import journal_entry_of

T = TypeVar("T")
_INTEGER_MIN: Final = -(2**63)
_INTEGER_MAX: Final = 2**63 - 1


class Reader:
    """One connection that never writes. Used by one thread, which also opens and closes it."""

    def __init__(self, file: LedgerFile) -> None:
        self._file = file
        self._connection: apsw.Connection | None = None

    def read(self, work: Callable[[apsw.Cursor], T]) -> T:
        """Run ``work`` in one snapshot.

        Raises:
            StorageUnavailableError: the file cannot be read now, or is not in its place.
            CorruptRecordError: what is there cannot be understood.
        """
        try:
            if self._connection is None:
                self._connection = _connect_reading(self._file)
            self._connection.execute("BEGIN")
            try:
                self._file.check()
                return work(self._connection.cursor())
            finally:
                roll_back(self._connection)
        except (apsw.Error, UnicodeDecodeError, OSError) as exc:
            fault = storage_fault(exc, name=self._file.location.name, connection=self._connection)
            self.close()
            raise fault from exc

    def close(self) -> None:
        """Release the connection; the next read opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            close_quietly(connection)


def _connect_reading(file: LedgerFile) -> apsw.Connection:
    connection = file.connect()
    connection.pragma("query_only", True)  # noqa: FBT003  (apsw takes it by position)
    return connection


def read_rows(cursor: apsw.Cursor, keys: Keys) -> Rows:
    """Read the rows of ``keys``."""
    return load_rows(cursor, keys)


def read_recoverable(cursor: apsw.Cursor, execution_id: str) -> Sequence[Attempt]:
    """Read the attempts of an execution that a worker may recover into, by creation."""
    return load_attempts(cursor, _ids(cursor, "list_claimable", (execution_id,)))


def read_open_work(
    cursor: apsw.Cursor, query: OpenWorkQuery
) -> Sequence[tuple[Attempt, Execution]]:
    """Read a page of what is owed, oldest first."""
    opened_ms, after_id = query.after or (_INTEGER_MIN, "")
    providers = None if query.providers is None else json.dumps(sorted(query.providers))
    bindings = (
        opened_ms,
        after_id,
        query.due_before_ms,
        providers,
        query.execution_id,
        query.limit,
    )
    attempts = load_attempts(cursor, _ids(cursor, "list_owed", bindings))
    ids = tuple({attempt.execution_id for attempt in attempts})
    executions = {e.execution_id: e for e in load_executions(cursor, ids)}
    return [
        (attempt, executions[attempt.execution_id])
        for attempt in attempts
        if attempt.execution_id in executions
    ]


def read_executions(
    cursor: apsw.Cursor,
    *,
    concluded: bool | None,
    after: tuple[InstantMs, str] | None,
    limit: int,
) -> Sequence[Execution]:
    """Read a page of submitted executions, newest first."""
    queries = {None: "list_executions", False: "list_unconcluded", True: "list_concluded"}
    submitted_ms, after_id = after or (_INTEGER_MAX, "")
    ids = _ids(cursor, queries[concluded], (submitted_ms, after_id, limit))
    return load_executions(cursor, ids)


def read_journal(
    cursor: apsw.Cursor,
    *,
    execution_id: str | None,
    execution_attempt_id: str | None,
    after: int,
    limit: int,
) -> Sequence[JournalEntry]:
    """Read a page of the journal, in order."""
    filters: tuple[str | None, ...] = ()
    if execution_attempt_id is not None:
        name, filters = "list_entries_of_attempt", (execution_attempt_id, execution_id)
    elif execution_id is not None:
        name, filters = "list_entries_of_execution", (execution_id,)
    else:
        name = "list_entries"
    rows = cursor.execute(QUERIES[name], (after, limit, *filters)).fetchall()
    return [journal_entry_of(row) for row in rows]


def _ids(
    cursor: apsw.Cursor, query: str, bindings: tuple[str | int | None, ...]
) -> tuple[str, ...]:
    return tuple(str(row[0]) for row in cursor.execute(QUERIES[query], bindings))
