"""A provider with an inventory of its own, and a script of what goes wrong with its calls.

It counts what it accepts, keeps what was made, and never forgets. Each call plays the next fault of
its kind, or none: a fault is given the act and decides whether, and when, it happens.
"""

from collections import Counter, deque
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Literal

import anyio
from tests.contract.stage import ManualClock
from tests.contract.values import Loose

from tenure.errors import InvalidInputError
from tenure.model.allocation import ProviderAllocationRef
from tenure.model.evidence import BoundedRecoveryEvidence, make_evidence
from tenure.model.instant import to_datetime
from tenure.model.json_value import JsonObject
from tenure.ports import provider as port

SECRET = "hunter2"
"""Stands in everything that this world raises, and may never be written down."""
CALLER: ContextVar[str] = ContextVar("CALLER", default="")
"""Who makes a provider call, where a test wants to tell them apart."""

Act = Callable[[], Awaitable[Loose]]
Fault = Callable[[Act], Awaitable[Loose]]


@dataclass
class Machine:
    """One allocation that exists or existed."""

    number: int
    mark: str
    execution_id: str
    execution_attempt_id: str
    made_ms: int
    exists: bool = True
    worker: Literal["alive", "dead", "unknown"] = "alive"
    sticky: bool = False
    """Acknowledges terminations and stays."""

    @property
    def ref(self) -> ProviderAllocationRef:
        return ProviderAllocationRef(provider_id="cloud", provider_data={"vm": self.number})


@dataclass(frozen=True)
class Call:
    """One call that the provider received."""

    kind: str
    mark: str
    at_ms: int
    caller: str


class World:
    """A provider; implements ``ports.provider.Provider`` and ``ProviderRecovery``."""

    provider_id: ClassVar[str] = "cloud"

    def __init__(self, clock: ManualClock, **traits: Loose) -> None:
        """Start empty; ``traits`` are declared, and the read lag is also had."""
        declared: dict[str, Loose] = {"allocation_lifetime": "provider-managed", "reach": "here"}
        self.clock = clock
        self.traits = port.ProviderTraits(**{**declared, **traits})
        self.recovery: port.ProviderRecovery | None = self
        self.machines: list[Machine] = []
        self.accepted: Counter[str] = Counter()
        """How many create requests were accepted, by mark."""
        self.tombstones: set[str] = set()
        self.spools: dict[str, port.SpooledOutcome] = {}
        self.faults: dict[str, deque[Fault]] = {}
        self.always: dict[str, Fault] = {}
        """What goes wrong with every call of a kind, once its script has been played."""
        self.calls: list[Call] = []
        self.on_call: Callable[[Call], Awaitable[None]] | None = None
        """Runs before and after each call, so that a crash can happen there."""
        self.on_terminate: Callable[[Machine], None] | None = None
        """Runs in the machine when it is asked to end."""

    def script(self, kind: str, *faults: Fault) -> None:
        """Let the next calls of a kind go wrong in this way, in this order."""
        self.faults.setdefault(kind, deque()).extend(faults)

    def existing(self, mark: str | None = None) -> list[Machine]:
        """List what exists, with one mark or with any."""
        return [m for m in self.machines if m.exists and mark in (None, m.mark)]

    def count(self, kind: str) -> int:
        """Count the calls of a kind."""
        return sum(1 for call in self.calls if call.kind == kind)

    def make(self, mark: str, execution_id: str, attempt_id: str) -> Machine:
        """Put a machine into the inventory."""
        machine = Machine(
            len(self.machines) + 1, mark, execution_id, attempt_id, self.clock.now_ms()
        )
        self.machines.append(machine)
        return machine

    def check_instruction(self, instruction: JsonObject) -> None:
        """Refuse what says that it is bad."""
        if "bad" in instruction:
            raise InvalidInputError(field="instruction", given="bad", allowed="good")

    async def provision(self, request: port.ProvisionRequest) -> Loose:
        """Accept the request unless a tombstone refuses it."""

        async def act() -> port.ProvisionAnswer:
            if request.mark in self.tombstones:
                return port.ConfirmedAbsent(evidence=self.evidence("tombstone"))
            self.accepted[request.mark] += 1
            made = self.make(request.mark, request.execution_id, request.execution_attempt_id)
            return port.Allocated(allocation_ref=made.ref)

        return await self._play("provision", request.mark, act)

    async def discover(self, *, mark: str, begun_at: datetime) -> Loose:
        """Search what is visible by now; a search in vain refuses a later call."""
        del begun_at

        async def act() -> port.Discovery:
            visible = [m for m in self.machines if m.mark == mark and self._is_visible(m)]
            seen = [m for m in visible if m.exists] or visible[-1:]  # what ended is told, too
            if len(seen) > 1:
                refs = [m.ref for m in seen]
                evidence = self.evidence("several", code="ambiguous-allocation-match")
                return port.FoundSeveral(allocation_refs=refs, evidence=evidence)
            if seen:
                return port.Found(allocation_ref=seen[0].ref, evidence=self.evidence("one"))
            self.tombstones.add(mark)
            return port.ProvenAbsent(evidence=self.evidence("none"))

        return await self._play("discover", mark, act)

    async def inspect(self, *, mark: str, allocation_ref: ProviderAllocationRef) -> Loose:
        """Look at one machine; it is not found before it becomes visible."""

        async def act() -> port.Inspection:
            return self._see(allocation_ref)

        return await self._play("inspect", mark, act)

    async def terminate(self, *, mark: str, allocation_ref: ProviderAllocationRef) -> Loose:
        """End one machine, unless it is sticky."""

        async def act() -> port.Inspection:
            for machine in self.machines:
                if machine.ref == allocation_ref and machine.exists and self._is_visible(machine):
                    if self.on_terminate is not None:
                        self.on_terminate(machine)
                    machine.exists = machine.sticky
            return self._see(allocation_ref)

        return await self._play("terminate", mark, act)

    async def spooled_outcome(self, *, mark: str) -> Loose:
        """Read what the worker left."""

        async def act() -> port.SpooledOutcome | None:
            return self.spools.get(mark)

        return await self._play("spooled_outcome", mark, act)

    async def acknowledge_outcome(self, *, mark: str) -> Loose:
        """Drop what the worker left."""

        async def act() -> None:
            self.spools.pop(mark, None)

        return await self._play("acknowledge_outcome", mark, act)

    async def read_output(self, *, mark: str, offset: int, limit: int) -> port.OutputPage | None:
        """Keep no output."""
        del mark, offset, limit
        return None

    def evidence(self, summary: str, *, code: str | None = None) -> BoundedRecoveryEvidence:
        """Say what this world saw."""
        at = to_datetime(self.clock.now_ms())
        return make_evidence(source="world", summary=summary, observed_at=at, code=code)

    def _is_visible(self, machine: Machine) -> bool:
        return self.clock.now_ms() >= machine.made_ms + self.traits.read_lag_ms

    def _see(self, ref: ProviderAllocationRef) -> port.Inspection:
        for machine in self.machines:
            if machine.ref == ref and machine.exists and self._is_visible(machine):
                return port.Running(evidence=self.evidence("it runs"), worker=machine.worker)
        return port.Gone(evidence=self.evidence("not found"))

    async def _play(self, kind: str, mark: str, act: Act) -> Loose:
        call = Call(kind, mark, self.clock.now_ms(), CALLER.get())
        self.calls.append(call)
        if self.on_call is not None:
            await self.on_call(call)
        script = self.faults.get(kind)
        fault = script.popleft() if script else self.always.get(kind)
        answer = await (act() if fault is None else fault(act))
        if self.on_call is not None:
            await self.on_call(call)
        return answer


