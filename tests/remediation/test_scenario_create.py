"""Creating, and finding out what was created. The number in a name is the scenario's."""

import anyio
import pytest
from tests.remediation import world as faults
from tests.remediation.crashing import Crash, LifeSpan, mortal_ledger, until_crash
from tests.remediation.scene import (
    IMPATIENT,
    LEASE,
    LEASE_MS,
    Scene,
    playing,
    submission,
)

from tenure.model.evidence import AMBIGUOUS_ALLOCATION_MATCH


async def crash_after_the_call(scene: Scene) -> None:
    """Die with the reply received and nothing recorded."""
    authority = scene.authority("dead")
    await authority.submit(execution_id="e", submission=submission())

    async def die(call: faults.Call) -> None:
        if call.kind == "provision" and scene.world.accepted:
            raise Crash

    scene.world.on_call = die
    assert await until_crash(authority.dispatch(execution_id="e"))
    scene.world.on_call = None


async def test_scenario_01_restarts_after_a_lost_record_buy_nothing_more(scene: Scene) -> None:
    await crash_after_the_call(scene)
    for restart in range(5):
        assert await scene.authority(f"a-{restart}").dispatch(execution_id="e") is None
    assert (await scene.act()).ending == "held"
    scene.clock.advance(LEASE_MS)
    assert (await scene.act()).ending == "kept"
    work = await scene.work()
    assert (work.obligation, work.generation, work.owner_id) == ("allocation-control", 2, None)
    attempt = await scene.ledger.recovery.get_attempt_with_allocation(
        execution_attempt_id=work.execution_attempt_id
    )
    assert attempt is not None
    assert attempt.claimable is False
    assert scene.world.accepted == {work.mark: 1}


async def test_scenario_02_graceful_stop_hands_the_call_in_flight_off(scene: Scene) -> None:
    scene.world.script("provision", faults.hanging)
    authority = scene.authority()
    await authority.submit(execution_id="e", submission=submission())
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: authority.dispatch(execution_id="e"))
        while not scene.world.accepted:
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    work = await scene.work()
    assert (work.owner_id, work.failure_count) == (None, 0)
    assert work.last_failure is not None
    assert work.last_failure.code == "provider-call-unresolved"
    assert "in flight" in work.last_failure.summary
    assert (await scene.act()).ending == "kept"
    assert scene.world.accepted == {work.mark: 1}


async def test_scenario_05_discovered_machine_that_cannot_bootstrap_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with playing(monkeypatch, needs_bootstrap=True) as scene:
        await crash_after_the_call(scene)
        scene.clock.advance(LEASE_MS)
        await scene.converge()
        assert await scene.settled() == "infrastructure-failure"
        await scene.check_rest()


async def test_machine_whose_own_call_was_recorded_may_still_bootstrap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with playing(monkeypatch, needs_bootstrap=True) as scene:
        await scene.dispatched()
        assert (await scene.act()).ending == "kept"
        assert scene.world.count("terminate") == 0


async def test_scenario_07_ambiguous_create_and_terminations_leave_a_trail(scene: Scene) -> None:
    scene.world.script("provision", faults.lost_reply)
    scene.world.script("terminate", *[faults.refused] * 4)
    await scene.dispatched()
    await scene.act()
    await scene.cancel()
    for count in range(4):
        assert (await scene.act()).ending == "doubtful"
        work = await scene.work()
        assert (work.obligation, work.failure_count) == ("allocation-control", count + 2)
        scene.clock.advance(60_000)
    assert (await scene.act()).ending == "closed"
    assert await scene.settled() == "infrastructure-failure"
    events = await scene.events()
    assert events.count("uncertainty-recorded") == 5
    assert events.count("allocation-terminated") == 1
    await scene.check_rest()


async def test_scenario_08_next_attempt_never_shares_the_first_ones_call(scene: Scene) -> None:
    scene.world.script("provision", faults.lost_reply)
    work = await scene.dispatched(attempts_max=2)
    first = work.execution_attempt_id
    await scene.supersede(first)
    dispatch = await scene.authority("a-2").dispatch(execution_id="e")
    assert dispatch is not None
    assert dispatch.execution_attempt_id == "second"
    reports = await scene.run()
    assert [r.ending for r in reports if r.execution_attempt_id == first] == ["closed"]
    assert [m.execution_attempt_id for m in scene.world.existing()] == ["second"]
    assert dispatch.holding.work.generation == 1
    assert await dispatch.holding.renew(LEASE)


async def test_scenario_09_timed_out_submission_finds_its_job(scene: Scene) -> None:
    scene.world.script("provision", faults.hanging)
    authority = scene.authority(settings=IMPATIENT)
    await authority.submit(execution_id="e", submission=submission())
    dispatch = await authority.dispatch(execution_id="e")
    assert dispatch is not None
    assert dispatch.holding.work.obligation == "provisioning-resolution"
    report = await authority.controller.converge(dispatch.holding)
    assert report.ending == "kept"
    assert scene.world.accepted == {dispatch.mark: 1}


async def test_scenario_10_outcome_before_discovery_is_accepted_and_its_machine_ended(
    scene: Scene,
) -> None:
    scene.world.script("provision", faults.lost_reply)
    await scene.dispatched()
    (machine,) = scene.world.existing()
    assert (await scene.commit(machine)).kind == "accepted"
    assert await scene.owed() == ["reclamation"]
    await scene.converge()
    reclamation = await scene.ledger.get_reclamation(
        execution_attempt_id=machine.execution_attempt_id
    )
    assert reclamation is not None
    assert (reclamation.closure, reclamation.references) == ("released", (machine.ref,))
    await scene.check_rest()


