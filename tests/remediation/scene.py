"""A scene: one ledger, one provider world, one clock that moves by hand, and who acts on them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, cast

import anyio
import msgspec
import pytest
from tests.contract.stage import ManualClock
from tests.contract.values import Loose
from tests.contract.watch import WatchedStore
from tests.remediation.world import CALLER, SECRET, Machine, World

import tenure
from tenure.authority.authority import Authority
from tenure.ledger import group_commit
from tenure.ledger.ledger import Ledger
from tenure.model.execution import ExecutionSubmission
from tenure.model.instant import InstantMs, to_datetime
from tenure.model.open_work import OpenWork
from tenure.model.result import CompletedResult, WorkflowRunResult
from tenure.ports.incarnation import (
    IncarnationAlive,
    IncarnationDead,
    IncarnationObservation,
    IncarnationUnknown,
)
from tenure.ports.provider import SpooledOutcome
from tenure.ports.store import Store
from tenure.remediation.controller import Controller, WorkReport
from tenure.remediation.holding import Holding
from tenure.remediation.settings import ControllerSettings

LEASE_MS = 15_000
LEASE = timedelta(milliseconds=LEASE_MS)
SETTLING = frozenset(
    {
        "outcome-committed",
        "infrastructure-failure-recorded",
        "absence-recorded",
        "provisioner-incarnation-lost",
        "attempt-abandoned",
    }
)
"""Journal events of which each attempt has exactly one."""
PATIENT = ControllerSettings(call_seconds=5.0, open_max=1000)
TINY = ControllerSettings(
    renewal_seconds=0.005,
    call_seconds=5.0,
    look_seconds=0.01,
    doubt_seconds=0.005,
    doubt_seconds_max=0.02,
)
"""For what rests in real time."""
IMPATIENT = ControllerSettings(call_seconds=0.03)
"""For calls that never answer."""


class Witness:
    """Knows of the incarnations of a test what it was told."""

    def __init__(self, name: str, known: Mapping[str, IncarnationObservation]) -> None:
        self._name = name
        self._known = known

    def current(self) -> str:
        return self._name

    def observe(self, incarnation_id: str) -> IncarnationObservation:
        if incarnation_id == self._name:
            return IncarnationAlive()
        return self._known.get(incarnation_id, IncarnationUnknown("nobody knows"))


class Scene:
    """What all actors of a test share."""

    def __init__(
        self, clock: ManualClock, store: WatchedStore, ledger: Ledger, world: World
    ) -> None:
        self.clock = clock
        self.store = store
        self.ledger = ledger
        self.world = world
        self.known: dict[str, IncarnationObservation] = {}
        self.reports: list[WorkReport] = []

    def controller(
        self,
        owner: str = "c-1",
        *,
        ledger: Loose = None,
        settings: ControllerSettings = PATIENT,
        providers: Loose = None,
    ) -> Controller:
        """Make a controller of a new incarnation."""
        CALLER.set(owner)
        return Controller(
            ledger or self.ledger,
            {"cloud": self.world} if providers is None else providers,
            owner_id=owner,
            settings=settings,
        )

    def authority(
        self,
        owner: str = "a-1",
        *,
        ledger: Loose = None,
        settings: ControllerSettings = PATIENT,
        converge: Callable[[Any], Awaitable[None]] | None = None,
        providers: Loose = None,
    ) -> Authority:
        """Make an authority of a new incarnation."""
        return Authority(
            ledger or self.ledger,
            {"cloud": self.world} if providers is None else providers,
            witness=Witness(owner, self.known),
            settings=settings,
            converge=converge,
        )

    async def dispatched(self, **options: Loose) -> OpenWork:
        """Submit and dispatch ``e``, and let its authority go at once."""
        authority = self.authority()
        await authority.submit(execution_id="e", submission=submission(**options))
        dispatch = await authority.dispatch(execution_id="e")
        assert dispatch is not None
        await authority.hand_off(dispatch, reason="left to the controllers")
        return await self.work()

    async def work(self) -> OpenWork:
        """Read the only open work."""
        (work,) = await self.ledger.list_open()
        return work

    async def hold(self, owner: str = "c-1") -> tuple[Controller, Holding]:
        """Take the only open work over."""
        controller = self.controller(owner)
        holding = await controller.take_over(await self.work())
        assert holding is not None
        return controller, holding

    async def supersede(self, first: str) -> None:
        """Replace the active attempt by ``second``."""
        await self.ledger.ensure_attempt(
            execution_id="e", execution_attempt_id="second", replaces=first, supersede=True
        )

    async def cancel(self) -> None:
        """Ask for the end of ``e``."""
        await self.ledger.request_cancellation(execution_id="e", requested_by="user")

    async def converge(self, *, rounds: int = 10, step_ms: int = 3_000) -> None:
        """Let new controllers work, one after the other, until nothing is owed."""
        for number in range(rounds):
            await self.run(self.controller(f"later-{number}"))
            if not await self.ledger.list_open():
                return
            self.clock.advance(step_ms)
        pytest.fail(f"still owed: {self.reports[-1]}")

    async def called(self, kind: str, count: int = 1) -> None:
        """Let others run until the provider was called so often."""
        await until(lambda: self.world.count(kind) >= count)

    async def owed(self) -> list[str]:
        """Name what is open: the obligation of an operation, or the reclamation."""
        return [work.obligation or work.kind for work in await self.ledger.list_open(limit=1000)]

    async def act(self, controller: Controller | None = None, **options: Loose) -> WorkReport:
        """Run a pass over all work, of which there is one piece, and give its report."""
        (report,) = await self.run(controller, **options)
        return report

    async def run(self, controller: Controller | None = None, **options: Loose) -> list[WorkReport]:
        """Run a pass, by default over everything and by a new controller."""
        chosen = controller or self.controller()
        reports = await chosen.run_pass(**{"due_only": False, **options})
        self.reports += reports
        return list(reports)

    async def commit(self, machine: Machine, result: WorkflowRunResult | None = None) -> Loose:
        """Let a machine's worker commit its outcome."""
        return await self.ledger.commit_outcome(
            execution_attempt_id=machine.execution_attempt_id,
            execution_id=machine.execution_id,
            result=result or completed(machine.execution_id),
        )

    async def events(self, attempt_id: str | None = None) -> list[str]:
        """List the journal's events."""
        return [entry.event for entry in await self.journal(attempt_id)]

    async def codes(self) -> list[str | None]:
        """List the codes of all evidence in the journal."""
        return [e.evidence.code for e in await self.journal() if e.evidence is not None]

    async def journal(self, attempt_id: str | None = None) -> list[Any]:
        """Read the whole journal."""
        entries: list[Any] = []
        while True:
            page = await self.ledger.read_journal(
                execution_attempt_id=attempt_id, after=len(entries), limit=1000
            )
            entries += page
            if len(page) < 1000 or attempt_id is not None:
                return entries

    async def settled(self, attempt_id: str | None = None) -> str | None:
        """Name how an attempt settled; the only one by default."""
        if attempt_id is None:
            execution = await self.ledger.get_execution(execution_id="e")
            assert execution is not None
            attempt_id = execution.active_attempt_id
        if attempt_id is None:
            return None
        settlement = await self.ledger.get_settlement(execution_attempt_id=attempt_id)
        return None if settlement is None else settlement.settlement_kind

    async def check_rest(self) -> None:
        """See that all is over: nothing owed, nothing left, nothing twice, nothing told."""
        assert await self.ledger.list_open() == []
        assert self.world.existing() == []
        await self.check_safety()
        journal = await self.journal()
        for attempt_id in {e.execution_attempt_id for e in journal} - {None}:
            events = [e.event for e in journal if e.execution_attempt_id == attempt_id]
            assert sum(1 for event in events if event in SETTLING) == 1, events

    async def check_safety(self) -> None:
        """See what has to hold at any time."""
        assert self.store.broken == []
        assert all(count == 1 for count in self.world.accepted.values())
        journal = await self.journal()
        for attempt_id in {e.execution_attempt_id for e in journal} - {None}:
            settlings = [
                e for e in journal if e.execution_attempt_id == attempt_id and e.event in SETTLING
            ]
            assert len(settlings) <= 1
        told = (journal, self.reports, await self.ledger.list_open(limit=1000))
        assert SECRET not in repr(told)
        assert SECRET.encode() not in msgspec.json.encode(told)


