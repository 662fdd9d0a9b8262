"""Opening: from a path to a ledger, or to a refusal that says why and leaves the disk as it was."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import apsw
import msgspec

from tenure.errors import LedgerOpenError, StorageUnavailableError
from tenure.ports.clock import StoreClock
from tenure.stores.sqlite.clock import anchor, wall_ms
from tenure.stores.sqlite.connection import (
    BUSY_TIMEOUT_SECONDS,
    Location,
    check_driver,
    close_quietly,
    connect,
)
from tenure.stores.sqlite.fault import opening_fault
from tenure.stores.sqlite.file import LedgerFile
from tenure.stores.sqlite.header import Header, read_header
from tenure.stores.sqlite.path import Made, check_access, resolve
from tenure.stores.sqlite.reader import Reader
from tenure.stores.sqlite.schema import (
    check_schema,
    load_ledger_id,
    prepare_schema,
    use_write_ahead_log,
)
from tenure.stores.sqlite.store import SqliteStore
from tenure.stores.sqlite.thread import WorkerThread
from tenure.stores.sqlite.writer import Writer

_OPEN_TRIES_MAX: Final = 5


class _Request(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    name: str
    create: bool
    upgrade: bool
    clock: StoreClock | None
    busy_timeout_seconds: float


async def open_sqlite_store(
    path: str,
    *,
    name: str,
    create: bool = True,
    upgrade: bool = False,
    clock: StoreClock | None = None,
    busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS,
) -> SqliteStore:
    """Open the ledger in a file, and create it when it is missing.

    Processes may open and create one file at the same moment; they get one ledger. A ledger that
    was left by a crash is recovered. Not to be called in a child that was forked while a store was
    open: start such a child afresh.

    Args:
        path: the file; ``-wal`` and ``-shm`` appear beside it while it is open. Local file systems
            only.
        name: the ledger's URL without secrets, for messages.
        create: make file (mode 0600) and folders (0700) when they are missing.
        upgrade: migrate an older schema; make a backup first.
        clock: replaces the ledger's own clock, for tests.
        busy_timeout_seconds: how long to wait for another process's lock, here and later.

    Raises:
        LedgerOpenError: refused, for one of the reasons that it lists; nothing was changed.
    """
    request = _Request(
        path=path,
        name=name,
        create=create,
        upgrade=upgrade,
        clock=clock,
        busy_timeout_seconds=busy_timeout_seconds,
    )
    writing = WorkerThread("tenure-sqlite-writer")
    opened: list[Writer] = []
    try:
        await writing.run(lambda: opened.append(_open_writer(request)))
    except BaseException:
        writing.stop(lambda: _close_all(opened))  # a cancelled caller leaves nothing open
        raise
    (writer,) = opened
    return SqliteStore(writer=writer, writing=writing, reader=Reader(writer.file))


def _close_all(writers: Sequence[Writer]) -> None:
    for writer in writers:
        writer.close()


def _open_writer(request: _Request) -> Writer:
    check_driver(request.name)
    with _opening_faults(request.name):
        path = resolve(request.path, request.name)
        location = Location(
            path=str(path), name=request.name, busy_timeout_seconds=request.busy_timeout_seconds
        )
        for _ in range(_OPEN_TRIES_MAX):
            writer = _make_and_open(path, location, request)
            with suppress(StorageUnavailableError):
                writer.file.check()
                return writer
            writer.close()  # who made the file took it back while we waited for the lock
    seen = f"{str(path)!r} is removed or replaced all the time"
    advice = "find out which process does so"
    raise LedgerOpenError(ledger=request.name, reason="inaccessible", seen=seen, advice=advice)


def _make_and_open(path: Path, location: Location, request: _Request) -> Writer:
    made = Made()
    if not os.path.lexists(path):
        if not request.create:
            raise _missing(request.name, f"there is no file {str(path)!r}")
        made.make(path)
    try:
        return _open_file(location, _examine(path, request), request)
    except BaseException:
        made.take_back(path)
        raise


def _examine(path: Path, request: _Request) -> Header:
    check_access(path, request.name)
    header = read_header(
        str(path),
        name=request.name,
        upgrade=request.upgrade,
        busy_timeout_seconds=request.busy_timeout_seconds,
    )
    if header.is_fresh and not request.create:
        raise _missing(request.name, f"{str(path)!r} is empty")
    return header


def _open_file(location: Location, header: Header, request: _Request) -> Writer:
    found = Path(location.path).stat()  # before: what replaces it later is not taken for it
    connection = connect(location)
    try:
        with _opening_faults(location.name, connection):
            clock = request.clock
            prepare_schema(
                connection,
                name=location.name,
                upgrade=request.upgrade,
                is_fresh=header.is_fresh or (header.is_in_doubt and request.create),
                created_ms=wall_ms() if clock is None else clock.now_ms(),
            )
            check_schema(connection, location.name)
            use_write_ahead_log(connection)
            ledger_id = load_ledger_id(connection, location.name)
            clock = anchor(connection) if clock is None else clock
            file = LedgerFile(
                location=location, ledger_id=ledger_id, device=found.st_dev, inode=found.st_ino
            )
            return Writer(connection, file, clock=clock)
    except BaseException:
        close_quietly(connection, checkpoint=not header.has_wal)
        raise


def _missing(name: str, seen: str) -> LedgerOpenError:
    advice = "check the path, or create the ledger there first"
    return LedgerOpenError(ledger=name, reason="missing", seen=seen, advice=advice)


@contextmanager
def _opening_faults(name: str, connection: apsw.Connection | None = None) -> Iterator[None]:
    try:
        yield
    except (apsw.Error, OSError, ValueError) as exc:
        raise opening_fault(exc, name=name, connection=connection) from exc
