"""Examination: SQLite's check of the file, the kernel's invariants, and every payload read once.

Works through ids in pages, in the order in which rows were made; holds one page at a time.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import apsw

from tenure.errors import CorruptRecordError
from tenure.kernel.invariants import violations
from tenure.kernel.record import (
    attempt_record,
    execution_record,
    operation_record,
    reclamation_record,
    settlement_record,
)
from tenure.kernel.state import Attempt, Execution, State
from tenure.ports.store import Keys, Rows
from tenure.stores.sqlite.loading import load_rows
from tenure.stores.sqlite.query import QUERIES
from tenure.stores.sqlite.row import Row, journal_entry_of, owed_since
from tenure.stores.sqlite.schema import missing_objects

PROBLEMS_MAX: Final = 1000
"""Most problems that one examination reports."""
_PAGE: Final = 500
_RELATIONS: Final = (
    "find_wrong_counts",
    "find_stray_reclamations",
    "find_entries_out_of_order",
)


def examine(cursor: apsw.Cursor) -> list[str]:
    """Describe each problem of the whole file in one line, at most 1,000; none means sound.

    The caller's transaction is the snapshot.
    """
    found: dict[str, None] = {}
    for problem in _problems(cursor):
        found[problem] = None  # what two rows show is one problem
        if len(found) == PROBLEMS_MAX:
            break
    return list(found)


def _problems(cursor: apsw.Cursor) -> Iterator[str]:
    try:
        for (line,) in cursor.execute("PRAGMA integrity_check").fetchall():
            if line != "ok":
                yield f"file: {line}"
        for name in missing_objects(cursor):
            yield f"file: {name} is missing or was changed"
        for query in _RELATIONS:
            for (line,) in cursor.execute(QUERIES[query]).fetchall():
                yield str(line)
        for page in _row_pages(cursor, "list_execution_ids"):
            ids = [id_ for _, id_ in page]
            yield from _check_page(cursor, ids, _execution_keys, _check_executions)
        for page in _row_pages(cursor, "list_attempts"):
            owed = {id_: since for _, id_, since in page}
            check = partial(_check_attempts, owed)
            yield from _check_page(cursor, list(owed), _attempt_keys, check)
        yield from _check_journal(cursor)
    except (apsw.CorruptError, apsw.SQLError, UnicodeDecodeError) as exc:
        yield f"file: the examination ended early: {exc}"


def _row_pages(cursor: apsw.Cursor, query: str) -> Iterator[Sequence[Row]]:
    after = 0
    while page := _row_page(cursor, query, after):
        yield page
        after = page[-1][0]


def _row_page(cursor: apsw.Cursor, query: str, after: int) -> Sequence[Row]:
    return cursor.execute(QUERIES[query], (after, _PAGE)).fetchall()


def _attempt_keys(ids: Sequence[str]) -> Keys:
    return Keys(attempts=frozenset(ids))


def _execution_keys(ids: Sequence[str]) -> Keys:
    return Keys(executions=frozenset(ids))


def _check_page(
    cursor: apsw.Cursor,
    ids: Sequence[str],
    keys: Callable[[Sequence[str]], Keys],
    check: Callable[[Rows, Sequence[str]], Iterator[str]],
) -> Iterator[str]:
    """Check a page as a whole, or row by row when one of them cannot even be loaded."""
    try:
        rows = load_rows(cursor, keys(ids))
    except CorruptRecordError as error:
        if len(ids) == 1:
            yield f"{error.record}: {error.seen}"
        else:
            for id_ in ids:
                yield from _check_page(cursor, [id_], keys, check)
    else:
        yield from check(rows, ids)


def _check_executions(rows: Rows, ids: Sequence[str]) -> Iterator[str]:
    for id_ in ids:
        execution = rows.executions.get(id_)
        if execution is None:
            yield f"execution {id_!r}: it is not found by its id"
            continue
        yield from _unreadable(partial(execution_record, execution))
        for broken in violations(_state(rows, execution, None)):
            yield f"execution {id_!r}: {broken.id} does not hold: {broken.statement}"


def _check_attempts(owed: Mapping[str, object], rows: Rows, ids: Sequence[str]) -> Iterator[str]:
    for id_ in ids:
        attempt = rows.attempts.get(id_)
        if attempt is None:
            yield f"attempt {id_!r}: it is not found by its id"
            continue
        yield from _unreadable(partial(_read_payloads, attempt))
        if owed[id_] != owed_since(attempt):
            yield f"attempt {id_!r}: the list of what is owed does not agree with it"
        execution = rows.executions.get(attempt.execution_id)
        known = violations(_state(rows, execution, None))
        for broken in violations(_state(rows, execution, attempt)):
            if broken not in known:
                yield f"attempt {id_!r}: {broken.id} does not hold: {broken.statement}"


def _state(rows: Rows, execution: Execution | None, attempt: Attempt | None) -> State:
    active_id = None if execution is None else execution.active_attempt_id
    active = None if active_id is None else rows.attempts.get(active_id)
    return State(attempt=attempt, execution=execution, active=active)


def _read_payloads(attempt: Attempt) -> None:
    id_ = attempt.execution_attempt_id
    attempt_record(attempt)
    settlement_record(attempt)
    if attempt.operation is not None:
        operation_record(id_, attempt.operation)
    if attempt.reclamation is not None:
        reclamation_record(id_, attempt.reclamation)


def _unreadable(read: Callable[[], object]) -> Iterator[str]:
    try:
        read()
    except CorruptRecordError as error:
        yield f"{error.record}: {error.seen}"


def _check_journal(cursor: apsw.Cursor) -> Iterator[str]:
    for page in _row_pages(cursor, "list_entries"):
        for row in page:
            yield from _unreadable(partial(journal_entry_of, row))
            sequence, at_ms, count, last_at_ms = row[0], row[1], row[7], row[8]
            if count < 1 or last_at_ms < at_ms:
                yield f"journal entry {sequence}: it was counted {count} times, or back in time"
