"""What all parts of a ledger handle share: the store, the writer, the limits, who acts."""

from collections.abc import Awaitable, Sequence

from tenure.kernel.machine import Answer, AnyCommand
from tenure.kernel.state import Attempt, Execution
from tenure.ledger.group_commit import GroupCommit
from tenure.ledger.intake import Limits
from tenure.ledger.refusal import RefusalNotes
from tenure.ports.store import Keys, Rows, Store


class LedgerCore:
    """A store with its one writer in this process. Bound to one event loop."""

    def __init__(self, store: Store, *, limits: Limits, actor: str) -> None:
        self.store = store
        self.limits = limits
        self.actor = actor
        self._writer = GroupCommit(store, RefusalNotes().entries)

    def acting_as(self, actor: str) -> "LedgerCore":
        """Make a core that shares store and writer, and acts under another name."""
        other = object.__new__(LedgerCore)
        other.store, other.limits, other.actor = self.store, self.limits, actor
        other._writer = self._writer
        return other

    def submit(self, command: AnyCommand) -> Awaitable[Answer]:
        """Commit a command durably and return its decision; see ``GroupCommit.submit``."""
        return self._writer.submit(command)

    async def attempt(self, execution_attempt_id: str) -> Attempt | None:
        """Read one attempt's row."""
        rows = await self._load(attempts=[execution_attempt_id])
        return rows.attempts.get(execution_attempt_id)

    async def execution(self, execution_id: str) -> tuple[Execution | None, Attempt | None]:
        """Read one execution's row and its active attempt's, in one snapshot."""
        rows = await self._load(executions=[execution_id])
        execution = rows.executions.get(execution_id)
        if execution is None or execution.active_attempt_id is None:
            return execution, None
        return execution, rows.attempts.get(execution.active_attempt_id)

    async def aclose(self) -> None:
        """Finish what waits, then close the store. Idempotent."""
        await self._writer.aclose()
        await self.store.aclose()

    async def _load(self, *, attempts: Sequence[str] = (), executions: Sequence[str] = ()) -> Rows:
        keys = Keys(attempts=frozenset(attempts), executions=frozenset(executions))
        return await self.store.load(keys)
