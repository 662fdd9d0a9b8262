"""Creation, supersession, claimability, claim expiry, recoverable attempts, replays."""

import pytest
from msgspec.structs import replace
from tests.contract import hooks
from tests.contract.stage import STEPS, Stage
from tests.contract.values import OTHER_RESULT, REF, Loose, at

import tenure

LIVES = [
    "created begun doubted allocated evolved terminated failed",
    "created begun renewed discovered handed-off taken-over",
    "created begun-process-bound lost",
    "created begun absent",
    "created abandoned",
    "created answered",
    "created begun allocated answered",
    "created begun allocated superseded terminated failed",
]


async def record_of(stage: Stage, attempt_id: str = "a") -> Loose:
    """Read one attempt whatever its state."""
    return await stage.call("recovery.get_attempt_with_allocation", execution_attempt_id=attempt_id)


async def recoverable(stage: Stage) -> list[str]:
    """List the ids of what a recovery pass is given."""
    found = await stage.call("recovery.get_recoverable_attempts")
    return [record.execution_attempt_id for record in found]


async def allocate(stage: Stage, attempt_id: str) -> None:
    """Create an attempt of execution ``e`` and record its allocation."""
    await stage.call("create_attempt", execution_attempt_id=attempt_id)
    started = await stage.call("begin_provisioning", execution_attempt_id=attempt_id)
    await stage.call("record_allocation", claim=started.claim)


async def test_new_attempt_is_pending_active_and_has_nothing_yet(stage: Stage) -> None:
    stage.clock.advance(1234)
    expected = tenure.ExecutionAttemptRecord(
        execution_attempt_id="a",
        execution_id="e",
        status="pending",
        allocation_ref=None,
        created_at=at(1234),
        provider_id=None,
        allocation_lifetime=None,
        provisioner_incarnation_id=None,
        settlement_kind=None,
        claimable=False,
        claim_expires_at=None,
    )
    assert await stage.call("create_attempt") == expected
    assert await record_of(stage) == expected
    assert await stage.call("get_active_attempt") == expected


@pytest.mark.parametrize(
    ("steps", "status", "claimable"),
    [
        ("created", "pending", False),
        ("created begun", "provisioning", False),
        ("created begun allocated", "allocated", True),
        ("created begun discovered", "allocated", False),
        ("created begun allocated taken-over", "allocated", True),
        ("created begun allocated terminated", "allocated", True),
        ("created begun allocated superseded", "allocated", False),
        ("created begun superseded allocated", "allocated", False),
        ("created begun allocated answered", "settled", False),
        ("created begun allocated terminated failed", "settled", False),
    ],
)
async def test_claimable_is_an_allocation_of_the_active_attempt(
    stage: Stage, steps: str, status: str, *, claimable: bool
) -> None:
    await stage.play(steps)
    record = await record_of(stage)
    assert (record.status, record.claimable) == (status, claimable)
    assert (await recoverable(stage) == ["a"]) is claimable


async def test_supersession_takes_nothing_but_claimability(stage: Stage) -> None:
    await stage.play("created begun doubted allocated")
    before, operation = await record_of(stage), await stage.call("get_provider_operation")
    await stage.play("superseded")
    assert await record_of(stage) == replace(before, claimable=False)
    assert await stage.call("get_provider_operation") == operation
    assert await stage.call("get_active_attempt") is None
    active = await stage.call("get_active_attempt", execution_attempt_id="b")
    assert active == await record_of(stage, "b")


async def test_settled_attempt_stays_active_until_it_is_replaced(stage: Stage) -> None:
    await stage.play("created answered")
    assert (await stage.call("get_active_attempt")).settlement_kind == "outcome"
    assert await stage.call("get_active_attempt", execution_id="other") is None
    await stage.play("superseded")
    assert await stage.call("get_active_attempt") is None


async def test_discovery_never_moves_the_pointer_or_revives(stage: Stage) -> None:
    await stage.play("created begun superseded discovered")
    assert (await record_of(stage)).claimable is False
    assert (await stage.call("get_execution")).active_attempt_id == "b"
    assert (await stage.call("get_provider_operation")).obligation == "allocation-control"


@pytest.mark.parametrize("life", LIVES)
async def test_claim_expiry_survives_every_transition(stage: Stage, life: str) -> None:
    for index, step in enumerate(life.split()):
        await stage.play(step)
        if index == 0:
            await hooks.set_claim_expiry(stage.ledger, "a", at(77))
        assert (await record_of(stage)).claim_expires_at == at(77), step


@pytest.mark.parametrize(
    ("expires_ms", "now_ms", "listed"),
    [
        (None, 10**9, True),
        (100, 99, True),
        (100, 100, True),
        (100, 101, False),
        (-1, 0, False),
    ],
)
async def test_claim_expiry_is_honoured_once_it_is_past(
    stage: Stage, expires_ms: int | None, now_ms: int, *, listed: bool
) -> None:
    await stage.play("created begun allocated")
    await hooks.set_claim_expiry(stage.ledger, "a", None if expires_ms is None else at(expires_ms))
    stage.clock.advance(now_ms)
    assert (await recoverable(stage) == ["a"]) is listed
    assert (await record_of(stage)).claimable is True


async def test_recoverable_record_is_narrowed(stage: Stage) -> None:
    await stage.play("created begun allocated")
    (found,) = await stage.call("recovery.get_recoverable_attempts")
    assert type(found) is tenure.RecoverableAttemptRecord
    whole = await record_of(stage)
    assert {name: getattr(found, name) for name in found.__struct_fields__} == {
        name: getattr(whole, name) for name in whole.__struct_fields__
    }
    assert found.allocation_ref == REF


