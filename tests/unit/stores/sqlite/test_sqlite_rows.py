"""Every row that the kernel can make comes back as it was saved, with the rows it belongs to."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, strategies as st
from tests.unit.stores.sqlite.ledgers import (
    EVIDENCE,
    REF,
    RESULT,
    OpenStore,
    SetClock,
    attempt,
    begun,
    changed,
    entry,
    execution,
    named,
    reclamation,
    save,
    saving,
    settled,
)

from tenure.errors import CorruptRecordError
from tenure.kernel.state import Attempt, Execution, Operation, Reclamation
from tenure.model.allocation import ALLOCATION_LIFETIMES
from tenure.model.attempt import EXECUTION_ATTEMPT_STATUSES, SETTLEMENT_KINDS
from tenure.model.operation import OBLIGATIONS
from tenure.ports.store import Changes, Keys
from tenure.stores.sqlite import SqliteStore, open_sqlite_store
from tenure.stores.sqlite.connection import Location, connect

INSTANTS = st.integers(-62_135_596_800_000, 253_402_300_799_999)
IDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
TEXTS = st.one_of(
    st.sampled_from((REF, EVIDENCE, RESULT)),
    st.text(st.characters(codec="utf-8"), max_size=50),
    st.just("\u0000é😀" + "x" * 9_000),
)
COUNTS = st.integers(0, 2**31 - 1)


def maybe(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.none() | strategy


HELD = {
    "generation": COUNTS,
    "owner_id": maybe(IDS),
    "token": maybe(IDS),
    "lease_expires_ms": maybe(INSTANTS),
    "failure_count": COUNTS,
    "last_failure": maybe(TEXTS),
    "doubt_streak": COUNTS,
    "opened_ms": INSTANTS,
    "next_look_ms": INSTANTS,
}
OPERATIONS = st.builds(Operation, obligation=st.sampled_from(OBLIGATIONS), **HELD)
RECLAMATIONS = st.builds(
    Reclamation,
    references=st.lists(TEXTS, max_size=3).map(tuple),
    closure=st.sampled_from((None, "released", "absent", "incarnation-lost")),
    closed_ms=maybe(INSTANTS),
    **HELD,
)
ATTEMPTS = st.builds(
    Attempt,
    execution_attempt_id=IDS,
    execution_id=IDS,
    ordinal=COUNTS,
    created_ms=INSTANTS,
    status=st.sampled_from(EXECUTION_ATTEMPT_STATUSES),
    allocation_ref=maybe(TEXTS),
    provider_id=maybe(IDS),
    allocation_lifetime=st.sampled_from((None, *ALLOCATION_LIFETIMES)),
    provisioner_incarnation_id=maybe(IDS),
    mark=maybe(IDS),
    deadline_ms=maybe(INSTANTS),
    settlement_kind=st.sampled_from((None, *SETTLEMENT_KINDS)),
    settled_ms=maybe(INSTANTS),
    claimable=st.booleans(),
    claim_expires_ms=maybe(INSTANTS),
    result=maybe(TEXTS),
    operation=maybe(OPERATIONS),
    reclamation=maybe(RECLAMATIONS),
)
EXECUTIONS = st.builds(
    Execution,
    execution_id=IDS,
    active_attempt_id=maybe(IDS),
    attempt_count=COUNTS,
    submission=maybe(TEXTS),
    attempts_max=COUNTS,
    attempt_timeout_ms=maybe(INSTANTS),
    submitted_ms=maybe(INSTANTS),
    submitted_by=maybe(IDS),
    cancellation=maybe(TEXTS),
    conclusion=st.sampled_from((None, "outcome", "exhausted", "cancelled")),
    concluded_ms=maybe(INSTANTS),
    converged_ms=maybe(INSTANTS),
    next_attempt_ms=maybe(INSTANTS),
)


@contextmanager
def running_store() -> Iterator[tuple[asyncio.Runner, SqliteStore]]:
    with TemporaryDirectory() as folder, asyncio.Runner() as runner:
        path = str(Path(folder) / "ledger.db")
        store = runner.run(open_sqlite_store(path, name="sqlite:ledger.db", clock=SetClock()))
        try:
            yield runner, store
        finally:
            runner.run(store.aclose())


def test_every_attempt_and_its_successor_come_back_as_they_were_saved() -> None:
    with running_store() as (runner, store):

        @given(first=ATTEMPTS, second=ATTEMPTS)
        def check(first: Attempt, second: Attempt) -> None:
            id_ = first.execution_attempt_id
            for row in (first, changed(second, execution_attempt_id=id_)):
                runner.run(save(store, row))
                rows = runner.run(store.load(named(id_)))
                assert rows.attempts[id_] == row

        check()


def test_every_execution_and_its_successor_come_back_as_they_were_saved() -> None:
    with running_store() as (runner, store):

        @given(first=EXECUTIONS, second=EXECUTIONS)
        def check(first: Execution, second: Execution) -> None:
            id_ = first.execution_id
            for row in (first, changed(second, execution_id=id_)):
                runner.run(save(store, row))
                rows = runner.run(store.load(Keys(executions=frozenset({id_}))))
                assert rows.executions[id_] == row

        check()


async def test_a_row_that_was_not_loaded_before_is_overwritten(store: SqliteStore) -> None:
    await save(store, begun(), execution())
    await store.apply(Keys(), saving(settled(), execution(attempt_count=7)))
    rows = await store.load(named("a"))
    assert rows.attempts["a"] == settled()
    assert rows.executions["e"].attempt_count == 7


async def test_only_what_changed_is_written(store: SqliteStore, path: Path) -> None:
    await save(store, settled(), execution())
    await store.apply(named("a"), lambda rows, _now: Changes(attempts=[rows.attempts["a"]]))
    renewed = changed(settled(), reclamation=reclamation(generation=2))
    location = Location(path=str(path), name="test", busy_timeout_seconds=1)
    watching = connect(location)
    before = watching.execute("SELECT * FROM attempt").fetchall()
    await save(store, renewed)
    assert watching.execute("SELECT * FROM attempt").fetchall() == before
    assert watching.execute("SELECT generation FROM reclamation").fetchall() == [(2,)]
    watching.close()


async def test_an_attempt_brings_its_execution_and_the_active_attempt(store: SqliteStore) -> None:
    first, second = attempt("a1"), attempt("a2", ordinal=2)
    pointer = execution(active_attempt_id="a2", attempt_count=2)
    await save(store, first, second, pointer, attempt("other", "f"), execution("f"))
    rows = await store.load(named("a1"))
    assert rows.attempts == {"a1": first, "a2": second}
    assert rows.executions == {"e": pointer}


async def test_an_execution_brings_its_active_attempt_and_no_other(store: SqliteStore) -> None:
    pointer = execution(active_attempt_id="a2", attempt_count=2)
    await save(store, attempt("a1"), attempt("a2"), pointer)
    rows = await store.load(Keys(executions=frozenset({"e"})))
    assert set(rows.attempts) == {"a2"}
    assert set(rows.executions) == {"e"}


async def test_a_batch_decides_on_the_same_rows_that_a_read_gives(store: SqliteStore) -> None:
    await save(store, begun("a1"), begun("a2"), execution(active_attempt_id="a2"))
    seen = []
    await store.apply(named("a1"), lambda rows, _now: (seen.append(rows), Changes())[1])
    assert seen == [await store.load(named("a1"))]


async def test_what_does_not_exist_is_absent(store: SqliteStore) -> None:
    rows = await store.load(Keys(attempts=frozenset({"no"}), executions=frozenset({"none"})))
    assert rows.attempts == {}
    assert rows.executions == {}


@pytest.mark.parametrize("strange", ["a\0", "a\0b", "\ud800", "", "x" * 100_000])
async def test_an_id_that_no_row_can_have_finds_nothing_and_harms_no_neighbour(
    store: SqliteStore, strange: str
) -> None:
    await save(store, attempt("a"), execution())
    rows = await store.load(
        Keys(attempts=frozenset({"a", strange}), executions=frozenset({strange}))
    )
    assert set(rows.attempts) == {"a"}
    assert set(rows.executions) == {"e"}


async def test_ids_are_told_apart_by_their_code_points(store: SqliteStore) -> None:
    ids = ("é", "e\u0301", "E", "e", "ﬀ", "😀", "e ", "01", "1")
    await save(store, *(attempt(id_, ordinal=n) for n, id_ in enumerate(ids)), execution())
    rows = await store.load(named(*ids))
    assert [rows.attempts[id_].ordinal for id_ in ids] == list(range(len(ids)))


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE attempt SET status = 'lost'",
        "UPDATE attempt SET claimable = 2",
        "UPDATE attempt SET settlement_kind = 'luck'",
        "UPDATE attempt SET allocation_lifetime = 'for ever'",
        "UPDATE attempt SET obligation = NULL",
        "UPDATE attempt SET obligation = 'none'",
        "UPDATE attempt SET opened_ms = NULL",
        "UPDATE reclamation SET closure = 'maybe'",
        "UPDATE reclamation SET allocation_refs = '{}'",
        "UPDATE reclamation SET allocation_refs = '[1]'",
        "UPDATE reclamation SET allocation_refs = '['",
        "UPDATE execution SET conclusion = 'done'",
        "UPDATE attempt SET provider_id = CAST(x'ff' AS TEXT)",
    ],
)
async def test_a_damaged_row_is_reported_and_never_decided_on(
    store: SqliteStore, path: Path, damage: str
) -> None:
    await save(store, settled(), execution(active_attempt_id="a", attempt_count=1))
    vandal = connect(Location(path=str(path), name="test", busy_timeout_seconds=1))
    vandal.execute(damage)
    vandal.close()
    with pytest.raises(CorruptRecordError):
        await store.load(named("a"))
    with pytest.raises(CorruptRecordError):
        await store.apply(named("a"), saving(entries=[entry()]))
    assert await store.journal(execution_id=None, execution_attempt_id=None, after=0, limit=9) == []
    assert await store.check() != []


async def test_rows_survive_closing_and_opening(open_store: OpenStore) -> None:
    first = await open_store()
    await save(first, settled(), execution())
    await first.aclose()
    second = await open_store()
    assert second.ledger_id == first.ledger_id
    assert (await second.load(named("a"))).attempts["a"] == settled()
