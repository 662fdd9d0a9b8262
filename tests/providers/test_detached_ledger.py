"""The real agent and the real ledger: processes that share one file."""

import os
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import apsw
import pytest
from tests.providers.conftest import World, until
from tests.providers.site import Site, ledger_url

from tenure.model.decision import AcceptedOutcome
from tenure.model.result import CancelledResult, CompletedResult, FailedResult
from tenure.ports.provider import Gone
from tenure.providers.local.launch import AGENT_COMMAND
from tenure.wiring.ledgers import open_ledger


@pytest.fixture
def agent_command() -> Sequence[str]:
    return AGENT_COMMAND


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


@pytest.mark.parametrize("instead", ["another ledger", "older copy"])
async def test_an_outcome_outlives_a_ledger_that_was_exchanged(
    world: World, tmp_path: Path, instead: str
) -> None:
    url = ledger_url(tmp_path)
    state, kept = tmp_path / "state", tmp_path / "kept"
    async with open_ledger(url):
        pass
    if instead == "older copy":
        shutil.copytree(state, kept)
    async with open_ledger(url) as ledger:
        started = await Site(world, ledger).start(
            "work", ["sh", "-c", f"until [ -e {tmp_path}/go ]; do sleep 0.02; done; exit 5"]
        )
    state.rename(tmp_path / "away")
    if instead == "older copy":
        kept.rename(state)
    else:
        async with open_ledger(url):
            pass
    (tmp_path / "go").touch()
    await until(lambda: b"AnotherLedgerError" in world.read(started.mark, "agent.log"))
    state.rename(tmp_path / "wrong")
    (tmp_path / "away").rename(state)
    async with open_ledger(url) as ledger:
        result = (await Site(world, ledger).until_settled("work")).result
    assert isinstance(result, FailedResult)
    assert result.error.startswith("exit status 5 after")


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
