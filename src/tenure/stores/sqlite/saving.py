"""Saving: what a batch changed, in one ``executemany`` for each kind of write.

An unchanged row is not written, and an index is only touched when one of its columns changed.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import apsw

from tenure.kernel.state import Attempt, Execution
from tenure.model.instant import InstantMs
from tenure.ports.store import Changes, Rows
from tenure.stores.sqlite.query import QUERIES
from tenure.stores.sqlite.row import (
    ATTEMPT_INDEXED,
    EXECUTION_INDEXED,
    Row,
    attempt_row,
    entry_row,
    execution_row,
    reclamation_row,
)

RowT = TypeVar("RowT", Attempt, Execution)

_SAVE_RECLAMATION: Final = QUERIES["save_reclamation"]
_DELETE_RECLAMATION: Final = QUERIES["delete_reclamation"]
_APPEND_ENTRY: Final = QUERIES["append_entry"]


def save_changes(
    cursor: apsw.Cursor, before: Rows, changes: Changes, *, now: InstantMs, last_sequence: int
) -> int:
    """Write a batch inside the caller's transaction; return the journal's last sequence."""
    executions, attempts = changes.executions, changes.attempts
    known = [before.executions.get(row.execution_id) for row in executions]
    _save(cursor, "execution", execution_row, known, executions, EXECUTION_INDEXED)
    known_attempts = [before.attempts.get(row.execution_attempt_id) for row in attempts]
    _save(cursor, "attempt", attempt_row, known_attempts, attempts, ATTEMPT_INDEXED)
    _save_reclamations(cursor, known_attempts, attempts)
    entries = [
        entry_row(entry, sequence, now)
        for sequence, entry in enumerate(changes.entries, last_sequence + 1)
    ]
    if entries:
        cursor.executemany(_APPEND_ENTRY, entries)
    return last_sequence + len(entries)


def _save_reclamations(
    cursor: apsw.Cursor, before: Sequence[Attempt | None], after: Sequence[Attempt]
) -> None:
    saved: list[Row] = []
    gone: list[Row] = []
    for old, new in zip(before, after, strict=True):
        id_, reclamation = new.execution_attempt_id, new.reclamation
        if reclamation == (None if old is None else old.reclamation):
            continue
        if reclamation is None:
            gone.append((id_,))
        else:
            saved.append(reclamation_row(id_, reclamation))
    if saved:
        cursor.executemany(_SAVE_RECLAMATION, saved)
    if gone:
        cursor.executemany(_DELETE_RECLAMATION, gone)


def _save(  # noqa: PLR0917 - one call for each table
    cursor: apsw.Cursor,
    table: str,
    columns: Callable[[RowT], Row],
    before: Sequence[RowT | None],
    after: Sequence[RowT],
    indexed: slice,
) -> None:
    whole: list[Row] = []
    unindexed: list[Row] = []
    for old, new in zip(before, after, strict=True):
        stored, row = None if old is None else columns(old), columns(new)
        if stored is None or stored[indexed] != row[indexed]:
            whole.append(row)
        elif stored != row:
            unindexed.append(row)
    if whole:
        cursor.executemany(QUERIES[f"save_{table}"], whole)
    if unindexed:
        cursor.executemany(QUERIES[f"update_{table}"], unindexed)
