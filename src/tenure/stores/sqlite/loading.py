"""Loading: the rows of some keys, and the columns that they were made of."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import apsw
import msgspec

from tenure.kernel.state import Attempt, Execution
from tenure.model.text import is_unicode
from tenure.ports.store import Keys, Rows
from tenure.stores.sqlite.query import QUERIES
from tenure.stores.sqlite.row import ATTEMPT_COLUMNS, Row, attempt_of, execution_of

_LOAD_ATTEMPTS: Final = QUERIES["load_attempts"]
_LOAD_EXECUTIONS: Final = QUERIES["load_executions"]


class Loaded(msgspec.Struct, frozen=True):
    """Rows as the kernel sees them, with the columns in which they are stored."""

    rows: Rows
    attempt_rows: Mapping[str, Row]
    execution_rows: Mapping[str, Row]


def load_rows(cursor: apsw.Cursor, keys: Keys) -> Loaded:
    """Load the rows of ``keys``, closed as ``Rows`` demands.

    The caller's transaction is the snapshot. Three queries at most, whatever the number of keys.

    Raises:
        CorruptRecordError: a row holds what no row can have.
    """
    attempt_rows: dict[str, Row] = {}
    execution_rows: dict[str, Row] = {}
    attempts = _load_attempts(cursor, keys.attempts, attempt_rows)
    execution_ids = {attempt.execution_id for attempt in attempts.values()} | keys.executions
    executions = _load_executions(cursor, execution_ids, execution_rows)
    active_ids = {execution.active_attempt_id for execution in executions.values()}
    missing = {id_ for id_ in active_ids if id_ is not None and id_ not in attempts}
    attempts.update(_load_attempts(cursor, missing, attempt_rows))
    return Loaded(
        Rows(attempts=attempts, executions=executions),
        {id_: row[:ATTEMPT_COLUMNS] for id_, row in attempt_rows.items()},
        execution_rows,
    )


def load_attempts(cursor: apsw.Cursor, ids: Sequence[str]) -> list[Attempt]:
    """Load attempts that exist, in the order of ``ids``."""
    found = _load_attempts(cursor, ids, {})
    return [found[id_] for id_ in ids if id_ in found]


def load_executions(cursor: apsw.Cursor, ids: Sequence[str]) -> list[Execution]:
    """Load executions that exist, in the order of ``ids``."""
    found = _load_executions(cursor, set(ids), {})
    return [found[id_] for id_ in ids if id_ in found]


def _load_attempts(
    cursor: apsw.Cursor, ids: Iterable[str], rows: dict[str, Row]
) -> dict[str, Attempt]:
    named = tuple(filter(_can_exist, ids))
    if not named:
        return {}
    for row in cursor.execute(_LOAD_ATTEMPTS, (apsw.carray(named),)):
        rows[str(row[0])] = row
    return {id_: attempt_of(rows[id_]) for id_ in named if id_ in rows}


def _load_executions(
    cursor: apsw.Cursor, ids: Iterable[str], rows: dict[str, Row]
) -> dict[str, Execution]:
    named = tuple(filter(_can_exist, ids))
    if not named:
        return {}
    for row in cursor.execute(_LOAD_EXECUTIONS, (apsw.carray(named),)):
        rows[str(row[0])] = row
    return {id_: execution_of(rows[id_]) for id_ in named if id_ in rows}


def _can_exist(id_: str) -> bool:
    """Tell whether a row may have this id; a presented claim may name anything."""
    return "\0" not in id_ and is_unicode(id_)
