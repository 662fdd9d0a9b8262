"""Lists: filters before the limit, one fixed order, and a cursor that neither skips nor repeats."""

import re

import pytest
from tests.unit.stores.sqlite.ledgers import (
    REF,
    SetClock,
    attempt,
    begun,
    changed,
    entry,
    execution,
    operation,
    reclamation,
    save,
    settled,
    submitted,
)

from tenure.errors import CorruptRecordError
from tenure.kernel.state import Attempt
from tenure.model.instant import InstantMs
from tenure.ports.store import OpenWorkQuery
from tenure.stores.sqlite import SqliteStore
from tenure.stores.sqlite.query import QUERIES


async def owed(store: SqliteStore, **filters: object) -> list[str]:
    query = {
        "due_before_ms": None,
        "providers": None,
        "execution_id": None,
        "after": None,
        "limit": 1000,
    } | filters
    found = await store.open_work(OpenWorkQuery(**query))
    assert all(a.execution_id == e.execution_id for a, e in found)
    return [a.execution_attempt_id for a, _e in found]


def owed_at(id_: str, opened: int, **changes: object) -> Attempt:
    look = changes.pop("next_look_ms", opened)
    opened_at = operation(opened_ms=InstantMs(opened), next_look_ms=look)
    return begun(id_, operation=opened_at, **changes)


async def test_open_work_is_what_began_and_has_not_settled_or_is_still_reclaimed(
    store: SqliteStore,
) -> None:
    closed = reclamation(closure="released", closed_ms=InstantMs(3_000))
    await save(
        store,
        execution(active_attempt_id="began"),
        attempt("pending"),
        attempt("abandoned", status="settled", settlement_kind="abandoned", settled_ms=5),
        begun("began"),
        begun("allocated", status="allocated", allocation_ref=REF, claimable=True),
        settled("reclaimed"),
        settled("closed", reclamation=closed),
        settled("proven", reclamation=None),
    )
    assert await owed(store) == ["allocated", "began", "reclaimed"]


async def test_open_work_comes_by_when_its_open_part_was_opened_then_by_id(
    store: SqliteStore,
) -> None:
    late = changed(settled("z"), reclamation=reclamation(opened_ms=InstantMs(9_000)))
    await save(
        store, execution(), late, owed_at("b", 5), owed_at("a", 7), owed_at("é", 5), owed_at("B", 5)
    )
    assert await owed(store) == ["B", "b", "é", "a", "z"]


async def test_open_work_moves_when_a_reclamation_opens_and_goes_when_it_closes(
    store: SqliteStore,
) -> None:
    await save(store, execution(), begun("a"), owed_at("b", 1_500))
    assert await owed(store) == ["a", "b"]
    await save(store, settled("a"))
    assert await owed(store) == ["b", "a"]
    await save(store, settled("a", reclamation=reclamation(closure="absent", closed_ms=5)))
    assert await owed(store) == ["b"]


async def test_filters_of_open_work_apply_before_the_limit(store: SqliteStore) -> None:
    parked = (owed_at(f"p{n}", n, next_look_ms=10_000) for n in range(20))
    foreign = (owed_at(f"f{n}", n, provider_id="elsewhere") for n in range(20))
    await save(store, execution(), execution("f"), *parked, *foreign, owed_at("mine", 50, mark="m"))
    await save(store, begun("other", "f", operation=operation(opened_ms=60, next_look_ms=60)))
    found = await owed(store, due_before_ms=100, providers=frozenset({"cloud"}), limit=1)
    assert found == ["mine"]
    assert await owed(store, execution_id="f", limit=1) == ["other"]
    assert await owed(store, providers=frozenset()) == []
    assert await owed(store, due_before_ms=0) == []
    assert await owed(store, due_before_ms=1) == ["f0"]


async def test_what_is_due_of_a_reclamation_is_its_own_next_look(store: SqliteStore) -> None:
    await save(store, execution(), settled(reclamation=reclamation(next_look_ms=InstantMs(8_000))))
    assert await owed(store, due_before_ms=8_000) == []
    assert await owed(store, due_before_ms=8_001) == ["a"]


