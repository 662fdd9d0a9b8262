"""Nothing of an attempt outlives its provisioner, its keeper or its agent, whatever it does."""

import os
import signal
import sys
import threading
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import anyio
import pytest
from tests.providers.bound import (
    Token,
    assert_all_gone,
    command_line,
    conclude,
    kill,
    living_pids,
    provisioner,
    until_hostile,
)
from tests.providers.conftest import Started, World, until

from tenure.model.result import FailedResult
from tenure.ports.provider import Gone, ProvenAbsent, Running
from tenure.providers.process.launch import IsolationChoice
from tenure.providers.process.thread import KeptThread


@pytest.fixture(params=["namespace", "subreaper"])
def isolation(request: pytest.FixtureRequest) -> IsolationChoice:
    chosen: IsolationChoice = request.param
    return chosen


async def test_a_killed_provisioner_takes_every_descendant_with_it(world: World) -> None:
    token = Token()
    with provisioner(world, token.command()) as parent:
        (started,) = parent.started
        await until_hostile(world, started, token)
        seen = await world.inspect(started)
        assert isinstance(seen, Running)
        assert seen.worker == "alive"
        parent.kill()
        await assert_all_gone(world, started, token)
    assert world.commits() == []


async def test_a_provisioner_that_ends_takes_every_descendant_with_it(world: World) -> None:
    token = Token()
    with provisioner(world, token.command()) as parent:
        (started,) = parent.started
        await until_hostile(world, started, token)
        assert parent.process.stdin is not None
        parent.process.stdin.close()
        assert parent.process.wait() == 0
        await assert_all_gone(world, started, token)


@pytest.mark.parametrize("victim", ["agent", "keeper"])
async def test_a_killed_agent_or_keeper_takes_every_descendant_with_it(
    world: World, victim: str
) -> None:
    token = Token()
    started = await world.start(token.command())
    await until_hostile(world, started, token)
    kill(started, victim)
    await assert_all_gone(world, started, token)


@pytest.mark.parametrize("victim", ["agent", "keeper"])
async def test_a_stopped_agent_or_keeper_does_not_save_anybody(world: World, victim: str) -> None:
    token = Token()
    with provisioner(world, token.command()) as parent:
        (started,) = parent.started
        await until_hostile(world, started, token)
        os.kill(started.pid_of(victim), signal.SIGSTOP)
        parent.kill()
        await assert_all_gone(world, started, token)


async def test_a_killed_keeper_takes_a_stopped_agent_with_it(world: World) -> None:
    token = Token()
    started = await world.start(token.command())
    await until_hostile(world, started, token)
    os.kill(started.pid_of("agent"), signal.SIGSTOP)
    kill(started, "keeper")
    await assert_all_gone(world, started, token)


async def test_an_agent_that_has_done_its_work_leaves_nobody_behind(world: World) -> None:
    token = Token()
    waits = f"while ! [ -e {world.folder}/go ]; do sleep 0.02; done"
    script = f"{token.shell()} & {waits}; exit 5"
    started = await world.start(["sh", "-c", script])
    await until_hostile(world, started, token)
    (world.folder / "go").touch()
    await assert_all_gone(world, started, token)
    (commit,) = world.commits()
    assert isinstance(commit.result, FailedResult)
    assert commit.result.error.startswith("exit status 5 after")


async def test_a_termination_leaves_nobody_behind(world: World) -> None:
    token = Token()
    started = await world.start(token.command())
    await until_hostile(world, started, token)
    assert isinstance(await world.terminate(started), Gone)
    assert token.bearers() == []


async def test_a_termination_ends_an_agent_that_does_not_listen(world: World) -> None:
    token = Token()
    started = await world.start(token.command())
    await until_hostile(world, started, token)
    os.kill(started.pid, signal.SIGSTOP)
    assert isinstance(await world.terminate(started), Gone)
    assert token.bearers() == []


async def test_the_thread_that_called_may_end(world: World) -> None:
    gate = world.folder / "gate"
    os.mkfifo(gate)
    with provisioner(world, ["sh", "-c", f"read line < {gate}; exit 4"], act="thread") as parent:
        (started,) = parent.started
        tasks = Path(f"/proc/{parent.process.pid}/task")
        # The main thread and the one that is kept: all others of the call are gone.
        await until(lambda: len(list(tasks.iterdir())) == 2)
        assert isinstance(await world.inspect(started), Running)
        with anyio.fail_after(20):
            await anyio.to_thread.run_sync(gate.write_text, "go\n")
        await world.until_gone(started)
    (commit,) = world.commits()
    assert isinstance(commit.result, FailedResult)
    assert commit.result.error.startswith("exit status 4 after")