# Faults: what may go wrong with a call.


class UnprintableError(Exception):
    """Breaks whoever tries to print it."""

    def __str__(self) -> str:
        raise RuntimeError(SECRET)

    __repr__ = __str__


async def lost_reply(act: Act) -> Loose:
    """Act; the answer gets lost."""
    await act()
    raise ConnectionResetError(104, SECRET)


async def refused(act: Act) -> Loose:
    """Do nothing and say so in a way that proves nothing."""
    del act
    raise TimeoutError(SECRET)


async def denied(act: Act) -> Loose:
    """Refuse the credentials."""
    del act
    raise PermissionError(13, SECRET)


async def unprintable(act: Act) -> Loose:
    """Raise what cannot even be printed."""
    del act
    raise UnprintableError


async def cancelled_inside(act: Act) -> Loose:
    """Act, and end by a cancellation that nobody outside asked for."""
    await act()
    raise anyio.get_cancelled_exc_class()(SECRET)


async def hanging(act: Act) -> Loose:
    """Act, and never answer."""
    await act()
    await anyio.sleep_forever()


async def played(act: Act) -> Loose:
    """Go well."""
    return await act()


def answering(answer: Loose) -> Fault:
    """Do nothing and give this answer."""

    async def fault(act: Act) -> Loose:
        del act
        return answer

    return fault


def acting_then_answering(answer: Loose) -> Fault:
    """Act, and give this answer."""

    async def fault(act: Act) -> Loose:
        await act()
        return answer

    return fault


def taking(clock: ManualClock, ms: int) -> Fault:
    """Go well, but take this long."""

    async def fault(act: Act) -> Loose:
        clock.advance(ms)
        return await act()

    return fault


def then(happening: Callable[[], Awaitable[Loose]]) -> Fault:
    """Act; before the answer arrives, something happens."""

    async def fault(act: Act) -> Loose:
        answer = await act()
        await happening()
        return answer

    return fault


NOTHING_CERTAIN: dict[str, Fault] = {
    "the reply is lost": lost_reply,
    "it is refused without proof": refused,
    "it is denied": denied,
    "the error cannot be printed": unprintable,
    "it is cancelled inside": cancelled_inside,
    "it answers None": acting_then_answering(None),
    "it answers a number": acting_then_answering(42),
    "it answers an error": acting_then_answering(ValueError(SECRET)),
    "it answers a class": acting_then_answering(port.Allocated),
}
"""What leaves every call in doubt."""
