"""Who may act, and who no longer may. The number in a name is the scenario's."""

from datetime import timedelta

from tests.contract.values import Loose
from tests.remediation import world as faults
from tests.remediation.crashing import LifeSpan, SteppedLedger, mortal_ledger, until_crash
from tests.remediation.scene import (
    LEASE,
    LEASE_MS,
    Scene,
    submission,
)

CALL_WITH_MARGIN = timedelta(seconds=5.0 + 1.5)


async def test_scenario_30_paused_leader_finds_every_write_stale(scene: Scene) -> None:
    await scene.dispatched()
    _, first = await scene.hold("c-1")
    scene.clock.advance(2 * LEASE_MS)
    _, second = await scene.hold("c-2")
    await scene.ledger.record_allocation_terminated(
        claim=second.claim, evidence=scene.world.evidence("gone")
    )
    before = await scene.ledger.list_open()
    evidence = scene.world.evidence("late")
    assert (await first.record_uncertainty(evidence)).kind == "stale"
    assert not await first.renew(LEASE)
    (machine,) = scene.world.existing()
    late = await scene.ledger.record_allocation(claim=first.claim, allocation_ref=machine.ref)
    assert late.kind == "stale"
    assert await scene.ledger.list_open() == before


async def test_scenario_31_call_that_may_outlast_the_lease_is_preceded_by_a_renewal(
    scene: Scene,
) -> None:
    await scene.dispatched()
    await scene.cancel()
    ends: list[object] = []
    _, holding = await scene.hold()

    async def look(call: faults.Call) -> None:
        del call
        work = await scene.work()
        assert work.lease_expires_at is not None
        ends.append(work.lease_expires_at - await scene.ledger.now())

    scene.world.on_call = look
    scene.world.script("inspect", faults.taking(scene.clock, 9_000))
    await scene.controller("c-1").converge(holding)
    before = ends[::2]
    assert len(before) >= 3
    assert all(end >= CALL_WITH_MARGIN for end in before)


async def test_scenario_31_no_call_follows_a_claim_that_was_lost_in_the_last_one(
    scene: Scene,
) -> None:
    await scene.dispatched()
    await scene.cancel()
    controller, holding = await scene.hold("slow")

    async def be_overtaken() -> None:
        scene.clock.advance(LEASE_MS)
        await scene.hold("fast")

    scene.world.script("inspect", faults.then(be_overtaken))
    report = await controller.converge(holding)
    assert report.ending == "lost"
    assert [call.kind for call in scene.world.calls if call.kind != "provision"] == ["inspect"]


async def test_scenario_31_create_is_not_called_under_a_lease_that_ran_out(scene: Scene) -> None:
    class Slow(Scene):
        pass

    authority = scene.authority("slow")
    await authority.submit(execution_id="e", submission=submission())
    inner = scene.ledger

    async def pause() -> None:
        operation = await inner.list_open()
        if operation and operation[0].owner_id == "slow":
            scene.clock.advance(LEASE_MS)
            await scene.hold("fast")

    authority = scene.authority("slow", ledger=SteppedLedger(inner, pause))
    assert await authority.dispatch(execution_id="e") is None
    assert scene.world.count("provision") == 0
    assert (await scene.work()).owner_id == "fast"


async def test_scenario_34_late_heartbeat_steals_nothing_back(scene: Scene) -> None:
    await scene.dispatched()
    _, first = await scene.hold("c-1")
    scene.clock.advance(LEASE_MS)
    await scene.hold("c-2")
    (work,) = await scene.ledger.list_open()
    before = await scene.ledger.get_provider_operation(
        execution_attempt_id=work.execution_attempt_id
    )
    assert not await first.renew(LEASE)
    assert (await first.record_uncertainty(scene.world.evidence("late"))).kind == "stale"
    after = await scene.ledger.get_provider_operation(
        execution_attempt_id=work.execution_attempt_id
    )
    assert after == before


