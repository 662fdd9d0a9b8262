"""Signals that ask a command to stop, taken as events instead of deaths."""

import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeVar

import anyio

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

    def note(self, signum: signal.Signals) -> None:
        """Note one."""
        if self.caught is not None:
            self._second.set()
            return
        self.caught = signum
        self._first.set()

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
    wanted = [signum for signum in _STOPPING if signal.getsignal(signum) is not signal.SIG_IGN]
    async with anyio.create_task_group() as group:
        with anyio.open_signal_receiver(*wanted) as arrivals:

            async def receive() -> None:
                async for signum in arrivals:
                    signals.note(signum)

            group.start_soon(receive)
            yield signals
            group.cancel_scope.cancel()


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
