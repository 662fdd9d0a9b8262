"""Rows that the writer knows already: spared reading, and never trusted behind anybody's back."""

from collections.abc import Callable
from pathlib import Path

import anyio
import apsw
import pytest
from hypothesis import given, settings, strategies as st
from tests.unit.stores.sqlite.ledgers import (
    REF,
    OpenStore,
    begun,
    changed,
    count,
    counting,
    execution,
    named,
    save,
    settled,
)

from tenure.errors import StorageUnavailableError
from tenure.model.instant import InstantMs
from tenure.ports.store import Changes, Keys, Rows
from tenure.stores.sqlite import SqliteStore, open_sqlite_store
from tenure.stores.sqlite.recent import ROWS_MAX, TEXT_LENGTH_MAX, Recent

E = Keys(executions=frozenset({"e"}))


async def seen_by_writer(store: SqliteStore, keys: Keys) -> Rows:
    """Read what the next batch would decide on."""
    seen: list[Rows] = []

    def look(rows: Rows, _now: InstantMs) -> Changes:
        seen.append(rows)
        return Changes()

    await store.apply(keys, look)
    return seen[0]


async def queries_of(store: SqliteStore, keys: Keys) -> int:
    """Count how often the writer has to load rows for a batch."""
    sent: list[str] = []

    def keep(_cursor: apsw.Cursor, sql: str, _bindings: object) -> bool:
        sent.append(sql)
        return True

    def trace(on: Callable[..., bool] | None) -> None:
        store._writer._connected().exec_trace = on

    await store._writing.run(lambda: trace(keep))
    await seen_by_writer(store, keys)
    await store._writing.run(lambda: trace(None))
    return sum("carray" in sql for sql in sent)


async def test_what_was_just_committed_is_not_read_again(store: SqliteStore) -> None:
    assert await queries_of(store, named("a")) == 1
    await save(store, begun(), execution(active_attempt_id="a", attempt_count=1))
    assert await queries_of(store, named("a")) == 0
    rows = await seen_by_writer(store, named("a"))
    assert rows.attempts == {"a": begun()}
    assert rows.executions == {"e": execution(active_attempt_id="a", attempt_count=1)}


async def test_another_handles_commit_is_seen_by_the_next_batch(open_store: OpenStore) -> None:
    mine, other = await open_store(), await open_store()
    for n in range(1, 12):
        store = mine if n % 3 else other
        await store.apply(E, counting())
        for reading in (mine, other):
            rows = await seen_by_writer(reading, E)
            assert rows.executions["e"].attempts_max == n
    await mine.apply(E, counting())
    await mine.apply(E, counting())
    assert await queries_of(mine, E) == 0
    await other.apply(E, counting())
    assert await queries_of(mine, E) == 1


async def test_a_row_that_a_host_changed_by_hand_is_seen(store: SqliteStore, path: Path) -> None:
    await save(store, begun(), execution())
    host = apsw.Connection(str(path))
    host.execute("UPDATE attempt SET claim_expires_ms = 77")
    host.close()
    rows = await seen_by_writer(store, named("a"))
    assert rows.attempts["a"].claim_expires_ms == 77
    await save(store, changed(rows.attempts["a"], status="allocated", allocation_ref=REF))
    assert (await store.load(named("a"))).attempts["a"].claim_expires_ms == 77


async def test_what_was_taken_back_is_not_known(store: SqliteStore) -> None:
    await save(store, begun(), execution())
    changed_row = changed(begun(), status="allocated")
    with pytest.raises(StorageUnavailableError):
        await save(store, changed_row, begun("b", ordinal=None))
    assert (await seen_by_writer(store, named("a", "b"))).attempts == {"a": begun()}


async def test_a_commit_that_was_refused_is_not_known(store: SqliteStore) -> None:
    await save(store, begun(), execution())

    def refuse(*, commits: bool) -> None:
        store._writer._connected().set_commit_hook((lambda: True) if commits else None)

    await store._writing.run(lambda: refuse(commits=True))
    with pytest.raises(StorageUnavailableError):
        await save(store, changed(begun(), status="allocated"))
    await store._writing.run(lambda: refuse(commits=False))
    assert (await seen_by_writer(store, named("a"))).attempts == {"a": begun()}


async def test_a_batch_of_which_nothing_is_known_for_sure_leaves_nothing(
    store: SqliteStore,
) -> None:
    await save(store, begun(), execution())
    await store._writing.run(store._writer.close)
    assert await queries_of(store, named("a")) == 2
    assert (await seen_by_writer(store, named("a"))).attempts == {"a": begun()}


async def test_a_large_row_is_read_each_time_and_right(store: SqliteStore) -> None:
    await save(store, begun(), execution())
    large = changed(begun(), allocation_ref="x" * (TEXT_LENGTH_MAX + 1))
    await save(store, large)
    assert await queries_of(store, named("a")) == 1
    assert (await seen_by_writer(store, named("a"))).attempts == {"a": large}


async def test_a_reclamation_that_went_is_gone_from_what_is_known(store: SqliteStore) -> None:
    await save(store, settled(), execution())
    without = changed(settled(), reclamation=None)
    await save(store, without)
    assert (await seen_by_writer(store, named("a"))).attempts == {"a": without}
    assert (await store.load(named("a"))).attempts == {"a": without}


def test_no_more_than_two_generations_are_kept() -> None:
    recent: Recent[int] = Recent()
    for number in range(10 * ROWS_MAX):
        recent.keep(str(number), number + 1, 0)
    found, others = recent.find(map(str, range(10 * ROWS_MAX)))
    assert ROWS_MAX <= len(found) <= 2 * ROWS_MAX
    assert len(found) + len(others) == 10 * ROWS_MAX
    assert all(str(number - 1) in found for number in found.values())
    assert str(10 * ROWS_MAX - 1) in found


def test_the_younger_row_hides_the_older_one() -> None:
    recent: Recent[int] = Recent()
    recent.keep("a", 1, 0)
    for number in range(ROWS_MAX):
        recent.keep(f"other {number}", 9, 0)
    recent.keep("a", 2, 0)
    assert recent.find(["a"]) == ({"a": 2}, [])
    recent.keep("a", 3, TEXT_LENGTH_MAX + 1)
    assert recent.find(["a"]) == ({}, ["a"])


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abc")), max_size=30))
def test_interleaved_handles_never_lose_a_count(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str]]
) -> None:
    async def walk() -> None:
        path = str(tmp_path_factory.mktemp("ledger") / "ledger.db")
        stores = [await open_sqlite_store(path, name="sqlite:ledger.db") for _ in range(3)]
        expected = dict.fromkeys("abc", 0)
        for number, id_ in steps:
            keys = Keys(executions=frozenset({id_}))
            await stores[number].apply(keys, counting(id_))
            expected[id_] += 1
        assert {id_: await count(stores[0], id_) for id_ in "abc"} == expected
        for store in stores:
            await store.aclose()

    anyio.run(walk)
