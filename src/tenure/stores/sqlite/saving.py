"""Saving: what a batch changed, in one ``executemany`` for each kind of write.

An unchanged row is not written, and an index is only touched when one of its columns changed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import apsw

from tenure.kernel.state import Attempt
from tenure.model.instant import InstantMs
from tenure.ports.store import Changes
from tenure.stores.sqlite.loading import Loaded
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

_SAVE_RECLAMATION: Final = QUERIES["save_reclamation"]
_DELETE_RECLAMATION: Final = QUERIES["delete_reclamation"]
_APPEND_ENTRY: Final = QUERIES["append_entry"]


def save_changes(
    cursor: apsw.Cursor, loaded: Loaded, changes: Changes, *, now: InstantMs, last_sequence: int
) -> int:
    """Write a batch inside the caller's transaction; return the journal's last sequence."""
    rows = map(execution_row, changes.executions)
    _save(cursor, "execution", rows, loaded.execution_rows, EXECUTION_INDEXED)
    rows = map(attempt_row, changes.attempts)
    _save(cursor, "attempt", rows, loaded.attempt_rows, ATTEMPT_INDEXED)
    _save_reclamations(cursor, loaded, changes.attempts)
    entries = [
        entry_row(entry, sequence, now)
        for sequence, entry in enumerate(changes.entries, last_sequence + 1)
    ]
    if entries:
        cursor.executemany(_APPEND_ENTRY, entries)
    return last_sequence + len(entries)


def _save_reclamations(cursor: apsw.Cursor, loaded: Loaded, attempts: Sequence[Attempt]) -> None:
    saved: list[Row] = []
    gone: list[Row] = []
    for attempt in attempts:
        id_, reclamation = attempt.execution_attempt_id, attempt.reclamation
        before = loaded.rows.attempts.get(id_)
        old = None if before is None else before.reclamation
        if reclamation == old:
            continue
        if reclamation is None:
            gone.append((id_,))
        else:
            saved.append(reclamation_row(id_, reclamation))
    if saved:
        cursor.executemany(_SAVE_RECLAMATION, saved)
    if gone:
        cursor.executemany(_DELETE_RECLAMATION, gone)


def _save(
    cursor: apsw.Cursor, table: str, rows: Iterable[Row], before: Mapping[str, Row], indexed: slice
) -> None:
    whole: list[Row] = []
    unindexed: list[Row] = []
    for row in rows:
        old = before.get(row[0])
        if old is None or old[indexed] != row[indexed]:
            whole.append(row)
        elif old != row:
            unindexed.append(row)
    if whole:
        cursor.executemany(QUERIES[f"save_{table}"], whole)
    if unindexed:
        cursor.executemany(QUERIES[f"update_{table}"], unindexed)
