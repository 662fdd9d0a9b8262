"""What an invariant is, and how a predicate about one row becomes one about states."""

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from tenure.kernel.machine import Answer, AnyCommand
from tenure.kernel.state import Attempt, Execution, Operation, Reclamation, State, Verdict

Held: TypeAlias = Operation | Reclamation
StatePredicate: TypeAlias = Callable[[State], bool]
EdgePredicate: TypeAlias = Callable[[State, State, AnyCommand | None], bool]
VerdictPredicate: TypeAlias = Callable[[State, AnyCommand, Verdict[Answer]], bool]


class Invariant(msgspec.Struct, frozen=True):
    """What holds in every state."""

    id: str
    statement: str
    holds: StatePredicate


class EdgeInvariant(msgspec.Struct, frozen=True):
    """What holds from one state to a later one."""

    id: str
    statement: str
    holds: EdgePredicate
    lasting: bool = True
    """Whether it also holds over several commands at once, and needs to know none of them."""


class VerdictInvariant(msgspec.Struct, frozen=True):
    """What holds of every verdict."""

    id: str
    statement: str
    holds: VerdictPredicate


def on_attempt(holds: Callable[[Attempt], bool]) -> StatePredicate:
    """Lift what holds of every attempt."""
    return lambda state: state.attempt is None or holds(state.attempt)


def on_operation(holds: Callable[[Attempt, Operation], bool]) -> StatePredicate:
    """Lift what holds of every attempt that has an operation."""
    return on_attempt(lambda row: row.operation is None or holds(row, row.operation))


def on_reclamation(holds: Callable[[Attempt, Reclamation], bool]) -> StatePredicate:
    """Lift what holds of every attempt that has a reclamation."""
    return on_attempt(lambda row: row.reclamation is None or holds(row, row.reclamation))


def on_execution(holds: Callable[[Execution], bool]) -> StatePredicate:
    """Lift what holds of every execution."""
    return lambda state: state.execution is None or holds(state.execution)


def kept(holds: Callable[[Attempt, Attempt], bool]) -> EdgePredicate:
    """Lift what holds of an attempt that exists before; it must exist after, too."""

    def holds_of_both(before: State, after: State, _: AnyCommand | None) -> bool:
        if before.attempt is None:
            return True
        return after.attempt is not None and holds(before.attempt, after.attempt)

    return holds_of_both


def kept_held(holds: Callable[[Held, Held], bool]) -> EdgePredicate:
    """Lift what holds of an operation and of a reclamation alike."""

    def holds_of_all(before: Attempt, after: Attempt) -> bool:
        pairs: tuple[tuple[Held | None, Held | None], ...] = (
            (before.operation, after.operation),
            (before.reclamation, after.reclamation),
        )
        return all(old is None or (new is not None and holds(old, new)) for old, new in pairs)

    return kept(holds_of_all)


def kept_execution(holds: Callable[[Execution, Execution], bool]) -> EdgePredicate:
    """Lift what holds of an execution that exists before; it must exist after, too."""

    def holds_of_both(before: State, after: State, _: AnyCommand | None) -> bool:
        if before.execution is None:
            return True
        return after.execution is not None and holds(before.execution, after.execution)

    return holds_of_both
