"""The next attempt: when it is due, who begins it, and what becomes of the one before."""

import anyio
import msgspec
import pytest
from tests.contract.values import Loose
from tests.remediation.scene import PATIENT, TINY, Scene, completed, submission

from tenure.authority.authority import Authority
from tenure.ledger.attempt_id import derive_attempt_id
from tenure.model.result import FailedResult

RETRIED = {"attempts_max": 3, "retry_delay_ms": 1_000, "retry_delay_ms_max": 60_000}
FIRST, SECOND, THIRD = (derive_attempt_id("e", ordinal) for ordinal in (1, 2, 3))
FAILED = FailedResult(execution_id="e", workflow_id="w", error="exit status 1")


async def begin(scene: Scene, **options: Loose) -> Authority:
    """Submit ``e`` with retries, dispatch its first attempt and let go of it."""
    authority = scene.authority()
    await authority.submit(execution_id="e", submission=submission(**{**RETRIED, **options}))
    dispatch = await authority.dispatch(execution_id="e")
    assert dispatch is not None
    await authority.hand_off(dispatch, reason="a test")
    return authority


async def lose(scene: Scene, number: int) -> None:
    """Let a machine vanish and its attempt settle as an infrastructure failure."""
    scene.world.machines[number].exists = False
    await scene.run(scene.controller(f"c-{number}"))


async def state(scene: Scene) -> tuple[str | None, int, str | None, bool]:
    execution = await scene.ledger.get_execution(execution_id="e")
    assert execution is not None
    due = execution.next_attempt_at is not None
    return execution.active_attempt_id, execution.attempt_count, execution.conclusion, due


async def test_lost_attempt_is_followed_by_another_once_its_delay_is_over(scene: Scene) -> None:
    authority = await begin(scene)
    await lose(scene, 0)
    assert await state(scene) == (FIRST, 1, None, True)
    assert await authority.dispatch(execution_id="e") is None
    scene.clock.advance(999)
    assert await authority.dispatch(execution_id="e") is None
    scene.clock.advance(1)
    dispatch = await authority.dispatch(execution_id="e")
    assert dispatch is not None
    assert dispatch.execution_attempt_id == SECOND
    assert await state(scene) == (SECOND, 2, None, False)
    await scene.commit(scene.world.machines[1])
    assert await state(scene) == (SECOND, 2, "outcome", False)


async def test_delay_is_doubled_and_capped(scene: Scene) -> None:
    authority = await begin(scene, attempts_max=9, retry_delay_ms_max=3_000)
    waited = []
    for number in range(4):
        await lose(scene, number)
        execution = await scene.ledger.get_execution(execution_id="e")
        assert execution is not None
        assert execution.next_attempt_at is not None
        waited.append((execution.next_attempt_at - await scene.ledger.now()).total_seconds())
        scene.clock.advance(3_000)
        dispatch = await authority.dispatch(execution_id="e")
        assert dispatch is not None
        await authority.hand_off(dispatch, reason="a test")
    assert waited == [1, 2, 3, 3]


async def test_last_attempt_exhausts_the_execution(scene: Scene) -> None:
    authority = await begin(scene, attempts_max=2)
    await lose(scene, 0)
    scene.clock.advance(1_000)
    dispatch = await authority.dispatch(execution_id="e")
    assert dispatch is not None
    await authority.hand_off(dispatch, reason="a test")
    await lose(scene, 1)
    assert await state(scene) == (SECOND, 2, "exhausted", False)
    assert await authority.dispatch(execution_id="e") is None
    await scene.check_rest()


@pytest.mark.parametrize(("retry_failed", "conclusion"), [(True, None), (False, "outcome")])
async def test_failed_answer_is_retried_only_where_the_policy_says_so(
    scene: Scene, *, retry_failed: bool, conclusion: str | None
) -> None:
    await begin(scene, retry_failed=retry_failed)
    decision = await scene.commit(scene.world.machines[0], FAILED)
    assert decision.kind == "accepted"
    assert await state(scene) == (FIRST, 1, conclusion, retry_failed)


async def test_last_failed_answer_is_the_outcome(scene: Scene) -> None:
    await begin(scene, retry_failed=True, attempts_max=1)
    await scene.commit(scene.world.machines[0], FAILED)
    assert await state(scene) == (FIRST, 1, "outcome", False)


async def test_cancelled_execution_is_never_retried(scene: Scene) -> None:
    authority = await begin(scene, retry_failed=True)
    await lose(scene, 0)
    await scene.cancel()
    assert await state(scene) == (FIRST, 1, "cancelled", False)
    scene.clock.advance(10_000)
    assert await authority.dispatch(execution_id="e") is None
    assert scene.world.count("provision") == 1


