"""Work that is bound to its provisioner, after that one's proven death; and after nothing of it."""

import msgspec
import pytest
from tests.contract.values import Loose
from tests.remediation import world as faults_world
from tests.remediation.scene import PATIENT, Scene, Witness, submission

from tenure.model.open_work import OpenWork
from tenure.ports.incarnation import (
    IncarnationAlive,
    IncarnationDead,
    IncarnationObservation,
    IncarnationUnknown,
)
from tenure.remediation.controller import Controller

LEASE_MS = 15_000
DEAD = IncarnationDead("process-replaced")


async def die(scene: Scene, *, recorded: bool) -> OpenWork:
    """Let a process-bound provisioner die before or after it recorded the allocation."""
    scene.world.traits = msgspec.structs.replace(
        scene.world.traits, allocation_lifetime="provisioner-process-bound"
    )
    authority = scene.authority("provisioner")
    await authority.submit(execution_id="e", submission=submission())
    if not recorded:
        scene.world.script("provision", faults_world.lost_reply)
    assert await authority.dispatch(execution_id="e") is not None
    scene.clock.advance(LEASE_MS)
    (work,) = await scene.ledger.list_open()
    assert isinstance(work, OpenWork)
    return work


def controller(scene: Scene, life: IncarnationObservation) -> Controller:
    """Make a controller whose witness knows what became of the provisioner."""
    return Controller(
        scene.ledger,
        {"cloud": scene.world},
        owner_id="c",
        witness=Witness("c", {"provisioner": life}),
        settings=PATIENT,
    )


async def test_death_before_the_record_loses_the_attempt(scene: Scene) -> None:
    await die(scene, recorded=False)
    scene.world.machines[0].exists = False
    await scene.run(controller(scene, DEAD))
    assert await scene.settled() == "abandoned"
    (lost,) = [e for e in await scene.journal() if e.event == "provisioner-incarnation-lost"]
    assert "process-replaced" in lost.evidence.summary
    await scene.check_rest()


async def test_death_after_the_record_is_evidence_of_termination(scene: Scene) -> None:
    await die(scene, recorded=True)
    scene.world.machines[0].exists = False
    await scene.run(controller(scene, DEAD))
    assert await scene.settled() == "infrastructure-failure"
    (ended,) = [e for e in await scene.journal() if e.event == "allocation-terminated"]
    assert ended.evidence.code == "provisioner-incarnation-lost"
    assert "process-replaced" in ended.evidence.summary
    await scene.check_rest()


@pytest.mark.parametrize("recorded", [False, True])
async def test_what_is_left_after_the_death_is_not_lost(scene: Scene, *, recorded: bool) -> None:
    await die(scene, recorded=recorded)
    await scene.run(controller(scene, DEAD))
    assert await scene.settled() is None
    assert scene.world.existing() != []
    assert "provisioner-incarnation-lost" not in await scene.events()


@pytest.mark.parametrize("life", [IncarnationAlive(), IncarnationUnknown("other-machine")])
async def test_provisioner_that_may_live_is_no_proof(scene: Scene, life: Loose) -> None:
    await die(scene, recorded=False)
    scene.world.machines[0].exists = False
    await scene.run(controller(scene, life))
    assert "provisioner-incarnation-lost" not in await scene.events()


async def test_death_says_nothing_about_what_outlives_its_provisioner(scene: Scene) -> None:
    authority = scene.authority("provisioner")
    await authority.submit(execution_id="e", submission=submission())
    scene.world.script("provision", faults_world.lost_reply)
    assert await authority.dispatch(execution_id="e") is not None
    scene.clock.advance(LEASE_MS)
    await scene.run(controller(scene, DEAD))
    assert await scene.settled() is None
    assert "provisioner-incarnation-lost" not in await scene.events()


async def test_reclamation_of_a_lost_provisioner_closes_as_lost(scene: Scene) -> None:
    await die(scene, recorded=False)
    await scene.commit(scene.world.machines[0])
    scene.world.machines[0].exists = False
    await scene.run(controller(scene, DEAD))
    assert await scene.ledger.list_open() == []
    work = await scene.ledger.get_execution(execution_id="e")
    assert work is not None
    assert work.active_attempt_id is not None
    closed = await scene.ledger.get_reclamation(execution_attempt_id=work.active_attempt_id)
    assert closed is not None
    assert closed.closure == "incarnation-lost"
