"""Threads: one for each connection, so that none is ever shared and nothing blocks the loop.

A thread is a daemon: an interpreter that exits never waits for one. What it was doing is then as
after a power loss, and SQLite's journal takes care of that. It refers to its queue and to nothing
of the store, so that a forgotten store can be collected.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")
_Job: TypeAlias = Callable[[], None]


class WorkerThread:
    """Runs jobs one after the other, in the order in which they were handed in."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread = Thread(target=_work, args=(self._jobs,), name=name, daemon=True)
        self._thread.start()

    async def run(self, work: Callable[[], T]) -> T:
        """Run ``work`` on the thread, and return or raise what it does.

        A caller that is cancelled before its work began takes it back; later it runs to its end.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put(lambda: _answer(loop, future, work))
        return await future

    def stop(self, cleanup: _Job) -> None:
        """Finish what was handed in, run ``cleanup``, and end; to be called once, from anywhere."""
        self._jobs.put(cleanup)
        self._jobs.put(None)

    async def join(self) -> None:
        """Wait until the thread has ended. Cancelling the wait stops nothing."""
        await asyncio.to_thread(self._thread.join)


def _work(jobs: "SimpleQueue[_Job | None]") -> None:
    while (job := jobs.get()) is not None:
        job()
        del job  # nothing of a caller may stay alive while the thread waits


def _answer(
    loop: asyncio.AbstractEventLoop, future: "asyncio.Future[Any]", work: Callable[[], object]
) -> None:
    if future.cancelled():
        return
    value: object = None
    error: BaseException | None = None
    try:
        value = work()
    except BaseException as exc:  # noqa: BLE001  (whatever it is, the caller is told)
        error = exc
    with suppress(RuntimeError):  # the loop was closed: nobody waits any more
        loop.call_soon_threadsafe(_settle, future, value, error)


def _settle(future: "asyncio.Future[Any]", value: object, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)
