"""From a submission to one provider call, through attendance to the end."""

from datetime import timedelta

import anyio
import pytest
from msgspec.structs import replace
from tests.contract.values import Loose
from tests.remediation import world as faults
from tests.remediation.crashing import SteppedLedger
from tests.remediation.scene import LEASE_MS, TINY, Scene, completed, spooled, submission

from tenure.authority.authority import Authority
from tenure.authority.dispatch import Dispatch
from tenure.errors import InvalidInputError, ProviderError
from tenure.model.decision import AttemptExists
from tenure.model.result import CancelledResult
from tenure.ports import provider as port
from tenure.remediation.controller import WorkReport


async def begun(scene: Scene, **options: Loose) -> tuple[Authority, Dispatch]:
    """Submit and dispatch ``e``, and go on holding it."""
    authority = scene.authority(settings=TINY)
    await authority.submit(execution_id="e", submission=submission(**options))
    dispatch = await authority.dispatch(execution_id="e")
    assert dispatch is not None
    return authority, dispatch


async def attend(authority: Authority, dispatch: Dispatch) -> WorkReport:
    """Attend, but not for ever."""
    with anyio.fail_after(20):
        return await authority.attend(dispatch)


def passing(scene: Scene, ms: int = 1_000) -> None:
    """Let time pass with each call of the provider."""

    async def pass_time(call: faults.Call) -> None:
        del call
        scene.clock.advance(ms)

    scene.world.on_call = pass_time


# Submitting


async def test_submission_made_twice_is_one_execution(scene: Scene) -> None:
    authority = scene.authority()
    first = await authority.submit(execution_id="e", submission=submission())
    second = await scene.authority("a-2").submit(execution_id="e", submission=submission())
    assert first == second
    assert first.submitted_by == "a-1"


async def test_another_submission_of_the_same_id_is_refused(scene: Scene) -> None:
    await scene.authority().submit(execution_id="e", submission=submission())
    with pytest.raises(InvalidInputError, match="exists with another submission"):
        await scene.authority().submit(execution_id="e", submission=submission(attempts_max=2))


async def test_submission_to_an_unknown_provider_names_the_known_ones(scene: Scene) -> None:
    authority = scene.authority(providers={"near": scene.world, "far": scene.world})
    with pytest.raises(ProviderError, match=r"'cloud'.*far, near"):
        await authority.submit(execution_id="e", submission=submission())
    with pytest.raises(ProviderError, match="none"):
        await scene.authority(providers={}).submit(execution_id="e", submission=submission())
    assert await scene.ledger.get_execution(execution_id="e") is None


async def test_instruction_that_could_never_be_carried_out_is_refused(scene: Scene) -> None:
    with pytest.raises(InvalidInputError, match="instruction"):
        await scene.authority().submit(
            execution_id="e", submission=submission(instruction={"bad": True})
        )
    assert await scene.ledger.get_execution(execution_id="e") is None


# Dispatching


async def test_call_is_told_everything_that_the_ledger_holds(scene: Scene) -> None:
    requests: list[port.ProvisionRequest] = []
    provision = scene.world.provision

    async def listen(request: port.ProvisionRequest) -> Loose:
        requests.append(request)
        return await provision(request)

    scene.world.provision = listen  # type: ignore[method-assign]  # listens in

    async def lag() -> None:
        scene.clock.advance(100)

    slow = SteppedLedger(scene.ledger, lag)
    authority = scene.authority(ledger=slow)
    instruction = {"do": ["it"]}
    await authority.submit(
        execution_id="e", submission=submission(instruction=instruction, attempt_timeout_ms=9_000)
    )
    dispatch = await authority.dispatch(execution_id="e")
    assert dispatch is not None
    (request,) = requests
    work = await scene.work()
    assert (request.execution_id, request.execution_attempt_id) == ("e", work.execution_attempt_id)
    assert (request.workflow_id, request.instruction) == ("w", instruction)
    assert request.mark == work.mark == dispatch.mark
    assert request.mark == scene.ledger.mark_of(work.execution_attempt_id)
    assert (request.begun_at, request.deadline_at) == (work.begun_at, work.deadline_at)
    assert request.call_deadline_at > request.begun_at
    assert request.ledger_url == "memory:"


