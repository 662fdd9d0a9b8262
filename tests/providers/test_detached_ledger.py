"""The real agent and the real ledger: processes that share one file."""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import anyio
import anyio.to_thread
import apsw
import pytest
from tests.providers.conftest import Started, World, until

from tenure.ledger.ledger import Ledger
from tenure.model.decision import AcceptedOutcome
from tenure.model.execution import ExecutionSubmission, SettlementRecord
from tenure.model.result import CancelledResult, CompletedResult, FailedResult
from tenure.ports.provider import Allocated, Gone, ProvisionRequest
from tenure.providers.local.launch import AGENT_COMMAND
from tenure.wiring.ledgers import open_ledger


@dataclass
class Site:
    """A machine with a ledger on its disk."""

    world: World
    ledger: Ledger

    async def start(self, name: str, command: Sequence[str]) -> Started:
        submission = ExecutionSubmission(
            workflow_id="workflow",
            instruction={"command": list(command), "cwd": "/"},
            provider_ids=("detached",),
        )
        await self.ledger.submit_execution(
            execution_id=name, submission=submission, submitted_by="test"
        )
        await self.ledger.ensure_attempt(execution_id=name, execution_attempt_id=f"{name}-1")
        now = await self.ledger.now()
        await self.ledger.begin_provisioning(
            execution_attempt_id=f"{name}-1",
            execution_id=name,
            provider_id="detached",
            allocation_lifetime="provider-managed",
            provisioner_incarnation_id="test",
            owner_id="test",
            lease_expires_at=now + timedelta(seconds=60),
        )
        mark = self.ledger.mark_of(f"{name}-1")
        self.world.marks.append(mark)
        request = ProvisionRequest(
            execution_id=name,
            execution_attempt_id=f"{name}-1",
            workflow_id="workflow",
            instruction=submission.instruction,
            mark=mark,
            ledger_url=self.ledger.url,
            begun_at=now,
            call_deadline_at=now + timedelta(seconds=30),
            deadline_at=None,
        )
        answer = await self.world.provider.provision(request)
        assert isinstance(answer, Allocated)
        return Started(mark, answer.allocation_ref)

    async def until_settled(self, name: str) -> SettlementRecord:
        with anyio.fail_after(60):
            while True:
                found = await self.ledger.get_settlement(execution_attempt_id=f"{name}-1")
                if found is not None:
                    return found
                await anyio.sleep(0.02)


@pytest.fixture
def agent_command() -> Sequence[str]:
    return AGENT_COMMAND


def ledger_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'state' / 'ledger.sqlite'}"


async def test_an_outcome_reaches_the_ledger(world: World, tmp_path: Path) -> None:
    async with open_ledger(ledger_url(tmp_path)) as ledger:
        site = Site(world, ledger)
        done = await site.start("done", ["echo", "hello"])
        failed = await site.start("failed", ["sh", "-c", "exit 3"])
        result = (await site.until_settled("done")).result
        assert isinstance(result, CompletedResult)
        assert result.artifact is not None
        assert result.artifact["outputTail"] == ["hello"]
        result = (await site.until_settled("failed")).result
        assert isinstance(result, FailedResult)
        assert result.error.startswith("exit status 3 after")
        for started in (done, failed):
            await world.until_gone(started)
            assert world.read(started.mark, "outcome.json") == b""


async def test_a_durable_request_makes_a_termination_a_cancellation(
    world: World, tmp_path: Path
) -> None:
    async with open_ledger(ledger_url(tmp_path)) as ledger:
        site = Site(world, ledger)
        started = await site.start("work", ["sh", "-c", "echo ready; exec sleep 60"])
        await world.until_output(started, "ready")
        await ledger.request_cancellation(
            execution_id="work", requested_by="operator", reason="too expensive"
        )
        assert isinstance(await world.terminate(started), Gone)
        assert (await site.until_settled("work")).result == CancelledResult(
            execution_id="work", workflow_id="workflow", reason="too expensive"
        )


async def test_a_recovery_may_deliver_while_the_ledger_is_locked(
    world: World, tmp_path: Path
) -> None:
    url = ledger_url(tmp_path)
    async with open_ledger(url) as ledger:
        site = Site(world, ledger)
        gate = tmp_path / "gate"
        os.mkfifo(gate)
        started = await site.start("work", ["sh", "-c", f"read line < {gate}"])
        with locked(url):
            await anyio.to_thread.run_sync(gate.write_text, "go\n")
            await until(lambda: world.read(started.mark, "outcome.json"))
            os.kill(started.pid, signal.SIGSTOP)  # so that it is not the one who delivers first
        spooled = await world.recovery.spooled_outcome(mark=started.mark)
        assert spooled is not None
        answer = await ledger.commit_outcome(
            execution_attempt_id=spooled.execution_attempt_id,
            execution_id=spooled.execution_id,
            result=spooled.result,
        )
        assert isinstance(answer, AcceptedOutcome)
        await world.recovery.acknowledge_outcome(mark=started.mark)
        os.kill(started.pid, signal.SIGCONT)
        await world.until_gone(started)
    assert b"answered duplicate" in world.read(started.mark, "agent.log")


@contextmanager
def locked(url: str) -> Iterator[None]:
    """Hold the ledger's write lock, as a slow neighbour does."""
    connection = apsw.Connection(url.removeprefix("sqlite:///"))
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")
    finally:
        connection.close()
