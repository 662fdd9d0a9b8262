"""A pass: everything that is due, each piece by itself, at a growing distance while in doubt."""

from datetime import timedelta

import anyio
import pytest
from tests.contract.values import Loose
from tests.remediation import world as faults
from tests.remediation.crashing import SteppedLedger
from tests.remediation.scene import LEASE_MS, PATIENT, TINY, Scene, playing, spooled, submission

from tenure.errors import InvalidInputError, StorageUnavailableError
from tenure.ledger.ledger import Ledger
from tenure.remediation import controller
from tenure.remediation.controller import Controller
from tenure.remediation.observation import doubt_delay
from tenure.remediation.settings import ControllerSettings


async def dispatch_many(scene: Scene, count: int) -> None:
    """Submit and dispatch so many executions, and let them go."""
    authority = scene.authority()
    for number in range(count):
        execution_id = f"e{number:04}"
        await authority.submit(execution_id=execution_id, submission=submission())
        dispatch = await authority.dispatch(execution_id=execution_id)
        assert dispatch is not None
        await dispatch.holding.hand_off(next_look_after=timedelta())


async def test_healthy_work_is_kept_and_handed_off(scene: Scene) -> None:
    await scene.dispatched()
    report = await scene.act()
    assert (report.ending, report.detail) == ("kept", "it runs")
    work = await scene.work()
    assert (work.owner_id, work.obligation, work.generation) == (None, "allocation-control", 2)
    assert work.failure_count == 0
    assert work.next_look_at == await scene.ledger.now() + timedelta(seconds=5)


async def test_pass_over_what_is_due_respects_the_next_look(scene: Scene) -> None:
    await scene.dispatched()
    assert await scene.run(due_only=True) == []
    scene.clock.advance(4_999)
    assert await scene.run(due_only=True) == []
    scene.clock.advance(1)
    assert (await scene.act(due_only=True)).ending == "kept"
    assert await scene.run(due_only=True) == []


async def test_pass_over_one_execution_leaves_the_others_alone(scene: Scene) -> None:
    await dispatch_many(scene, 3)
    report = await scene.act(execution_id="e0001")
    assert report.execution_id == "e0001"


async def test_back_off_doubles_and_is_capped(scene: Scene) -> None:
    scene.world.always["inspect"] = faults.refused
    await scene.dispatched()
    delays = []
    for _ in range(12):
        await scene.act()
        work = await scene.work()
        delays.append((work.next_look_at - await scene.ledger.now()).total_seconds())
        scene.clock.advance(int(delays[-1] * 1000))
    assert delays == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]


def test_delay_is_bounded_for_any_count_of_failures() -> None:
    for count in (-1, 0, 1, 31, 32, 10**6, 2**31 - 1):
        delay = doubt_delay(count, first=1.0, longest=300.0)
        assert timedelta(seconds=1) <= delay <= timedelta(seconds=300)


async def test_parked_doubt_starves_nobody(scene: Scene) -> None:
    await dispatch_many(scene, 30)
    for machine in scene.world.machines[:20]:
        machine.sticky = True
    for number in range(30):
        await scene.ledger.request_cancellation(execution_id=f"e{number:04}", requested_by="user")
    endings = [report.ending for report in await scene.run()]
    assert (endings.count("doubtful"), endings.count("closed")) == (20, 10)
    for machine in scene.world.machines:
        machine.sticky = False
    await scene.converge()
    await scene.check_rest()


async def test_pass_goes_over_several_pages(scene: Scene) -> None:
    for number in range(2_500):
        attempt_id, execution_id = f"a{number:04}", f"e{number:04}"
        await scene.ledger.create_attempt(
            execution_attempt_id=attempt_id, execution_id=execution_id
        )
        await scene.ledger.begin_provisioning(
            execution_attempt_id=attempt_id,
            execution_id=execution_id,
            provider_id="elsewhere",
            allocation_lifetime="provider-managed",
            provisioner_incarnation_id="p",
            owner_id="p",
            lease_expires_at=await scene.ledger.now(),
        )
    reports = await scene.controller().run_pass()
    assert [r.execution_attempt_id for r in reports] == [f"a{n:04}" for n in range(2_500)]
    assert {report.ending for report in reports} == {"unreachable"}