async def test_scenario_10_outcome_of_a_superseded_attempt_is_fenced(scene: Scene) -> None:
    scene.world.script("provision", faults.lost_reply)
    work = await scene.dispatched(attempts_max=2)
    await scene.supersede(work.execution_attempt_id)
    (machine,) = scene.world.existing()
    assert (await scene.commit(machine)).kind == "fenced"
    await scene.converge()
    assert await scene.settled(work.execution_attempt_id) == "infrastructure-failure"
    assert scene.world.existing() == []


async def test_scenario_11_provider_that_cannot_search_never_proves_absence(scene: Scene) -> None:
    scene.world.script("provision", faults.refused)
    await scene.dispatched()
    scene.world.recovery = None
    for _ in range(5):
        report = await scene.act()
        assert report.ending == "doubtful"
        scene.clock.advance(10**9)
    assert await scene.owed() == ["provisioning-resolution"]
    assert (await scene.codes())[-1] == "exhaustive-search-unavailable"


async def test_scenario_19_empty_answers_inside_the_read_lag_prove_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with playing(monkeypatch, read_lag_ms=60_000) as scene:
        scene.world.script("provision", faults.lost_reply)
        await scene.dispatched()
        for _ in range(5):
            assert (await scene.act()).ending == "doubtful"
            assert await scene.owed() == ["provisioning-resolution"]
            assert (await scene.codes())[-1] == "within-read-lag"
            scene.clock.advance(11_000)
        scene.clock.advance(5_000)
        assert (await scene.act()).ending == "kept"
        assert await scene.owed() == ["allocation-control"]


async def test_absence_counts_past_the_read_lag_after_the_last_moment_of_the_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with playing(monkeypatch, read_lag_ms=60_000) as scene:
        scene.world.script("provision", faults.refused)
        await scene.dispatched()
        scene.clock.advance(60_000 + 4_999)
        assert (await scene.act()).ending == "doubtful"
        scene.clock.advance(1)
        assert (await scene.act()).ending == "closed"
        assert await scene.settled() == "abandoned"
        await scene.check_rest()


async def test_scenario_20_early_not_found_is_one_doubt_and_no_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with playing(monkeypatch, read_lag_ms=30_000) as scene:
        await scene.dispatched()
        scene.clock.advance(2_000)
        assert (await scene.act()).ending == "doubtful"
        scene.clock.advance(58_000)
        assert (await scene.act()).ending == "kept"
        assert await scene.owed() == ["allocation-control"]
        assert (await scene.events()).count("uncertainty-recorded") == 1


async def test_scenario_22_undecidable_work_stays_listed_with_age_and_evidence(
    scene: Scene,
) -> None:
    scene.world.script("provision", faults.refused)
    begun = await scene.dispatched()
    scene.world.recovery = None
    scene.clock.advance(86_400_000)
    await scene.run()
    work = await scene.work()
    assert work.opened_at == begun.opened_at
    assert work.last_failure is not None
    assert work.failure_count == 2


async def test_g1_call_that_comes_after_the_proof_of_absence_makes_nothing(scene: Scene) -> None:
    reached = anyio.Event()

    async def queued(act: faults.Act) -> object:
        with anyio.CancelScope(shield=True):
            scene.clock.advance(LEASE_MS)
            await scene.run(scene.controller("c-2"))
            assert await scene.settled() == "abandoned"
            reached.set()
            return await act()

    scene.world.script("provision", queued)
    authority = scene.authority("c-1")
    await authority.submit(execution_id="e", submission=submission())
    assert await authority.dispatch(execution_id="e") is None
    assert reached.is_set()
    assert not scene.world.accepted
    await scene.check_rest()


async def test_g4_two_machines_for_one_attempt_are_a_doubt_of_their_own(scene: Scene) -> None:
    scene.world.script("provision", faults.lost_reply)
    work = await scene.dispatched()
    scene.world.make(work.mark, "e", work.execution_attempt_id)
    for _ in range(3):
        assert (await scene.act()).ending == "doubtful"
        scene.clock.advance(300_000)
    assert await scene.owed() == ["provisioning-resolution"]
    assert (await scene.codes())[-1] == AMBIGUOUS_ALLOCATION_MATCH
    assert scene.world.count("terminate") == 0
    assert len(scene.world.existing()) == 2
    scene.world.machines[1].exists = False
    assert (await scene.act()).ending == "kept"


async def test_g2_machine_of_a_lost_call_is_ended_though_its_outcome_came_first(
    scene: Scene,
) -> None:
    await crash_after_the_call(scene)
    (machine,) = scene.world.existing()
    assert (await scene.commit(machine)).kind == "accepted"
    assert (await scene.act()).ending == "held"  # the reclamation inherits the dead one's lease
    scene.clock.advance(LEASE_MS)
    mortal = scene.controller("mortal", ledger=mortal_ledger(scene.ledger, LifeSpan(14)))
    assert await until_crash(mortal.run_pass(due_only=False))
    scene.clock.advance(LEASE_MS)
    await scene.converge()
    assert await scene.settled() == "outcome"
    await scene.check_rest()
