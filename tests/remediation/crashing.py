"""Crashes between any two calls: an actor that dies at its n-th step, and never acts again.

A step is the moment before or after a call of the ledger or of the provider, so that each call also
happens without its answer being heard.
"""

import inspect
import random
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from tests.contract.values import Loose
from tests.remediation.world import Call

from tenure.ledger.ledger import Ledger

Step = Callable[[], Awaitable[None]]


class Crash(BaseException):
    """The process is gone."""


class LifeSpan:
    """Counts the steps of one process down to its death."""

    def __init__(self, steps: int) -> None:
        self.left = steps
        self.crashed = False

    async def step(self) -> None:
        """Take one step, or die; the dead take none."""
        if self.crashed or self.left == 0:
            self.crashed = True
            raise Crash
        self.left -= 1

    async def call_step(self, call: Call) -> None:
        """Take one step at a provider call."""
        del call
        await self.step()


class SteppedLedger:
    """A ledger that takes a step before and after each of its calls."""

    def __init__(
        self, inner: object, step: Step, seen: Callable[[Any, Any], None] | None = None
    ) -> None:
        self._inner = inner
        self._step = step
        self._seen = seen

    def __getattr__(self, name: str) -> Loose:
        member = getattr(self._inner, name)
        if name == "recovery":
            return SteppedLedger(member, self._step, self._seen)
        if not inspect.iscoroutinefunction(member):
            return member

        async def stepped(**arguments: Loose) -> Loose:
            await self._step()
            answer = await member(**arguments)
            if self._seen is not None:
                self._seen(arguments, answer)
            await self._step()
            return answer

        return stepped


def mortal_ledger(ledger: Ledger, span: LifeSpan) -> SteppedLedger:
    """Give a process its own view of the ledger, which dies with it."""
    return SteppedLedger(ledger, span.step)


def yielding(rng: random.Random, happening: Callable[[], None] | None = None) -> Step:
    """Make a step that lets others run for a while, so that two actors interleave by a seed."""

    async def step() -> None:
        for _ in range(rng.randrange(4)):
            await anyio.lowlevel.checkpoint()
        if happening is not None:
            happening()

    return step


async def until_crash(life: Awaitable[Any]) -> bool:
    """Live until the end or the crash; True when it crashed."""
    try:
        await life
    except Crash:
        return True
    except BaseExceptionGroup as group:
        crashes, rest = group.split(Crash)
        if crashes is None or rest is not None:
            raise
        return True
    return False
