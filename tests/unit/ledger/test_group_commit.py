"""Group commit: many callers, one transaction, and nobody's fault is another's."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

import anyio
import pytest

import tenure
from tenure.kernel import machine
from tenure.ledger import group_commit
from tenure.model.instant import InstantMs
from tenure.ports.store import Changes, Decide, Keys, Rows, Store
from tenure.stores.memory import MemoryStore

LEASE = "2027-01-15T08:00:15Z"


class Gate(MemoryStore):
    """A store whose transactions wait until they are let through, and may be made to fail."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[Keys] = []
        self.open = asyncio.Event()
        self.open.set()
        self.started = asyncio.Event()
        self.faults: list[Exception] = []
        self.poison: str | None = None

    async def apply(self, keys: Keys, decide: Decide) -> None:
        """Wait, fail if that is due, else apply."""
        self.batches.append(keys)
        self.started.set()
        await self.open.wait()
        if self.faults:
            raise self.faults.pop(0)
        if self.poison in keys.attempts:
            raise tenure.CorruptRecordError(record=f"attempt {self.poison!r}", seen="poison")
        await super().apply(keys, decide)

    def hold(self) -> None:
        """Let nothing through from now on."""
        self.open.clear()
        self.started.clear()


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def ledger(gate: Gate) -> tenure.Ledger:
    return tenure.Ledger(cast("Store", gate))


async def create(ledger: tenure.Ledger, attempt_id: str) -> object:
    """Create one attempt in an execution of its own; an error is an answer here."""
    try:
        return await ledger.create_attempt(
            execution_attempt_id=attempt_id, execution_id=f"execution of {attempt_id}"
        )
    except tenure.TenureError as error:
        return error


async def begin(ledger: tenure.Ledger, owner_id: str) -> object:
    """Begin attempt ``a``."""
    return await ledger.begin_provisioning(
        execution_attempt_id="a",
        execution_id="execution of a",
        provider_id="cloud",
        allocation_lifetime="provider-managed",
        provisioner_incarnation_id="incarnation-1",
        owner_id=owner_id,
        lease_expires_at=LEASE,
    )


async def together(*calls: Callable[[], Awaitable[object]]) -> list[object]:
    """Make calls at once and list their answers in order."""
    answers: list[object] = [None] * len(calls)

    async def make(index: int, call: Callable[[], Awaitable[object]]) -> None:
        answers[index] = await call()

    async with anyio.create_task_group() as group:
        for index, call in enumerate(calls):
            group.start_soon(make, index, call)
    return answers


async def creations(ledger: tenure.Ledger, *attempt_ids: str) -> list[object]:
    """Create several attempts at once."""

    def creation(attempt_id: str) -> Callable[[], Awaitable[object]]:
        return lambda: create(ledger, attempt_id)

    return await together(*[creation(attempt_id) for attempt_id in attempt_ids])


async def test_all_that_wait_share_one_transaction(gate: Gate, ledger: tenure.Ledger) -> None:
    answers = await creations(ledger, *map(str, range(100)))
    assert all(isinstance(answer, tenure.ExecutionAttemptRecord) for answer in answers)
    assert [len(keys.attempts) for keys in gate.batches] == [100]


async def test_what_comes_during_a_commit_makes_the_next_batch(
    gate: Gate, ledger: tenure.Ledger
) -> None:
    gate.hold()
    async with anyio.create_task_group() as group:
        group.start_soon(create, ledger, "first")
        await gate.started.wait()
        for index in range(5):
            group.start_soon(create, ledger, f"later {index}")
        await anyio.wait_all_tasks_blocked()
        gate.open.set()
    assert [len(keys.attempts) for keys in gate.batches] == [1, 5]


async def test_batch_is_capped(
    gate: Gate, ledger: tenure.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "BATCH_MAX", 4)
    await creations(ledger, *map(str, range(10)))
    assert [len(keys.attempts) for keys in gate.batches] == [4, 4, 2]


async def test_three_hundred_begins_start_exactly_one(gate: Gate, ledger: tenure.Ledger) -> None:
    await create(ledger, "a")

    def beginning(index: int) -> Callable[[], Awaitable[object]]:
        return lambda: begin(ledger, f"owner-{index}")

    answers = await together(*[beginning(index) for index in range(300)])
    kinds = [cast("tenure.Decision", answer).kind for answer in answers]
    assert kinds == ["started", *["already-provisioning"] * 299]
    assert len(gate.batches) == 2
    operation = await ledger.get_provider_operation(execution_attempt_id="a")
    assert operation is not None
    assert (operation.owner_id, operation.generation) == ("owner-0", 1)


