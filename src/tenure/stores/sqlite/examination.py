"""Examination: SQLite's own check of the file, and ours of what the rows say about each other."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

import apsw

from tenure.errors import CorruptRecordError
from tenure.kernel.record import (
    attempt_record,
    execution_record,
    operation_record,
    reclamation_record,
    settlement_record,
)
from tenure.kernel.state import Attempt, Execution, Operation, Reclamation
from tenure.stores.sqlite.query import QUERIES
from tenure.stores.sqlite.row import (
    Row,
    attempt_of,
    execution_of,
    journal_entry_of,
    owed_since,
)

PROBLEMS_MAX: Final = 1000
"""Most problems that one examination reports."""
_OWED_SINCE: Final = 4
_BEGUN: Final = frozenset({"provisioning", "allocated"})
_RELATIONS: Final = (
    "find_attempts_without_execution",
    "find_wrong_pointers",
    "find_wrong_counts",
    "find_reclamations_without_settlement",
    "find_entries_out_of_order",
)


def examine(cursor: apsw.Cursor) -> list[str]:
    """Describe each problem of the whole file in one line, at most 1,000; none means sound.

    The caller's transaction is the snapshot. Reads everything; holds a page at a time.
    """
    return list(islice(_problems(cursor), PROBLEMS_MAX))


def _problems(cursor: apsw.Cursor) -> Iterator[str]:
    try:
        for (line,) in cursor.execute("PRAGMA integrity_check").fetchall():
            if line != "ok":
                yield f"file: {line}"
        for query in _RELATIONS:
            for (line,) in cursor.execute(QUERIES[query]).fetchall():
                yield str(line)
        yield from _unreadable(cursor, "scan_executions", _check_execution)
        yield from _unreadable(cursor, "scan_attempts", _check_attempt)
        yield from _unreadable(cursor, "scan_journal", _check_entry)
    except (apsw.CorruptError, apsw.SQLError, UnicodeDecodeError) as exc:
        yield f"file: the examination ended early: {exc}"


def _unreadable(
    cursor: apsw.Cursor, query: str, check: Callable[[Row], Iterator[str]]
) -> Iterator[str]:
    for row in cursor.execute(QUERIES[query]):
        try:
            yield from check(row)
        except CorruptRecordError as error:
            yield f"{error.record}: {error.seen}"


def _check_execution(row: Row) -> Iterator[str]:
    execution: Execution = execution_of(row)
    execution_record(execution)
    if (execution.conclusion is None) != (execution.concluded_ms is None):
        yield f"execution {execution.execution_id!r}: conclusion without its instant, or vice versa"


def _check_attempt(row: Row) -> Iterator[str]:
    attempt = attempt_of(row)
    id_ = attempt.execution_attempt_id
    attempt_record(attempt)
    settlement_record(attempt)
    if attempt.operation is not None:
        operation_record(id_, attempt.operation)
    if attempt.reclamation is not None:
        reclamation_record(id_, attempt.reclamation)
    if row[_OWED_SINCE] != owed_since(attempt):
        yield f"attempt {id_!r}: the list of what is owed does not agree with it"
    for held in (attempt.operation, attempt.reclamation):
        if held is not None and held.generation < 1:
            yield f"attempt {id_!r}: it has generation {held.generation}, the least is 1"
        if held is not None and not _is_whole_claim(held):
            yield f"attempt {id_!r}: it has half a claim"
    for broken in _contradictions(attempt):
        yield f"attempt {id_!r}: {broken}"


def _is_whole_claim(held: Operation | Reclamation) -> bool:
    parts = {part is None for part in (held.owner_id, held.token, held.lease_expires_ms)}
    return len(parts) == 1


def _contradictions(attempt: Attempt) -> Iterator[str]:
    operation, reclamation = attempt.operation, attempt.reclamation
    settled = (attempt.status == "settled", attempt.settlement_kind, attempt.settled_ms)
    if len({fact not in (None, False) for fact in settled}) > 1:
        yield "it is half settled"
    if (attempt.settlement_kind == "outcome") != (attempt.result is not None):
        yield "it has an outcome without a result, or a result without an outcome"
    if (attempt.status in _BEGUN) != (operation is not None) and attempt.status != "settled":
        yield f"it is {attempt.status} and its operation does not agree"
    if attempt.claimable and attempt.status != "allocated":
        yield f"it is claimable and {attempt.status}"
    if attempt.status == "settled" and operation is not None and operation.token is not None:
        yield "it is settled and its operation is still claimed"
    if reclamation is not None and (reclamation.closure is None) != (reclamation.closed_ms is None):
        yield "its reclamation is half closed"


def _check_entry(row: Row) -> Iterator[str]:
    entry = journal_entry_of(row)
    if entry.count < 1 or entry.last_at < entry.at:
        yield f"journal entry {entry.sequence}: it happened {entry.count} times, last before first"
