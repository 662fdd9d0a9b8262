"""Writing: one serializable transaction for each batch, and the truth about a lost commit.

A batch leaves its own id in the ledger's row. When a COMMIT fails in a way that says nothing, that
id is looked up on a fresh connection, under the write lock. Not finding it proves nothing yet:
frames that were written but never synced would come back in a recovery. So a new id is committed
over them; only then is it sure that the batch did not happen. Finding it proves as little when the
sync had failed: so everything is copied into the file, and that is synced, before it counts.
"""

import uuid
from typing import Final

import apsw
import msgspec

from tenure.errors import CorruptRecordError, LedgerOpenError, StorageUnavailableError
from tenure.model.instant import InstantMs
from tenure.ports.clock import StoreClock
from tenure.ports.store import Decide, Keys
from tenure.stores.sqlite.connection import close_quietly, roll_back
from tenure.stores.sqlite.fault import commit_fault, is_full, storage_fault
from tenure.stores.sqlite.file import LedgerFile
from tenure.stores.sqlite.loading import load_rows
from tenure.stores.sqlite.query import QUERIES
from tenure.stores.sqlite.row import Row
from tenure.stores.sqlite.saving import save_changes
from tenure.stores.sqlite.schema import load_ledger_id

_LOAD_PROGRESS: Final = QUERIES["load_progress"]
_SAVE_PROGRESS: Final = QUERIES["save_progress"]
_HARMLESS: Final = (apsw.BusyError, apsw.LockedError, apsw.FullError, apsw.ConstraintError)
"""After these the connection is as good as before."""


class Progress(msgspec.Struct, frozen=True):
    """How far the ledger has come; stored by every batch that writes."""

    last_ms: InstantMs
    last_sequence: int
    last_batch: str


class Writer:
    """One connection that writes. Used by one thread."""

    def __init__(self, connection: apsw.Connection, file: LedgerFile, *, clock: StoreClock) -> None:
        self.file = file
        self.clock = clock
        self._connection: apsw.Connection | None = connection
        self._writer_id = uuid.uuid4().hex
        self._batches = 0

    def apply(self, keys: Keys, decide: Decide) -> None:
        """Load, decide, save and commit; see ``Store.apply``."""
        connection = self._connected()
        try:
            connection.execute("BEGIN IMMEDIATE")
            self.file.check()
            cursor = connection.cursor()
            before = _load_progress(cursor)
            after = self._decide_and_save(cursor, keys, decide, before)
            if after is None:
                roll_back(connection)
                return
        except (apsw.Error, UnicodeDecodeError) as exc:
            raise self._rolled_back(exc) from exc
        except BaseException:
            self._roll_back()
            raise
        try:
            connection.execute("COMMIT")
        except apsw.Error as exc:
            self._settle_doubt(exc, before, after)

    def close(self) -> None:
        """Release the connection; the next batch opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            close_quietly(connection)

    def _decide_and_save(
        self, cursor: apsw.Cursor, keys: Keys, decide: Decide, before: Progress
    ) -> Progress | None:
        rows = load_rows(cursor, keys)
        now = max(self.clock.now_ms(), before.last_ms)
        changes = decide(rows, now)
        if not (changes.attempts or changes.executions or changes.entries):
            return None
        last = save_changes(cursor, rows, changes, now=now, last_sequence=before.last_sequence)
        after = Progress(now, last, self._next_batch())
        cursor.execute(_SAVE_PROGRESS, (after.last_ms, after.last_sequence, after.last_batch))
        return after

    def _next_batch(self) -> str:
        self._batches += 1
        return f"{self._writer_id}-{self._batches}"

    def _connected(self) -> apsw.Connection:
        if self._connection is None:
            self._connection = self._reconnected()
        return self._connection

    def _reconnected(self) -> apsw.Connection:
        name = self.file.location.name
        try:
            connection = self.file.connect()
        except (apsw.Error, OSError) as exc:
            raise storage_fault(exc, name=name) from exc
        try:
            found = load_ledger_id(connection, name)
        except apsw.Error as exc:
            close_quietly(connection)
            raise storage_fault(exc, name=name, connection=connection) from exc
        if found != self.file.ledger_id:
            close_quietly(connection)
            seen = f"the file was replaced by ledger {found}"
            advice = "open the ledger again"
            raise StorageUnavailableError(ledger=name, seen=seen, advice=advice)
        return connection

    def _rolled_back(self, exc: Exception) -> StorageUnavailableError | CorruptRecordError:
        fault = storage_fault(exc, name=self.file.location.name, connection=self._connection)
        self._roll_back()
        if not isinstance(exc, _HARMLESS):
            self.close()
        return fault

    def _roll_back(self) -> None:
        try:
            if self._connection is not None:
                roll_back(self._connection)
        except apsw.Error:
            self.close()

    def _settle_doubt(self, exc: apsw.Error, before: Progress, after: Progress) -> None:
        """Return when the batch was committed after all, raise otherwise."""
        if isinstance(exc, _HARMLESS) or is_full(exc, self._connection):
            raise self._rolled_back(exc) from exc
        name = self.file.location.name
        fault = storage_fault(exc, name=name, connection=self._connection)
        self._roll_back()
        self.close()
        try:
            happened = self._look_up(before, after)
        except (apsw.Error, StorageUnavailableError, LedgerOpenError):
            happened = None
        if happened:
            return
        if happened is None:
            self.close()
            raise commit_fault(exc, name=name) from exc
        raise fault from exc

    def _look_up(self, before: Progress, after: Progress) -> bool | None:
        """Tell whether a batch was committed durably; None when that cannot be known."""
        connection = self._connected()
        connection.execute("BEGIN IMMEDIATE")
        found = _load_progress(connection.cursor())
        if found == before:
            marked = (found.last_ms, found.last_sequence, self._next_batch())
            connection.execute(_SAVE_PROGRESS, marked)
            connection.execute("COMMIT")
            return False
        roll_back(connection)
        return True if found == after and _is_checkpointed(connection) else None


def _is_checkpointed(connection: apsw.Connection) -> bool:
    """Copy all commits from the log into the file and sync it; tell whether that went through.

    What a failed sync left in the log may be gone after a power loss, although it can be read now.
    """
    _is_busy, in_log, copied = connection.execute("PRAGMA wal_checkpoint(FULL)").fetchall()[0]
    return in_log == copied


def _load_progress(cursor: apsw.Cursor) -> Progress:
    row: Row = cursor.execute(_LOAD_PROGRESS).fetchall()[0]
    return Progress(*row)
