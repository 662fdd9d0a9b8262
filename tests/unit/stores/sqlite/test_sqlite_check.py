"""An examination finds what is wrong and stays silent about what is not."""

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from tests.unit.stores.sqlite.ledgers import (
    EVIDENCE,
    REF,
    OpenStore,
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

from tenure.kernel.state import Attempt, Execution
from tenure.stores.sqlite import SqliteStore
from tenure.stores.sqlite.examination import PROBLEMS_MAX


async def save_sound(store: SqliteStore) -> None:
    await save(
        store,
        execution(active_attempt_id="a2", attempt_count=2),
        submitted("empty", attempts_max=3),
        execution("f", active_attempt_id="b", attempt_count=1),
        settled("a", reclamation=reclamation(last_failure=EVIDENCE)),
        begun("a2", ordinal=2, operation=operation(last_failure=EVIDENCE)),
        attempt("b", "f"),
        entries=[entry(evidence=EVIDENCE), entry(fold_key="k"), entry(fold_key="k")],
    )


@pytest.fixture
async def sound(store: SqliteStore) -> SqliteStore:
    await save_sound(store)
    return store


async def test_a_sound_ledger_has_no_problems(sound: SqliteStore) -> None:
    assert await sound.check() == []


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (begun("a2", ordinal=2, operation=operation(generation=0)), "attempt 'a2': I-"),
        (begun("a2", ordinal=2, operation=operation(owner_id=None)), "attempt 'a2': I-"),
        (begun("a2", ordinal=2, operation=None), "attempt 'a2': I-"),
        (attempt("a2", ordinal=2, operation=operation()), "attempt 'a2': I-"),
        (begun("a2", ordinal=2, claimable=True), "attempt 'a2': I-"),
        (begun("a2", ordinal=2, result="{}"), "attempt 'a2': I-"),
        (begun("a2", ordinal=2, settled_ms=5), "attempt 'a2': I-"),
        (begun("a2", ordinal=2, allocation_ref="{}"), "allocation reference"),
        (begun("a2", ordinal=2, operation=operation(last_failure="x")), "evidence"),
        (settled("a", operation=operation()), "attempt 'a': I-"),
        (settled("a", result="[]"), "result"),
        (settled("a", reclamation=reclamation(closure="absent")), "attempt 'a': I-"),
        (settled("a", reclamation=reclamation(references=("[",))), "allocation reference"),
        (settled("a", reclamation=reclamation(last_failure="{}")), "evidence"),
        (begun("a", reclamation=reclamation()), "attempt 'a': I-"),
        (execution("f", active_attempt_id="a", attempt_count=1), "execution 'f': I-"),
        (execution("f", active_attempt_id=None, attempt_count=1), "execution 'f': I-"),
        (execution("f", active_attempt_id="b", attempt_count=3), "counts 3 attempts and has 1"),
        (attempt("c", "g"), "attempt 'c': I-"),
        (submitted("empty", attempts_max=3, submission="{"), "execution 'empty'"),
        (submitted("empty", attempts_max=3, cancellation="{}"), "cancellation"),
        (submitted("empty", attempts_max=3, conclusion="outcome"), "execution 'empty': I-"),
    ],
)
async def test_a_row_that_cannot_be_is_found(
    sound: SqliteStore, row: Attempt | Execution, problem: str
) -> None:
    await save(sound, row)
    problems = await sound.check()
    assert any(problem in line for line in problems), problems
    assert not any("\n" in line for line in problems)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("UPDATE attempt SET owed_since_ms = NULL", "does not agree"),
        ("UPDATE attempt SET status = 'lost' WHERE execution_attempt_id = 'a'", "attempt 'a'"),
        ("DELETE FROM attempt WHERE execution_attempt_id = 'a'", "is missing"),
        ("UPDATE ledger SET last_sequence = 1", "journal entry 2"),
        ("UPDATE journal SET evidence = '{}'", "journal entry 1"),
        ("UPDATE journal SET count = 0", "journal entry 1"),
        ("DROP INDEX attempt_owed", "attempt_owed"),
    ],
)
async def test_damage_to_the_file_is_found(
    sound: SqliteStore, path: Path, damage: str, problem: str
) -> None:
    vandal = apsw.Connection(str(path))
    vandal.execute(damage)
    vandal.close()
    problems = await sound.check()
    assert any(problem in line for line in problems), problems


async def test_the_number_of_problems_is_bounded(store: SqliteStore) -> None:
    await save(store, *(attempt(f"a{n}") for n in range(PROBLEMS_MAX + 5)))
    assert len(await store.check()) == PROBLEMS_MAX


async def test_an_index_that_disagrees_with_its_table_is_found(
    open_store: OpenStore, path: Path, flip: Callable[[Path, bytes, bytes], None]
) -> None:
    store = await open_store()
    await save(store, execution(), entries=[entry(fold_key="fold-key-a")])
    await store.aclose()
    flip(path, b"fold-key-a", b"fold-key-b")
    store = await open_store()
    assert any("journal_fold" in line for line in await store.check())


@pytest.fixture
def flip() -> Callable[[Path, bytes, bytes], None]:
    """Change the first place where a file holds some bytes."""

    def flip_one(path: Path, old: bytes, new: bytes) -> None:
        content = path.read_bytes()
        assert old in content
        path.write_bytes(content.replace(old, new, 1))

    return flip_one


async def test_reads_and_writes_go_on_during_an_examination(sound: SqliteStore) -> None:
    changed_row = changed(
        begun("a2", ordinal=2),
        status="allocated",
        allocation_ref=REF,
        operation=operation(obligation="allocation-control"),
    )
    problems = sound.check()
    await save(sound, changed_row)
    assert await problems == []


async def test_a_row_that_its_index_does_not_find_is_reported(
    open_store: OpenStore, path: Path, flip: Callable[[Path, bytes, bytes], None]
) -> None:
    store = await open_store()
    await save(store, execution("execution-e"))
    await store.aclose()
    flip(path, b"execution-e", b"execution-f")
    store = await open_store()
    assert any("it is not found by its id" in line for line in await store.check())
