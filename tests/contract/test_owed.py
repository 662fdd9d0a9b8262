"""The owed list, looks, and reclamations: what may still be running is never forgotten."""

import pytest
from msgspec.structs import replace
from tests.contract import hooks
from tests.contract.stage import Stage
from tests.contract.values import (
    EVIDENCE,
    FINER_REF,
    LEASE_MS,
    OTHER_EVIDENCE,
    OTHER_REF,
    REF,
    Loose,
    at,
)

import tenure
from tenure.kernel.reclamation import REFERENCES_MAX
from tenure.remediation.controller import Controller
from tenure.remediation.holding import find_open_work


async def owed(stage: Stage, **filters: Loose) -> list[str]:
    """List the ids of what is owed."""
    return [work.execution_attempt_id for work in await stage.call("list_open", **filters)]


async def begin(stage: Stage, attempt_id: str, **changed: Loose) -> Loose:
    """Begin an attempt in an execution of its own, one millisecond after the one before."""
    execution_id = changed.pop("execution_id", f"execution of {attempt_id}")
    await stage.call("create_attempt", execution_attempt_id=attempt_id, execution_id=execution_id)
    stage.clock.advance(changed.pop("later_ms", 1))
    started = await stage.call(
        "begin_provisioning",
        execution_attempt_id=attempt_id,
        execution_id=execution_id,
        **changed,
    )
    return started.claim


async def test_open_operation_is_listed_with_everything_a_controller_needs(stage: Stage) -> None:
    await stage.play("submitted created begun doubted allocated cancelled")
    assert list(await stage.call("list_open")) == [
        tenure.OpenWork(
            kind="operation",
            execution_attempt_id="a",
            execution_id="e",
            attempt_status="allocated",
            active=True,
            provider_id="cloud",
            allocation_lifetime="provider-managed",
            provisioner_incarnation_id="incarnation-1",
            mark=stage.ledger.mark_of("a"),
            obligation="allocation-control",
            references=(REF,),
            generation=1,
            owner_id="owner-1",
            lease_expires_at=at(LEASE_MS),
            failure_count=1,
            last_failure=EVIDENCE,
            begun_at=at(),
            opened_at=at(),
            next_look_at=at(),
            deadline_at=at(60_000),
            cancellation_requested=True,
        )
    ]


async def test_reclamation_is_listed_in_place_of_its_operation(stage: Stage) -> None:
    await stage.play("created begun doubted allocated")
    stage.clock.advance(9)
    await stage.play("answered superseded")
    (work,) = await stage.call("list_open")
    assert (work.kind, work.obligation, work.attempt_status) == ("reclamation", None, "settled")
    assert (work.active, work.references) == (False, (REF,))
    assert (work.begun_at, work.opened_at) == (at(), at(9))
    assert (work.failure_count, work.last_failure) == (0, None)


@pytest.mark.parametrize(
    ("steps", "kinds"),
    [
        ("created", []),
        ("created abandoned", []),
        ("created answered", []),
        ("created begun", ["operation"]),
        ("created begun handed-off", ["operation"]),
        ("created begun allocated terminated", ["operation"]),
        ("created begun superseded", ["operation"]),
        ("created begun absent", []),
        ("created begun-process-bound lost", []),
        ("created begun allocated terminated failed", []),
        ("created begun answered", ["reclamation"]),
        ("created begun allocated answered", ["reclamation"]),
        ("created begun allocated terminated answered", []),
        ("created begun answered closed", []),
    ],
)
async def test_something_is_owed_exactly_while_infrastructure_may_exist(
    stage: Stage, steps: str, kinds: list[str]
) -> None:
    await stage.play(steps)
    assert [work.kind for work in await stage.call("list_open")] == kinds


async def test_open_work_is_listed_oldest_first_then_by_id_in_pages(stage: Stage) -> None:
    for attempt_id, later_ms in (("z", 0), ("B", 0), ("é", 0), ("later", 1)):
        await begin(stage, attempt_id, later_ms=later_ms)
    listed: list[str] = []
    page = await stage.call("list_open", limit=1)
    while page:
        listed += [work.execution_attempt_id for work in page]
        page = await stage.call("list_open", limit=1, after=page[-1])
    assert listed == ["B", "z", "é", "later"]


