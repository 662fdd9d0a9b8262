"""Edge invariants: what holds from one state to a later one, seen from one attempt."""

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from tenure.kernel.invariants.kind import EdgeInvariant, Held, kept, kept_execution, kept_held
from tenure.kernel.machine import AnyCommand, ReclamationCommand
from tenure.kernel.state import Attempt, Execution, State
from tenure.model import command as commands
from tenure.model.attempt import EXECUTION_ATTEMPT_STATUSES
from tenure.model.operation import OBLIGATIONS

_CREATIONS: Final = (commands.CreateAttempt, commands.EnsureAttempt)
_STATUS_MOVES: Final[Mapping[type[commands.Command], frozenset[tuple[str, str]]]] = {
    commands.BeginProvisioning: frozenset({("pending", "provisioning")}),
    commands.RecordAllocation: frozenset({("provisioning", "allocated")}),
    commands.RecordDiscoveredAllocation: frozenset({("provisioning", "allocated")}),
    commands.RecordProvisioningAbsent: frozenset({("provisioning", "settled")}),
    commands.RecordProvisionerIncarnationLost: frozenset({("provisioning", "settled")}),
    commands.RecordInfrastructureFailure: frozenset({("allocated", "settled")}),
    commands.AbandonPendingAttempt: frozenset({("pending", "settled")}),
    commands.CommitOutcome: frozenset(
        {("pending", "settled"), ("provisioning", "settled"), ("allocated", "settled")}
    ),
}
"""Which command may move the status from where to where; no other command moves it."""


def _identity(row: Attempt) -> tuple[object, ...]:
    return row.execution_attempt_id, row.execution_id, row.ordinal, row.created_ms


def _binding(row: Attempt) -> tuple[object, ...]:
    return (
        row.provider_id,
        row.allocation_lifetime,
        row.provisioner_incarnation_id,
        row.mark,
        row.deadline_ms,
    )


def _settlement(row: Attempt) -> tuple[object, ...]:
    return row.settlement_kind, row.settled_ms, row.result


def _obligation_forward(before: Attempt, after: Attempt) -> bool:
    old, new = before.operation, after.operation
    if old is None or new is None:
        return old is None
    return OBLIGATIONS.index(new.obligation) >= OBLIGATIONS.index(old.obligation)


def _fenced_by_generation(before: Held, after: Held) -> bool:
    if after.token is None:
        return after.generation >= before.generation
    same = (after.owner_id, after.token) == (before.owner_id, before.token)
    if after.generation == before.generation:
        return same
    return after.generation > before.generation and after.token != before.token


def _one_generation(before: Held, after: Held) -> bool:
    taken = after.generation == before.generation + 1
    return (taken and after.token is not None) or after.generation == before.generation


def _ref_kept(before: Attempt, after: Attempt) -> bool:
    if before.status == "settled":
        return after.allocation_ref == before.allocation_ref
    return before.allocation_ref is None or after.allocation_ref is not None


def _closed_for_good(before: Attempt, after: Attempt) -> bool:
    old = before.reclamation
    if old is None or after.reclamation is None:
        return old is None
    if old.closure is not None:
        return after.reclamation == old
    return bool(after.reclamation.references) or not old.references


def _promise(row: Execution) -> tuple[object, ...]:
    return (
        row.execution_id,
        row.submission,
        row.attempts_max,
        row.attempt_timeout_ms,
        row.submitted_ms,
        row.submitted_by,
    )


def _pointer_counted(before: Execution, after: Execution) -> bool:
    made = after.attempt_count - before.attempt_count
    moved = after.active_attempt_id != before.active_attempt_id
    return made >= 0 and moved == (made > 0)


def _ends_once(before: Execution, after: Execution) -> bool:
    concluded = before.conclusion is None or (before.conclusion, before.concluded_ms) == (
        after.conclusion,
        after.concluded_ms,
    )
    converged = before.converged_ms in (None, after.converged_ms)
    return concluded and converged and before.cancellation in (None, after.cancellation)


def _status_by_table(before: State, after: State, command: AnyCommand | None) -> bool:
    if after.attempt is None:
        return True
    if before.attempt is None:
        return after.attempt.status == "pending" and isinstance(command, _CREATIONS)
    move = (before.attempt.status, after.attempt.status)
    if move[0] == move[1]:
        return True
    return command is not None and move in _STATUS_MOVES.get(type(command), ())


def _doubts_counted(before: State, after: State, command: AnyCommand | None) -> bool:
    doubted = isinstance(
        command, commands.RecordUncertainty | commands.RecordReclamationUncertainty
    )
    most = 1 if doubted else 0
    return kept_held(lambda old, new: 0 <= new.failure_count - old.failure_count <= most)(
        before, after, command
    )


def _claimable_by_record(before: State, after: State, command: AnyCommand | None) -> bool:
    was = before.attempt is not None and before.attempt.claimable
    became = after.attempt is not None and after.attempt.claimable and not was
    return not became or isinstance(command, commands.RecordAllocation)


def _ref_by_evolution(before: State, after: State, command: AnyCommand | None) -> bool:
    if before.attempt is None or before.attempt.allocation_ref is None or after.attempt is None:
        return True
    kept = after.attempt.allocation_ref == before.attempt.allocation_ref
    return kept or isinstance(command, commands.EvolveAllocationRef)


def _reclamation_inherits(before: State, after: State, command: AnyCommand | None) -> bool:
    old, new = before.attempt, after.attempt
    if old is None or new is None or old.reclamation is not None or new.reclamation is None:
        return True
    made, held = new.reclamation, old.operation
    return (
        isinstance(command, commands.CommitOutcome)
        and held is not None
        and (made.generation, made.owner_id, made.token, made.lease_expires_ms)
        == (held.generation, held.owner_id, held.token, held.lease_expires_ms)
        and made.references == (() if old.allocation_ref is None else (old.allocation_ref,))
    )


