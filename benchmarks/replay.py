# ruff: noqa: INP001 - scripts beside each other, not a package
"""What the SQLite store writes for one life, and how to write it again for others.

It is recorded, not copied: one life is led through a real ledger while apsw traces what the store
sends. A replay writes the same statements with the ids of other lives, on a connection that is set
up as the store sets up its own. It reads nothing, checks nothing and decides nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw
from life import STAGES, Life, live, lives

from tenure.model.mark import make_mark
from tenure.stores.sqlite.connection import Location, connect
from tenure.wiring.ledgers import open_ledger

FILE = "ledger.sqlite"
_PROGRESS = "UPDATE ledger SET last_ms"
_JOURNAL = "INSERT INTO journal"


class _Write(NamedTuple):
    sql: str
    values: tuple[Any, ...]


class PreparedWrite(NamedTuple):
    """One statement of one life; a journal entry's first column is set when it is written."""

    sql: str
    row: tuple[Any, ...]
    is_entry: bool


PreparedLife = Mapping[str, Sequence[PreparedWrite]]
"""By stage, in the order in which the store writes."""


class Trace(NamedTuple):
    """What the store sent for one life, by stage, and the names that occur in it."""

    names: tuple[str, ...]
    ledger_id: str
    writes: Mapping[str, Sequence[_Write]]
    progress: _Write

    def prepare(self, life: Life) -> PreparedLife:
        """Make the rows of another life."""
        mark = make_mark(self.ledger_id, life.attempt_id)
        renamed = tuple(zip(self.names, (life.attempt_id, life.execution_id, mark), strict=True))
        return {
            stage: [
                PreparedWrite(
                    write.sql,
                    tuple(_rename(value, renamed) for value in write.values),
                    write.sql.startswith(_JOURNAL),
                )
                for write in writes
            ]
            for stage, writes in self.writes.items()
        }


async def record(folder: Path) -> Trace:
    """Make a ledger in ``folder``, lead one life through it and keep what its store wrote."""
    sent: list[_Write] = []

    def keep(_cursor: apsw.Cursor, sql: str, values: Any) -> bool:  # noqa: ANN401 - apsw's
        if sql.startswith(("INSERT", "UPDATE")):
            sent.append(_Write(sql, tuple(values or ())))
        return True

    def trace(connection: apsw.Connection) -> None:
        connection.exec_trace = keep

    apsw.connection_hooks.append(trace)
    try:
        async with open_ledger(f"sqlite:///{folder}/{FILE}") as ledger:
            sent.clear()
            life = next(lives())
            await live(ledger, life)
            names = (life.attempt_id, life.execution_id)
            mark, ledger_id = make_mark(ledger.ledger_id, life.attempt_id), ledger.ledger_id
    finally:
        apsw.connection_hooks.remove(trace)
    stages = dict(zip(STAGES, _by_batch(sent), strict=True))
    return Trace((*names, mark), ledger_id, stages, sent[-1])


class Replay:
    """A connection that writes prepared lives. Used by one thread."""

    def __init__(self, folder: Path, progress: _Write) -> None:
        """Open the file that ``record`` made."""
        path = str(folder / FILE)
        self._connection = connect(Location(path=path, name=path, busy_timeout_seconds=10.0))
        self._cursor = self._connection.cursor()
        self._progress = progress
        self._sequence = len(STAGES)

    def write_batch(self, stage: str, batch: Sequence[PreparedLife]) -> None:
        """Write one stage of many lives in one transaction, one ``executemany`` a statement."""
        self._cursor.execute("BEGIN IMMEDIATE")
        for same in zip(*(life[stage] for life in batch), strict=True):
            rows = [self._numbered(write) if write.is_entry else write.row for write in same]
            self._cursor.executemany(same[0].sql, rows)
        self._end()

    def write_one(self, stage: str, life: PreparedLife) -> None:
        """Write one stage of one life in one transaction."""
        self._cursor.execute("BEGIN IMMEDIATE")
        for write in life[stage]:
            self._cursor.execute(write.sql, self._numbered(write) if write.is_entry else write.row)
        self._end()

    def close(self) -> None:
        """Release the connection."""
        self._connection.close()

    def _numbered(self, write: PreparedWrite) -> tuple[Any, ...]:
        self._sequence += 1
        return (self._sequence, *write.row[1:])

    def _end(self) -> None:
        last_ms, _, batch_id = self._progress.values
        self._cursor.execute(self._progress.sql, (last_ms, self._sequence, batch_id))
        self._cursor.execute("COMMIT")


def _by_batch(sent: Sequence[_Write]) -> Iterator[list[_Write]]:
    """Cut where the store saves its progress, which is the end of each batch."""
    batch: list[_Write] = []
    for write in sent:
        if write.sql.startswith(_PROGRESS):
            yield batch
            batch = []
        else:
            batch.append(write)
    assert not batch


def _rename(value: object, renamed: Sequence[tuple[str, str]]) -> object:
    if isinstance(value, str):
        for old, new in renamed:
            if old in value:
                value = value.replace(old, new)
    return value