async def test_a_fork_of_the_provisioner_does_not_keep_its_agents(world: World) -> None:
    token = Token()
    with provisioner(world, token.command(), act="fork") as parent:
        (started,) = parent.started
        await until_hostile(world, started, token)
        forks = children_of(parent.process.pid, "provisioner.py")
        assert len(forks) == 1
        parent.kill()
        await assert_all_gone(world, started, token)
        (fork,) = forks
        os.kill(fork, signal.SIGKILL)  # it lived until now, with a copy of everything


async def test_a_fork_of_the_provisioner_has_agents_of_its_own(world: World) -> None:
    token = Token()
    with provisioner(world, token.command(), count=2, act="in-fork") as parent:
        parents, forks = parent.started
        for started in parent.started:
            await world.until_output(started, "ready")
        os.kill(parent.fork, signal.SIGKILL)
        assert isinstance(await conclude(world, forks.mark), Gone)
        assert isinstance(await world.inspect(parents), Running)
        parent.kill()
        await assert_all_gone(world, parents, token)


@pytest.mark.parametrize("milliseconds", [0, 10, 20, 30, 40, 60, 80, 120, 160, 240])
async def test_a_provisioner_killed_at_any_moment_leaves_a_conclusion(
    world: World, milliseconds: int
) -> None:
    token = Token()
    with provisioner(world, token.command(), act="announce") as parent:
        await anyio.sleep(milliseconds / 1000)  # the moment is the point
        parent.kill()
        answer = await conclude(world, parent.marks[0])
    assert token.bearers() == []
    assert world.bearers(parent.marks[0]) == ()
    assert isinstance(answer, Gone | ProvenAbsent)


async def test_twenty_attempts_end_with_their_provisioner(world: World) -> None:
    token = Token()
    with provisioner(world, token.command(1), count=20) as parent:
        assert len(parent.started) == 20
        await until(lambda: len(token.bearers()) == 40)
        parent.kill()
        for started in parent.started:
            assert isinstance(await conclude(world, started.mark), Gone)
        assert token.bearers() == []


async def test_an_attempt_within_an_attempt_ends_with_it(world: World) -> None:
    (world.folder / "nested").mkdir()
    inner, token = world.new_mark(), Token()
    script = f"""
import asyncio, sys
sys.path.insert(0, {str(Path.cwd())!r})
from pathlib import Path
from tests.providers.conftest import World
async def main():
    nested = World(Path({str(world.folder / "nested")!r}), isolation={world.isolation!r})
    started = await nested.start({token.command()!r}, mark={inner!r})
    await nested.until_output(started, "ready")
    print("nested", (await nested.inspect(started)).worker, flush=True)
    await asyncio.sleep(300)
asyncio.run(main())
"""
    outer = await world.start([sys.executable, "-c", script])
    await world.until_output(outer, "nested alive")
    await until(lambda: len(token.bearers()) >= 4)
    kill(outer, "agent")
    await assert_all_gone(world, outer, token)
    assert world.bearers(inner) == ()


async def test_orphans_are_reaped_while_the_command_runs(world: World) -> None:
    script = "for i in $(seq 50); do (setsid true &) ; done; echo ready; sleep 60"
    started = await world.start(["sh", "-c", script])
    await world.until_output(started, "ready")
    await until(lambda: zombies_of(started) == [])
    assert isinstance(await world.terminate(started), Gone)


def zombies_of(started: Started) -> list[int]:
    children = Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split()
    states = {pid: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][1] for pid in children}
    return [int(pid) for pid, state in states.items() if state == "Z"]


async def test_discovery_without_the_folder_tells_agent_and_keeper_apart(world: World) -> None:
    started = await world.start(["sleep", "300"])
    await until(lambda: len(world.bearers(started.mark)) == 3)
    (world.root / started.mark).rename(world.folder / "lost")
    found = await world.recovery.discover(mark=started.mark, begun_at=await begun(world))
    ref = found.allocation_ref  # type: ignore[union-attr]  # anything else fails here
    assert ref.provider_data["agent"] == started.ref.provider_data["agent"]
    assert ref.provider_data["keeper"] == started.ref.provider_data["keeper"]
    lost = Started(started.mark, ref)
    assert isinstance(await world.inspect(lost), Running)
    assert isinstance(await world.terminate(lost), Gone)
    assert isinstance(await world.inspect(started), Gone)


def children_of(pid: int, text: str) -> list[int]:
    return [
        child
        for child in living_pids()
        if text in command_line(child)
        and f"PPid:\t{pid}\n" in Path(f"/proc/{child}/status").read_text()
    ]


async def begun(world: World) -> datetime:
    return (await world.request()).begun_at


def test_the_kept_thread_gives_and_raises_and_stays() -> None:
    thread = KeptThread()
    names: Sequence[int] = [thread.run(threading.get_ident) for _ in range(2)]
    assert names[0] == names[1] != threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        thread.run(lambda: 1 // 0)
    assert thread.run(lambda: 7) == 7
