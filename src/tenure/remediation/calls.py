"""Calls to a provider: within a hard deadline, and only under a claim that outlasts it.

Whatever a provider raises is an observation like any other: undetermined. Only the kind of the
exception is ever told, never its text, which may hold a secret.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final, TypeVar

import anyio

from tenure.remediation.holding import Holding
from tenure.remediation.settings import ControllerSettings

AnswerT = TypeVar("AnswerT")
_RENEWALS_MAX: Final = 2
"""How often a lease that is too short for a call is renewed before the call is given up."""


class ClaimLost(Exception):
    """The claim no longer holds: stop acting. Never leaves the controller."""


class NotCalled(Exception):
    """The provider was not called, because no lease could be had that outlasts the call."""


class Caller:
    """Makes provider calls under one claim."""

    def __init__(self, holding: Holding, settings: ControllerSettings) -> None:
        """Call under ``holding``."""
        self._holding = holding
        self.seconds = settings.call_seconds
        self._needed = timedelta(seconds=settings.call_seconds + settings.margin_seconds)
        self._lease = timedelta(seconds=settings.lease_seconds)

    async def call(self, make: Callable[[], Awaitable[AnswerT]]) -> AnswerT | Exception:
        """Make one call; what it raises becomes a value.

        The claim is renewed first unless its lease outlasts the call's deadline by the margin.

        Raises:
            ClaimLost: it was taken over, or nothing is open any more; no call was made.
        """
        for _ in range(_RENEWALS_MAX):
            if await self._holding.remaining() >= self._needed:
                break
            if not await self._holding.renew(self._lease):
                raise ClaimLost
        else:
            if await self._holding.remaining() < self._needed:
                return NotCalled()
        return await bounded_call(make, self.seconds)


async def bounded_call(
    make: Callable[[], Awaitable[AnswerT]], seconds: float
) -> AnswerT | Exception:
    """Make and await a provider's call within a hard deadline; what it raises becomes a value.

    A cancellation that nobody asked of us is the provider's own, and a value, too: let through, it
    would silently end whatever task group we are in.
    """
    try:
        with anyio.fail_after(seconds):
            return await make()
    except Exception as exc:  # noqa: BLE001 - a provider may raise anything; all of it is doubt
        return exc
    except anyio.get_cancelled_exc_class():
        if _is_cancelled():
            raise
        return LeakedCancellation()


class LeakedCancellation(Exception):
    """A provider ended its own call by a cancellation."""


def describe_failure(exc: object) -> str:
    """Describe what a provider raised, by its kind alone.

    Anything else than an exception is an answer of no known type.
    """
    kind = type(exc).__name__
    if not isinstance(exc, Exception):
        return f"the call answered with a value of type {kind}"
    if isinstance(exc, OSError) and type(exc.errno) is int:
        return f"the call raised {kind} (errno {exc.errno})"
    return f"the call raised {kind}"


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    asked = task is not None and task.cancelling() > 0
    return asked or anyio.current_effective_deadline() == -math.inf
