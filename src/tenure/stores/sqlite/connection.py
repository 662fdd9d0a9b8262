"""Connections: how each one is set up, and the proof that SQLite took it."""

from contextlib import suppress
from typing import Final

import apsw
import msgspec

from tenure.errors import LedgerOpenError

SQLITE_VERSION_MIN: Final = (3, 51, 3)
"""Older ones lose committed pages when processes share a file (the WAL-reset race)."""
BUSY_TIMEOUT_SECONDS: Final = 10.0
"""How long to wait for another process's lock."""

_SYNCHRONOUS_FULL: Final = 2
_CACHE_KIB: Final = 32 * 1024
_WAL_BYTES_KEPT: Final = 64 * 1024 * 1024
_CHECKPOINT_PAGES: Final = 4000
"""How long the log grows before it is copied back: pages that are written often are copied once."""
_SETUP: Final = (
    "PRAGMA synchronous = FULL",
    f"PRAGMA cache_size = -{_CACHE_KIB}",
    f"PRAGMA journal_size_limit = {_WAL_BYTES_KEPT}",
    f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
)


def check_driver(name: str) -> None:
    """Refuse an SQLite that loses commits.

    Raises:
        LedgerOpenError: the library is older than 3.51.3.
    """
    version = apsw.sqlite_lib_version()
    if tuple(int(part) for part in version.split(".")) < SQLITE_VERSION_MIN:
        allowed = ".".join(map(str, SQLITE_VERSION_MIN))
        raise LedgerOpenError(
            ledger=name,
            reason="driver",
            seen=f"apsw brings SQLite {version}, allowed is {allowed} and newer",
            advice="install a newer apsw",
        )


class Location(msgspec.Struct, frozen=True, kw_only=True):
    """Which file a connection goes to."""

    path: str
    name: str
    """The ledger's URL without secrets, for messages."""
    busy_timeout_seconds: float


def connect(location: Location) -> apsw.Connection:
    """Open an existing file for reading and writing, with durable commits.

    Raises:
        LedgerOpenError: SQLite refused ``synchronous=FULL``.
        apsw.Error: whatever SQLite reports; the connection is closed again.
    """
    connection = apsw.Connection(location.path, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        connection.set_busy_timeout(round(location.busy_timeout_seconds * 1000))
        for pragma in _SETUP:
            connection.execute(pragma)
        _check_durable(connection, location.name)
    except BaseException:
        close_quietly(connection)
        raise
    return connection


def _check_durable(connection: apsw.Connection, name: str) -> None:
    found = connection.pragma("synchronous")
    if found != _SYNCHRONOUS_FULL:
        raise LedgerOpenError(
            ledger=name,
            reason="driver",
            seen=f"synchronous reads back as {found!r}, allowed is {_SYNCHRONOUS_FULL} (FULL)",
            advice="install an apsw that can commit durably",
        )


def close_quietly(connection: apsw.Connection, *, checkpoint: bool = True) -> None:
    """Close a connection, whatever state it is in; without a checkpoint the file stays as it is."""
    with suppress(apsw.Error):
        if not checkpoint:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.close(True)  # noqa: FBT003  (apsw takes it by position)


def roll_back(connection: apsw.Connection) -> None:
    """Leave a transaction, if there is one.

    Raises:
        apsw.Error: the connection is unusable.
    """
    if connection.in_transaction:
        connection.execute("ROLLBACK")
