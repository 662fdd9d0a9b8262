"""One transaction for each batch: all or nothing, in order, and told the truth about."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from threading import Event

import apsw
import pytest
from tests.unit.stores.sqlite.ledgers import (
    OpenStore,
    SetClock,
    begun,
    changed,
    count,
    counting,
    entry,
    execution,
    named,
    save,
    saving,
)

from tenure.errors import LedgerClosedError, StorageUnavailableError
from tenure.model.instant import InstantMs
from tenure.model.journal import JournalEntry
from tenure.ports.store import Changes, Keys, Rows
from tenure.stores.sqlite import SqliteStore
from tenure.stores.sqlite.connection import Location, connect


def log_of(path: Path) -> bytes:
    return Path(f"{path}-wal").read_bytes()


def other_connection(path: Path) -> apsw.Connection:
    return connect(Location(path=str(path), name="test", busy_timeout_seconds=1))


async def journal(store: SqliteStore) -> Sequence[JournalEntry]:
    return await store.journal(execution_id=None, execution_attempt_id=None, after=0, limit=1000)


async def test_a_batch_that_changes_nothing_writes_nothing(store: SqliteStore, path: Path) -> None:
    await save(store, begun(), execution())
    before = log_of(path)
    await store.apply(named("a"), saving())
    assert log_of(path) == before


async def test_an_error_of_the_decision_reaches_the_caller_and_undoes_nothing_else(
    store: SqliteStore,
) -> None:
    class OddError(Exception):
        pass

    def decide(_rows: Rows, _now: InstantMs) -> Changes:
        raise OddError

    await save(store, begun(), execution())
    with pytest.raises(OddError):
        await store.apply(named("a"), decide)
    await save(store, changed(begun(), status="allocated"))
    assert (await store.load(named("a"))).attempts["a"].status == "allocated"


async def test_a_row_that_sqlite_refuses_takes_its_batch_back(store: SqliteStore) -> None:
    impossible = begun("b", ordinal=None)
    with pytest.raises(StorageUnavailableError, match="NOT NULL"):
        await save(store, begun("a"), impossible, execution(), entries=[entry()])
    assert (await store.load(named("a", "b"))).attempts == {}
    assert await journal(store) == []
    assert await count(store) == 0


async def test_an_acknowledged_commit_is_seen_by_the_next_read(store: SqliteStore) -> None:
    for n in range(1, 20):
        await store.apply(Keys(executions=frozenset({"e"})), counting())
        assert await count(store) == n


async def test_concurrent_batches_are_run_one_after_the_other(store: SqliteStore) -> None:
    keys = Keys(executions=frozenset({"e"}))
    async with asyncio.TaskGroup() as group:
        for _ in range(50):
            group.create_task(store.apply(keys, counting()))
    assert await count(store) == 50
    assert [e.sequence for e in await journal(store)] == list(range(1, 51))


async def test_time_in_a_batch_never_runs_backwards(store: SqliteStore, clock: SetClock) -> None:
    seen = []

    def decide(_rows: Rows, now: InstantMs) -> Changes:
        seen.append(now)
        return Changes(entries=[entry()])

    for clock.at in (5_000, 4_000, 6_000):
        await store.apply(Keys(), decide)
    assert seen == [5_000, 5_000, 6_000]


async def test_entries_keep_their_order_within_and_across_batches(store: SqliteStore) -> None:
    for batch in ("abc", "d", "ef"):
        await save(store, entries=[entry(event) for event in batch])
    found = await journal(store)
    assert "".join(e.event for e in found) == "abcdef"
    assert [e.sequence for e in found] == [1, 2, 3, 4, 5, 6]


async def test_entries_with_one_fold_key_are_counted_in_the_first(
    store: SqliteStore, clock: SetClock
) -> None:
    doubt = entry("doubted", fold_key="k")
    clock.at = 1_000
    await save(store, entries=[doubt, entry("other"), doubt])
    clock.at = 9_000
    await save(store, entries=[doubt, entry("doubted", fold_key="l")])
    first, other, different = await journal(store)
    assert (first.event, first.count, other.event, other.count) == ("doubted", 3, "other", 1)
    assert (first.at.timestamp(), first.last_at.timestamp()) == (1, 9)
    assert different.count == 1
    assert first.sequence < other.sequence < different.sequence


async def test_sequences_are_never_used_twice(open_store: OpenStore, path: Path) -> None:
    store = await open_store()
    await save(store, entries=[entry("a"), entry("b")])
    pruning = other_connection(path)
    pruning.execute("DELETE FROM journal")
    pruning.close()
    await store.aclose()
    again = await open_store()
    await save(again, entries=[entry("c")])
    assert [e.sequence for e in await journal(again)] == [3]


async def test_a_caller_cancelled_in_the_middle_stops_nothing(store: SqliteStore) -> None:
    begun_, go_on = asyncio.Event(), Event()
    loop = asyncio.get_running_loop()

    def decide(rows: Rows, now: InstantMs) -> Changes:
        loop.call_soon_threadsafe(begun_.set)
        assert go_on.wait(10)
        return counting()(rows, now)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(store.apply(Keys(), decide))
        await begun_.wait()
        task.cancel()
        go_on.set()
    assert task.cancelled()
    await save(store)  # behind it in the queue
    assert await count(store) == 1


async def test_a_caller_cancelled_before_its_turn_takes_its_batch_back(store: SqliteStore) -> None:
    begun_, go_on = asyncio.Event(), Event()
    loop = asyncio.get_running_loop()

    def decide(_rows: Rows, _now: InstantMs) -> Changes:
        loop.call_soon_threadsafe(begun_.set)
        assert go_on.wait(10)
        return Changes()

    async with asyncio.TaskGroup() as group:
        group.create_task(store.apply(Keys(), decide))
        await begun_.wait()
        waiting = group.create_task(store.apply(Keys(), counting()))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.sleep(0)
        go_on.set()
    await save(store)
    assert await count(store) == 0


async def test_a_lock_held_too_long_is_reported_and_nothing_was_written(
    open_store: OpenStore, path: Path
) -> None:
    store = await open_store(busy_timeout_seconds=0.05)
    await save(store, execution())
    holder = other_connection(path)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageUnavailableError, match="write lock"):
        await store.apply(Keys(executions=frozenset({"e"})), counting())
    assert await count(store) == 0
    holder.execute("ROLLBACK")
    await store.apply(Keys(executions=frozenset({"e"})), counting())
    assert await count(store) == 1
    holder.close()


async def test_closing_finishes_what_waits_and_refuses_what_comes(open_store: OpenStore) -> None:
    store = await open_store()
    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(store.apply(Keys(executions=frozenset({"e"})), counting()))
        await asyncio.sleep(0)
        await store.aclose()
    for call in (
        store.apply(Keys(), counting()),
        store.load(Keys()),
        store.check(),
        store.recoverable("e"),
    ):
        with pytest.raises(LedgerClosedError):
            await call
    await store.aclose()
    assert await count(await open_store()) == 20


async def test_two_handles_of_one_process_share_a_ledger(open_store: OpenStore) -> None:
    first, second = await open_store(), await open_store()
    assert first.ledger_id == second.ledger_id
    for store in (first, second, first):
        await store.apply(Keys(executions=frozenset({"e"})), counting())
    await first.aclose()
    assert await count(second) == 3
    await second.apply(Keys(executions=frozenset({"e"})), counting())
    assert await count(second) == 4