async def test_filters_apply_before_the_limit(stage: Stage) -> None:
    for index in range(5):
        await begin(stage, f"cloud {index}")
    await begin(stage, "rival", provider_id="rival", execution_id="wanted")
    assert await owed(stage, providers=["rival"], limit=1) == ["rival"]
    assert await owed(stage, execution_id="wanted", limit=1) == ["rival"]
    assert await owed(stage, providers=["rival", "cloud"], execution_id="wanted", limit=1) == [
        "rival"
    ]
    assert await owed(stage, providers=["nobody"]) == []
    assert await owed(stage, providers=[]) == []


async def test_work_is_due_when_its_look_is_before_the_instant(stage: Stage) -> None:
    first = await begin(stage, "first")
    await begin(stage, "second")
    await stage.call("schedule_look", claim=first, next_look_at=at(500))
    assert await owed(stage, due_before=at(100), limit=1) == ["second"]
    assert await owed(stage, due_before=at(500)) == ["second"]
    assert await owed(stage, due_before="2027-01-15T09:00:00.501+01:00") == ["first", "second"]
    assert await owed(stage) == ["first", "second"]


@pytest.mark.parametrize("steps", ["created begun", "created begun answered"])
async def test_look_is_durable_and_survives_a_takeover(stage: Stage, steps: str) -> None:
    await stage.play(steps)
    await stage.call("schedule_look", next_look_at=at(5_000))
    take_over = "take_over_reclamation" if "answered" in steps else "take_over_provider_operation"
    await stage.call(take_over)
    (work,) = await stage.call("list_open")
    assert (work.next_look_at, work.generation) == (at(5_000), 2)


async def test_reclamation_inherits_the_claim_or_stays_unowned(stage: Stage) -> None:
    await stage.play("created begun handed-off")
    stage.clock.advance(4)
    await stage.play("answered")
    assert await stage.call("get_reclamation") == tenure.ReclamationRecord(
        execution_attempt_id="a",
        generation=1,
        owner_id=None,
        token=None,
        lease_expires_at=None,
        references=(),
        failure_count=0,
        last_failure=None,
        opened_at=at(4),
        next_look_at=at(4),
        closure=None,
        closed_at=None,
    )
    taken = await stage.call("take_over_reclamation", observed_at=at())
    assert taken.claim.generation == 2


@pytest.mark.parametrize("closure", ["released", "absent", "incarnation-lost"])
async def test_closed_reclamation_keeps_its_evidence_and_is_unowned(
    stage: Stage, closure: str
) -> None:
    await stage.play("created begun allocated answered")
    before = await stage.call("get_reclamation")
    stage.clock.advance(6)
    await stage.call("close_reclamation", closure=closure)
    assert await stage.call("get_reclamation") == replace(
        before,
        owner_id=None,
        token=None,
        lease_expires_at=None,
        last_failure=OTHER_EVIDENCE,
        closure=closure,
        closed_at=at(6),
    )


async def test_reclamation_touches_neither_attempt_nor_settlement(stage: Stage) -> None:
    await stage.play("created begun allocated answered")
    reads = ["recovery.get_attempt_with_allocation", "get_provider_operation", "get_settlement"]
    before = [await stage.call(read) for read in reads]
    await stage.call("record_reclamation_reference")
    await stage.call("evolve_reclamation_reference")
    await stage.call("record_reclamation_uncertainty")
    await stage.play("reclamation-handed-off reclamation-taken-over")
    assert [await stage.call(read) for read in reads] == before


async def test_references_of_a_reclamation_grow_in_order(stage: Stage) -> None:
    await stage.play("created begun answered")
    third = replace(REF, provider_data={"vm": "i-3"})
    for given in (OTHER_REF, REF, third):
        assert (await stage.call("record_reclamation_reference", allocation_ref=given)).kind == (
            "recorded"
        )
    again = await stage.call(
        "record_reclamation_reference",
        allocation_ref=replace(REF, provider_data={"zone": [1.0, 2], "vm": "i-1"}),
    )
    assert again == tenure.DuplicateReference(allocation_ref=REF)
    assert (await stage.call("evolve_reclamation_reference")).kind == "evolved"
    assert (await stage.call("get_reclamation")).references == (OTHER_REF, FINER_REF, third)


