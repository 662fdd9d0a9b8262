"""Every claim-fenced operation authorizes in one order: not-found, resolved, stale, authorized."""

from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace
from tests.contract import hooks
from tests.contract.stage import Stage
from tests.contract.values import (
    ARGUMENTS,
    OPERATION_FENCED,
    RECLAMATION_FENCED,
    REF,
    at,
    claim_for,
)

import tenure

READY = {
    "record_provisioner_incarnation_lost": "created begun-process-bound",
    "record_infrastructure_failure": "created begun allocated terminated",
    "record_allocation_terminated": "created begun allocated",
    "recovery.evolve_allocation_ref": "created begun allocated",
}
"""Steps after which the operation is granted; ``created begun`` where nothing is said."""
REFERENCE_IN_RESOLVED = ("record_allocation", "recovery.record_discovered_allocation")
REFERENCE_IN_STALE = ("recovery.evolve_allocation_ref", "evolve_reclamation_reference")
CHECKS_EXECUTION = [name for name in OPERATION_FENCED if "execution_id" in ARGUMENTS[name]]

WRONG_CLAIMS: list[dict[str, Any]] = [
    {"generation": 2},
    {"generation": 0},
    {"generation": -(2**80)},
    {"generation": 2**80},
    {"generation": 10**5000},
    {"owner_id": "owner-9"},
    {"owner_id": ""},
    {"owner_id": "Owner-1"},
    {"owner_id": "\0"},
    {"owner_id": "é" * 100_000},
    {"token": "guessed"},
    {"token": ""},
    {"token": "\0"},
]


def ready_steps(operation: str) -> str:
    """Name the steps after which a fenced operation is granted to the claim of the stage."""
    if operation in RECLAMATION_FENCED:
        return "created begun allocated answered"
    return READY.get(operation, "created begun")


def stale_type(operation: str) -> type:
    """Name how this operation says ``stale``."""
    return tenure.StaleReference if operation in REFERENCE_IN_STALE else tenure.Stale


def resolved_type(operation: str) -> type:
    """Name how this operation says ``resolved``."""
    return tenure.ResolvedReference if operation in REFERENCE_IN_RESOLVED else tenure.Resolved


def reached_by_authorization() -> set[tuple[str, type]]:
    """List the answers that the tests below see from each operation."""
    return {
        (operation, answer)
        for operation in (*OPERATION_FENCED, *RECLAMATION_FENCED)
        for answer in (tenure.NotFound, resolved_type(operation), stale_type(operation))
    }


class Situation(NamedTuple):
    """Steps that lead to a refusal, whatever the claim is worth."""

    steps: str
    kind: str


OPERATION_SITUATIONS = [
    Situation("", "not-found"),
    Situation("created", "not-found"),
    Situation("created abandoned", "not-found"),
    Situation("created answered", "not-found"),
    Situation("created begun answered", "resolved"),
    Situation("created begun absent", "resolved"),
    Situation("created begun-process-bound lost", "resolved"),
    Situation("created begun allocated terminated failed", "resolved"),
    Situation("created begun allocated terminated answered", "resolved"),
    Situation("created begun handed-off", "stale"),
    Situation("created begun taken-over", "stale"),
    Situation("created begun allocated superseded handed-off taken-over", "stale"),
]
RECLAMATION_SITUATIONS = [
    Situation("", "not-found"),
    Situation("created begun", "not-found"),
    Situation("created answered", "not-found"),
    Situation("created begun absent", "not-found"),
    Situation("created begun allocated terminated answered", "not-found"),
    Situation("created begun allocated terminated failed", "not-found"),
    Situation("created begun answered closed", "resolved"),
    Situation("created begun allocated answered closed superseded", "resolved"),
    Situation("created begun handed-off answered", "stale"),
    Situation("created begun answered reclamation-handed-off", "stale"),
    Situation("created begun answered reclamation-taken-over", "stale"),
    Situation("created begun taken-over answered", "stale"),
]


def situation_name(situation: Situation) -> str:
    """Name a situation by its steps."""
    return situation.steps or "nothing"


async def refused_alike(stage: Stage, operation: str, kind: str) -> None:
    """See one refusal for the claim of the stage and for one that was never issued."""
    before = (await stage.rows())[:-1]
    for claim in (stage.claim, claim_for()):
        answer = await stage.call(operation, claim=claim)
        assert answer.kind == kind
        types = {"not-found": tenure.NotFound, "resolved": resolved_type, "stale": stale_type}
        expected: Any = types[kind]
        assert type(answer) is (expected if kind == "not-found" else expected(operation))
    assert (await stage.rows())[:-1] == before


@pytest.mark.parametrize("situation", OPERATION_SITUATIONS, ids=situation_name)
async def test_operation_is_refused_before_anything_else_is_looked_at(
    stage: Stage, situation: Situation
) -> None:
    await stage.play(situation.steps)
    for operation in OPERATION_FENCED:
        if operation == "schedule_look" and "answered" in situation.steps:
            continue  # it goes on under the reclamation's claim
        await refused_alike(stage, operation, situation.kind)


