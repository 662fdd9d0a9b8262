"""A store that asks every invariant around every batch, and a step that asks them of every command.

What is broken is kept, not raised: the ledger would answer an exception with a second try.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from tests.contract.values import Loose

from tenure.kernel.invariants import edge_violations, verdict_violations, views, violations
from tenure.kernel.machine import Answer, AnyCommand, step
from tenure.kernel.state import State, Verdict
from tenure.model.instant import InstantMs
from tenure.ports.store import Changes, Decide, Keys, Rows, Store


class WatchedStore:
    """Passes everything on to ``inner``; compares what a batch read, wrote and left behind."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.excused: set[str] = set()
        """Attempts whose rows a test has spoiled on purpose."""
        self.broken: list[str] = []
        """What did not hold."""
        self.batches = 0
        """How many transactions were committed."""

    def __getattr__(self, name: str) -> Loose:
        return getattr(self.inner, name)

    async def apply(self, keys: Keys, decide: Decide) -> None:
        """Apply, then look at the rows that the batch touched."""
        runs: list[tuple[Rows, Changes]] = []

        def decide_watched(rows: Rows, now: InstantMs) -> Changes:
            changes = decide(rows, now)
            runs.append((rows, changes))
            return changes

        await self.inner.apply(keys, decide_watched)
        self.batches += 1
        before, changes = runs[-1]
        expected = _after(before, changes)
        found = await self.inner.load(keys)
        for attempt_id, row in found.attempts.items():
            if attempt_id in expected.attempts and row != expected.attempts[attempt_id]:
                self.broken.append(f"attempt {attempt_id!r} was saved as another row")
        for execution_id, saved in found.executions.items():
            if saved != expected.executions.get(execution_id):
                self.broken.append(f"execution {execution_id!r} was saved as another row")
        self._look(before, expected)

    def step(
        self, state: State, command: AnyCommand, now: InstantMs, fresh_token: str
    ) -> Verdict[Answer]:
        """Decide as the kernel does, and ask everything about the verdict and the edge."""
        verdict = step(state, command, now, fresh_token)
        named = type(command).__name__
        self._note(named, state, verdict_violations(state, command, verdict))
        for old, new in views(state, verdict):
            self._note(named, new, violations(new))
            self._note(named, new, edge_violations(old, new, command))
        return verdict

    def _look(self, before: Rows, after: Rows) -> None:
        for old, new in _paired_views(before, after):
            self._note("a batch", new, violations(new))
            self._note("a batch", new, edge_violations(old, new))

    def _note(self, cause: str, state: State, broken: Sequence[Any]) -> None:
        seen = {row.execution_attempt_id for row in (state.attempt, state.active) if row}
        if broken and not seen & self.excused:
            self.broken += [f"{item.id} after {cause}: {item.statement}" for item in broken]


def _after(before: Rows, changes: Changes) -> Rows:
    changed_attempts = {row.execution_attempt_id: row for row in changes.attempts}
    changed_executions = {row.execution_id: row for row in changes.executions}
    return Rows(
        attempts={**before.attempts, **changed_attempts},
        executions={**before.executions, **changed_executions},
    )


def _paired_views(before: Rows, after: Rows) -> Iterator[tuple[State, State]]:
    for attempt_id, row in after.attempts.items():
        yield (
            _view(before, attempt_id, row.execution_id),
            _view(after, attempt_id, row.execution_id),
        )
    for execution_id in after.executions:
        yield _view(before, None, execution_id), _view(after, None, execution_id)


def _view(rows: Rows, attempt_id: str | None, execution_id: str) -> State:
    execution = rows.executions.get(execution_id)
    active_id = None if execution is None else execution.active_attempt_id
    return State(
        attempt=None if attempt_id is None else rows.attempts.get(attempt_id),
        execution=execution,
        active=None if active_id is None else rows.attempts.get(active_id),
    )
