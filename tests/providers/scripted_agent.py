"""The real agent on a ledger that is a folder, run as a program of its own.

In the folder that the ledger's URL names: `down` (the ledger cannot be reached), `hang` (it never
answers), `answer` (what it says instead of accepted), `cancelled` (a durable request, with its
reason), `id` (that of another ledger), `ignorant` (it never heard of the attempt). What was
committed is found in `commit-*.json`, in the form of a spool.
"""

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import anyio

from tenure.errors import StorageUnavailableError
from tenure.machine import ProcessIdentity
from tenure.model.attempt import ExecutionAttemptRecord
from tenure.model.decision import (
    AcceptedOutcome,
    Conflict,
    DuplicateOutcome,
    ExecutionAttemptOutcomeDecision,
    Fenced,
)
from tenure.model.execution import CancellationRecord, ExecutionRecord
from tenure.model.result import WorkflowRunResult
from tenure.wire.spool import SpoolContent, encode_spool
from tenure.wire.tether import TETHER_VARIABLE
from tenure.worker.agent import run_agent
from tenure.worker.keeping import keep

LEDGER_ID = "the-folder"


@asynccontextmanager
async def open_ledger(url: str) -> "AsyncIterator[FolderLedger]":
    folder = Path(url)
    while (folder / "hang").exists():  # noqa: ASYNC110  (another process's doing)
        await anyio.sleep(0.02)
    if (folder / "down").exists():
        raise StorageUnavailableError(ledger=url, seen="it is down")
    yield FolderLedger(folder)


class FolderLedger:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def ledger_id(self) -> str:
        path = self.folder / "id"
        return path.read_text() if path.exists() else LEDGER_ID

    @property
    def recovery(self) -> "FolderLedger":
        return self

    async def get_attempt_with_allocation(
        self, *, execution_attempt_id: str
    ) -> ExecutionAttemptRecord | None:
        if (self.folder / "ignorant").exists():
            return None
        return ExecutionAttemptRecord(
            execution_id="execution",
            execution_attempt_id=execution_attempt_id,
            status="provisioning",
            allocation_ref=None,
            created_at=datetime(2026, 1, 1, tzinfo=UTC),
            provider_id=None,
            allocation_lifetime=None,
            provisioner_incarnation_id=None,
            settlement_kind=None,
            claimable=False,
            claim_expires_at=None,
        )

    async def get_execution(self, *, execution_id: str) -> ExecutionRecord:
        request = self.folder / "cancelled"
        cancellation = None
        if request.exists():
            cancellation = CancellationRecord(
                requested_at=datetime(2026, 1, 1, tzinfo=UTC),
                requested_by="somebody",
                reason=request.read_text(),
            )
        return ExecutionRecord(
            execution_id=execution_id,
            active_attempt_id=None,
            attempt_count=1,
            next_attempt_at=None,
            submission=None,
            submitted_at=None,
            submitted_by=None,
            cancellation=cancellation,
            conclusion=None,
            concluded_at=None,
            converged_at=None,
        )

    async def commit_outcome(
        self, *, execution_attempt_id: str, execution_id: str, result: WorkflowRunResult
    ) -> ExecutionAttemptOutcomeDecision:
        answer = self.folder / "answer"
        kind = answer.read_text() if answer.exists() else "accepted"
        if (self.folder / "ignorant").exists():
            return Fenced()
        if kind == "accepted" and any(self.folder.glob("commit-*.json")):
            kind = "duplicate"
        content = SpoolContent(
            execution_id=execution_id, execution_attempt_id=execution_attempt_id, result=result
        )
        number = len(list(self.folder.glob("commit-*.json")))
        temporary = self.folder / f"temporary-{os.getpid()}"
        temporary.write_bytes(encode_spool(content))
        temporary.rename(self.folder / f"commit-{os.getpid()}-{number}.json")
        answers: dict[str, ExecutionAttemptOutcomeDecision] = {
            "accepted": AcceptedOutcome(outcome=result),
            "duplicate": DuplicateOutcome(outcome=result),
            "conflict": Conflict(),
            "fenced": Fenced(),
        }
        return answers[kind]


def work(environment: Mapping[str, str], identity: ProcessIdentity | None = None) -> int:
    return run_agent(
        environment=environment,
        identity=identity,
        open_ledger=open_ledger,
        stop_grace_seconds=float(environment.get("TEST_STOP_GRACE_SECONDS", "5")),
    )


if __name__ == "__main__":
    is_kept = TETHER_VARIABLE in os.environ
    sys.exit(keep(os.environ, work) if is_kept else work(os.environ))
