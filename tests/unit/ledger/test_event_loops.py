"""One handle and several event loops: one after the other is fine, at once is refused."""

import asyncio
import contextlib
import gc
from collections.abc import Awaitable, Callable
from threading import Event
from typing import cast

import pytest

import tenure
from tenure.ports.store import Decide, Keys, Store
from tenure.stores.memory import MemoryStore


class Slow(MemoryStore):
    """A store whose transactions wait until the test lets them through."""

    def __init__(self) -> None:
        super().__init__()
        self.started = Event()
        self.may_go_on = Event()

    async def apply(self, keys: Keys, decide: Decide) -> None:
        """Wait, in a thread of its own, then apply."""
        self.started.set()
        await asyncio.to_thread(self.may_go_on.wait, 10)
        await super().apply(keys, decide)


@pytest.fixture
def store() -> Slow:
    return Slow()


@pytest.fixture
def ledger(store: Slow) -> tenure.Ledger:
    return tenure.Ledger(cast("Store", store))


async def create(ledger: tenure.Ledger, attempt_id: str) -> object:
    """Create one attempt in an execution of its own."""
    return await ledger.create_attempt(execution_attempt_id=attempt_id, execution_id=attempt_id)


@pytest.mark.parametrize("call", [lambda ledger: create(ledger, "b"), tenure.Ledger.aclose])
async def test_another_loop_is_refused_while_calls_wait(
    store: Slow, ledger: tenure.Ledger, call: Callable[[tenure.Ledger], Awaitable[object]]
) -> None:
    def call_from_another_loop() -> object:
        async def make() -> object:
            return await call(ledger)

        return asyncio.run(make())

    async with asyncio.TaskGroup() as group:
        first = group.create_task(create(ledger, "a"))
        assert await asyncio.to_thread(store.started.wait, 10)
        with pytest.raises(tenure.InvalidInputError, match="one at a time") as caught:
            await asyncio.to_thread(call_from_another_loop)
        assert caught.value.field == "event loop"
        second = group.create_task(create(ledger, "c"))
        store.may_go_on.set()
    for task in (first, second):
        assert isinstance(task.result(), tenure.ExecutionAttemptRecord)
    await asyncio.to_thread(call_from_another_loop)


def test_a_later_loop_may_close_the_handle(store: Slow, ledger: tenure.Ledger) -> None:
    store.may_go_on.set()
    asyncio.run(create(ledger, "a"))
    asyncio.run(ledger.aclose())
    with pytest.raises(tenure.LedgerClosedError):
        asyncio.run(create(ledger, "b"))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_loop_that_ended_with_its_calls_waiting_blocks_nobody(
    store: Slow, ledger: tenure.Ledger
) -> None:
    abandoned = asyncio.new_event_loop()
    call = abandoned.create_task(create(ledger, "a"))
    with contextlib.suppress(TimeoutError):
        abandoned.run_until_complete(asyncio.wait_for(asyncio.shield(call), 0.05))
    abandoned.close()
    store.may_go_on.set()
    assert not call.done()
    created = asyncio.run(create(ledger, "b"))
    del call
    gc.collect()
    assert isinstance(created, tenure.ExecutionAttemptRecord)
    assert isinstance(asyncio.run(create(ledger, "c")), tenure.ExecutionAttemptRecord)
    asyncio.run(ledger.aclose())
