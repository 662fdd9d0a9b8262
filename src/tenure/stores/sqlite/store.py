"""The store: the port's calls, carried to the thread that owns the connection."""

import os
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import apsw

from tenure.errors import LedgerClosedError
from tenure.kernel.state import Attempt, Execution
from tenure.model.instant import InstantMs
from tenure.model.journal import JournalEntry
from tenure.ports.store import Decide, Keys, OpenWorkQuery, Rows
from tenure.stores.sqlite.examination import examine
from tenure.stores.sqlite.reader import (
    Reader,
    read_executions,
    read_journal,
    read_open_work,
    read_recoverable,
    read_rows,
)
from tenure.stores.sqlite.thread import WorkerThread
from tenure.stores.sqlite.writer import Writer

T = TypeVar("T")


class SqliteStore:
    """One handle on the ledger in a file; made by ``open_sqlite_store``.

    Writes go through one thread and one connection, reads through another. A handle belongs to the
    process that opened it: in a forked child every call raises ``LedgerClosedError``. A handle that
    is dropped without ``aclose`` gives its threads and connections back when it is collected; an
    interpreter that exits waits for nothing.
    """

    def __init__(self, *, writer: Writer, writing: WorkerThread, reader: Reader) -> None:
        self.name = writer.file.location.name
        self.ledger_id = writer.file.ledger_id
        self.clock = writer.clock
        self._process_id = os.getpid()
        self._is_closed = False
        self._writer = writer
        self._reader = reader
        self._writing = writing
        self._reading = WorkerThread("tenure-sqlite-reader")
        self._release = weakref.finalize(self, _release, writer, writing, reader, self._reading)
        self._release.atexit = False

    async def apply(self, keys: Keys, decide: Decide) -> None:
        """Load the rows of ``keys``, decide, save what changed, and commit durably.

        ``decide`` runs on the writer's thread. When it changes nothing, nothing is written.

        Raises:
            StorageUnavailableError: nothing was written: locked too long, disk full, I/O error,
                the file was removed or replaced.
            CommitUnknownError: neither the commit nor its absence could be proven.
            CorruptRecordError: a row cannot be understood; nothing was written.
            LedgerClosedError: closed, or another process's handle.
        """
        self._check_open()
        await self._writing.run(partial(self._writer.apply, keys, decide))

    async def load(self, keys: Keys) -> Rows:
        """Read the rows of ``keys`` in one snapshot that holds every acknowledged commit."""
        return await self._read(partial(read_rows, keys=keys))

    async def recoverable(self, execution_id: str) -> Sequence[Attempt]:
        """List attempts that are allocated and claimable, by creation, then by id."""
        return await self._read(partial(read_recoverable, execution_id=execution_id))

    async def open_work(self, query: OpenWorkQuery) -> Sequence[tuple[Attempt, Execution]]:
        """List attempts with open work; walks through open work only, never through history."""
        return await self._read(partial(read_open_work, query=query))

    async def executions(
        self, *, concluded: bool | None, after: tuple[InstantMs, str] | None, limit: int
    ) -> Sequence[Execution]:
        """List submitted executions, newest first, then by id."""
        return await self._read(
            partial(read_executions, concluded=concluded, after=after, limit=limit)
        )

    async def journal(
        self,
        *,
        execution_id: str | None,
        execution_attempt_id: str | None,
        after: int,
        limit: int,
    ) -> Sequence[JournalEntry]:
        """List journal entries with a sequence over ``after``, in order."""
        return await self._read(
            partial(
                read_journal,
                execution_id=execution_id,
                execution_attempt_id=execution_attempt_id,
                after=after,
                limit=limit,
            )
        )

    async def check(self) -> Sequence[str]:
        """Examine the whole file, on a connection of its own; reads and writes go on meanwhile."""
        self._check_open()
        examining = WorkerThread("tenure-sqlite-check")
        reader = Reader(self._writer.file)
        try:
            return await examining.run(partial(reader.read, examine))
        finally:
            examining.stop(reader.close)

    async def aclose(self) -> None:
        """Finish what was handed in and release threads and connections. Idempotent."""
        self._is_closed = True
        if os.getpid() != self._process_id:
            return
        self._release()
        await self._reading.join()
        await self._writing.join()

    async def _read(self, work: Callable[[apsw.Cursor], T]) -> T:
        self._check_open()
        return await self._reading.run(partial(self._reader.read, work))

    def _check_open(self) -> None:
        if self._is_closed or os.getpid() != self._process_id:
            raise LedgerClosedError(self.name)


def _release(writer: Writer, writing: WorkerThread, reader: Reader, reading: WorkerThread) -> None:
    reading.stop(reader.close)
    writing.stop(writer.close)