async def test_dispatch_records_the_allocation_and_holds_the_claim(scene: Scene) -> None:
    _, dispatch = await begun(scene)
    work = await scene.work()
    assert (work.obligation, work.owner_id) == ("allocation-control", "a-1")
    assert work.references == (scene.world.machines[0].ref,)
    assert dispatch.holding.claim.generation == work.generation == 1
    assert dispatch.provider_id == "cloud"


async def test_second_dispatch_calls_nothing(scene: Scene) -> None:
    authority, _ = await begun(scene)
    assert await authority.dispatch(execution_id="e") is None
    assert await scene.authority("a-2").dispatch(execution_id="e") is None
    assert scene.world.count("provision") == 1


async def test_dispatch_of_what_does_not_exist_calls_nothing(scene: Scene) -> None:
    await scene.ledger.create_attempt(execution_attempt_id="a", execution_id="bare")
    assert await scene.authority().dispatch(execution_id="nothing") is None
    assert await scene.authority().dispatch(execution_id="bare") is None
    assert scene.world.calls == []


async def test_dispatch_where_the_provider_is_not_makes_no_attempt(scene: Scene) -> None:
    await scene.authority().submit(execution_id="e", submission=submission())
    with pytest.raises(ProviderError, match="dispatch where it is"):
        await scene.authority("a-2", providers={}).dispatch(execution_id="e")
    execution = await scene.ledger.get_execution(execution_id="e")
    assert execution is not None
    assert execution.active_attempt_id is None
    assert await scene.authority("a-3").dispatch(execution_id="e") is not None


async def test_rejected_call_settles_its_attempt(scene: Scene) -> None:
    evidence = scene.world.evidence("no capacity", code="rejected")
    scene.world.script("provision", faults.answering(port.ConfirmedAbsent(evidence=evidence)))
    authority = scene.authority()
    await authority.submit(execution_id="e", submission=submission())
    assert await authority.dispatch(execution_id="e") is None
    assert await scene.settled() == "abandoned"
    assert await scene.codes() == ["rejected"]
    await scene.check_rest()


async def test_outcome_that_is_faster_than_the_record_leaves_its_reference(scene: Scene) -> None:
    scene.world.script("provision", faults.then(lambda: scene.commit(scene.world.machines[0])))
    _, dispatch = await begun(scene)
    work = dispatch.holding.work
    assert (work.kind, work.references) == ("reclamation", (scene.world.machines[0].ref,))
    assert await dispatch.holding.renew(timedelta(seconds=15))
    assert (await dispatch.holding.reload()) == await scene.work()


async def test_answer_that_comes_to_a_cancelled_caller_is_recorded(scene: Scene) -> None:
    with anyio.CancelScope() as scope:

        async def in_a_thread(act: faults.Act) -> Loose:
            answer = await act()
            scope.cancel()
            return answer

        scene.world.script("provision", in_a_thread)
        authority = scene.authority(ledger=SteppedLedger(scene.ledger, anyio.lowlevel.checkpoint))
        await authority.submit(execution_id="e", submission=submission())
        dispatch = await authority.dispatch(execution_id="e")
        assert dispatch is not None
        await attend(authority, dispatch)
        pytest.fail("it was not cancelled")
    work = await scene.work()
    assert (work.obligation, work.owner_id) == ("allocation-control", None)


async def test_cancelled_dispatch_whose_ledger_is_away_stays_cancelled(scene: Scene) -> None:
    cancelled = False

    async def be_away() -> None:
        if cancelled:
            raise ProviderError(provider_id="x", seen="any of our errors", advice="none")

    with anyio.CancelScope() as scope:

        async def hang(act: faults.Act) -> Loose:
            nonlocal cancelled
            await act()
            cancelled = True
            scope.cancel()
            await anyio.sleep_forever()

        scene.world.script("provision", hang)
        authority = scene.authority(ledger=SteppedLedger(scene.ledger, be_away))
        await authority.submit(execution_id="e", submission=submission())
        await authority.dispatch(execution_id="e")
        pytest.fail("it was not cancelled")
    assert (await scene.work()).owner_id == "a-1"  # until the lease has run out