async def test_work_that_moves_to_another_page_in_a_pass_is_worked_on_once(
    monkeypatch: pytest.MonkeyPatch, scene: Scene
) -> None:
    monkeypatch.setattr(controller, "OPEN_WORK_PAGE_MAX", 10)
    await dispatch_many(scene, 45)
    for machine in scene.world.machines[::2]:
        machine.exists = False
    for machine in scene.world.machines[1::4]:
        await scene.commit(machine)  # a reclamation is opened later than its operation was
        machine.exists = False
    reports = await scene.controller().run_pass(due_only=False)
    assert len({report.execution_attempt_id for report in reports}) == len(reports) == 45
    endings = [report.ending for report in reports]
    assert (endings.count("closed"), endings.count("kept")) == (34, 11)


async def test_pass_works_on_no_more_at_once_than_it_may(scene: Scene) -> None:
    await dispatch_many(scene, 20)
    running, most = 0, 0

    async def look(act: faults.Act) -> Loose:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.lowlevel.checkpoint()
        running -= 1
        return await act()

    scene.world.always["inspect"] = look
    settings = ControllerSettings(call_seconds=5.0, parallel_max=3)
    await scene.run(scene.controller(settings=settings))
    assert most == 3


async def test_one_attempts_trouble_never_stops_a_pass(scene: Scene) -> None:
    await dispatch_many(scene, 10)
    bad = scene.world.machines[3]

    class Failing(SteppedLedger):
        async def record_allocation_terminated(self, **arguments: Loose) -> Loose:
            if arguments["claim"].execution_attempt_id == bad.execution_attempt_id:
                raise ZeroDivisionError(faults.SECRET)
            return await scene.ledger.record_allocation_terminated(**arguments)

    async def nothing() -> None:
        pass

    for machine in scene.world.machines:
        machine.exists = False
    reports = await scene.run(scene.controller(ledger=Failing(scene.ledger, nothing)))
    endings = {report.execution_id: report.ending for report in reports}
    details = {report.execution_id: report.detail for report in reports}
    assert endings.pop(bad.execution_id) == "failed"
    assert details[bad.execution_id] == "ZeroDivisionError"
    assert set(endings.values()) == {"closed"}
    scene.clock.advance(LEASE_MS)
    await scene.converge()
    await scene.check_rest()


async def test_scenario_45_ledger_that_is_away_in_a_pass_strands_nothing(scene: Scene) -> None:
    await dispatch_many(scene, 250)
    for machine in scene.world.machines:
        machine.exists = False
    calls = 0

    async def be_away() -> None:
        nonlocal calls
        calls += 1
        if 300 <= calls < 900:
            raise StorageUnavailableError(ledger="memory:", seen="it restarts")

    away = SteppedLedger(scene.ledger, be_away)
    endings = [report.ending for report in await scene.run(scene.controller(ledger=away))]
    assert endings.count("failed") > 10
    assert endings.count("closed") + endings.count("failed") == 250
    assert len(await scene.ledger.list_open(limit=1000)) == endings.count("failed")
    scene.clock.advance(LEASE_MS)
    assert {report.ending for report in await scene.run()} == {"closed"}
    await scene.check_rest()


async def test_scenario_61_new_controller_learns_everything_from_the_ledger(scene: Scene) -> None:
    await dispatch_many(scene, 6)
    machines = scene.world.machines
    scene.world.script("provision", faults.lost_reply)
    await scene.authority().submit(execution_id="lost", submission=submission())
    await scene.authority("gone").dispatch(execution_id="lost")
    await scene.commit(machines[0])
    machines[1].worker = "dead"
    machines[2].exists = False
    scene.world.spools[machines[3].mark] = spooled(machines[3])
    machines[3].exists = False
    await scene.ledger.request_cancellation(
        execution_id=machines[4].execution_id, requested_by="user"
    )
    scene.clock.advance(LEASE_MS)
    reports = await scene.run()
    endings = [report.ending for report in reports]
    assert (endings.count("closed"), endings.count("kept")) == (5, 2)
    for machine in scene.world.existing():
        await scene.commit(machine)
    scene.clock.advance(LEASE_MS)
    await scene.converge()
    await scene.check_rest()


