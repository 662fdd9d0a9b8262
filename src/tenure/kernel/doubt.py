"""Doubts: how often an observation stayed inconclusive, and when equal ones are folded."""

from typing import Final

from tenure.kernel.state import Operation, Reclamation
from tenure.model.json_value import JsonText, decode_json
from tenure.model.operation import FAILURE_COUNT_MAX

DOUBTS_UNFOLDED_MAX: Final = 99
"""Equal doubts in a row, in one generation, that get an entry each; later ones are folded."""


def next_streak(held: Operation | Reclamation, evidence: JsonText) -> int:
    """Count on when the new doubt equals the newest evidence in everything but its instant."""
    equal = held.last_failure is not None and _facts(held.last_failure) == _facts(evidence)
    return held.doubt_streak + 1 if equal else 1


def next_failure_count(held: Operation | Reclamation) -> int:
    """Count one more failure, saturating."""
    return min(held.failure_count + 1, FAILURE_COUNT_MAX)


def fold_key(attempt_id: str, held: Operation | Reclamation, streak: int) -> str | None:
    """Name the entry that this doubt is folded into; None: it gets an entry of its own.

    The key names the streak by its first doubt, so that no two streaks share an entry.
    """
    if streak <= DOUBTS_UNFOLDED_MAX:
        return None
    first_failure = held.failure_count + 2 - streak
    return f"{attempt_id}\n{held.generation}\n{first_failure}"


def _facts(evidence: JsonText) -> object:
    try:
        members = decode_json(evidence)
    except ValueError:
        return evidence
    if isinstance(members, dict):
        members.pop("observedAt", None)
    return members