@pytest.mark.parametrize("situation", RECLAMATION_SITUATIONS, ids=situation_name)
async def test_reclamation_call_is_refused_before_anything_else_is_looked_at(
    stage: Stage, situation: Situation
) -> None:
    await stage.play(situation.steps)
    for operation in RECLAMATION_FENCED:
        await refused_alike(stage, operation, situation.kind)


@pytest.mark.parametrize("operation", [*OPERATION_FENCED, *RECLAMATION_FENCED])
async def test_claim_that_differs_in_one_member_is_stale_and_never_an_error(
    stage: Stage, operation: str
) -> None:
    await stage.play(ready_steps(operation))
    before = (await stage.rows())[:-1]
    for changed in WRONG_CLAIMS:
        answer = await stage.call(operation, claim=replace(stage.claim, **changed))
        assert type(answer) is stale_type(operation), changed
    assert (await stage.rows())[:-1] == before


@pytest.mark.parametrize("operation", [*OPERATION_FENCED, *RECLAMATION_FENCED])
async def test_claim_on_an_attempt_that_cannot_exist_is_not_found(
    stage: Stage, operation: str
) -> None:
    for attempt_id in ("", "\0", "a" * 1000, "😀" * 300):
        answer = await stage.call(operation, claim=claim_for(attempt_id))
        assert answer == tenure.NotFound()


@pytest.mark.parametrize("operation", [*OPERATION_FENCED, *RECLAMATION_FENCED])
async def test_expired_lease_takes_no_authority_away(stage: Stage, operation: str) -> None:
    await stage.play(ready_steps(operation))
    stage.clock.advance(10**9)
    answer = await stage.call(operation)
    assert answer.kind in ("recorded", "claimed", "evolved")


@pytest.mark.parametrize("operation", [*OPERATION_FENCED, *RECLAMATION_FENCED])
async def test_lease_of_a_presented_claim_is_never_compared(stage: Stage, operation: str) -> None:
    await stage.play(ready_steps(operation))
    answer = await stage.call(operation, claim=replace(stage.claim, lease_expires_at=at(-(10**9))))
    assert answer.kind in ("recorded", "claimed", "evolved")


@pytest.mark.parametrize("operation", CHECKS_EXECUTION)
async def test_execution_is_checked_after_authorization(stage: Stage, operation: str) -> None:
    await stage.play(ready_steps(operation))
    wrong = replace(stage.claim, token="guessed")
    refused = await stage.call(operation, claim=wrong, execution_id="other")
    assert type(refused) is stale_type(operation)
    assert await stage.call(operation, execution_id="other") == tenure.NotFound()


@pytest.mark.parametrize("operation", CHECKS_EXECUTION)
async def test_execution_is_checked_before_the_state_of_the_attempt(
    stage: Stage, operation: str
) -> None:
    allocated = operation in ("record_provisioning_absent", "record_provisioner_incarnation_lost")
    await stage.play("created begun allocated" if allocated else "created begun")
    refused = await stage.call(operation)
    assert refused.kind in ("allocated", "not-process-bound", "not-allocated")
    assert await stage.call(operation, execution_id="other") == tenure.NotFound()


async def test_superseded_attempt_stays_remediable_to_its_end(stage: Stage) -> None:
    await stage.play("created begun superseded allocated evolved terminated failed")
    record = await stage.call("recovery.get_attempt_with_allocation")
    assert (record.status, record.settlement_kind) == ("settled", "infrastructure-failure")
    assert record.claimable is False
    active = await stage.call("get_active_attempt", execution_attempt_id="b")
    assert active.execution_attempt_id == "b"


async def test_claim_of_the_operation_goes_on_holding_the_reclamation(stage: Stage) -> None:
    await stage.play("created begun allocated answered")
    reclamation = await stage.call("get_reclamation")
    assert reclamation.references == (REF,)
    assert (reclamation.generation, reclamation.owner_id, reclamation.token) == (
        stage.claim.generation,
        stage.claim.owner_id,
        stage.claim.token,
    )
    assert reclamation.lease_expires_at == stage.claim.lease_expires_at
    assert await stage.call("close_reclamation") == tenure.Recorded()


async def test_refusal_of_a_claim_with_members_that_no_store_can_hold_is_journaled(
    stage: Stage,
) -> None:
    await stage.play("created begun")
    wrong = replace(stage.claim, generation=2**80, owner_id="x" * 10_000)
    await stage.call("record_allocation", claim=wrong)
    noted = (await stage.call("read_journal"))[-1]
    assert (noted.event, noted.generation) == ("write-refused", None)
    assert noted.actor == "unknown"
    assert (await hooks.read_attempt(stage.ledger, "a")).status == "provisioning"
