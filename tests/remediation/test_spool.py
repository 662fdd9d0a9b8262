"""An outcome that was left behind is delivered before anything is concluded without it."""

import pytest
from msgspec.structs import replace
from tests.contract.values import Loose
from tests.remediation import world as faults
from tests.remediation.scene import Scene, completed, spooled

from tenure.model.result import CompletedResult, FailedResult


async def leave(scene: Scene, **changed: Loose) -> faults.Machine:
    """Let the only machine's worker leave an outcome, whose members may be others'."""
    (machine,) = scene.world.machines
    scene.world.spools[machine.mark] = replace(spooled(machine), **changed)
    return machine


async def test_outcome_is_delivered_before_a_termination_is_recorded(scene: Scene) -> None:
    await scene.dispatched()
    machine = await leave(scene)
    machine.exists = False
    assert (await scene.act()).ending == "closed"
    assert await scene.settled() == "outcome"
    assert "allocation-terminated" not in await scene.events()
    assert scene.world.spools == {}
    await scene.check_rest()


async def test_outcome_of_a_dead_worker_is_delivered_before_its_machine_is_ended(
    scene: Scene,
) -> None:
    await scene.dispatched()
    machine = await leave(scene)
    machine.worker = "dead"
    await scene.run()
    kinds = [call.kind for call in scene.world.calls]
    assert kinds.index("spooled_outcome") < [*kinds, "terminate"].index("terminate")
    assert await scene.settled() == "outcome"
    scene.clock.advance(2_000)
    await scene.converge()
    await scene.check_rest()


async def test_outcome_that_is_written_during_a_termination_is_delivered_before_its_record(
    scene: Scene,
) -> None:
    await scene.dispatched()
    await scene.cancel()

    def stop(machine: faults.Machine) -> None:
        result = FailedResult(execution_id="e", workflow_id="w", error="stopped")
        scene.world.spools[machine.mark] = spooled(machine, result)

    scene.world.on_terminate = stop
    assert (await scene.act()).ending == "closed"
    assert await scene.settled() == "outcome"
    assert "allocation-terminated" not in await scene.events()
    await scene.check_rest()


@pytest.mark.parametrize("lost", [True, False], ids=["lost call", "never made"])
async def test_outcome_is_delivered_before_an_absence_is_recorded(
    scene: Scene, *, lost: bool
) -> None:
    scene.world.script("provision", faults.lost_reply)
    await scene.dispatched()
    machine = await leave(scene)
    machine.exists = False
    if not lost:
        scene.world.machines.clear()
    await scene.converge()
    assert await scene.settled() == "outcome"
    assert scene.world.spools == {}
    await scene.check_rest()


async def test_outcome_is_delivered_while_nothing_can_be_told_of_the_machine(scene: Scene) -> None:
    await scene.dispatched()
    await leave(scene)
    scene.world.always["inspect"] = faults.denied
    await scene.run()
    assert await scene.settled() == "outcome"
    assert await scene.owed() == ["reclamation"]
    scene.world.always.clear()
    scene.clock.advance(60_000)
    await scene.converge()
    await scene.check_rest()


async def test_fenced_outcome_is_dropped_and_stops_nothing(scene: Scene) -> None:
    work = await scene.dispatched(attempts_max=2)
    await scene.supersede(work.execution_attempt_id)
    await leave(scene)
    assert (await scene.act()).ending == "closed"
    assert await scene.settled(work.execution_attempt_id) == "infrastructure-failure"
    assert scene.world.spools == {}
    assert scene.world.existing() == []


async def test_spool_of_an_answered_attempt_is_dropped_before_its_reclamation_closes(
    scene: Scene,
) -> None:
    await scene.dispatched()
    machine = await leave(scene)
    await scene.commit(machine)
    machine.exists = False
    assert (await scene.act()).ending == "closed"
    assert scene.world.spools == {}
    await scene.check_rest()


async def test_conflicting_spool_never_disturbs_the_accepted_outcome(scene: Scene) -> None:
    await scene.dispatched()
    result = FailedResult(execution_id="e", workflow_id="w", error="other")
    machine = await leave(scene, result=result)
    await scene.commit(machine)
    machine.exists = False
    assert (await scene.act()).ending == "closed"
    settlement = await scene.ledger.get_settlement(
        execution_attempt_id=machine.execution_attempt_id
    )
    assert settlement is not None
    assert settlement.result == completed()
    await scene.check_rest()


FOREIGN = {
    "another execution": {"execution_id": "other"},
    "another attempt": {"execution_attempt_id": "other"},
    "a result of another execution": {"result": completed("other")},
    "a result of another workflow": {"result": CompletedResult(execution_id="e", workflow_id="v")},
    "no result": {"result": None},
}


@pytest.mark.parametrize("name", FOREIGN)
async def test_foreign_spool_is_a_doubt_that_is_told_once_and_blocks_nothing(
    scene: Scene, name: str
) -> None:
    await scene.dispatched()
    machine = await leave(scene, **FOREIGN[name])
    scene.world.always["inspect"] = faults.refused
    assert (await scene.act()).ending == "doubtful"
    scene.clock.advance(60_000)
    scene.world.always.clear()
    machine.exists = False
    assert (await scene.act()).ending == "closed"
    assert (await scene.codes()).count("spool-mismatch") == 1
    assert await scene.settled() == "infrastructure-failure"
    assert set(scene.world.spools) == {machine.mark}
    await scene.check_rest()


REFUSED = {
    "too large": CompletedResult(
        execution_id="e", workflow_id="w", artifact={"blob": faults.SECRET * 300_000}
    ),
    "not JSON": CompletedResult(execution_id="e", workflow_id="w", artifact={"n": float("nan")}),
    "no error": FailedResult(execution_id="e", workflow_id="w", error=""),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_spool_that_the_ledger_refuses_is_a_doubt_and_blocks_nothing(
    scene: Scene, name: str
) -> None:
    await scene.dispatched()
    machine = await leave(scene, result=REFUSED[name])
    machine.worker = "dead"
    assert (await scene.act()).ending == "closed"
    assert (await scene.codes()).count("spool-unusable") == 1
    assert await scene.settled() == "infrastructure-failure"
    assert set(scene.world.spools) == {machine.mark}
    await scene.check_rest()


async def test_unreadable_spool_keeps_the_machine_of_a_dead_worker(scene: Scene) -> None:
    await scene.dispatched()
    machine = await leave(scene)
    machine.worker = "dead"
    scene.world.script("spooled_outcome", faults.denied)
    assert (await scene.act()).ending == "doubtful"
    assert scene.world.count("terminate") == 0
    await scene.converge()
    assert await scene.settled() == "outcome"
    await scene.check_rest()


async def test_unreadable_spool_that_nobody_may_commit_any_more_blocks_nothing(
    scene: Scene,
) -> None:
    work = await scene.dispatched(attempts_max=2)
    await scene.supersede(work.execution_attempt_id)
    scene.world.always["spooled_outcome"] = faults.denied
    assert (await scene.act()).ending == "closed"
    assert await scene.settled(work.execution_attempt_id) == "infrastructure-failure"
    assert scene.world.existing() == []


async def test_unreadable_spool_of_an_answered_attempt_blocks_nothing(scene: Scene) -> None:
    await scene.dispatched()
    await scene.commit(scene.world.machines[0])
    scene.world.always["spooled_outcome"] = faults.denied
    scene.clock.advance(2_000)
    assert (await scene.act()).ending == "closed"
    await scene.check_rest()