async def test_scenario_41_handoff_frees_everything_at_once(scene: Scene) -> None:
    await scene.dispatched()
    _, holding = await scene.hold("c-1")
    await holding.hand_off(next_look_after=LEASE)
    work = await scene.work()
    assert (work.owner_id, work.lease_expires_at) == (None, None)
    assert (await scene.hold("c-2"))[1].claim.generation == work.generation + 1


async def test_scenario_42_work_of_a_holder_that_nobody_remembers_stays_listed(
    scene: Scene,
) -> None:
    await scene.dispatched()
    await scene.hold("forgotten")
    assert scene.known == {}
    assert await scene.owed() == ["allocation-control"]
    scene.clock.advance(LEASE_MS)
    assert (await scene.act(scene.controller("another start of the same name"))).ending == "kept"


async def test_scenario_66_expiry_alone_frees_what_a_killed_holder_held(scene: Scene) -> None:
    await scene.dispatched()
    await scene.hold("killed")
    await scene.cancel()
    report = await scene.act()
    assert (report.ending, report.until) == ("held", (await scene.work()).lease_expires_at)
    scene.clock.advance(LEASE_MS)
    assert (await scene.act()).ending == "closed"
    await scene.check_rest()


async def test_controller_that_dies_at_a_ledger_call_holds_until_its_lease_ends(
    scene: Scene,
) -> None:
    await scene.dispatched()
    mortal = scene.controller("mortal", ledger=mortal_ledger(scene.ledger, LifeSpan(7)))
    assert await until_crash(mortal.run_pass(due_only=False))
    assert (await scene.act()).ending == "held"


async def test_doubt_that_comes_too_late_tells_of_the_loss(scene: Scene) -> None:
    await scene.dispatched()
    controller, holding = await scene.hold("slow")

    async def be_overtaken(act: faults.Act) -> None:
        del act
        await holding.hand_off(next_look_after=LEASE)
        await scene.hold("fast")
        raise TimeoutError

    scene.world.script("inspect", be_overtaken)
    report = await controller.converge(holding)
    assert report.ending == "lost"
    assert (await scene.work()).failure_count == 0


async def test_create_is_not_called_when_no_lease_can_outlast_it(scene: Scene) -> None:
    class Slow(SteppedLedger):
        async def renew_provider_operation_claim(self, **arguments: Loose) -> Loose:
            answer = await scene.ledger.renew_provider_operation_claim(**arguments)
            scene.clock.advance(10_000)
            return answer

        async def begin_provisioning(self, **arguments: Loose) -> Loose:
            answer = await scene.ledger.begin_provisioning(**arguments)
            scene.clock.advance(10_000)
            return answer

    async def nothing() -> None:
        pass

    authority = scene.authority(ledger=Slow(scene.ledger, nothing))
    await authority.submit(execution_id="e", submission=submission())
    assert await authority.dispatch(execution_id="e") is None
    assert scene.world.count("provision") == 0
    assert await scene.settled() == "abandoned"
    assert await scene.codes() == ["pre-request-rejection"]
    await scene.check_rest()


async def test_operation_that_settles_before_its_takeover_is_taken_over_as_a_reclamation(
    scene: Scene,
) -> None:
    await scene.dispatched()
    work = await scene.work()
    await scene.commit(scene.world.machines[0])
    holding = await scene.controller().take_over(work)
    assert holding is not None
    scene.clock.advance(2_000)
    report = await scene.controller().converge(holding)
    assert report.ending == "closed"
    assert await scene.controller().take_over(work) is None
    await scene.check_rest()


async def test_claim_that_was_lost_while_its_holder_rested_makes_no_call(scene: Scene) -> None:
    await scene.dispatched()
    controller, holding = await scene.hold("slow")
    await holding.hand_off(next_look_after=LEASE)
    await scene.hold("fast")
    assert (await controller.converge(holding)).ending == "lost"
    assert scene.world.count("inspect") == 0