async def test_scenario_23_stale_view_of_the_attempt_grants_no_second_call(scene: Scene) -> None:
    _, dispatch = await begun(scene)
    record = await scene.ledger.recovery.get_attempt_with_allocation(
        execution_attempt_id=dispatch.execution_attempt_id
    )
    assert record is not None
    old = replace(record, status="pending")

    class Replica(SteppedLedger):
        async def ensure_attempt(self, **_: Loose) -> AttemptExists:
            return AttemptExists(attempt=old, active=True)

    async def nothing() -> None:
        pass

    authority = scene.authority("a-2", ledger=Replica(scene.ledger, nothing))
    assert await authority.dispatch(execution_id="e") is None
    assert scene.world.count("provision") == 1


async def test_scenario_24_dispatch_after_the_outcome_does_nothing(scene: Scene) -> None:
    await begun(scene)
    await scene.commit(scene.world.machines[0])
    before = await scene.events()
    assert await scene.authority("a-2").dispatch(execution_id="e") is None
    assert await scene.events() == before
    assert scene.world.count("provision") == 1


async def test_scenario_25_restart_while_the_first_one_starts_makes_no_second(
    scene: Scene,
) -> None:
    await begun(scene)
    scene.world.machines[0].worker = "unknown"
    scene.clock.advance(LEASE_MS)
    assert await scene.authority("a-2").dispatch(execution_id="e") is None
    assert (await scene.act()).ending == "kept"
    execution = await scene.ledger.get_execution(execution_id="e")
    assert execution is not None
    assert execution.attempt_count == 1


async def test_scenario_78_message_delivered_four_times_makes_one_call(scene: Scene) -> None:
    authority = scene.authority()
    answers = []
    for _ in range(4):
        await authority.submit(execution_id="e", submission=submission())
        answers.append(await authority.dispatch(execution_id="e"))
    assert [answer is None for answer in answers] == [False, True, True, True]
    assert scene.world.count("provision") == 1


async def test_scenario_75_late_messages_of_the_first_attempt_miss_the_second(
    scene: Scene,
) -> None:
    authority, first = await begun(scene, attempts_max=2)
    await scene.supersede(first.execution_attempt_id)
    second = await scene.authority("a-2").dispatch(execution_id="e")
    assert second is not None
    before = second.holding.work
    assert (await authority.controller.converge(first.holding)).ending == "closed"
    assert await second.holding.reload() == before
    assert [m.execution_attempt_id for m in scene.world.existing()] == ["second"]


# Cancelling


async def test_execution_that_was_cancelled_before_its_begin_is_never_called(scene: Scene) -> None:
    authority = scene.authority()
    await authority.submit(execution_id="e", submission=submission())
    await scene.ledger.ensure_attempt(execution_id="e", execution_attempt_id="pending")
    await scene.cancel()
    assert await authority.dispatch(execution_id="e") is None
    execution = await scene.ledger.get_execution(execution_id="e")
    assert execution is not None
    assert execution.conclusion == "cancelled"
    assert scene.world.calls == []
    await scene.check_rest()


async def test_work_that_is_cancelled_while_it_runs_ends_with_its_workers_word(
    scene: Scene,
) -> None:
    authority, dispatch = await begun(scene)
    result = CancelledResult(execution_id="e", workflow_id="w")

    def stop(machine: faults.Machine) -> None:
        scene.world.spools[machine.mark] = spooled(machine, result)

    scene.world.on_terminate = stop
    await scene.cancel()
    assert (await attend(authority, dispatch)).ending == "closed"
    end = await authority.wait(execution_id="e")
    assert end.settlement is not None
    assert end.settlement.result == result
    assert end.execution.conclusion == "outcome"
    await scene.check_rest()


async def test_cancellation_after_the_outcome_changes_nothing(scene: Scene) -> None:
    await begun(scene)
    await scene.commit(scene.world.machines[0])
    answer = await scene.ledger.request_cancellation(execution_id="e", requested_by="user")
    assert answer.kind == "concluded"
    end = await scene.authority().find_end(execution_id="e")
    assert end is not None
    assert end.execution.conclusion == "outcome"


# Attending