async def test_scenario_85_storm_of_rejections_settles_each_with_its_evidence(
    scene: Scene,
) -> None:
    evidence = scene.world.evidence("no capacity", code="rejected")
    absent = faults.port.ConfirmedAbsent(evidence=evidence)
    scene.world.always["provision"] = faults.answering(absent)
    authority = scene.authority()
    for number in range(100):
        await authority.submit(execution_id=f"e{number}", submission=submission())
        assert await authority.dispatch(execution_id=f"e{number}") is None
    assert (await scene.codes()).count("rejected") == 100
    assert scene.world.count("provision") == 100
    await scene.check_rest()


async def test_scenario_86_endless_doubt_is_cheap_and_keeps_being_looked_at(scene: Scene) -> None:
    await scene.dispatched()
    await scene.cancel()
    scene.world.machines[0].sticky = True
    for _ in range(24 * 60):
        await scene.run(due_only=True)
        scene.clock.advance(60_000)
    looks = scene.world.count("inspect")
    assert 24 * 12 <= looks <= 24 * 12 + 20
    assert await scene.owed() == ["allocation-control"]
    scene.world.machines[0].sticky = False
    scene.clock.advance(300_000)
    await scene.run(due_only=True)
    await scene.check_rest()


async def test_equal_doubts_of_one_holder_fold_into_one_entry(scene: Scene) -> None:
    await scene.dispatched()
    await scene.cancel()
    scene.world.machines[0].sticky = True
    controller, holding = await scene.hold()
    for _ in range(300):
        assert (await controller.converge(holding)).ending == "doubtful"
    doubts = [e for e in await scene.journal() if e.event == "uncertainty-recorded"]
    assert len(doubts) == 100
    assert sum(entry.count for entry in doubts) == 300
    scene.world.machines[0].sticky = False
    await controller.converge(holding)
    await scene.check_rest()


async def test_contradictory_witnesses_end_by_the_one_that_proves(scene: Scene) -> None:
    await scene.dispatched()
    await scene.cancel()
    running = faults.port.Running(evidence=scene.world.evidence("a cache"), worker="alive")
    scene.world.always["inspect"] = faults.answering(running)
    assert (await scene.act()).ending == "closed"
    assert scene.world.count("terminate") == 1
    await scene.check_rest()


async def test_work_of_an_unknown_provider_is_reported_and_left_alone(scene: Scene) -> None:
    await scene.dispatched()
    before = await scene.ledger.list_open()
    report = await scene.act(scene.controller(providers={"other": scene.world}))
    assert report.ending == "unreachable"
    assert "'cloud'" in report.detail
    assert "other" in report.detail
    assert await scene.ledger.list_open() == before


async def test_held_work_is_reported_with_its_holder_and_left_alone(scene: Scene) -> None:
    await scene.dispatched()
    await scene.hold("holder")
    report = await scene.act()
    assert report.ending == "held"
    assert "holder" in report.detail
    assert scene.world.count("inspect") == 0


async def test_superseded_attempt_is_worked_off_though_it_is_not_active(scene: Scene) -> None:
    work = await scene.dispatched(attempts_max=2)
    await scene.supersede(work.execution_attempt_id)
    assert (await scene.act()).ending == "closed"
    assert await scene.settled(work.execution_attempt_id) == "infrastructure-failure"
    execution = await scene.ledger.get_execution(execution_id="e")
    assert execution is not None
    assert execution.conclusion is None


