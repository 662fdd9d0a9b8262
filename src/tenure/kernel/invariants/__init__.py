"""Invariants: what holds in every state, on every edge between two states, and of every verdict.

They are data, so that tests, explorations and audits run all of them and name what is broken by a
stable id: ``I-…`` looks at one attempt's state, ``E-…`` at the state before and after, ``V-…`` at a
verdict with the state it was given on. Nothing here decides anything; ``step`` keeps them because
its rules are right, not because it asks.

An edge is seen from one attempt. A creation has two views: the new attempt's, and that of the one
it supersedes. A *lasting* edge invariant holds however many commands lie between the two states, so
that it can also be asked of a whole batch, or of two reads of one ledger.
"""

from tenure.kernel.invariants.edge import EDGE_INVARIANTS
from tenure.kernel.invariants.kind import EdgeInvariant, Invariant, VerdictInvariant
from tenure.kernel.invariants.state import INVARIANTS
from tenure.kernel.invariants.verdict import VERDICT_INVARIANTS
from tenure.kernel.machine import Answer, AnyCommand
from tenure.kernel.state import State, Verdict

__all__ = [
    "EDGE_INVARIANTS",
    "INVARIANTS",
    "VERDICT_INVARIANTS",
    "edge_violations",
    "state_after",
    "verdict_violations",
    "views",
    "violations",
]


def violations(state: State) -> tuple[Invariant, ...]:
    """Name every state invariant that does not hold."""
    return tuple(item for item in INVARIANTS if not item.holds(state))


def edge_violations(
    before: State, after: State, command: AnyCommand | None = None
) -> tuple[EdgeInvariant, ...]:
    """Name every edge invariant that does not hold from ``before`` to ``after``.

    Both are views of the same attempt, or of the same execution when there is no attempt. Without
    ``command``, any number of commands may lie between, and only lasting invariants are asked.
    """
    asked = (item for item in EDGE_INVARIANTS if item.lasting or command is not None)
    return tuple(item for item in asked if not item.holds(before, after, command))


def verdict_violations(
    state: State, command: AnyCommand, verdict: Verdict[Answer]
) -> tuple[VerdictInvariant, ...]:
    """Name every verdict invariant that does not hold."""
    return tuple(item for item in VERDICT_INVARIANTS if not item.holds(state, command, verdict))


def state_after(before: State, verdict: Verdict[Answer]) -> State:
    """Make the state that a verdict leads to, seen from the attempt that the command names."""
    attempt = verdict.attempt or before.attempt
    execution = verdict.execution or before.execution
    active_id = None if execution is None else execution.active_attempt_id
    for row in (attempt, verdict.superseded, before.active):
        if row is not None and row.execution_attempt_id == active_id:
            return State(attempt=attempt, execution=execution, active=row)
    return State(attempt=attempt, execution=execution, active=None)


def views(before: State, verdict: Verdict[Answer]) -> tuple[tuple[State, State], ...]:
    """Pair the state before with the one after, seen from each attempt that the edge concerns."""
    after = state_after(before, verdict)
    if verdict.superseded is None:
        return ((before, after),)
    seen_before = State(attempt=before.active, execution=before.execution, active=before.active)
    seen_after = State(attempt=verdict.superseded, execution=after.execution, active=after.active)
    return ((before, after), (seen_before, seen_after))
