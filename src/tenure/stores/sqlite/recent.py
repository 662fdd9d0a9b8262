"""Recent rows: what this connection committed last, good for as long as nobody else has committed.

SQLite itself says whether anybody has: ``PRAGMA data_version`` changes exactly when another
connection, of whatever process, has committed. It is read under the write lock, so nothing can
change behind it. Only what a commit has confirmed is kept; whatever is in doubt forgets everything.
"""

from collections.abc import Iterable
from typing import Final, Generic, TypeVar

from tenure.kernel.state import Attempt, Execution
from tenure.ports.store import Changes

ROWS_MAX: Final = 2048
"""How many rows of each kind are kept for sure; at most twice as many are kept at all."""
TEXT_LENGTH_MAX: Final = 4096
"""Payloads of a kept row, in characters together; a larger row is loaded again."""

RowT = TypeVar("RowT")


class Recent(Generic[RowT]):
    """Rows by id, in two generations: the older one goes when the younger one is full."""

    def __init__(self) -> None:
        self._younger: dict[str, RowT] = {}
        self._older: dict[str, RowT] = {}

    def find(self, ids: Iterable[str]) -> tuple[dict[str, RowT], list[str]]:
        """Return the rows that are known, and the ids of all others."""
        found: dict[str, RowT] = {}
        others: list[str] = []
        for id_ in ids:
            row = self._younger.get(id_) or self._older.get(id_)
            if row is None:
                others.append(id_)
            else:
                found[id_] = row
        return found, others

    def keep(self, id_: str, row: RowT, text_length: int) -> None:
        """Keep a committed row, unless it is large; the one before it is forgotten in any case."""
        if text_length > TEXT_LENGTH_MAX:
            self._younger.pop(id_, None)
            self._older.pop(id_, None)
            return
        self._younger[id_] = row
        if len(self._younger) >= ROWS_MAX:
            self._older, self._younger = self._younger, {}


class RecentRows:
    """The attempts and executions of one connection's last commits. Used by one thread."""

    def __init__(self) -> None:
        self.attempts: Recent[Attempt] = Recent()
        self.executions: Recent[Execution] = Recent()
        self._version: int | None = None

    def hold_at(self, version: int) -> None:
        """Forget everything unless ``version`` is still the same."""
        if version != self._version:
            self.forget()
            self._version = version

    def keep(self, changes: Changes) -> None:
        """Keep what was committed."""
        for attempt in changes.attempts:
            self.attempts.keep(attempt.execution_attempt_id, attempt, _attempt_length(attempt))
        for execution in changes.executions:
            length = len(execution.submission or "") + len(execution.cancellation or "")
            self.executions.keep(execution.execution_id, execution, length)

    def forget(self) -> None:
        """Forget everything; the next transaction loads what it needs."""
        self.attempts, self.executions = Recent(), Recent()
        self._version = None


def _attempt_length(attempt: Attempt) -> int:
    length = len(attempt.allocation_ref or "") + len(attempt.result or "")
    for part in (attempt.operation, attempt.reclamation):
        if part is not None:
            length += len(part.last_failure or "")
    if attempt.reclamation is not None:
        length += sum(map(len, attempt.reclamation.references))
    return length
