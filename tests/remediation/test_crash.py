"""A process dies between any two of its calls; whatever it was doing, another one ends it well."""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.contract.values import Loose
from tests.remediation import world as faults
from tests.remediation.crashing import LifeSpan, mortal_ledger, until_crash
from tests.remediation.scene import (
    LEASE_MS,
    Scene,
    dead,
    playing,
    spooled,
    submission,
)
from tests.remediation.world import Machine

from tenure.model.result import CancelledResult
from tenure.remediation.undispatched import settle_undispatched

Script = Callable[[Scene], None]
Happening = Callable[[Scene], Awaitable[None]]
ROUNDS_MAX = 40


async def nothing(scene: Scene) -> None:
    """Let nothing happen."""
    del scene


async def workers_answer(scene: Scene) -> None:
    """Let each living worker commit its outcome, once."""
    for machine in scene.world.existing():
        if machine.worker == "alive":
            await scene.commit(machine)
            machine.worker = "dead"


async def workers_answer_and_end(scene: Scene) -> None:
    """Let each machine end with its outcome."""
    await workers_answer(scene)
    for machine in scene.world.existing():
        machine.exists = False


async def workers_die(scene: Scene) -> None:
    """Let the workers die and their machines stay."""
    for machine in scene.world.existing():
        machine.worker = "dead"


async def workers_die_with_a_spool(scene: Scene) -> None:
    """Let the workers die with their outcome undelivered."""
    for machine in scene.world.existing():
        if machine.worker == "alive":
            scene.world.spools[machine.mark] = spooled(machine)
            machine.worker = "dead"


async def machines_vanish(scene: Scene) -> None:
    """Let the machines end by themselves, without an answer."""
    for machine in scene.world.existing():
        machine.exists = False


async def user_cancels(scene: Scene) -> None:
    """Ask for the end once."""
    await scene.ledger.request_cancellation(execution_id="e", requested_by="user")


async def deadline_passes(scene: Scene) -> None:
    """Let a lot of time go by."""
    scene.clock.advance(20_000)


async def second_attempt_supersedes(scene: Scene) -> None:
    """Replace the first attempt by one that is never begun."""
    execution = await scene.ledger.get_execution(execution_id="e")
    if execution is not None and execution.attempt_count == 1:
        first = execution.active_attempt_id
        await scene.ledger.ensure_attempt(
            execution_id="e", execution_attempt_id="second", replaces=first, supersede=True
        )
        await scene.ledger.abandon_pending_attempt(execution_attempt_id="second", execution_id="e")


def reply_is_lost(scene: Scene) -> None:
    """Lose the create's reply."""
    scene.world.script("provision", faults.lost_reply)


def outcome_is_faster(scene: Scene) -> None:
    """Let the worker commit before the create's reply arrives."""
    scene.world.script("provision", faults.then(lambda: workers_answer(scene)))


def call_is_rejected(scene: Scene) -> None:
    """Refuse for good."""
    scene.world.script("provision", faults.answering(_absent(scene)))


def cancelled_worker_spools(scene: Scene) -> None:
    """Let a worker that is asked to end leave that it was cancelled."""

    def leave(machine: Machine) -> None:
        result = CancelledResult(execution_id="e", workflow_id="w")
        scene.world.spools[machine.mark] = spooled(machine, result)

    scene.world.on_terminate = leave


def terminations_are_doubtful(scene: Scene) -> None:
    """Lose the first answers to terminations."""
    scene.world.script(
        "terminate", faults.refused, faults.denied, faults.lost_reply, faults.refused
    )


def well(scene: Scene) -> None:
    """Let nothing go wrong."""
    del scene


def _absent(scene: Scene) -> Loose:
    return faults.port.ConfirmedAbsent(evidence=scene.world.evidence("no capacity"))


@dataclass(frozen=True)
class Story:
    """What goes wrong with the calls, what happens in each round, and how it may end."""

    script: Script
    happening: Happening
    ends: frozenset[str]
    """How the first attempt may settle. ``abandoned`` is always possible: it crashed early."""
    options: tuple[tuple[str, Loose], ...] = ()


STORIES = {
    "the worker answers": Story(well, workers_answer, frozenset({"outcome"})),
    "the machine ends with its answer": Story(well, workers_answer_and_end, frozenset({"outcome"})),
    "the create's reply is lost": Story(reply_is_lost, workers_answer, frozenset({"outcome"})),
    "the outcome is faster than the record": Story(
        outcome_is_faster, nothing, frozenset({"outcome"})
    ),
    "the call is rejected": Story(call_is_rejected, nothing, frozenset()),
    "it is cancelled": Story(well, user_cancels, frozenset({"infrastructure-failure"})),
    "a cancelled worker answers": Story(
        cancelled_worker_spools, user_cancels, frozenset({"outcome"})
    ),
    "the deadline passes": Story(
        well,
        deadline_passes,
        frozenset({"infrastructure-failure"}),
        (("attempt_timeout_ms", 1_000),),
    ),
    "the agent dies": Story(well, workers_die, frozenset({"infrastructure-failure"})),
    "the agent dies with a spool": Story(well, workers_die_with_a_spool, frozenset({"outcome"})),
    "the machine vanishes": Story(well, machines_vanish, frozenset({"infrastructure-failure"})),
    "it is superseded": Story(
        well,
        second_attempt_supersedes,
        frozenset({"infrastructure-failure"}),
        (("attempts_max", 2),),
    ),
    "terminations are doubtful": Story(
        terminations_are_doubtful, user_cancels, frozenset({"infrastructure-failure"})
    ),
}


