"""Batches that alternate with other writers: each decides on what was committed last."""

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

E = Keys(executions=frozenset({"e"}))


async def seen_by_writer(store: SqliteStore, keys: Keys) -> Rows:
    """Read what the next batch would decide on."""
    seen: list[Rows] = []

    def look(rows: Rows, _now: InstantMs) -> Changes:
        seen.append(rows)
        return Changes()

    await store.apply(keys, look)
    return seen[0]


async def test_another_handles_commit_is_seen_by_the_next_batch(open_store: OpenStore) -> None:
    mine, other = await open_store(), await open_store()
    for n in range(1, 12):
        store = mine if n % 3 else other
        await store.apply(E, counting())
        for reading in (mine, other):
            rows = await seen_by_writer(reading, E)
            assert rows.executions["e"].attempts_max == n


async def test_a_row_that_a_host_changed_by_hand_is_seen(store: SqliteStore, path: Path) -> None:
    await save(store, begun(), execution())
    host = apsw.Connection(str(path))
    host.execute("UPDATE attempt SET claim_expires_ms = 77")
    host.close()
    rows = await seen_by_writer(store, named("a"))
    assert rows.attempts["a"].claim_expires_ms == 77
    await save(store, changed(rows.attempts["a"], status="allocated", allocation_ref=REF))
    assert (await store.load(named("a"))).attempts["a"].claim_expires_ms == 77


async def test_a_commit_that_was_refused_is_not_seen(store: SqliteStore) -> None:
    await save(store, begun(), execution())

    def refuse(*, commits: bool) -> None:
        store._writer._connected().set_commit_hook((lambda: True) if commits else None)

    await store._writing.run(lambda: refuse(commits=True))
    with pytest.raises(StorageUnavailableError):
        await save(store, changed(begun(), status="allocated"))
    await store._writing.run(lambda: refuse(commits=False))
    assert (await seen_by_writer(store, named("a"))).attempts == {"a": begun()}


async def test_a_reclamation_that_went_is_gone(store: SqliteStore) -> None:
    await save(store, settled(), execution())
    without = changed(settled(), reclamation=None)
    await save(store, without)
    assert (await seen_by_writer(store, named("a"))).attempts == {"a": without}
    assert (await store.load(named("a"))).attempts == {"a": without}


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