async def test_recoverable_attempts_are_ordered_by_creation_then_by_code_points(
    stage: Stage,
) -> None:
    tied = ["B", "a", "é", "Z", "￿", "😀", "a\u0301", "10", "9"]
    for attempt_id in [*tied, "oldest", "newest"]:
        await allocate(stage, attempt_id)
    for attempt_id in [*tied, "oldest", "newest"]:
        await hooks.set_claimable(stage.ledger, attempt_id, claimable=True)
    await hooks.set_created_at(stage.ledger, "oldest", "2027-01-15T07:59:59.999Z")
    await hooks.set_created_at(stage.ledger, "newest", "2027-01-15T08:00:00.001Z")
    expected = ["oldest", *sorted(tied), "newest"]
    assert await recoverable(stage) == expected


async def test_creation_is_ordered_as_an_instant(stage: Stage) -> None:
    for attempt_id in ("a1", "a2", "a3"):
        await allocate(stage, attempt_id)
    for attempt_id in ("a1", "a2"):
        await hooks.set_claimable(stage.ledger, attempt_id, claimable=True)
    await hooks.set_created_at(stage.ledger, "a1", "2027-01-15T10:00:00+01:00")
    await hooks.set_created_at(stage.ledger, "a2", "2027-01-15T08:30:00Z")
    await hooks.set_created_at(stage.ledger, "a3", "1969-12-31T23:59:59Z")
    assert await recoverable(stage) == ["a3", "a2", "a1"]


async def test_recoverable_attempts_are_those_of_the_execution(stage: Stage) -> None:
    await stage.play("created begun allocated created-elsewhere")
    found = await stage.call("recovery.get_recoverable_attempts", execution_id="other")
    assert list(found) == []


async def test_exact_replay_of_an_outcome_is_fenced_once_a_newer_attempt_exists(
    stage: Stage,
) -> None:
    await stage.play("created answered")
    assert (await stage.call("commit_outcome")).kind == "duplicate"
    await stage.play("superseded")
    assert await stage.call("commit_outcome") == tenure.Fenced()
    assert (await stage.call("get_settlement")).settlement_kind == "outcome"


async def test_late_outcome_never_overwrites_another_settlement(stage: Stage) -> None:
    await stage.play("created begun allocated terminated failed")
    before = await stage.call("get_settlement")
    assert await stage.call("commit_outcome") == tenure.Conflict()
    assert await stage.call("get_settlement") == before
    assert (before.settlement_kind, before.result) == ("infrastructure-failure", None)


async def test_outcome_after_termination_wins_over_the_failure(stage: Stage) -> None:
    await stage.play("created begun allocated terminated answered")
    assert await stage.call("record_infrastructure_failure") == tenure.Resolved()
    assert (await stage.call("get_settlement")).settlement_kind == "outcome"
    assert await stage.call("get_reclamation") is None


async def test_second_outcome_keeps_the_first(stage: Stage) -> None:
    await stage.play("created begun answered")
    assert await stage.call("commit_outcome", result=OTHER_RESULT) == tenure.Conflict()
    assert (await stage.call("get_settlement")).result.status == "completed"


async def test_port_does_not_compare_the_execution_of_a_result(stage: Stage) -> None:
    await stage.play("created")
    other = tenure.CancelledResult(execution_id="another", workflow_id="w")
    answer = await stage.call("commit_outcome", result=other)
    assert answer == tenure.AcceptedOutcome(outcome=other)


async def test_evolution_goes_on_while_terminal_and_never_after_settlement(stage: Stage) -> None:
    await stage.play("created begun allocated terminated evolved failed")
    record = await record_of(stage)
    assert record.allocation_ref.provider_data == {"vm": "i-1", "ip": 4}
    assert await stage.call("recovery.evolve_allocation_ref") == tenure.Resolved()


async def test_evolution_changes_the_reference_only(stage: Stage) -> None:
    await stage.play("created begun doubted allocated")
    before, operation = await record_of(stage), await stage.call("get_provider_operation")
    await stage.play("evolved")
    after = await record_of(stage)
    assert replace(after, allocation_ref=REF) == before
    assert await stage.call("get_provider_operation") == operation


async def test_settlement_is_read_by_attempt(stage: Stage) -> None:
    assert await stage.call("get_settlement") is None
    await stage.play("created begun")
    assert await stage.call("get_settlement") is None
    stage.clock.advance(500)
    await stage.play("absent")
    assert await stage.call("get_settlement") == tenure.SettlementRecord(
        execution_attempt_id="a",
        execution_id="e",
        settlement_kind="abandoned",
        settled_at=at(500),
        result=None,
    )


async def test_unknown_attempts_are_read_as_none(stage: Stage) -> None:
    for operation in (
        "get_provider_operation",
        "get_active_attempt",
        "recovery.get_attempt_with_allocation",
        "get_settlement",
        "get_reclamation",
        "get_execution",
    ):
        assert await stage.call(operation) is None


def test_lives_take_every_step_of_an_attempt() -> None:
    taken = {step for life in LIVES for step in life.split()}
    others = {name for name in STEPS if name.startswith(("submitted", "reclamation-"))}
    others |= {"cancelled", "converged", "closed", "created-elsewhere"}
    assert taken == STEPS.keys() - others