def _reclamation_stays_apart(before: State, after: State, command: AnyCommand | None) -> bool:
    if not isinstance(command, ReclamationCommand) or before.attempt is None:
        return True
    assert after.attempt is not None
    untouched = replace(after.attempt, reclamation=before.attempt.reclamation)
    return untouched == before.attempt and after.execution == before.execution


def _references_grow(before: State, after: State, command: AnyCommand | None) -> bool:
    if before.attempt is None or before.attempt.reclamation is None:
        return True
    assert after.attempt is not None
    assert after.attempt.reclamation is not None
    old, new = before.attempt.reclamation.references, after.attempt.reclamation.references
    if isinstance(command, commands.EvolveReclamationReference):
        return len(old) - 1 <= len(new) <= len(old) and len(set(old) - set(new)) <= 1
    return new[: len(old)] == old


def _pointer_by_creation(before: State, after: State, command: AnyCommand | None) -> bool:
    old = None if before.execution is None else before.execution.active_attempt_id
    new = None if after.execution is None else after.execution.active_attempt_id
    if old == new:
        return True
    return isinstance(command, _CREATIONS) and command.execution_attempt_id == new


def _superseded_keeps_all(before: State, after: State, command: AnyCommand | None) -> bool:
    if before.attempt is None or not isinstance(command, _CREATIONS):
        return True
    return after.attempt in (before.attempt, replace(before.attempt, claimable=False))


EDGE_INVARIANTS: Final = (
    EdgeInvariant(
        "E-01",
        "Id, execution, ordinal and creation of an attempt never change.",
        kept(lambda old, new: _identity(old) == _identity(new)),
    ),
    EdgeInvariant(
        "E-02",
        "Provider, lifetime, incarnation, mark and deadline never change once they are bound.",
        kept(lambda old, new: old.provider_id is None or _binding(old) == _binding(new)),
    ),
    EdgeInvariant(
        "E-03",
        "The status never moves backwards.",
        kept(
            lambda old, new: (
                EXECUTION_ATTEMPT_STATUSES.index(old.status)
                <= EXECUTION_ATTEMPT_STATUSES.index(new.status)
            )
        ),
    ),
    EdgeInvariant(
        "E-04",
        "The obligation never moves backwards, and an operation never goes away.",
        kept(_obligation_forward),
    ),
    EdgeInvariant(
        "E-05",
        "Owner and token change only with the generation, or go together.",
        kept_held(_fenced_by_generation),
    ),
    EdgeInvariant(
        "E-06",
        "The failure count never shrinks.",
        kept_held(lambda old, new: old.failure_count <= new.failure_count),
    ),
    EdgeInvariant(
        "E-07",
        "An attempt settles once: kind, instant and result never change again.",
        kept(lambda old, new: old.status != "settled" or _settlement(old) == _settlement(new)),
    ),
    EdgeInvariant(
        "E-08",
        "No transition writes the claim expiry.",
        kept(lambda old, new: old.claim_expires_ms == new.claim_expires_ms),
    ),
    EdgeInvariant(
        "E-09",
        "A reference never goes away, and never changes after settlement.",
        kept(_ref_kept),
    ),
    EdgeInvariant(
        "E-10",
        "The operation of a settled attempt never changes.",
        kept(lambda old, new: old.status != "settled" or old.operation == new.operation),
    ),
    EdgeInvariant(
        "E-11",
        "A reclamation never goes away or reopens, and never forgets its last reference.",
        kept(_closed_for_good),
    ),
    EdgeInvariant(
        "E-12",
        "A submission is frozen, also its absence.",
        kept_execution(lambda old, new: _promise(old) == _promise(new)),
    ),
    EdgeInvariant(
        "E-13",
        "An execution is cancelled, concluded and converged once, and none of it is withdrawn.",
        kept_execution(_ends_once),
    ),
    EdgeInvariant(
        "E-14",
        "The pointer moves exactly when attempts are made, and none is ever uncounted.",
        kept_execution(_pointer_counted),
    ),
    EdgeInvariant(
        "E-15",
        "A generation grows by at most one, and then has an owner.",
        kept_held(_one_generation),
        lasting=False,
    ),
    EdgeInvariant(
        "E-16",
        "Only the commands of the table move the status.",
        _status_by_table,
        lasting=False,
    ),
    EdgeInvariant(
        "E-17",
        "Only a doubt is counted, and it counts one.",
        _doubts_counted,
        lasting=False,
    ),
    EdgeInvariant(
        "E-18",
        "Only the record of a provider call's own allocation makes an attempt claimable.",
        _claimable_by_record,
        lasting=False,
    ),
    EdgeInvariant(
        "E-19",
        "Only an evolution replaces a reference.",
        _ref_by_evolution,
        lasting=False,
    ),
    EdgeInvariant(
        "E-20",
        "A reclamation is opened by an outcome and inherits claim and reference.",
        _reclamation_inherits,
        lasting=False,
    ),
    EdgeInvariant(
        "E-21",
        "A reclamation's commands touch neither attempt nor execution.",
        _reclamation_stays_apart,
        lasting=False,
    ),
    EdgeInvariant(
        "E-22",
        "The pointer moves only to the attempt that is being created.",
        _pointer_by_creation,
        lasting=False,
    ),
    EdgeInvariant(
        "E-23",
        "A creation takes nothing but claimability from the attempt that it supersedes.",
        _superseded_keeps_all,
        lasting=False,
    ),
    EdgeInvariant(
        "E-24",
        "Known references are kept; an evolution replaces one, or merges it into another.",
        _references_grow,
        lasting=False,
    ),
)
"""Every edge invariant."""
