"""Loading: the rows of some keys."""

from collections.abc import Iterable, Sequence
from typing import Final

import apsw

from tenure.kernel.state import Attempt, Execution
from tenure.model.text import is_unicode
from tenure.ports.store import Keys, Rows
from tenure.stores.sqlite.query import QUERIES
from tenure.stores.sqlite.row import attempt_of, execution_of

_LOAD_ATTEMPTS: Final = QUERIES["load_attempts"]
_LOAD_EXECUTIONS: Final = QUERIES["load_executions"]


def load_rows(cursor: apsw.Cursor, keys: Keys) -> Rows:
    """Load the rows of ``keys``, closed as ``Rows`` demands.

    The caller's transaction is the snapshot. Three queries at most, whatever the number of keys.

    Raises:
        CorruptRecordError: a row holds what no row can have.
    """
    attempts = _load_attempts(cursor, keys.attempts)
    execution_ids = {attempt.execution_id for attempt in attempts.values()} | keys.executions
    executions = _load_executions(cursor, execution_ids)
    active_ids = {execution.active_attempt_id for execution in executions.values()}
    missing = {id_ for id_ in active_ids if id_ is not None and id_ not in attempts}
    attempts.update(_load_attempts(cursor, missing))
    return Rows(attempts=attempts, executions=executions)


def load_attempts(cursor: apsw.Cursor, ids: Sequence[str]) -> list[Attempt]:
    """Load attempts that exist, in the order of ``ids``."""
    found = _load_attempts(cursor, ids)
    return [found[id_] for id_ in ids if id_ in found]


def load_executions(cursor: apsw.Cursor, ids: Sequence[str]) -> list[Execution]:
    """Load executions that exist, in the order of ``ids``."""
    found = _load_executions(cursor, set(ids))
    return [found[id_] for id_ in ids if id_ in found]


def _load_attempts(cursor: apsw.Cursor, ids: Iterable[str]) -> dict[str, Attempt]:
    named = tuple(filter(_can_exist, ids))
    if not named:
        return {}
    found = map(attempt_of, cursor.execute(_LOAD_ATTEMPTS, (apsw.carray(named),)))
    return {attempt.execution_attempt_id: attempt for attempt in found}


def _load_executions(cursor: apsw.Cursor, ids: Iterable[str]) -> dict[str, Execution]:
    named = tuple(filter(_can_exist, ids))
    if not named:
        return {}
    found = map(execution_of, cursor.execute(_LOAD_EXECUTIONS, (apsw.carray(named),)))
    return {execution.execution_id: execution for execution in found}


def _can_exist(id_: str) -> bool:
    """Tell whether a row may have this id; a presented claim may name anything."""
    return "\0" not in id_ and is_unicode(id_)