async def live(scene: Scene, ledger: Loose, story: Story) -> None:
    """Live the whole life of ``e`` as the authority that submits it."""
    authority = scene.authority("a-1", ledger=ledger)
    await authority.submit(execution_id="e", submission=submission(**dict(story.options)))
    dispatch = await authority.dispatch(execution_id="e")
    if dispatch is None:
        return
    for _ in range(ROUNDS_MAX):
        report = await authority.controller.converge(dispatch.holding)
        if report.ending not in ("kept", "doubtful"):
            return
        await story.happening(scene)
        scene.clock.advance(2_000)
    pytest.fail("its own authority never ended it")


async def recover(scene: Scene, ledger: Loose, story: Story, owner: str) -> None:
    """Work off what others left, for as long as anything is open."""
    scene.known["a-1"] = dead()
    controller = scene.controller(owner, ledger=ledger)
    witness = scene.authority(owner)._witness
    for _ in range(ROUNDS_MAX):
        scene.reports += await settle_undispatched(ledger, witness)
        await story.happening(scene)
        await scene.run(controller)
        if not await scene.ledger.list_open():
            return
        scene.clock.advance(2_000)
    pytest.fail(f"no controller ended it: {scene.reports[-1]}")


async def crash_and_recover(scene: Scene, story: Story, *steps: int, late: bool = False) -> bool:
    """Let one process after the other die after so many steps; the last one lives.

    Returns:
        Whether the first one died at all.
    """
    story.script(scene)
    died_first = False
    for number, left in enumerate(steps):
        span = LifeSpan(left)
        scene.world.on_call = span.call_step
        ledger = mortal_ledger(scene.ledger, span)
        alive = (
            live(scene, ledger, story)
            if number == 0
            else recover(scene, ledger, story, f"c-{number}")
        )
        crashed = await until_crash(alive)
        died_first = died_first or (number == 0 and crashed)
        if crashed:
            scene.clock.advance(LEASE_MS)
        if late:
            await workers_answer(scene)
    scene.world.on_call = None
    if await scene.ledger.get_execution(execution_id="e") is not None:
        await recover(scene, scene.ledger, story, "c-last")
        execution = await scene.ledger.get_execution(execution_id="e")
        assert execution is not None
        assert execution.conclusion is not None
    await scene.check_rest()
    return died_first


async def check_end(scene: Scene, story: Story, *, late: bool) -> None:
    """See that the first attempt settled as the story says."""
    journal = await scene.journal()
    first = next((e.execution_attempt_id for e in journal if e.execution_attempt_id), None)
    if first is not None:
        allowed = story.ends | {"abandoned"} | ({"outcome"} if late else set())
        assert await scene.settled(first) in allowed


@pytest.mark.parametrize("late", [False, True], ids=["silent", "answering"])
@pytest.mark.parametrize("name", STORIES)
async def test_scenario_g5_crash_at_any_call_ends_well(
    monkeypatch: pytest.MonkeyPatch, name: str, *, late: bool
) -> None:
    story = STORIES[name]
    steps = 0
    while True:
        async with playing(monkeypatch) as scene:
            died = await crash_and_recover(scene, story, steps, late=late)
            await check_end(scene, story, late=late)
        if not died:
            break
        steps += 1
    assert steps > 10


@pytest.mark.parametrize("name", ["the create's reply is lost", "a cancelled worker answers"])
@pytest.mark.parametrize("first", range(4))
async def test_crash_at_some_calls_ends_well_on_the_ledger_of_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, first: int
) -> None:
    for steps in range(first * 5, 90, 20):
        url = f"sqlite:///{tmp_path / f'{steps}.sqlite'}"
        async with playing(monkeypatch, url) as scene:
            await crash_and_recover(scene, STORIES[name], steps)
            await check_end(scene, STORIES[name], late=False)


@pytest.mark.parametrize("name", STORIES)
async def test_crashes_of_one_controller_after_the_other_end_well(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    rng = random.Random(name)
    for _ in range(25):
        steps = [rng.randrange(60) for _ in range(rng.randint(2, 4))]
        async with playing(monkeypatch) as scene:
            await crash_and_recover(scene, STORIES[name], *steps)
            await check_end(scene, STORIES[name], late=False)