async def test_commands_on_one_attempt_fold_into_one_write(
    gate: Gate, ledger: tenure.Ledger
) -> None:
    writes: list[Changes] = []
    save = gate._save

    def save_counted(changes: Changes, now: InstantMs) -> None:
        writes.append(changes)
        save(changes, now)

    gate._save = save_counted  # type: ignore[method-assign]  # the store is watched from inside
    ids = {"execution_attempt_id": "a", "execution_id": "execution of a"}
    result = tenure.CompletedResult(execution_id="execution of a", workflow_id="w")
    answers = await together(
        lambda: create(ledger, "a"),
        lambda: begin(ledger, "owner-1"),
        lambda: ledger.commit_outcome(result=result, **ids),
        lambda: ledger.commit_outcome(result=result, **ids),
        lambda: ledger.abandon_pending_attempt(**ids),
        lambda: begin(ledger, "owner-2"),
    )
    kinds = [getattr(answer, "kind", "record") for answer in answers]
    assert kinds == ["record", "started", "accepted", "duplicate", "already-settled", "resolved"]
    (changes,) = writes
    assert [row.status for row in changes.attempts] == ["settled"]
    assert [entry.event for entry in changes.entries] == [
        "attempt-created",
        "provisioning-begun",
        "outcome-committed",
        "reclamation-opened",
    ]


async def test_caller_bug_harms_no_neighbour(gate: Gate, ledger: tenure.Ledger) -> None:
    answers = await creations(ledger, "x", "x", "y", "", "z")
    kinds = [type(answer).__name__ for answer in answers]
    assert kinds == [
        "ExecutionAttemptRecord",
        "DuplicateExecutionAttemptError",
        "ExecutionAttemptRecord",
        "InvalidInputError",
        "ExecutionAttemptRecord",
    ]
    assert len(gate.batches) == 1


async def test_batch_with_a_corrupt_row_is_split(gate: Gate, ledger: tenure.Ledger) -> None:
    gate.poison = "bad"
    answers = await creations(ledger, "x", "bad", "y")
    kinds = [type(answer).__name__ for answer in answers]
    assert kinds == ["ExecutionAttemptRecord", "CorruptRecordError", "ExecutionAttemptRecord"]
    assert [len(keys.attempts) for keys in gate.batches] == [3, 1, 1, 1]


