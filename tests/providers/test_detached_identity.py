"""Only what belongs to the attempt is signalled, and nothing of it is left."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.providers.conftest import BEGUN_AT, Started, World, until

from tenure.machine import identify, is_held, make_private_folder
from tenure.model.allocation import ProviderAllocationRef
from tenure.model.json_value import JsonValue
from tenure.ports.provider import Found, Gone, Running, Undetermined

# Grandchildren that are hard to end: another session, orphans, deaf to SIGTERM.
STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(2):
    if os.fork():
        if sys.argv[1] == "stay":
            break
        os._exit(0)
    os.setsid()
print("ready", flush=True)
time.sleep(300)
"""
# Each starts another one as soon as its predecessor is gone.
REVIVERS = """
import os, time
os.setsid() if os.fork() == 0 else None
while True:
    print("ready", flush=True)
    watched = os.getpid()
    if os.fork() == 0:
        while os.getppid() == watched:
            time.sleep(0.001)
    else:
        os.wait()
"""
# Each makes another one every few milliseconds, up to a bound that spares the test's machine.
MULTIPLIERS = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
deep = 0
while True:
    time.sleep(0.01)
    if deep < 6 and os.fork() == 0:
        deep += 1
        os.setsid()
    elif deep < 6:
        deep += 1
