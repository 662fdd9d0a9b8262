"""Rows to save, ledgers to save them in, and other processes that do the same."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from tenure.kernel.creation import bare_execution
from tenure.kernel.state import Attempt, Entry, Execution, Operation, Reclamation
from tenure.model.execution import ExecutionSubmission, encode_submission
from tenure.model.instant import InstantMs
from tenure.model.json_value import JsonText
from tenure.model.result import CompletedResult, encode_result
from tenure.ports.store import Changes, Decide, Keys, Rows
from tenure.stores.sqlite import SqliteStore

T = TypeVar("T", Attempt, Execution, Operation, Reclamation)

REF = JsonText('{"version":1,"providerId":"cloud","providerData":{"id":"m-1"}}')
EVIDENCE = JsonText('{"source":"test","summary":"seen","observedAt":"2026-01-01T00:00Z"}')
RESULT = encode_result(
    CompletedResult(execution_id="e", workflow_id="w"), field="result", bytes_max=1000
)
SUBMISSION = encode_submission(
    ExecutionSubmission(workflow_id="w", instruction={}, provider_ids=("cloud",)),
    field="submission",
    bytes_max=1000,
)


class OpenStore(Protocol):
    """Opens a store that the test need not close."""

    async def __call__(self, path: Path | None = None, **options: object) -> SqliteStore: ...


@dataclass
class SetClock:
    """A clock that a test sets."""

    at: int = 1_000

    def now_ms(self) -> InstantMs:
        return InstantMs(self.at)


def changed(row: T, **changes: object) -> T:
    return msgspec.structs.replace(row, **changes)


def execution(id_: str = "e", **changes: object) -> Execution:
    return changed(bare_execution(id_), **changes)


def submitted(id_: str = "e", **changes: object) -> Execution:
    asked_for = execution(
        id_, submission=SUBMISSION, submitted_ms=InstantMs(1_000), submitted_by="host"
    )
    return changed(asked_for, **changes)


def attempt(id_: str = "a", execution_id: str = "e", **changes: object) -> Attempt:
    pending = Attempt(
        execution_attempt_id=id_,
        execution_id=execution_id,
        ordinal=1,
        created_ms=InstantMs(1_000),
        status="pending",
        allocation_ref=None,
        provider_id=None,
        allocation_lifetime=None,
        provisioner_incarnation_id=None,
        mark=None,
        deadline_ms=None,
        settlement_kind=None,
        settled_ms=None,
        claimable=False,
        claim_expires_ms=None,
        result=None,
        operation=None,
        reclamation=None,
    )
    return changed(pending, **changes)


def operation(**changes: object) -> Operation:
    begun = Operation(
        generation=1,
        obligation="provisioning-resolution",
        owner_id="owner",
        token="secret",
        lease_expires_ms=InstantMs(16_000),
        failure_count=0,
        last_failure=None,
        doubt_streak=0,
        opened_ms=InstantMs(1_000),
        next_look_ms=InstantMs(1_000),
    )
    return changed(begun, **changes)


def reclamation(**changes: object) -> Reclamation:
    opened = Reclamation(
        generation=1,
        owner_id=None,
        token=None,
        lease_expires_ms=None,
        references=(REF,),
        failure_count=0,
        last_failure=None,
        doubt_streak=0,
        opened_ms=InstantMs(2_000),
        next_look_ms=InstantMs(2_000),
        closure=None,
        closed_ms=None,
    )
    return changed(opened, **changes)


def begun(id_: str = "a", execution_id: str = "e", **changes: object) -> Attempt:
    """Make an attempt whose provider call has begun; owed since its operation was opened."""
    bound = attempt(
        id_,
        execution_id,
        status="provisioning",
        provider_id="cloud",
        allocation_lifetime="provider-managed",
        provisioner_incarnation_id="incarnation",
        mark=f"mark-{id_}",
        operation=operation(),
    )
    return changed(bound, **changes)


def settled(id_: str = "a", execution_id: str = "e", **changes: object) -> Attempt:
    """Make an attempt with an outcome and an open reclamation."""
    done = begun(
        id_,
        execution_id,
        status="settled",
        settlement_kind="outcome",
        settled_ms=InstantMs(2_000),
        result=RESULT,
        operation=operation(owner_id=None, token=None, lease_expires_ms=None),
        reclamation=reclamation(),
    )
    return changed(done, **changes)


def entry(event: str = "happened", **changes: object) -> Entry:
    happened = Entry(event=event, execution_id="e", execution_attempt_id="a", actor="me")
    return msgspec.structs.replace(happened, **changes)


def named(*ids: str) -> Keys:
    """Name attempts."""
    return Keys(attempts=frozenset(ids))


def saving(
    *rows: Attempt | Execution, entries: Sequence[Entry] = ()
) -> Callable[[Rows, InstantMs], Changes]:
    """Decide to save just these."""
    changes = Changes(
        attempts=[row for row in rows if isinstance(row, Attempt)],
        executions=[row for row in rows if isinstance(row, Execution)],
        entries=entries,
    )
    return lambda _rows, _now: changes


async def save(
    store: SqliteStore, *rows: Attempt | Execution, entries: Sequence[Entry] = ()
) -> None:
    """Save rows as a batch that has loaded them before."""
    keys = Keys(
        attempts=frozenset(r.execution_attempt_id for r in rows if isinstance(r, Attempt)),
        executions=frozenset(r.execution_id for r in rows if isinstance(r, Execution)),
    )
    await store.apply(keys, saving(*rows, entries=entries))


def counting(id_: str = "e") -> Decide:
    """Decide to count one more in an execution, and to say so in the journal."""

    def decide(rows: Rows, _now: InstantMs) -> Changes:
        before = rows.executions.get(id_) or submitted(id_)
        after = changed(before, attempts_max=before.attempts_max + 1)
        said = entry("counted", execution_id=id_, execution_attempt_id=None)
        return Changes(executions=[after], entries=[said])

    return decide


async def count(store: SqliteStore, id_: str = "e") -> int:
    """Read how often was counted in an execution."""
    rows = await store.load(Keys(executions=frozenset({id_})))
    return rows.executions[id_].attempts_max if id_ in rows.executions else 0


def start_python(code: str, *arguments: str, **options: object) -> subprocess.Popen[str]:
    """Start a script in a fresh interpreter that can import the tests."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[4],
        **options,
    )


def run_python(code: str, *arguments: str, **options: object) -> str:
    """Run a script to its end and give what it printed."""
    with start_python(code, *arguments, **options) as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out.strip()