async def test_evolution_into_a_known_reference_merges_the_two(stage: Stage) -> None:
    await stage.play("created begun allocated answered")
    await stage.call("record_reclamation_reference", allocation_ref=FINER_REF)
    assert (await stage.call("evolve_reclamation_reference")).kind == "evolved"
    assert (await stage.call("get_reclamation")).references == (FINER_REF,)


async def test_references_of_a_reclamation_are_bounded(stage: Stage) -> None:
    await stage.play("created begun answered")
    for index in range(REFERENCES_MAX):
        given = replace(REF, provider_data={"vm": index})
        await stage.call("record_reclamation_reference", allocation_ref=given)
    with pytest.raises(tenure.InvalidInputError, match=str(REFERENCES_MAX)):
        await stage.call("record_reclamation_reference", allocation_ref=REF)
    assert len((await stage.call("get_reclamation")).references) == REFERENCES_MAX


async def test_stale_evolution_tells_the_newest_reference(stage: Stage) -> None:
    await stage.play("created begun allocated answered")
    await stage.call("record_reclamation_reference")
    unknown = replace(REF, provider_data={})
    answer = await stage.call("evolve_reclamation_reference", current_ref=unknown)
    assert answer == tenure.StaleReference(stored_ref=OTHER_REF)


async def test_port_goes_on_answering_resolved_while_a_reclamation_is_open(stage: Stage) -> None:
    await stage.play("created begun allocated answered")
    late = await stage.call("record_allocation", allocation_ref=OTHER_REF)
    assert late == tenure.ResolvedReference(allocation_ref=REF)
    assert await stage.call("take_over_provider_operation") == tenure.Resolved()
    assert (await stage.call("get_reclamation")).references == (REF,)


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_unreadable_entry_stands_in_its_place_and_hides_no_other(
    stage: Stage, limit: int
) -> None:
    for attempt_id in ("first", "bad", "last"):
        await begin(stage, attempt_id)
    await hooks.rewrite_operation(stage.ledger, "bad", last_failure="{broken")
    listed: list[Loose] = []
    page = await stage.call("list_open", limit=limit)
    while page:
        listed += page
        page = await stage.call("list_open", limit=limit, after=page[-1])
    assert [work.execution_attempt_id for work in listed] == ["first", "bad", "last"]
    unreadable = listed[1]
    assert isinstance(unreadable, tenure.UnreadableWork)
    assert (unreadable.execution_id, unreadable.opened_at) == ("execution of bad", at(2))
    assert "evidence is unreadable" in unreadable.seen
    first, _, last = listed
    assert (type(first), type(last)) == (tenure.OpenWork, tenure.OpenWork)


async def test_unreadable_entry_is_raised_only_to_who_wants_that_attempt(stage: Stage) -> None:
    for attempt_id in ("good", "bad"):
        await begin(stage, attempt_id, execution_id="e")
    await hooks.rewrite_operation(stage.ledger, "bad", last_failure="{broken")
    found = await find_open_work(stage.ledger, "e", "good")
    assert found is not None
    with pytest.raises(tenure.CorruptRecordError, match="bad"):
        await find_open_work(stage.ledger, "e", "bad")


async def test_unreadable_entry_fails_in_a_pass_that_goes_on(stage: Stage) -> None:
    for attempt_id in ("bad", "good"):
        await begin(stage, attempt_id)
    await hooks.rewrite_operation(stage.ledger, "bad", last_failure="{broken")
    bad, good = await Controller(stage.ledger, {}, owner_id="c").run_pass(due_only=False)
    assert (bad.execution_attempt_id, bad.ending) == ("bad", "failed")
    assert "evidence is unreadable" in bad.detail
    assert (good.execution_attempt_id, good.ending) == ("good", "unreachable")
