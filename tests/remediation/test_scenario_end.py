"""Ending machines, and settling attempts. The number in a name is the scenario's."""

import pytest
from tests.remediation import world as faults
from tests.remediation.scene import (
    LEASE,
    LEASE_MS,
    Scene,
    completed,
    playing,
    spooled,
)

import tenure
from tenure.ports import provider as port


async def test_not_found_at_a_termination_inside_the_read_lag_is_no_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with playing(monkeypatch, read_lag_ms=30_000) as scene:
        await scene.dispatched()
        await scene.cancel()
        running = port.Running(evidence=scene.world.evidence("a list has it"), worker="alive")
        scene.world.script("inspect", faults.answering(running))
        assert (await scene.act()).ending == "doubtful"
        assert scene.world.count("terminate") == 1
        assert len(scene.world.existing()) == 1
        await scene.converge(step_ms=40_000)
        await scene.check_rest()


@pytest.mark.parametrize("fault", [faults.refused, faults.denied])
async def test_scenario_47_unreachable_termination_is_never_an_end(
    scene: Scene, fault: faults.Fault
) -> None:
    await scene.dispatched()
    await scene.cancel()
    scene.world.always["terminate"] = fault
    for _ in range(20):
        assert (await scene.act()).ending == "doubtful"
        scene.clock.advance(300_000)
    assert await scene.owed() == ["allocation-control"]
    assert (await scene.work()).failure_count == 20
    scene.world.always.clear()
    await scene.converge()
    await scene.check_rest()


async def test_scenario_48_refused_termination_keeps_its_earliest_time(scene: Scene) -> None:
    await scene.dispatched()
    await scene.cancel()
    evidence = scene.world.evidence("not before 2027-01-15T14:00Z")
    running = port.Running(evidence=evidence, worker="alive")
    scene.world.script("terminate", faults.answering(running))
    assert (await scene.act()).ending == "doubtful"
    work = await scene.work()
    assert work.obligation == "allocation-control"
    assert work.last_failure is not None
    assert work.last_failure.code == "termination-pending"
    assert "not before 2027-01-15T14:00Z" in work.last_failure.summary


async def test_scenario_49_cancelled_while_provisioning_ends_without_a_machine(
    scene: Scene,
) -> None:
    async def cancel() -> None:
        await scene.cancel()
        execution = await scene.ledger.get_execution(execution_id="e")
        assert execution is not None
        assert execution.active_attempt_id is not None
        decision = await scene.ledger.abandon_pending_attempt(
            execution_attempt_id=execution.active_attempt_id, execution_id="e"
        )
        assert decision.kind == "provisioning"

    scene.world.script("provision", faults.then(cancel))
    scene.world.script("terminate", faults.refused, faults.refused)
    await scene.dispatched()
    await scene.converge()
    execution = await scene.ledger.get_execution(execution_id="e")
    assert execution is not None
    assert execution.conclusion == "cancelled"
    assert await scene.settled() == "infrastructure-failure"
    await scene.check_rest()


async def test_scenario_59_vanished_machine_is_a_failure_with_the_providers_reason(
    scene: Scene,
) -> None:
    work = await scene.dispatched()
    evidence = scene.world.evidence("address space exhausted", code="preempted")
    scene.world.machines[0].exists = False
    scene.world.script("inspect", faults.answering(port.Gone(evidence=evidence)))
    assert (await scene.act()).ending == "closed"
    operation = await scene.ledger.get_provider_operation(
        execution_attempt_id=work.execution_attempt_id
    )
    assert operation is not None
    assert operation.last_failure == evidence
    await scene.check_rest()


async def test_scenario_60_denied_termination_keeps_its_own_code_until_it_is_mended(
    scene: Scene,
) -> None:
    await scene.dispatched()
    await scene.cancel()
    evidence = scene.world.evidence("bad credentials", code="denied")
    scene.world.always["terminate"] = faults.answering(port.Undetermined(evidence=evidence))
    for _ in range(48):
        assert (await scene.act()).ending == "doubtful"
        scene.clock.advance(3_600_000)
    assert set((await scene.codes())[1:]) == {"denied"}
    scene.world.always.clear()
    await scene.converge()
    await scene.check_rest()


async def test_scenario_62_silent_worker_past_its_deadline_is_ended_not_presumed_dead(
    scene: Scene,
) -> None:
    await scene.dispatched(attempt_timeout_ms=60_000)
    scene.world.machines[0].worker = "unknown"
    scene.clock.advance(60_000 + 14_999)
    assert (await scene.act()).ending == "kept"
    scene.clock.advance(1)
    assert (await scene.act()).ending == "closed"
    assert [call.kind for call in scene.world.calls][-2:] == ["terminate", "spooled_outcome"]
    assert await scene.settled() == "infrastructure-failure"
    await scene.check_rest()


async def test_scenario_65_machine_that_outlives_its_outcome_is_ended(scene: Scene) -> None:
    await scene.dispatched()
    (machine,) = scene.world.existing()
    await scene.commit(machine)
    assert (await scene.act()).ending == "kept"
    assert scene.world.count("terminate") == 0
    scene.clock.advance(2_000)
    assert (await scene.act()).ending == "closed"
    assert await scene.settled() == "outcome"
    await scene.check_rest()


