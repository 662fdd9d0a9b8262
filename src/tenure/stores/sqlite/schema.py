"""Schema: numbered migrations, applied under the write lock in one transaction.

A new ledger is made before the file goes over to write-ahead logging, so that the header of a
ledger always names it as ours, whatever has not been checkpointed yet.
"""

import uuid

import apsw

from tenure.errors import LedgerOpenError
from tenure.stores.sqlite.connection import roll_back
from tenure.stores.sqlite.header import APPLICATION_ID, SCHEMA_VERSION, check_version
from tenure.stores.sqlite.query import MIGRATIONS, QUERIES
from tenure.stores.sqlite.row import Row


def prepare_schema(
    connection: apsw.Connection, *, name: str, upgrade: bool, is_fresh: bool, created_ms: int
) -> None:
    """Bring the schema to our version, or refuse; many may do so at once, one of them does it.

    Raises:
        LedgerOpenError: newer, older without ``upgrade``, or tables of somebody else.
        apsw.Error: whatever SQLite reports; nothing was changed then.
    """
    version = _number(connection, "user_version")
    if not is_fresh:
        check_version(version, name=name, upgrade=upgrade)
    if version == SCHEMA_VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _number(connection, "user_version")
        if version == 0:
            _create(connection, name, created_ms)
        else:
            check_version(version, name=name, upgrade=upgrade or is_fresh)
            _migrate(connection, version)
        connection.execute("COMMIT")
    finally:
        roll_back(connection)


def use_write_ahead_log(connection: apsw.Connection) -> None:
    """Go over to write-ahead logging, which stays in the file; waits as long as the busy timeout.

    Raises:
        apsw.Error: whatever SQLite reports.
        OSError: the file system does not allow it.
    """
    mode = connection.pragma("journal_mode", "wal")
    if mode != "wal":
        message = f"the file system allows no write-ahead log: the journal mode stays {mode!r}"
        raise OSError(message)


def _create(connection: apsw.Connection, name: str, created_ms: int) -> None:
    if connection.execute(QUERIES["count_objects"]).fetchall() != [(0,)]:
        raise LedgerOpenError(
            ledger=name,
            reason="foreign",
            seen="it is another program's database, with tables and no schema version",
            advice="give the path of a ledger, or of a file that does not exist yet",
        )
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    _migrate(connection, 0)
    connection.execute(QUERIES["create_ledger"], (uuid.uuid4().hex, created_ms))


def _migrate(connection: apsw.Connection, version: int) -> None:
    for migration in MIGRATIONS[version:]:
        connection.execute(migration)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _number(connection: apsw.Connection, pragma: str) -> int:
    found = connection.pragma(pragma)
    assert isinstance(found, int)
    return found


def check_schema(connection: apsw.Connection, name: str) -> None:
    """Refuse a file whose tables and indexes are not those of its version; more are accepted.

    Raises:
        LedgerOpenError: something is missing or different.
        apsw.Error: whatever SQLite reports.
    """
    missing = missing_objects(connection.cursor())
    if missing:
        raise LedgerOpenError(
            ledger=name,
            reason="corrupt",
            seen=f"its schema lacks or differs in {', '.join(missing)}",
            advice="keep the file for examination and restore it from a backup",
        )


def missing_objects(cursor: apsw.Cursor) -> list[str]:
    """Name the tables and indexes that are missing or are not as the migrations make them."""
    model = apsw.Connection(":memory:")
    try:
        for migration in MIGRATIONS:
            model.execute(migration)
        expected = _objects(model.cursor())
    finally:
        model.close()
    return sorted(str(row[1]) for row in expected - _objects(cursor))


def _objects(cursor: apsw.Cursor) -> set[Row]:
    return set(cursor.execute(QUERIES["list_objects"]))


def load_ledger_id(connection: apsw.Connection, name: str) -> str:
    """Read which ledger this is.

    Raises:
        LedgerOpenError: the ledger's own row is missing.
        apsw.Error: whatever SQLite reports.
    """
    rows = connection.execute(QUERIES["load_ledger"]).fetchall()
    if len(rows) != 1:
        raise LedgerOpenError(
            ledger=name,
            reason="corrupt",
            seen=f"its own row is there {len(rows)} times, allowed is once",
            advice="keep the file for examination and restore it from a backup",
        )
    return str(rows[0][0])