async def test_broken_step_reaches_its_caller_only(
    ledger: tenure.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = machine.step

    def break_for_bad(state: object, command: object, *rest: object) -> object:
        if getattr(command, "execution_attempt_id", None) == "bad":
            raise ZeroDivisionError
        return step(state, command, *rest)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(group_commit, "step", break_for_bad)

    async def create_broken() -> object:
        with pytest.raises(ZeroDivisionError):
            await create(ledger, "bad")
        return "broken"

    answers = await together(
        lambda: create(ledger, "x"), create_broken, lambda: create(ledger, "y")
    )
    assert [type(answer).__name__ for answer in answers] == [
        "ExecutionAttemptRecord",
        "str",
        "ExecutionAttemptRecord",
    ]


@pytest.mark.parametrize(
    "fault",
    [
        tenure.StorageUnavailableError(ledger="memory:", seen="the disk is full"),
        tenure.CommitUnknownError(ledger="memory:", seen="the reply was lost"),
    ],
    ids=lambda fault: fault.code,
)
async def test_store_error_reaches_every_caller_and_the_next_batch_works(
    gate: Gate, ledger: tenure.Ledger, fault: tenure.WorldError
) -> None:
    gate.faults.append(fault)
    answers = await creations(ledger, "x", "y", "z")
    assert [type(answer) for answer in answers] == [type(fault)] * 3
    assert len(gate.batches) == 1
    assert [str(answer) for answer in answers] == [str(fault)] * 3
    assert len({id(answer) for answer in (fault, *answers)}) == 4  # each adds its own traceback
    assert [cast("Exception", answer).__cause__ for answer in answers] == [fault] * 3
    again = await creations(ledger, "x", "y", "z")
    assert all(isinstance(answer, tenure.ExecutionAttemptRecord) for answer in again)


async def test_cancelled_caller_takes_nothing_back_and_nobody_hangs(
    gate: Gate, ledger: tenure.Ledger
) -> None:
    gate.hold()
    answers: list[object] = []

    async def create_kept(attempt_id: str) -> None:
        answers.append(await create(ledger, attempt_id))

    async with anyio.create_task_group() as group:
        cancelled = anyio.CancelScope()

        async def create_cancelled() -> None:
            with cancelled:
                await create(ledger, "cancelled")

        group.start_soon(create_cancelled)
        group.start_soon(create_kept, "neighbour")
        await gate.started.wait()
        group.start_soon(create_kept, "queued")
        await anyio.wait_all_tasks_blocked()
        cancelled.cancel()
        await anyio.wait_all_tasks_blocked()
        gate.open.set()
    assert len(answers) == 2
    recovered = await ledger.recovery.get_attempt_with_allocation(execution_attempt_id="cancelled")
    assert recovered is not None


async def test_close_finishes_all_that_waits(gate: Gate, ledger: tenure.Ledger) -> None:
    gate.hold()
    answers: list[object] = []

    async def create_kept(attempt_id: str) -> None:
        answers.append(await create(ledger, attempt_id))

    async with anyio.create_task_group() as group:
        group.start_soon(create_kept, "first")
        await gate.started.wait()
        for index in range(50):
            group.start_soon(create_kept, str(index))
        await anyio.wait_all_tasks_blocked()
        group.start_soon(ledger.aclose)
        await anyio.wait_all_tasks_blocked()
        late = await create(ledger, "late")
        assert isinstance(late, tenure.LedgerClosedError)
        gate.open.set()
    assert [type(answer) for answer in answers] == [tenure.ExecutionAttemptRecord] * 51


async def test_closing_again_and_calls_after_it_are_clear(ledger: tenure.Ledger) -> None:
    await create(ledger, "a")
    other = ledger.acting_as("operator-1")
    await other.aclose()
    await ledger.aclose()
    for handle in (ledger, other):
        assert isinstance(await create(handle, "b"), tenure.LedgerClosedError)
        with pytest.raises(tenure.LedgerClosedError):
            await handle.list_open()


async def test_full_queue_is_told_and_nothing_of_the_call_is_kept(
    gate: Gate, ledger: tenure.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "QUEUE_DEPTH_MAX", 3)
    gate.hold()
    async with anyio.create_task_group() as group:
        group.start_soon(create, ledger, "first")
        await gate.started.wait()
        for index in range(3):
            group.start_soon(create, ledger, f"waits {index}")
        await anyio.wait_all_tasks_blocked()
        refused = await create(ledger, "refused")
        assert isinstance(refused, tenure.OverloadedError)
        assert refused.queue_depth_max == 3
        gate.open.set()
    assert await ledger.recovery.get_attempt_with_allocation(execution_attempt_id="refused") is None
    assert isinstance(await create(ledger, "refused"), tenure.ExecutionAttemptRecord)


async def test_dying_loop_leaves_nobody_waiting(gate: Gate, ledger: tenure.Ledger) -> None:
    gate.hold()
    answers: list[object] = []

    async def create_kept(attempt_id: str) -> None:
        answers.append(await create(ledger, attempt_id))

    async with anyio.create_task_group() as group:
        group.start_soon(create_kept, "in the batch")
        await gate.started.wait()
        group.start_soon(create_kept, "in the queue")
        await anyio.wait_all_tasks_blocked()
        drain = ledger._core._writer._drain_task
        assert drain is not None
        drain.cancel()
    assert [type(answer) for answer in answers] == [tenure.LedgerClosedError] * 2


async def test_rerun_of_a_batch_starts_from_fresh_rows(gate: Gate, ledger: tenure.Ledger) -> None:
    apply = MemoryStore.apply

    async def apply_twice(keys: Keys, decide: Decide) -> None:
        decide(Rows(attempts={}, executions={}), InstantMs(0))
        await apply(gate, keys, decide)

    gate.apply = apply_twice  # type: ignore[method-assign]  # a store may run a batch again
    await create(ledger, "a")
    answers = await together(lambda: begin(ledger, "owner-1"), lambda: begin(ledger, "owner-2"))
    assert [cast("tenure.Decision", answer).kind for answer in answers] == [
        "started",
        "already-provisioning",
    ]


def test_handle_says_that_it_belongs_to_one_loop() -> None:
    assert tenure.Ledger.__doc__ is not None
    assert "belongs to one event loop" in tenure.Ledger.__doc__


def test_handle_may_outlive_a_loop_that_has_ended() -> None:
    ledger = tenure.Ledger(cast("Store", MemoryStore()))
    for attempt_id in ("one", "two"):
        created = asyncio.run(create(ledger, attempt_id))
        assert isinstance(created, tenure.ExecutionAttemptRecord)
