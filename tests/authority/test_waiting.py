"""Waiting for an end, whoever brings it about, and taking it over at least once."""

import anyio
import pytest
from msgspec.structs import replace
from tests.contract.values import Loose
from tests.remediation import world as faults
from tests.remediation.crashing import SteppedLedger
from tests.remediation.scene import LEASE_MS, TINY, Scene, Witness, dead, submission

from tenure.authority import authority as authority_module
from tenure.authority.authority import Authority, ExecutionEnd
from tenure.errors import InvalidInputError
from tenure.ledger.attempt_id import derive_attempt_id
from tenure.model.result import PausedResult
from tenure.ports.incarnation import IncarnationAlive
from tenure.remediation import undispatched
from tenure.remediation.undispatched import settle_undispatched

PAUSED = PausedResult(
    execution_id="e", workflow_id="w", paused_at_gate_id="g", paused_at_frame_id="f"
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look often: time is the test's own here."""
    monkeypatch.setattr(authority_module, "POLL_SECONDS", 0.002)
    monkeypatch.setattr(authority_module, "ORPHAN_LOOK_SECONDS", 0.01)


class Host:
    """Takes ends over, and fails as often as it is told."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.ends: list[ExecutionEnd] = []

    async def converge(self, end: ExecutionEnd) -> None:
        """Take an end over."""
        self.ends.append(end)
        if len(self.ends) <= self.failures:
            raise ConnectionError(faults.SECRET)


async def wait(scene: Scene, host: Host | None = None, owner: str = "waiter") -> ExecutionEnd:
    """Wait for ``e`` in a process of its own."""
    authority = scene.authority(
        owner, settings=TINY, converge=None if host is None else host.converge
    )
    with anyio.fail_after(20):
        return await authority.wait(execution_id="e")


def passing(scene: Scene) -> None:
    """Let time pass with each call of the provider."""

    async def pass_time(call: faults.Call) -> None:
        del call
        scene.clock.advance(1_000)

    scene.world.on_call = pass_time


async def test_wait_ends_with_an_outcome(scene: Scene) -> None:
    await scene.dispatched()
    await scene.commit(scene.world.machines[0])
    end = await wait(scene)
    assert end.execution.conclusion == "outcome"
    assert end.settlement is not None
    assert end.settlement.settlement_kind == "outcome"


async def test_wait_ends_when_no_attempt_is_left(scene: Scene) -> None:
    await scene.dispatched()
    scene.world.machines[0].exists = False
    await scene.run()
    end = await wait(scene)
    assert end.execution.conclusion == "exhausted"
    assert end.settlement is not None
    assert end.settlement.settlement_kind == "infrastructure-failure"


async def test_wait_ends_when_it_was_cancelled_before_any_attempt(scene: Scene) -> None:
    await scene.authority().submit(execution_id="e", submission=submission())
    await scene.cancel()
    end = await wait(scene)
    assert (end.execution.conclusion, end.settlement) == ("cancelled", None)


async def test_wait_ends_when_it_is_cancelled_while_it_runs(scene: Scene) -> None:
    await scene.dispatched()
    passing(scene)
    await scene.cancel()
    end = await wait(scene)
    assert end.execution.conclusion == "cancelled"
    await scene.check_rest()


async def test_wait_ends_at_a_pause_which_is_no_conclusion(scene: Scene) -> None:
    await scene.dispatched()
    await scene.commit(scene.world.machines[0], PAUSED)
    host = Host()
    end = await wait(scene, host)
    assert end.execution.conclusion is None
    assert end.settlement is not None
    assert end.settlement.result == PAUSED
    assert host.ends == []


async def test_wait_on_what_does_not_exist_raises(scene: Scene) -> None:
    await scene.ledger.create_attempt(execution_attempt_id="a", execution_id="bare")
    for execution_id in ("nothing", "bare"):
        with pytest.raises(InvalidInputError, match=execution_id):
            await scene.authority().wait(execution_id=execution_id)


async def test_waiters_all_hear_of_one_outcome(scene: Scene) -> None:
    await scene.dispatched()
    passing(scene)
    host = Host()
    ends: list[ExecutionEnd] = []
    async with anyio.create_task_group() as group:

        async def wait_one(owner: str) -> None:
            ends.append(await wait(scene, host, owner))

        for number in range(5):
            group.start_soon(wait_one, f"w-{number}")
        await scene.called("inspect", 2)
        await scene.commit(scene.world.machines[0])
    assert len({end.execution.concluded_at for end in ends}) == 1
    assert len(ends) == 5
    assert len(host.ends) >= 1
    assert (await scene.events()).count("execution-converged") == 1


# Orphans


async def test_waiter_answers_for_what_a_dead_authority_held(scene: Scene) -> None:
    authority = scene.authority("dead")
    await authority.submit(execution_id="e", submission=submission())
    await authority.dispatch(execution_id="e")
    scene.world.machines[0].worker = "dead"
    scene.clock.advance(LEASE_MS)
    end = await wait(scene)
    assert end.execution.conclusion == "exhausted"
    await scene.check_rest()


async def test_waiter_leaves_what_somebody_holds(scene: Scene) -> None:
    await scene.dispatched()
    _, holding = await scene.hold("holder")
    async with anyio.create_task_group() as group:
        group.start_soon(wait, scene)
        await anyio.sleep(0.05)
        assert scene.world.count("inspect") == 0
        assert await holding.reload() == await scene.work()
        await scene.commit(scene.world.machines[0])


async def test_wait_ends_though_the_machine_cannot_be_ended(scene: Scene) -> None:
    await scene.dispatched()
    (machine,) = scene.world.existing()
    machine.sticky = True
    passing(scene)
    async with anyio.create_task_group() as group:

        async def answer() -> None:
            await scene.called("inspect", 2)
            await scene.commit(machine)

        group.start_soon(answer)
        end = await wait(scene)
    assert end.execution.conclusion == "outcome"
    work = await scene.work()
    assert (work.kind, work.owner_id) == ("reclamation", None)
    machine.sticky = False
    scene.clock.advance(LEASE_MS)
    await scene.converge()
    await scene.check_rest()


async def test_waiter_without_the_provider_waits_for_others(scene: Scene) -> None:
    await scene.dispatched()
    authority = scene.authority("waiter", settings=TINY, providers={})
    async with anyio.create_task_group() as group:

        async def wait_far_away() -> None:
            assert (await authority.wait(execution_id="e")).execution.conclusion == "outcome"

        group.start_soon(wait_far_away)
        await anyio.sleep(0.03)
        assert (await scene.work()).owner_id is None
        await scene.commit(scene.world.machines[0])


async def test_cancelled_wait_hands_off_what_it_took_over(scene: Scene) -> None:
    await scene.dispatched()
    async with anyio.create_task_group() as group:
        group.start_soon(wait, scene)
        await scene.called("inspect", 1)
        group.cancel_scope.cancel()
    assert (await scene.work()).owner_id is None
    assert (await scene.codes())[-1] == "stopped-waiting"


# Taking over the end


async def test_end_is_taken_over_once_when_that_succeeds(scene: Scene) -> None:
    await scene.dispatched()
    await scene.commit(scene.world.machines[0])
    host = Host()
    await wait(scene, host)
    await wait(scene, host)
    assert len(host.ends) == 1
    execution = await scene.ledger.get_execution(execution_id="e")
    assert execution is not None
    assert execution.converged_at is not None


async def test_end_whose_taking_over_fails_is_taken_over_by_the_next_waiter(scene: Scene) -> None:
    await scene.dispatched()
    await scene.commit(scene.world.machines[0])
    host = Host(failures=2)
    for _ in range(2):
        with pytest.raises(ConnectionError):
            await wait(scene, host)
        assert await scene.settled() == "outcome"
    await wait(scene, host)
    assert len(host.ends) == 3
    assert (await scene.events()).count("execution-converged") == 1


async def test_crash_between_taking_over_and_its_record_takes_over_again(scene: Scene) -> None:
    await scene.dispatched()
    await scene.commit(scene.world.machines[0])
    host = Host()

    class Mortal(SteppedLedger):
        async def record_convergence(self, **_: Loose) -> Loose:
            raise KeyError

    async def nothing() -> None:
        pass

    authority = scene.authority(
        "dead", ledger=Mortal(scene.ledger, nothing), converge=host.converge
    )
    with pytest.raises(KeyError):
        await authority.wait(execution_id="e")
    await wait(scene, host)
    assert len(host.ends) == 2


# What was never begun


async def submit(scene: Scene, execution_id: str = "e", *, pending: bool = False) -> None:
    """Submit in the name of a process that then does nothing more."""
    await scene.authority("submitter").submit(execution_id=execution_id, submission=submission())
    if pending:
        await scene.ledger.ensure_attempt(
            execution_id=execution_id,
            execution_attempt_id=derive_attempt_id(execution_id, 1),
        )


@pytest.mark.parametrize("pending", [False, True])
async def test_wait_ends_when_the_submitter_died_before_its_begin(
    scene: Scene, *, pending: bool
) -> None:
    await submit(scene, pending=pending)
    scene.known["submitter"] = dead()
    end = await wait(scene)
    assert end.execution.conclusion == "exhausted"
    assert await scene.settled() == "abandoned"
    await scene.check_rest()


@pytest.mark.parametrize("known", [None, IncarnationAlive()], ids=["unknown", "alive"])
@pytest.mark.parametrize("pending", [False, True])
async def test_submitter_that_may_live_may_still_begin(
    scene: Scene, known: Loose, *, pending: bool
) -> None:
    await submit(scene, pending=pending)
    if known is not None:
        scene.known["submitter"] = known
    with anyio.move_on_after(0.05):
        await scene.authority("waiter", settings=TINY).wait(execution_id="e")
        pytest.fail("it has not ended")
    assert await settle_undispatched(scene.ledger, Witness("c", scene.known)) == []
    assert await scene.authority("submitter").dispatch(execution_id="e") is not None


async def test_cancelled_attempt_that_was_never_begun_ends_whoever_submitted_it(
    scene: Scene,
) -> None:
    await submit(scene, pending=True)
    await scene.cancel()
    end = await wait(scene)
    assert end.execution.conclusion == "cancelled"
    await scene.check_rest()


async def test_everything_that_can_never_begin_is_settled(
    monkeypatch: pytest.MonkeyPatch, scene: Scene
) -> None:
    monkeypatch.setattr(undispatched, "_PAGE", 7)
    for number in range(20):
        await submit(scene, f"e{number:02}", pending=number % 2 == 0)
        scene.clock.advance(1)
    await scene.dispatched()
    scene.known["submitter"] = dead()
    reports = await settle_undispatched(scene.ledger, Witness("c", scene.known))
    assert sorted(r.execution_id for r in reports) == [f"e{n:02}" for n in range(20)]
    assert {report.ending for report in reports} == {"closed"}
    assert await settle_undispatched(scene.ledger, Witness("c", scene.known)) == []
    assert scene.world.count("provision") == 1


async def test_one_executions_trouble_never_stops_the_others(scene: Scene) -> None:
    for number in range(5):
        await submit(scene, f"e{number}")

    class Failing(Witness):
        def observe(self, incarnation_id: str) -> Loose:
            looks.append(incarnation_id)
            if len(looks) == 2:
                raise PermissionError(13, faults.SECRET)
            return dead()

    looks: list[str] = []
    reports = await settle_undispatched(scene.ledger, Failing("c", {}))
    endings = [report.ending for report in reports]
    assert (endings.count("closed"), endings.count("failed")) == (4, 1)
    scene.reports += reports


async def test_attempt_that_begins_in_between_is_not_reported_as_given_up(scene: Scene) -> None:
    await submit(scene, pending=True)

    class Racing(Witness):
        def observe(self, incarnation_id: str) -> Loose:
            del incarnation_id
            return dead()

    async def begin(name: str) -> None:
        if name == "abandon":
            await scene.authority("a-2").dispatch(execution_id="e")

    class Slow(SteppedLedger):
        async def abandon_pending_attempt(self, **arguments: Loose) -> Loose:
            await begin("abandon")
            return await scene.ledger.abandon_pending_attempt(**arguments)

    async def nothing() -> None:
        pass

    slow: Loose = Slow(scene.ledger, nothing)
    assert await settle_undispatched(slow, Racing("c", {})) == []
    assert await scene.owed() == ["allocation-control"]


async def test_settings_that_break_their_rules_are_refused_at_once(scene: Scene) -> None:
    with pytest.raises(InvalidInputError):
        Authority(
            scene.ledger,
            {},
            witness=Witness("a", {}),
            settings=replace(TINY, lease_seconds=0.001),
        )
