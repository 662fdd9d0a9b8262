"""How the work of an agent that is bound to its provisioner ends, in both isolations."""

import os
import signal
import sys

import pytest
from tests.providers.conftest import World, until

from tenure.model.result import FailedResult
from tenure.providers.process.launch import IsolationChoice
from tenure.worker.failure import parse_failure


@pytest.fixture(params=["namespace", "subreaper"])
def isolation(request: pytest.FixtureRequest) -> IsolationChoice:
    chosen: IsolationChoice = request.param
    return chosen


def only_error(world: World) -> str:
    (commit,) = world.commits()
    assert isinstance(commit.result, FailedResult)
    return commit.result.error


@pytest.mark.parametrize(
    ("command", "begins", "code"),
    [
        (["sh", "-c", "exit 3"], "exit status 3 after 0.", 3),
        (["sh", "-c", "kill -9 $$"], "signal 9 after 0.", 137),
        (["sh", "-c", "kill -HUP $$"], "signal 1 after 0.", 129),
        (["no-such-program-here"], "not started: command not found: 'no-such-program-here'", 127),
        (["/etc/passwd"], "not started: cannot run '/etc/passwd': Permission denied", 126),
    ],
)
async def test_a_failure_is_told_in_the_grammar(
    world: World, command: list[str], begins: str, code: int
) -> None:
    await world.until_gone(await world.start(command))
    error = only_error(world)
    assert error.startswith(begins)
    assert parse_failure(error) == code


async def test_a_command_knows_its_ids_and_nothing_of_its_keeper(world: World) -> None:
    started = await world.start(["sh", "-c", "env; pwd; ls /proc/self/fd"], cwd="/usr")
    await world.until_gone(started)
    lines = world.read(started.mark, "output.log").decode().splitlines()
    assert sorted(line for line in lines if line.startswith("TENURE_")) == [
        "TENURE_EXECUTION_ATTEMPT_ID=attempt",
        "TENURE_EXECUTION_ID=execution",
        f"TENURE_MARK={started.mark}",
    ]
    assert "/usr" in lines
    # Its three streams, the lock, and what `ls` opens.
    assert len([line for line in lines if line.isdecimal()]) == 5


async def test_the_deadline_stops_the_command_and_kills_what_ignores_it(world: World) -> None:
    ignore = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    started = await world.start([sys.executable, "-c", ignore], deadline_seconds=1.5)
    await world.until_gone(started)
    assert only_error(world).startswith("timeout after 1.5 s")


@pytest.mark.parametrize("target", ["agent", "keeper"])
async def test_a_bare_sigterm_delivers_nothing(world: World, target: str) -> None:
    script = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.02; done"
    started = await world.start(["sh", "-c", script])
    await world.until_output(started, "ready")
    os.kill(started.pid_of(target), signal.SIGTERM)
    await world.until_gone(started)
    assert world.commits() == []
    assert b"bye" in world.read(started.mark, "output.log")


async def test_a_sigterm_before_the_agent_listens_is_not_lost(world: World) -> None:
    started = await world.start(["sleep", "60"])
    os.kill(started.pid, signal.SIGTERM)  # as early as anybody can know whom to send it to
    await world.until_gone(started)
    assert world.commits() == []


async def test_an_outcome_waits_for_its_ledger(world: World) -> None:
    (world.ledger / "down").touch()
    started = await world.start(["sh", "-c", "exit 7"])
    await until(lambda: b"not delivered yet" in world.read(started.mark, "agent.log"))
    spooled = await world.recovery.spooled_outcome(mark=started.mark)
    assert spooled is not None
    (world.ledger / "down").unlink()
    await world.until_gone(started)
    assert parse_failure(only_error(world)) == 7
    await world.recovery.acknowledge_outcome(mark=started.mark)
    assert await world.recovery.spooled_outcome(mark=started.mark) is None


async def test_an_outcome_that_was_not_delivered_outlives_everybody(world: World) -> None:
    (world.ledger / "down").touch()
    started = await world.start(["sh", "-c", "exit 7"])
    await until(lambda: world.read(started.mark, "outcome.json"))
    os.kill(started.pid, signal.SIGKILL)
    await world.until_gone(started)
    spooled = await world.recovery.spooled_outcome(mark=started.mark)
    assert spooled is not None
    assert isinstance(spooled.result, FailedResult)


async def test_a_command_that_kills_all_it_can_see_kills_only_what_is_its_own(
    world: World,
) -> None:
    if world.isolation != "namespace":
        pytest.skip("without a namespace it would see the test as well")
    started = await world.start(["sh", "-c", "kill -9 1; kill -9 -1; exit 6"])
    await world.until_gone(started)
    assert parse_failure(only_error(world)) == 6


async def test_twenty_at_once_leave_nobody_to_be_reaped(world: World) -> None:
    started = [await world.start(["sh", "-c", f"exit {n + 1}"]) for n in range(20)]
    for one in started:
        await world.until_gone(one)
    errors = [commit.result.error for commit in world.commits()]  # type: ignore[union-attr]  # all fail
    assert {parse_failure(error) for error in errors} == set(range(1, 21))
    assert world.provider._children._pids == set()
    assert world.provider._children._ties == {}