def submission(**options: Loose) -> ExecutionSubmission:
    """Make a submission for the world."""
    members = {"workflow_id": "w", "instruction": {}, "provider_ids": ("cloud",)}
    return ExecutionSubmission(**{**members, **options})


def completed(execution_id: str = "e") -> CompletedResult:
    """Make the result of a worker."""
    return CompletedResult(execution_id=execution_id, workflow_id="w")


def spooled(machine: Machine, result: WorkflowRunResult | None = None) -> SpooledOutcome:
    """Make what a machine's worker leaves behind."""
    return SpooledOutcome(
        execution_id=machine.execution_id,
        execution_attempt_id=machine.execution_attempt_id,
        result=result or completed(machine.execution_id),
    )


def dead() -> IncarnationDead:
    """Prove a death."""
    return IncarnationDead("it is gone")


def at(clock: ManualClock, ms: int) -> Loose:
    """Give the instant this long after now."""
    return to_datetime(InstantMs(clock.now_ms() + ms))


async def until(holds: Callable[[], bool]) -> None:
    """Let others run until something holds."""
    with anyio.fail_after(20):
        while not holds():
            await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def playing(
    monkeypatch: pytest.MonkeyPatch, url: str = "memory:", **traits: Loose
) -> AsyncIterator[Scene]:
    """Play on a new ledger with an empty world; whatever happens, it has to be safe."""
    clock = ManualClock()
    opened = await tenure.open_ledger(url, clock=clock)
    store = WatchedStore(opened._core.store)
    monkeypatch.setattr(group_commit, "step", store.step)
    scene = Scene(clock, store, Ledger(cast("Store", store)), World(clock, **traits))
    try:
        yield scene
        await scene.check_safety()
    finally:
        await scene.ledger.aclose()