async def test_attended_work_ends_with_its_answer_and_without_its_machine(scene: Scene) -> None:
    authority, dispatch = await begun(scene)
    passing(scene)
    async with anyio.create_task_group() as group:

        async def answer() -> None:
            await scene.called("inspect", 3)
            await scene.commit(scene.world.machines[0])

        group.start_soon(answer)
        report = await attend(authority, dispatch)
    assert report.ending == "closed"
    assert await scene.settled() == "outcome"
    assert "claim-taken-over" not in await scene.events()
    await scene.check_rest()


async def test_attendance_that_is_cancelled_hands_off_with_evidence(scene: Scene) -> None:
    authority, dispatch = await begun(scene)
    async with anyio.create_task_group() as group:
        group.start_soon(attend, authority, dispatch)
        await scene.called("inspect")
        group.cancel_scope.cancel()
    work = await scene.work()
    assert work.owner_id is None
    assert work.last_failure is not None
    assert work.last_failure.code == "stopped-waiting"
    assert scene.world.existing() != []
    assert (await scene.act()).ending == "kept"


async def test_attendance_ends_at_once_when_the_claim_is_lost(scene: Scene) -> None:
    authority, dispatch = await begun(scene)
    scene.clock.advance(LEASE_MS)
    await scene.hold("rival")
    assert (await attend(authority, dispatch)).ending == "lost"
    assert scene.world.count("inspect") == 0


@pytest.mark.parametrize("fault", [None, faults.refused], ids=["kept", "doubtful"])
async def test_resting_attendance_renews_and_wakes_at_a_cancellation(
    scene: Scene, fault: faults.Fault | None
) -> None:
    if fault is not None:
        scene.world.script("inspect", *[fault] * 20)
    patient = replace(TINY, look_seconds=600.0, doubt_seconds_max=600.0)
    authority = scene.authority(settings=patient)
    await authority.submit(execution_id="e", submission=submission())
    dispatch = await authority.dispatch(execution_id="e")
    assert dispatch is not None
    async with anyio.create_task_group() as group:
        group.start_soon(attend, authority, dispatch)
        await scene.called("inspect", 1 if fault is None else 5)
        looks = scene.world.count("inspect")
        for _ in range(5):
            scene.clock.advance(14_000)
            ends_at = await scene.ledger.now() + timedelta(seconds=15)
            with anyio.fail_after(20):
                while (await scene.work()).lease_expires_at != ends_at:
                    await anyio.lowlevel.checkpoint()
        if fault is None:
            assert scene.world.count("inspect") == looks
        scene.world.faults.clear()
        await scene.cancel()
    assert await scene.settled() == "infrastructure-failure"
    await scene.check_rest()


async def test_looks_at_an_attended_doubt_grow_apart(scene: Scene) -> None:
    authority, dispatch = await begun(scene)
    settings = replace(TINY, doubt_seconds=1.0, doubt_seconds_max=300.0)
    authority = scene.authority(settings=settings)
    report = await authority.controller.converge(dispatch.holding)
    doubtful = replace(report, ending="doubtful")
    pauses = []
    for count in (1, 2, 3, 5, 10, 13, 100):
        dispatch.holding.work = replace(dispatch.holding.work, failure_count=count)
        pauses.append(authority._pause(dispatch.holding, doubtful))
    assert pauses == [0.1, 0.2, 0.4, 1.6, 51.2, 300.0, 300.0]


async def test_hand_off_keeps_the_reason(scene: Scene) -> None:
    authority, dispatch = await begun(scene)
    await authority.hand_off(dispatch, reason="the user pressed Ctrl-C")
    work = await scene.work()
    assert (work.owner_id, work.lease_expires_at) == (None, None)
    assert work.last_failure is not None
    assert work.last_failure.summary == "the user pressed Ctrl-C"
    assert work.failure_count == 0


async def test_hand_off_after_the_outcome_frees_the_reclamation(scene: Scene) -> None:
    authority, dispatch = await begun(scene)
    await scene.commit(scene.world.machines[0], completed())
    await authority.hand_off(dispatch, reason="enough")
    work = await scene.work()
    assert (work.kind, work.owner_id) == ("reclamation", None)


async def test_hand_off_of_a_lost_claim_changes_nothing(scene: Scene) -> None:
    authority, dispatch = await begun(scene)
    scene.clock.advance(LEASE_MS)
    await scene.hold("rival")
    before = await scene.ledger.list_open()
    await authority.hand_off(dispatch, reason="late")
    assert await scene.ledger.list_open() == before