async def test_answer_after_a_requested_cancellation_is_not_retried(scene: Scene) -> None:
    await begin(scene, retry_failed=True)
    await scene.cancel()
    await scene.commit(scene.world.machines[0], FAILED)
    assert await state(scene) == (FIRST, 1, "outcome", False)


async def test_two_authorities_at_once_make_one_retry(scene: Scene) -> None:
    await begin(scene)
    await lose(scene, 0)
    scene.clock.advance(1_000)
    begun: list[Loose] = []

    async def retry(owner: str) -> None:
        begun.append(await scene.authority(owner).dispatch(execution_id="e"))

    async with anyio.create_task_group() as group:
        for number in range(8):
            group.start_soon(retry, f"a-{number}")
    assert sum(1 for dispatch in begun if dispatch is not None) == 1
    assert scene.world.count("provision") == 2
    assert await state(scene) == (SECOND, 2, None, False)


async def test_attempts_go_to_the_candidates_in_turn(scene: Scene) -> None:
    world = scene.world
    providers = {"cloud": world}
    await begin(scene, provider_ids=("cloud", "other"))
    await lose(scene, 0)
    scene.clock.advance(1_000)
    authority = scene.authority(providers=providers)
    with pytest.raises(Exception, match="'other'"):
        await authority.dispatch(execution_id="e")
    assert await state(scene) == (FIRST, 1, None, True)


async def test_waiter_carries_the_retries_out(scene: Scene) -> None:
    await begin(scene, retry_delay_ms=1, attempts_max=2)
    await lose(scene, 0)
    ends: list[Loose] = []

    async def wait() -> None:
        ends.append(await scene.authority("w", settings=TINY).wait(execution_id="e"))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        scene.clock.advance(10)
        await scene.called("provision", 2)
        await scene.commit(scene.world.machines[1])
        scene.world.machines[1].exists = False
    (end,) = ends
    assert end.execution.conclusion == "outcome"
    assert end.settlement.result == completed()


async def test_recovery_begins_what_is_due_and_holds_it(scene: Scene) -> None:
    await begin(scene)
    assert await scene.authority("r").retry_due() == []
    await lose(scene, 0)
    assert await scene.authority("r").retry_due() == []
    scene.clock.advance(1_000)
    (dispatch,) = await scene.authority("r").retry_due()
    assert dispatch.execution_attempt_id == SECOND
    assert await scene.authority("s").retry_due() == []


async def test_recovery_leaves_what_is_bound_to_its_provisioner_to_who_waits(scene: Scene) -> None:
    scene.world.traits = msgspec.structs.replace(
        scene.world.traits, allocation_lifetime="provisioner-process-bound"
    )
    await begin(scene)
    await lose(scene, 0)
    scene.clock.advance(1_000)
    assert await scene.authority("r").retry_due() == []
    assert scene.world.count("provision") == 1


async def test_superseded_attempt_is_worked_off_and_its_late_outcome_refused(scene: Scene) -> None:
    authority = await begin(scene, attempts_max=1)
    dispatch = await authority.supersede(execution_id="e")
    assert dispatch is not None
    assert await state(scene) == (SECOND, 2, None, False)
    late = await scene.commit(scene.world.machines[0])
    assert late.kind == "fenced"
    await scene.run(scene.controller("c"))
    assert [machine.exists for machine in scene.world.machines] == [False, True]
    assert await scene.settled(FIRST) == "infrastructure-failure"
    assert await state(scene) == (SECOND, 2, None, False)
    accepted = await scene.commit(scene.world.machines[1])
    assert accepted.kind == "accepted"
    await authority.hand_off(dispatch, reason="a test")
    scene.world.machines[1].exists = False
    await scene.converge()
    await scene.check_rest()


async def test_concluded_or_cancelled_execution_is_not_superseded(scene: Scene) -> None:
    authority = await begin(scene)
    await scene.commit(scene.world.machines[0])
    assert await authority.supersede(execution_id="e") is None
    assert scene.world.count("provision") == 1


async def test_full_provider_makes_the_next_attempt_wait_for_room(scene: Scene) -> None:
    settings = msgspec.structs.replace(PATIENT, open_max=1)
    authority = scene.authority(settings=settings)
    await authority.submit(execution_id="e", submission=submission())
    first = await authority.dispatch(execution_id="e")
    assert first is not None
    await authority.submit(execution_id="f", submission=submission())
    begun: list[Loose] = []

    async def dispatch() -> None:
        begun.append(await authority.dispatch(execution_id="f"))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(dispatch)
            await anyio.wait_all_tasks_blocked()
            assert scene.world.count("provision") == 1
            await authority.hand_off(first, reason="a test")
            await scene.commit(scene.world.machines[0])
            scene.world.machines[0].exists = False
            await scene.run()
    assert begun[0] is not None
    assert scene.world.count("provision") == 2
