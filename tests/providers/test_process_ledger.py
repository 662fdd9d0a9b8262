"""A real agent that is bound to its provisioner, and a real ledger."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.providers.conftest import World
from tests.providers.site import Site, ledger_url

from tenure.model.result import CancelledResult, CompletedResult, FailedResult
from tenure.ports.provider import Gone
from tenure.providers.local.launch import AGENT_COMMAND
from tenure.providers.process.launch import IsolationChoice
from tenure.wiring.ledgers import open_ledger


@pytest.fixture(params=["namespace", "subreaper"])
def isolation(request: pytest.FixtureRequest) -> IsolationChoice:
    chosen: IsolationChoice = request.param
    return chosen


@pytest.fixture
def agent_command() -> Sequence[str]:
    return AGENT_COMMAND


async def test_outcomes_reach_the_ledger(world: World, tmp_path: Path) -> None:
    async with open_ledger(ledger_url(tmp_path)) as ledger:
        site = Site(world, ledger)
        done = await site.start("done", ["sh", "-c", "echo hello; echo there >&2"])
        failed = await site.start("failed", ["sh", "-c", "exit 3"])
        result = (await site.until_settled("done")).result
        assert isinstance(result, CompletedResult)
        assert result.artifact is not None
        assert result.artifact["outputTail"] == ["hello", "there"]
        result = (await site.until_settled("failed")).result
        assert isinstance(result, FailedResult)
        assert result.error.startswith("exit status 3 after")
        for started in (done, failed):
            await world.until_gone(started)
            assert world.read(started.mark, "outcome.json") == b""


async def test_a_cancellation_reaches_the_ledger(world: World, tmp_path: Path) -> None:
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
