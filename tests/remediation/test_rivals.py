"""Several controllers on one ledger, interleaved at every call by a seed."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from tests.contract.values import Loose
from tests.remediation import world as faults
from tests.remediation.crashing import SteppedLedger, yielding
from tests.remediation.scene import LEASE_MS, Scene, playing, spooled, submission
from tests.remediation.world import CALLER, Call

from tenure.model.decision import Claimed, Stale
from tenure.model.open_work import OpenWork
from tenure.remediation.controller import Controller

SEEDS = range(12)


class Rivalry:
    """What each controller has been told, and what it did then."""

    def __init__(self, scene: Scene, seed: int) -> None:
        self.scene = scene
        self.rng = random.Random(seed)
        self.generations: dict[tuple[str, str], int] = {}
        self.lost: set[tuple[str, str]] = set()
        self.terminations: Counter[tuple[str, int]] = Counter()
        self.callers: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
        self.judged: list[Call] = []
        self.broken: list[str] = []
        self.begun: list[OpenWork] = []

    def seen_by(self, owner: str) -> Callable[[Any, Any], None]:
        """Note what a controller is told."""

        def note(arguments: Loose, answer: Loose) -> None:
            claim = arguments.get("claim")
            attempt_id = arguments.get(
                "execution_attempt_id", getattr(claim, "execution_attempt_id", "")
            )
            if isinstance(answer, Claimed):
                self.generations[owner, attempt_id] = answer.claim.generation
                self.lost.discard((owner, attempt_id))
            elif isinstance(answer, Stale) and claim is not None:
                self.lost.add((owner, attempt_id))

        return note

    def judge(self, call: Call) -> None:
        """Judge a provider call, once, by what its caller knows."""
        if any(call is judged for judged in self.judged):
            return
        self.judged.append(call)
        owner, attempt_id = call.caller, self.attempts[call.mark]
        if (owner, attempt_id) in self.lost:
            self.broken.append(f"{owner} called {call.kind} after it had lost {attempt_id}")
        generation = self.generations.get((owner, attempt_id), 0)
        self.callers[attempt_id, generation].add(owner)
        if call.kind == "terminate":
            self.terminations[attempt_id, generation] += 1

    @property
    def attempts(self) -> dict[str, str]:
        return {work.mark: work.execution_attempt_id for work in self.begun}

    def maybe_pause(self) -> None:
        """Let a lease run out in the middle of somebody's acts, now and then."""
        if self.rng.random() < 0.03:
            self.scene.clock.advance(LEASE_MS)

    def controller(self, owner: str) -> Controller:
        """Make a rival that lets others run at each of its calls."""
        step = yielding(self.rng, self.maybe_pause)
        ledger = SteppedLedger(self.scene.ledger, step, self.seen_by(owner))
        return self.scene.controller(owner, ledger=ledger)

    async def work(self, owner: str, passes: int) -> None:
        """Work in the name of one controller."""
        controller = self.controller(owner)
        CALLER.set(owner)
        for _ in range(passes):
            await self.scene.run(controller)
            self.scene.clock.advance(3_000)


async def prepare(scene: Scene) -> None:
    """Leave ten attempts behind, in all kinds of trouble."""
    authority = scene.authority()
    scene.world.script("provision", faults.lost_reply, faults.lost_reply, faults.refused)
    for number in range(10):
        await authority.submit(execution_id=f"e{number}", submission=submission())
        dispatch = await authority.dispatch(execution_id=f"e{number}")
        assert dispatch is not None
        await authority.hand_off(dispatch, reason="test")
    machines = scene.world.machines
    machines[2].exists = False
    machines[3].worker = "dead"
    machines[4].worker = "dead"
    scene.world.spools[machines[4].mark] = spooled(machines[4])
    await scene.commit(machines[5])
    for number in range(7, 10):
        await scene.ledger.request_cancellation(execution_id=f"e{number}", requested_by="user")


@pytest.mark.parametrize("seed", SEEDS)
async def test_rivals_end_everything_once(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    async with playing(monkeypatch) as scene:
        await prepare(scene)
        scene.world.calls.clear()
        rivalry = Rivalry(scene, seed)
        rivalry.begun = list(await scene.ledger.list_open())
        interleave = yielding(rivalry.rng, rivalry.maybe_pause)

        async def on_call(call: Call) -> None:
            rivalry.judge(call)
            await interleave()

        scene.world.on_call = on_call
        async with anyio.create_task_group() as group:
            for owner in ("c-1", "c-2", "c-3"):
                group.start_soon(rivalry.work, owner, 4)
        scene.world.on_call = None
        for machine in scene.world.existing():
            await scene.commit(machine)
        scene.clock.advance(LEASE_MS)
        await scene.converge()
        assert rivalry.broken == []
        assert len(rivalry.judged) > 20
        assert set(map(len, rivalry.callers.values())) == {1}
        assert set(rivalry.terminations.values()) == {1}
        await scene.check_rest()


@pytest.mark.parametrize("seed", SEEDS)
async def test_scenario_17_rival_authorities_make_one_call(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    async with playing(monkeypatch) as scene:
        rng = random.Random(seed)
        await scene.authority().submit(execution_id="e", submission=submission())
        granted = []

        async def rush(owner: str) -> None:
            ledger = SteppedLedger(scene.ledger, yielding(rng))
            dispatch = await scene.authority(owner, ledger=ledger).dispatch(execution_id="e")
            if dispatch is not None:
                granted.append(owner)

        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(rush, f"a-{number}")
        assert len(granted) == 1
        assert scene.world.count("provision") == 1
        assert (await scene.events()).count("provisioning-begun") == 1
        scene.world.machines[0].exists = False
        scene.clock.advance(LEASE_MS)
        await scene.converge()
        await scene.check_rest()


@pytest.mark.parametrize("seed", SEEDS)
async def test_worker_that_commits_while_rivals_end_its_machine_settles_once(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    async with playing(monkeypatch) as scene:
        await scene.dispatched()
        await scene.cancel()
        (machine,) = scene.world.existing()
        rivalry = Rivalry(scene, seed)
        scene.world.on_call = None

        async def commit() -> None:
            for _ in range(rivalry.rng.randrange(40)):
                await anyio.lowlevel.checkpoint()
            decision = await scene.commit(machine)
            assert decision.kind in ("accepted", "conflict")

        async with anyio.create_task_group() as group:
            group.start_soon(commit)
            for owner in ("c-1", "c-2"):
                group.start_soon(rivalry.work, owner, 2)
        scene.clock.advance(LEASE_MS)
        await scene.converge()
        await scene.check_rest()