async def test_pages_of_open_work_neither_skip_nor_repeat(store: SqliteStore) -> None:
    expected = [f"a{n:02}" for n in range(25)]
    await save(store, execution(), *(owed_at(id_, n // 4) for n, id_ in enumerate(expected)))
    seen: list[str] = []
    after = None
    while page := await owed(store, after=after, limit=3):
        seen += page
        after = (expected.index(page[-1]) // 4, page[-1])
    assert seen == expected


async def test_executions_come_newest_first_then_by_id(store: SqliteStore) -> None:
    ids = {"c": 1, "b": 5, "B": 5, "a": 5, "d": 9}
    rows = (execution(id_, submission="{}", submitted_ms=at) for id_, at in ids.items())
    await save(store, execution("bare"), *rows)
    found = await store.executions(concluded=None, after=None, limit=10)
    assert [e.execution_id for e in found] == ["d", "B", "a", "b", "c"]
    page = await store.executions(concluded=None, after=(InstantMs(5), "a"), limit=2)
    assert [e.execution_id for e in page] == ["b", "c"]


async def test_concluded_executions_can_be_asked_for_or_left_out(store: SqliteStore) -> None:
    await save(
        store,
        *(execution(f"e{n}", submission="{}", submitted_ms=n) for n in range(6)),
    )
    for n in (1, 3, 5):
        done = execution(f"e{n}", submission="{}", submitted_ms=n)
        await save(store, changed(done, conclusion="outcome", concluded_ms=InstantMs(10)))
    concluded = await store.executions(concluded=True, after=None, limit=2)
    unconcluded = await store.executions(concluded=False, after=None, limit=2)
    assert [e.execution_id for e in concluded] == ["e5", "e3"]
    assert [e.execution_id for e in unconcluded] == ["e4", "e2"]


async def test_recoverable_attempts_come_by_creation_then_by_id(store: SqliteStore) -> None:
    ready = {"status": "allocated", "allocation_ref": REF, "claimable": True}
    await save(
        store,
        execution(),
        begun("late", created_ms=9, **ready),
        begun("b", created_ms=5, **ready),
        begun("B", created_ms=5, **ready),
        begun("other", "f", **ready),
        begun("begun"),
        begun("discovered", **(ready | {"claimable": False})),
        begun("no ref", **(ready | {"allocation_ref": None})),
        settled("settled", claimable=True),
        begun("provisioning", claimable=True, allocation_ref=REF),
    )
    found = await store.recoverable("e")
    assert [a.execution_attempt_id for a in found] == ["B", "b", "late"]
    assert await store.recoverable("none") == []


async def test_the_journal_is_filtered_by_execution_and_attempt_before_the_limit(
    store: SqliteStore,
) -> None:
    await save(
        store, submitted("e"), submitted("f"), attempt("a"), attempt("a2"), attempt("b", "f")
    )
    noise = [entry("noise", execution_id="f", execution_attempt_id="b")] * 20
    ours = [
        entry("created", execution_attempt_id=None),
        entry("begun"),
        entry("begun", execution_attempt_id="a2"),
        entry("ended"),
        entry("strayed", execution_id="nobody", execution_attempt_id=None),
    ]
    await save(store, entries=[*noise, *ours, *noise])

    async def page(execution_id: str | None, attempt_id: str | None, after: int = 0) -> list[int]:
        found = await store.journal(
            execution_id=execution_id, execution_attempt_id=attempt_id, after=after, limit=3
        )
        return [e.sequence for e in found]

    assert await page("e", None) == [21, 22, 23]
    assert await page("e", None, 23) == [24]
    assert await page(None, "a") == [22, 24]
    assert await page("e", "a", 22) == [24]
    assert await page("f", "a") == []
    assert await page(None, None) == [1, 2, 3]
    assert await page(None, None, 44) == [45]
    assert await page("f", "b", 19) == [20, 26, 27]
    assert await page("nobody", None) == [25]
    assert await page(None, "none") == await page("none", None) == []


async def test_a_journal_entry_comes_back_with_all_its_facts(
    store: SqliteStore, clock: SetClock
) -> None:
    clock.at = 86_400_123
    said = entry(
        "doubted",
        generation=3,
        evidence='{"source":"s","summary":"x","observedAt":"2026-01-01T00:00Z"}',
        detail='{"n":1}',
    )
    await save(store, entries=[said])
    (found,) = await store.journal(execution_id="e", execution_attempt_id="a", after=0, limit=9)
    assert (found.event, found.actor, found.generation, found.count) == ("doubted", "me", 3, 1)
    assert found.at.isoformat() == found.last_at.isoformat() == "1970-01-02T00:00:00.123000+00:00"
    assert found.evidence is not None
    assert found.evidence.summary == "x"
    assert found.detail == {"n": 1}


@pytest.mark.parametrize("broken", [{"evidence": "{}"}, {"detail": "["}, {"detail": "1"}])
async def test_an_unreadable_entry_is_reported(store: SqliteStore, broken: dict[str, str]) -> None:
    await save(store, entries=[entry(**broken)])
    with pytest.raises(CorruptRecordError, match="journal entry 1"):
        await store.journal(execution_id=None, execution_attempt_id=None, after=0, limit=9)


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("list_owed", "attempt_owed"),
        ("list_claimable", "attempt_claimable"),
        ("list_executions", "execution_submitted"),
        ("list_unconcluded", "execution_unconcluded"),
        ("list_entries_of_execution", "journal_execution"),
        ("list_entries_of_attempt", "journal_execution"),
    ],
)
async def test_no_list_walks_through_history_or_sorts(
    store: SqliteStore, query: str, index: str
) -> None:
    def explain() -> list[str]:
        connection = store._writer._connected()
        bindings = (None,) * len(set(re.findall(r"\?[0-9]+", QUERIES[query])))
        return [
            row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {QUERIES[query]}", bindings)
        ]

    plan = await store._writing.run(explain)
    assert any(index in step for step in plan), plan
    assert not [step for step in plan if "TEMP B-TREE" in step or step.startswith("SCAN a ")], plan


@pytest.mark.parametrize("query", ["load_attempts", "load_executions"])
async def test_rows_are_loaded_by_their_keys(store: SqliteStore, query: str) -> None:
    def explain() -> list[str]:
        connection = store._writer._connected()
        return [
            row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {QUERIES[query]}", (None,))
        ]

    plan = await store._writing.run(explain)
    assert plan[0].startswith("SCAN named"), plan
    assert all(step.startswith("SEARCH") for step in plan[1:]), plan