"""
OTHER_BOOT = "00000000-0000-4000-8000-000000000000"


def start_stranger(kept_descriptors: Sequence[int] = ()) -> subprocess.Popen[bytes]:
    """Start a process that belongs to no attempt and lives until its input ends."""
    return subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=kept_descriptors)


def was_reaped(pid: int) -> bool:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return True
    return False


def altered(started: Started, **changes: JsonValue) -> Started:
    data = dict(started.ref.provider_data)
    agent = data["agent"]
    assert isinstance(agent, dict)
    data["agent"] = {**agent, **changes}
    return replace(started, ref=ProviderAllocationRef(provider_id="detached", provider_data=data))


async def started_stubborn(world: World, *wrapper: str) -> Started:
    started = await world.start([*wrapper, sys.executable, "-c", STUBBORN, "stay"])
    await until(lambda: world.read(started.mark, "output.log").count(b"ready") == 3)
    return started


async def test_a_termination_leaves_no_descendant(world: World) -> None:
    started = await started_stubborn(world)
    assert len(world.bearers(started.mark)) == 4
    assert isinstance(await world.terminate(started), Gone)
    assert world.bearers(started.mark) == ()


async def test_descendants_of_a_killed_agent_are_seen_and_ended(world: World) -> None:
    started = await started_stubborn(world)
    os.kill(started.pid, signal.SIGKILL)
    await until(lambda: len(world.bearers(started.mark)) == 3)
    seen = await world.inspect(started)
    assert isinstance(seen, Running)
    assert seen.worker == "dead"
    assert isinstance(await world.terminate(started), Gone)
    assert world.bearers(started.mark) == ()
    assert world.commits() == []


async def test_a_pair_that_revives_each_other_is_ended(world: World) -> None:
    started = await world.start([sys.executable, "-c", REVIVERS])
    await until(lambda: world.read(started.mark, "output.log").count(b"ready") >= 2)
    os.kill(started.pid, signal.SIGKILL)
    assert isinstance(await world.terminate(started), Gone)
    assert world.bearers(started.mark) == ()


async def test_what_multiplies_is_ended(world: World) -> None:
    started = await world.start([sys.executable, "-c", MULTIPLIERS])
    await until(lambda: len(world.bearers(started.mark)) > 20)
    assert isinstance(await world.terminate(started), Gone)
    assert world.bearers(started.mark) == ()


async def test_who_shed_the_mark_is_betrayed_by_the_lock(world: World) -> None:
    started = await started_stubborn(world, "env", "-i")
    os.kill(started.pid, signal.SIGKILL)
    await until(lambda: world.bearers(started.mark) == ())
    seen = await world.inspect(started)
    assert isinstance(seen, Running)
    assert seen.worker == "dead"
    assert isinstance(await world.terminate(started), Gone)
    assert is_held(world.root / started.mark / "lock") is False


async def test_what_outlives_a_finished_agent_is_seen_and_ended(world: World) -> None:
    started = await world.start(["sh", "-c", "setsid sleep 300 & echo $!"])
    await until(world.commits)
    await until(lambda: len(world.bearers(started.mark)) == 1)
    seen = await world.inspect(started)
    assert isinstance(seen, Running)
    assert seen.worker == "dead"
    assert isinstance(await world.terminate(started), Gone)


async def test_a_termination_says_how_many_it_had_to_end(world: World) -> None:
    started = await world.start(["sh", "-c", "setsid sleep 300 & setsid sleep 301 & echo $!"])
    await until(world.commits)
    await until(lambda: len(world.bearers(started.mark)) == 2)
    gone = await world.terminate(started)
    assert isinstance(gone, Gone)
    told = "2 processes that the command left behind were ended; the agent is dead, "
    assert gone.evidence.summary.startswith(told)
    again = await world.terminate(started)
    assert isinstance(again, Gone)
    assert again.evidence.summary.startswith("the agent is dead, ")


SHEDDING = "env -i sleep 404 & echo ready; sleep 403"


@pytest.mark.parametrize("loss", ["folder deleted", "lock deleted", "lock replaced"])
async def test_who_shed_the_mark_is_betrayed_by_a_lock_that_was_lost(
    world: World, loss: str
) -> None:
    started = await world.start(["sh", "-c", SHEDDING])
    await world.until_output(started, "ready")
    await until(lambda: len(world.bearers(started.mark)) == 3)
    folder = world.root / started.mark
    if loss == "folder deleted":
        shutil.rmtree(folder)
    else:
        (folder / "lock").unlink()
    if loss == "lock replaced":
        (folder / "lock").touch()
    for pid in world.bearers(started.mark):
        os.kill(pid, signal.SIGKILL)
    await until(lambda: world.bearers(started.mark) == ())
    seen = await world.inspect(started)
    assert isinstance(seen, Running), seen
    assert seen.worker == "dead"
    gone = await world.terminate(started)
    assert isinstance(gone, Gone), gone
    assert gone.evidence.summary.startswith("1 process that the command left behind was ended; ")


async def test_an_agent_that_is_found_without_its_folder_betrays_its_lock(world: World) -> None:
    started = await world.start(["sh", "-c", SHEDDING])
    await world.until_output(started, "ready")
    await until(lambda: len(world.bearers(started.mark)) == 3)
    shutil.rmtree(world.root)
    found = await world.recovery.discover(mark=started.mark, begun_at=BEGUN_AT)
    assert isinstance(found, Found)
    assert found.allocation_ref == started.ref
    assert isinstance(await world.terminate(started), Gone)  # ends also who shed the mark


async def test_the_lock_of_another_attempt_is_not_taken_for_a_lost_one(world: World) -> None:
    ended, other = await world.start(["true"]), await world.start(["sleep", "300"])
    await world.until_gone(ended)
    data = {**ended.ref.provider_data, "lock": other.ref.provider_data["lock"]}  # used again
    ref = ProviderAllocationRef(provider_id="detached", provider_data=data)
    assert isinstance(await world.terminate(replace(ended, ref=ref)), Gone)
    seen = await world.inspect(other)
    assert isinstance(seen, Running)
    assert seen.worker == "alive"


def plant(world: World, mark: str, process: subprocess.Popen[bytes]) -> None:
    """Name an innocent process as an agent."""
    make_private_folder(world.root)
    make_private_folder(world.root / mark)
    identity = identify(process.pid)
    assert identity is not None
    (world.root / mark / "agent.json").write_text(json.dumps(identity.to_json()))


async def test_a_stranger_whom_a_file_calls_the_agent_is_left_alone(world: World) -> None:
    mark = world.new_mark()
    with start_stranger() as stranger:
        plant(world, mark, stranger)
        found = await world.recovery.discover(mark=mark, begun_at=BEGUN_AT)
        assert isinstance(found, Found)
        assert found.allocation_ref.provider_data["agent"] is None
        assert isinstance(await world.terminate(Started(mark, found.allocation_ref)), Gone)
        assert stranger.poll() is None
        stranger.communicate()


async def test_a_stranger_whom_a_reference_calls_the_agent_is_left_alone(world: World) -> None:
    started = await world.start(["true"])
    await world.until_gone(started)
    with start_stranger() as stranger:
        identity = identify(stranger.pid)
        assert identity is not None
        planted = altered(started, **identity.to_json())
        assert isinstance(await world.inspect(planted), Gone)
        assert isinstance(await world.terminate(planted), Gone)
        assert stranger.poll() is None
        stranger.communicate()


async def test_an_agent_is_found_though_a_file_names_a_stranger(world: World) -> None:
    started = await world.start(["sleep", "300"])
    await until(lambda: len(world.bearers(started.mark)) == 2)
    with start_stranger() as stranger:
        plant(world, started.mark, stranger)
        found = await world.recovery.discover(mark=started.mark, begun_at=BEGUN_AT)
        assert isinstance(found, Found)
        assert found.allocation_ref == started.ref
        assert isinstance(await world.terminate(Started(started.mark, found.allocation_ref)), Gone)
        assert stranger.poll() is None
        stranger.communicate()


async def test_a_bystander_who_reads_the_lock_is_left_alone(world: World) -> None:
    started = await world.start(["sleep", "300"])
    lock = world.root / started.mark / "lock"
    with lock.open("rb") as file, start_stranger([file.fileno()]) as reader:
        assert isinstance(await world.terminate(started), Gone)
        assert reader.poll() is None
        reader.communicate()


async def test_a_reused_number_is_never_signalled(world: World) -> None:
    started = await world.start(["true"])
    await world.until_gone(started)
    with start_stranger() as stranger:
        reused = altered(started, pid=stranger.pid)
        assert isinstance(await world.inspect(reused), Gone)
        assert isinstance(await world.terminate(reused), Gone)
        assert stranger.poll() is None
        stranger.communicate()


async def test_another_start_of_a_living_number_is_not_the_agent(world: World) -> None:
    started = await world.start(["sleep", "300"])
    await until(lambda: len(world.bearers(started.mark)) == 2)
    agent = started.ref.provider_data["agent"]
    assert isinstance(agent, dict)
    ticks = agent["startTicks"]
    assert isinstance(ticks, int)
    seen = await world.inspect(altered(started, startTicks=ticks - 1))
    assert isinstance(seen, Running)
    assert seen.worker == "dead"


async def test_another_boot_of_this_machine_is_gone(world: World) -> None:
    started = await world.start(["sleep", "300"])
    before = altered(started, bootId=OTHER_BOOT)
    if isinstance(await world.inspect(before), Undetermined):
        pytest.skip("in a container another boot proves nothing")
    assert isinstance(await world.inspect(before), Gone)
    assert isinstance(await world.terminate(before), Gone)
    assert isinstance(await world.inspect(started), Running)


@pytest.mark.parametrize("change", [{"machineId": "0" * 16}, {"pidNamespace": 1}])
async def test_what_is_out_of_reach_is_not_judged_and_not_signalled(
    world: World, change: dict[str, JsonValue]
) -> None:
    started = await world.start(["sleep", "300"])
    elsewhere = altered(started, **change)
    assert isinstance(await world.inspect(elsewhere), Undetermined)
    assert isinstance(await world.terminate(elsewhere), Undetermined)
    assert isinstance(await world.inspect(started), Running)


@pytest.mark.parametrize(
    "data", [{}, {"agent": None}, {"agent": {"pid": 1}, "lock": None}, {"agent": None, "lock": 7}]
)
async def test_a_foreign_reference_is_not_judged(world: World, data: dict[str, object]) -> None:
    ref = ProviderAllocationRef(provider_id="detached", provider_data=data)  # type: ignore[arg-type]  # on purpose
    mark = world.new_mark()
    assert isinstance(await world.recovery.inspect(mark=mark, allocation_ref=ref), Undetermined)
    assert isinstance(await world.recovery.terminate(mark=mark, allocation_ref=ref), Undetermined)


async def test_a_finished_child_is_dead_and_reaped(world: World) -> None:
    started = await world.start(["true"])
    await world.until_gone(started)
    assert was_reaped(started.pid)


async def test_a_nested_attempt_bears_its_own_mark(world: World) -> None:
    inner = world.new_mark()
    script = f"""