async def test_g4_every_known_machine_is_gone_before_a_reclamation_closes(scene: Scene) -> None:
    work = await scene.dispatched()
    (first,) = scene.world.existing()
    second = scene.world.make(work.mark, "e", work.execution_attempt_id)
    second.sticky = True
    await scene.commit(first)
    _, holding = await scene.hold()
    await holding.record_reference(second.ref)
    await holding.hand_off(next_look_after=LEASE)
    scene.clock.advance(2_000)
    for _ in range(3):
        assert (await scene.act()).ending == "doubtful"
        scene.clock.advance(300_000)
    assert scene.world.existing() == [second]
    second.sticky = False
    assert (await scene.act()).ending == "closed"
    await scene.check_rest()


async def test_scenario_67_settlement_is_final_in_both_orders(scene: Scene) -> None:
    await scene.dispatched()
    (machine,) = scene.world.existing()
    machine.exists = False
    assert (await scene.act()).ending == "closed"
    assert (await scene.commit(machine)).kind == "conflict"
    assert await scene.settled() == "infrastructure-failure"


async def test_scenario_67_failure_after_an_outcome_is_resolved(scene: Scene) -> None:
    await scene.dispatched()
    (machine,) = scene.world.existing()
    machine.exists = False
    scene.world.script("inspect", faults.then(lambda: scene.commit(machine)))
    assert (await scene.act()).ending == "closed"
    assert await scene.settled() == "outcome"
    assert "infrastructure-failure-recorded" not in await scene.events()
    await scene.check_rest()


async def test_scenario_68_failure_from_an_old_snapshot_changes_nothing(scene: Scene) -> None:
    await scene.dispatched()
    (machine,) = scene.world.existing()
    _, holding = await scene.hold()
    await scene.ledger.record_allocation_terminated(
        claim=holding.claim, evidence=scene.world.evidence("gone")
    )
    assert (await scene.commit(machine)).kind == "accepted"
    late = await scene.ledger.record_infrastructure_failure(claim=holding.claim, execution_id="e")
    assert late == tenure.Resolved()
    assert await scene.settled() == "outcome"
    machine.exists = False


async def test_scenario_69_cleanup_after_a_crash_leaves_the_success_alone(scene: Scene) -> None:
    await scene.dispatched()
    (machine,) = scene.world.existing()
    await scene.hold("dead")
    await scene.commit(machine)
    settlement = await scene.ledger.get_settlement(
        execution_attempt_id=machine.execution_attempt_id
    )
    scene.clock.advance(LEASE_MS)
    await scene.converge()
    assert settlement == await scene.ledger.get_settlement(
        execution_attempt_id=machine.execution_attempt_id
    )
    await scene.check_rest()


async def test_scenario_71_late_first_job_is_fenced_and_its_machine_ended(scene: Scene) -> None:
    work = await scene.dispatched(attempts_max=2)
    (first,) = scene.world.existing()
    await scene.supersede(work.execution_attempt_id)
    authority = scene.authority("a-2")
    dispatch = await authority.dispatch(execution_id="e")
    assert dispatch is not None
    second = scene.world.existing()[-1]
    assert (await scene.commit(first)).kind == "fenced"
    assert (await scene.commit(second)).kind == "accepted"
    await authority.hand_off(dispatch, reason="enough")
    await scene.converge()
    assert await scene.settled(first.execution_attempt_id) == "infrastructure-failure"
    assert await scene.settled("second") == "outcome"
    await scene.check_rest()


async def test_scenario_73_end_without_an_answer_is_no_outcome(scene: Scene) -> None:
    await scene.dispatched()
    scene.world.machines[0].exists = False
    assert (await scene.act()).ending == "closed"
    settlement = await scene.settled()
    assert settlement == "infrastructure-failure"
    await scene.check_rest()


async def test_scenario_79_finished_worker_whose_answer_was_left_behind_is_heard(
    scene: Scene,
) -> None:
    await scene.dispatched()
    (machine,) = scene.world.existing()
    machine.exists = False
    scene.world.spools[machine.mark] = spooled(machine, completed())
    assert (await scene.act()).ending == "closed"
    assert await scene.settled() == "outcome"
    assert scene.world.spools == {}
    await scene.check_rest()


async def test_scenario_82_healthy_work_is_not_replaced_when_it_cannot_be_seen(
    scene: Scene,
) -> None:
    await scene.dispatched(attempts_max=3)
    scene.world.always["inspect"] = faults.refused
    for _ in range(10):
        assert (await scene.act()).ending == "doubtful"
        scene.clock.advance(60_000)
    scene.world.always.clear()
    assert (await scene.act()).ending == "kept"
    execution = await scene.ledger.get_execution(execution_id="e")
    assert execution is not None
    assert execution.attempt_count == 1
    assert (await scene.commit(scene.world.machines[0])).kind == "accepted"


async def test_reclamation_of_what_was_never_made_closes_as_absent(scene: Scene) -> None:
    scene.world.script("provision", faults.refused)
    work = await scene.dispatched()
    elsewhere = scene.world.make(work.mark, "e", work.execution_attempt_id)
    scene.world.machines.clear()
    assert (await scene.commit(elsewhere)).kind == "accepted"
    assert (await scene.act()).ending == "closed"
    reclamation = await scene.ledger.get_reclamation(execution_attempt_id=work.execution_attempt_id)
    assert reclamation is not None
    assert (reclamation.closure, reclamation.references) == ("absent", ())
    await scene.check_rest()