async def test_cancelled_pass_hands_off_what_it_holds(scene: Scene) -> None:
    await dispatch_many(scene, 5)
    scene.world.always["inspect"] = faults.hanging
    async with anyio.create_task_group() as group:
        group.start_soon(scene.controller().run_pass)
        while scene.world.count("inspect") < 5:
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert {work.owner_id for work in await scene.ledger.list_open()} == {None}
    assert (await scene.codes())[-5:] == ["stopped"] * 5
    scene.world.always.clear()
    assert {report.ending for report in await scene.run(due_only=True)} == {"kept"}


async def test_endless_progress_is_a_doubt_in_the_end(scene: Scene) -> None:
    await scene.dispatched()

    class Forgetful(SteppedLedger):
        async def record_allocation_terminated(self, **_: Loose) -> Loose:
            return faults.port  # not stale, and nothing came of it

    async def nothing() -> None:
        pass

    scene.world.machines[0].exists = False
    report = await scene.act(scene.controller(ledger=Forgetful(scene.ledger, nothing)))
    assert report.ending == "doubtful"
    assert (await scene.codes())[-1] == "no-progress"
    assert (await scene.work()).failure_count == 1


async def test_only_the_ledgers_clock_is_asked(scene: Scene) -> None:
    scene.clock.ms = 1_000  # 1970: far from every other clock of this host
    await scene.dispatched(attempt_timeout_ms=1_000)
    scene.clock.advance(20_000)
    await scene.converge()
    journal = await scene.journal()
    told = [e.evidence.observed_at for e in journal if e.evidence is not None]
    assert {text[:16] for text in told} == {"1970-01-01T00:00"}
    await scene.check_rest()


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_life_is_the_same_on_each_store(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Loose, kind: str
) -> None:
    url = "memory:" if kind == "memory" else f"sqlite:///{tmp_path / 'ledger.sqlite'}"
    async with playing(monkeypatch, url) as scene:
        scene.world.script("provision", faults.lost_reply)
        scene.world.script("terminate", faults.lost_reply)
        await scene.dispatched()
        assert (await scene.act()).ending == "kept"
        await scene.commit(scene.world.machines[0])
        scene.clock.advance(2_000)
        await scene.converge()
        await scene.check_rest()
        assert await scene.events() == [
            "execution-submitted",
            "attempt-created",
            "provisioning-begun",
            "uncertainty-recorded",
            "claim-handed-off",
            "claim-taken-over",
            "allocation-discovered",
            "claim-handed-off",
            "outcome-committed",
            "reclamation-opened",
            "execution-concluded",
            "reclamation-taken-over",
            "reclamation-uncertainty-recorded",
            "reclamation-handed-off",
            "reclamation-taken-over",
            "reclamation-closed",
        ]


@pytest.mark.parametrize(
    "name", [n for n in ControllerSettings.__struct_fields__ if "max" not in n]
)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 1e10, "5", None, True])
def test_duration_that_is_none_is_refused(name: str, value: Loose) -> None:
    with pytest.raises(InvalidInputError, match=name):
        ControllerSettings(**{name: value}).check()


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "8"])
def test_pass_that_may_work_on_nothing_is_refused(value: Loose) -> None:
    with pytest.raises(InvalidInputError, match="parallel_max"):
        ControllerSettings(parallel_max=value).check()
    with pytest.raises(InvalidInputError):
        ControllerSettings(open_max=value).check()


@pytest.mark.parametrize(
    "settings",
    [
        {"lease_seconds": 14.9},
        {"lease_seconds": 11.0, "renewal_seconds": 1.0},
        {"call_seconds": 13.6},
    ],
    ids=str,
)
def test_lease_shorter_than_three_renewals_or_a_call_is_refused(settings: Loose) -> None:
    with pytest.raises(InvalidInputError):
        ControllerSettings(**settings).check()
    with pytest.raises(InvalidInputError):
        Controller(
            Ledger.__new__(Ledger), {}, owner_id="c", settings=ControllerSettings(**settings)
        )


def test_defaults_and_the_tests_settings_keep_the_rules() -> None:
    for settings in (ControllerSettings(), PATIENT, TINY):
        assert settings.check() is settings