import asyncio, sys
sys.path.insert(0, {str(Path.cwd())!r})
from pathlib import Path
from tests.providers.conftest import World
async def main():
    nested = World(Path({str(world.folder / "nested")!r}))
    await nested.start(["sleep", "300"], mark={inner!r})
    print("ready", flush=True)
    await asyncio.sleep(300)
asyncio.run(main())
"""
    (world.folder / "nested").mkdir()
    outer = await world.start([sys.executable, "-c", script])
    await world.until_output(outer, "ready")
    await until(lambda: len(world.bearers(inner)) == 2)
    assert len(world.bearers(outer.mark)) == 2
    assert isinstance(await world.terminate(outer), Gone)
    assert world.bearers(outer.mark) == ()
    assert len(world.bearers(inner)) == 2


FROM_ANOTHER_USER = """
import asyncio, json, os, sys
from pathlib import Path
from anyio import to_thread
from tenure.model.allocation import ProviderAllocationRef
from tenure.providers.detached import DetachedProvider
from datetime import datetime, UTC
root, mark, data = sys.argv[1:]
async def now():
    return datetime(2026, 1, 1, tzinfo=UTC)
async def main():
    provider = DetachedProvider(root=Path(root), now=now, grace_seconds=0.1)
    await to_thread.run_sync(int)  # all that may have to be read is read before
    os.setgid(65534); os.setgroups([]); os.setuid(65534)
    ref = ProviderAllocationRef(provider_id="detached", provider_data=json.loads(data))
    for act in (provider.recovery.inspect, provider.recovery.terminate):
        print(type(await act(mark=mark, allocation_ref=ref)).__name__)
    begun_at = datetime(2000, 1, 1, tzinfo=UTC)
    print(type(await provider.recovery.discover(mark=mark, begun_at=begun_at)).__name__)
asyncio.run(main())
"""


@pytest.mark.needs_root
async def test_what_is_not_permitted_is_doubt(world: World) -> None:
    started = await world.start(["sleep", "300"])
    await until(lambda: len(world.bearers(started.mark)) == 2)

    def look() -> list[str]:
        data = json.dumps(started.ref.provider_data)
        command = [sys.executable, "-c", FROM_ANOTHER_USER, str(world.root), started.mark, data]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    assert look() == ["Running", "Running", "Undetermined"]
    assert isinstance(await world.inspect(started), Running)
    os.kill(started.pid, signal.SIGKILL)
    await until(lambda: len(world.bearers(started.mark)) == 1)
    assert look() == ["Undetermined", "Undetermined", "Undetermined"]
    assert isinstance(await world.terminate(started), Gone)
