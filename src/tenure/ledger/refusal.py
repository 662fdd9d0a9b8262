"""Refused writes in the journal: best effort, capped for each attempt and generation.

A stale controller or a fenced worker is worth knowing of; ten thousand of them are not worth a row
each. The caps live in this process only, so several processes may each write theirs.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from tenure.errors import InvalidInputError
from tenure.kernel.journal import detail
from tenure.kernel.machine import Answer, AnyCommand
from tenure.kernel.settlement import WORKER
from tenure.kernel.state import Entry, State
from tenure.model.command import ClaimCommand, CommitOutcome
from tenure.model.decision import Decision
from tenure.model.identifier import check_identifier

NOTED_MAX: Final = 8
"""Most entries about refusals for one attempt in one generation."""
_REMEMBERED_MAX: Final = 10_000
_NOTED_KINDS: Final = frozenset({"stale", "fenced", "conflict", "resolved"})


class RefusalNotes:
    """Decides which refusals are journaled."""

    def __init__(self) -> None:
        self._counts: OrderedDict[tuple[str, int], int] = OrderedDict()

    def entries(self, state: State, command: AnyCommand, answer: Answer) -> Sequence[Entry]:
        """Make the entry about a refused write, or none."""
        attempt = state.attempt
        if attempt is None or not isinstance(answer, Decision) or answer.kind not in _NOTED_KINDS:
            return ()
        if not isinstance(command, ClaimCommand | CommitOutcome):
            return ()
        held = attempt.reclamation or attempt.operation
        generation = 0 if held is None else held.generation
        if not self._count(attempt.execution_attempt_id, generation):
            return ()
        claim = command.claim if isinstance(command, ClaimCommand) else None
        note = Entry(
            event="write-refused",
            execution_id=attempt.execution_id,
            execution_attempt_id=attempt.execution_attempt_id,
            actor=WORKER if claim is None else _actor(claim.owner_id),
            generation=None if claim is None else _storable(claim.generation),
            detail=detail(
                operation=_kebab(type(command).__name__),
                decision=answer.kind,
                currentGeneration=None if claim is None else generation,
            ),
        )
        return (note,)

    def _count(self, attempt_id: str, generation: int) -> bool:
        key = (attempt_id, generation)
        count = self._counts.pop(key, 0) + 1
        self._counts[key] = count
        if len(self._counts) > _REMEMBERED_MAX:
            self._counts.popitem(last=False)
        return count <= NOTED_MAX


def _actor(owner_id: str) -> str:
    """Name who was refused; a presented owner may be any text, so only an identifier is kept."""
    try:
        return check_identifier(owner_id, field="claim.owner_id")
    except InvalidInputError:
        return "unknown"


def _storable(generation: int) -> int | None:
    """Leave out what no store can hold: a presented claim may name any integer."""
    return generation if -(2**63) <= generation < 2**63 else None


def _kebab(name: str) -> str:
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")
