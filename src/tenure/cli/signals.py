"""Signals that ask a command to stop, taken as events instead of deaths."""

import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeVar

import anyio

from tenure.cli.exit_code import SIGNAL_BASE

_STOPPING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
T = TypeVar("T")


class Signals:
    """Which signals came so far."""

    def __init__(self) -> None:
        """Begin with none."""
        self._first = anyio.Event()
        self._second = anyio.Event()
        self.caught: signal.Signals | None = None
        """The first one."""

    @property
    def caught_second(self) -> bool:
        """Whether a second one came."""
        return self._second.is_set()

    def note(self, signum: signal.Signals) -> None:
        """Note one. The third ends the process on the spot."""
        if self.caught is None:
            self.caught = signum
            self._first.set()
        elif not self._second.is_set():
            self._second.set()
        else:
            os._exit(SIGNAL_BASE + self.caught)

    async def wait_first(self) -> signal.Signals:
        """Wait for the first one."""
        await self._first.wait()
        assert self.caught is not None
        return self.caught

    async def run_until_signal(self, work: Callable[[], Awaitable[T]]) -> T | None:
        """Run ``work``; cancel it and return None when a signal comes, or has come."""
        return await _run_until(self._first, work)

    async def run_until_second_signal(self, work: Callable[[], Awaitable[T]]) -> T | None:
        """Run ``work`` to its end, also past one signal; the second cancels it."""
        return await _run_until(self._second, work)


@asynccontextmanager
async def catching_signals() -> AsyncIterator[Signals]:
    """Catch what asks to stop. A signal that is ignored, as under ``nohup``, stays ignored."""
    signals = Signals()
    before = {signum: signal.getsignal(signum) for signum in _STOPPING}
    wanted = [signum for signum in _STOPPING if before[signum] is not signal.SIG_IGN]
    try:
        async with anyio.create_task_group() as group:
            with anyio.open_signal_receiver(*wanted) as arrivals:

                async def receive() -> None:
                    async for signum in arrivals:
                        signals.note(signum)

                group.start_soon(receive)
                yield signals
                group.cancel_scope.cancel()
    finally:
        for signum in wanted:  # the event loop leaves its own defaults behind
            signal.signal(signum, before[signum] or signal.SIG_DFL)


async def _run_until(event: anyio.Event, work: Callable[[], Awaitable[T]]) -> T | None:
    result: T | None = None
    async with anyio.create_task_group() as group:

        async def watch() -> None:
            await event.wait()
            group.cancel_scope.cancel()

        group.start_soon(watch)
        result = await work()
        group.cancel_scope.cancel()
    return result
