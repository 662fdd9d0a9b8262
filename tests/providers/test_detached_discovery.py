"""Finding an agent or proving that there is none, wherever its caller was stopped."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import anyio
import msgspec
import pytest
from tests.providers.conftest import AGENT_COMMAND, BEGUN_AT, World, ledger_now, until

from tenure.errors import InvalidInputError, ProviderError
from tenure.machine import HeldLock, acquire, make_private_folder
from tenure.model.evidence import PRE_REQUEST_REJECTION
from tenure.model.json_value import JsonObject
from tenure.ports.provider import (
    Allocated,
    ConfirmedAbsent,
    Discovery,
    Found,
    Gone,
    ProvenAbsent,
    ProvisionAnswer,
    Running,
    Undetermined,
)
from tenure.providers.detached import DetachedProvider

CONTROLLER = Path(__file__).with_name("interrupted_controller.py")


@contextmanager
def controller(world: World, mark: str, point: str, number: int) -> Iterator[subprocess.Popen[str]]:
    """Run a controller that signals itself at a point, and end it with the test."""
    order = {
        "root": str(world.root),
        "mark": mark,
        "ledger": str(world.ledger),
        "agentCommand": list(AGENT_COMMAND),
        "command": ["sleep", "60"],
        "point": point,
        "signal": number,
    }
    with subprocess.Popen(
        [sys.executable, CONTROLLER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(order))
        process.stdin.close()
        try:
            yield process
        finally:
            process.kill()


def start_heir(lock: HeldLock) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[lock.fileno()])


async def until_stopped(process: subprocess.Popen[str]) -> None:
    stat = Path(f"/proc/{process.pid}/stat")
    await until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")


async def until_found(world: World, mark: str) -> Found:
    with anyio.fail_after(20):
        while True:
            found = await world.recovery.discover(mark=mark, begun_at=BEGUN_AT)
            if isinstance(found, Found):
                return found
            assert isinstance(found, Undetermined), found
            await anyio.sleep(0.02)


async def provision(world: World, mark: str) -> ProvisionAnswer:
    return await world.provider.provision(await world.request(["sleep", "60"], mark=mark))


async def test_discovery_finds_what_provision_named(world: World) -> None:
    started = await world.start(["sleep", "60"])
    assert (await until_found(world, started.mark)).allocation_ref == started.ref
    assert isinstance(await world.terminate(started), Gone)
    assert (await until_found(world, started.mark)).allocation_ref == started.ref


async def test_absence_refuses_every_later_call(world: World) -> None:
    mark = world.new_mark()
    for _ in range(2):
        absent = await world.recovery.discover(mark=mark, begun_at=BEGUN_AT)
        assert isinstance(absent, ProvenAbsent), absent
    answer = await provision(world, mark)
    assert isinstance(answer, ConfirmedAbsent)
    assert answer.evidence.code == PRE_REQUEST_REJECTION
    assert answer.evidence.summary.startswith("tombstone")
    assert world.bearers(mark) == ()


@pytest.mark.parametrize("point", ["called", "folder-made", "lock-taken", "request-written"])
async def test_a_caller_killed_before_the_start_left_nothing(world: World, point: str) -> None:
    mark = world.new_mark()
    with controller(world, mark, point, signal.SIGKILL) as process:
        assert process.wait() == -signal.SIGKILL
    assert isinstance(await world.recovery.discover(mark=mark, begun_at=BEGUN_AT), ProvenAbsent)
    assert isinstance(await provision(world, mark), ConfirmedAbsent)


@pytest.mark.parametrize("point", ["spawned", "returned"])
async def test_a_caller_killed_after_the_start_left_an_agent(world: World, point: str) -> None:
    mark = world.new_mark()
    with controller(world, mark, point, signal.SIGKILL) as process:
        assert process.wait() == -signal.SIGKILL
    found = await until_found(world, mark)
    seen = await world.recovery.inspect(mark=mark, allocation_ref=found.allocation_ref)
    assert isinstance(seen, Running)
    assert seen.worker == "alive"
    gone = await world.recovery.terminate(mark=mark, allocation_ref=found.allocation_ref)
    assert isinstance(gone, Gone)
    assert world.bearers(mark) == ()


@pytest.mark.parametrize("point", ["called", "folder-made"])
async def test_a_stopped_caller_that_wakes_after_the_tombstone_starts_nothing(
    world: World, point: str
) -> None:
    mark = world.new_mark()
    with controller(world, mark, point, signal.SIGSTOP) as process:
        await until_stopped(process)
        assert isinstance(await world.recovery.discover(mark=mark, begun_at=BEGUN_AT), ProvenAbsent)
        process.send_signal(signal.SIGCONT)
        assert process.stdout is not None
        answer = process.stdout.read()
    assert answer.startswith("ConfirmedAbsent")
    assert "tombstone" in answer
    assert world.bearers(mark) == ()


@pytest.mark.parametrize("point", ["lock-taken", "request-written"])
async def test_a_caller_stopped_under_the_lock_is_no_absence(world: World, point: str) -> None:
    mark = world.new_mark()
    with controller(world, mark, point, signal.SIGSTOP) as process:
        await until_stopped(process)
        for _ in range(3):
            assert isinstance(
                await world.recovery.discover(mark=mark, begun_at=BEGUN_AT), Undetermined
            )
        process.send_signal(signal.SIGCONT)
        assert process.stdout is not None
        assert process.stdout.read().startswith("Allocated")
        await until_found(world, mark)


async def test_a_child_between_fork_and_exec_is_no_absence(world: World) -> None:
    mark = world.new_mark()
    make_private_folder(world.root)
    make_private_folder(world.root / mark)
    lock = acquire(world.root / mark / "lock")
    assert lock is not None
    with lock:
        # It has the lock, and neither mark nor program of an agent: only the lock tells of it.
        child = start_heir(lock)
    with child:
        assert isinstance(await world.recovery.discover(mark=mark, begun_at=BEGUN_AT), Undetermined)
        with pytest.raises(ProviderError, match="held by somebody else"):
            await provision(world, mark)
        assert child.stdin is not None
        child.stdin.close()
        child.wait()
    assert isinstance(await world.recovery.discover(mark=mark, begun_at=BEGUN_AT), ProvenAbsent)


async def test_two_calls_for_one_mark_start_one_agent(world: World) -> None:
    mark = world.new_mark()
    answers: list[object] = []

    async def call() -> None:
        try:
            answers.append(await provision(world, mark))
        except ProviderError as exc:
            answers.append(exc)

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(call)
    assert sum(isinstance(answer, Allocated) for answer in answers) == 1
    assert not any(isinstance(answer, ConfirmedAbsent) for answer in answers)


async def test_a_second_call_after_the_end_is_not_an_absence(world: World) -> None:
    started = await world.start(["true"])
    await world.until_gone(started)
    with pytest.raises(ProviderError, match=r"has a request\.json already"):
        await provision(world, started.mark)


async def test_a_call_past_its_deadline_starts_nothing(world: World) -> None:
    request = await world.request(["sleep", "60"], call_seconds=-1)
    answer = await world.provider.provision(request)
    assert isinstance(answer, ConfirmedAbsent)
    assert "deadline" in answer.evidence.summary
    assert world.bearers(request.mark) == ()
    assert isinstance(
        await world.recovery.discover(mark=request.mark, begun_at=BEGUN_AT), ProvenAbsent
    )


async def test_an_agent_that_cannot_be_executed_is_absent(world: World) -> None:
    provider = DetachedProvider(
        root=world.root, now=ledger_now, agent_command=["/no/such/interpreter"]
    )
    request = await world.request()
    answer = await provider.provision(request)
    assert isinstance(answer, ConfirmedAbsent)
    assert "could not be started" in answer.evidence.summary
    assert b"could not be started" in world.read(request.mark, "tombstone.json")


async def test_a_root_that_cannot_be_made_is_absent(world: World) -> None:
    world.root.write_text("a file")
    answer = await world.provider.provision(await world.request())
    assert isinstance(answer, ConfirmedAbsent)
    assert "no folder for the attempt" in answer.evidence.summary


async def test_a_root_open_to_others_is_refused(world: World) -> None:
    world.root.mkdir(mode=0o755)
    world.root.chmod(0o755)
    mark = world.new_mark()
    assert isinstance(await provision(world, mark), ConfirmedAbsent)
    assert isinstance(await world.recovery.discover(mark=mark, begun_at=BEGUN_AT), Undetermined)


@pytest.mark.parametrize(
    "instruction",
    [
        {},
        {"command": [], "cwd": "/"},
        {"command": ["a\0b"], "cwd": "/"},
        {"command": [""], "cwd": "/"},
        {"command": "true", "cwd": "/"},
        {"command": ["true", 1], "cwd": "/"},
        {"command": ["true"], "cwd": "relative"},
        {"command": ["true"], "cwd": "/", "captureTail": 1},
        {"command": ["true"], "cwd": "/", "shell": True},
        {"command": ["true", "x" * 2_000_000], "cwd": "/"},
    ],
)
async def test_an_impossible_instruction_is_refused(world: World, instruction: JsonObject) -> None:
    with pytest.raises(InvalidInputError):
        world.provider.check_instruction(instruction)
    request = msgspec.structs.replace(await world.request(), instruction=instruction)
    assert isinstance(await world.provider.provision(request), ConfirmedAbsent)


@pytest.mark.parametrize("mark", ["", "../x", ".", "a/b", "a\0b", "x" * 200])
async def test_a_mark_that_is_no_name_is_refused(world: World, mark: str) -> None:
    with pytest.raises(ValueError, match="mark"):
        await world.recovery.discover(mark=mark, begun_at=BEGUN_AT)


async def test_a_living_agent_is_found_without_its_folder(world: World) -> None:
    started = await world.start(["sleep", "60"])
    await until(lambda: len(world.bearers(started.mark)) == 2)
    shutil.rmtree(world.root)
    found = await until_found(world, started.mark)
    assert found.allocation_ref.provider_data["agent"] == started.ref.provider_data["agent"]
    lost = replace(started, ref=found.allocation_ref)
    assert isinstance(await world.inspect(lost), Running)
    assert isinstance(await world.terminate(lost), Gone)
    assert isinstance(await world.inspect(started), Gone)
    assert isinstance(
        await world.recovery.discover(mark=started.mark, begun_at=BEGUN_AT), ProvenAbsent
    )


async def test_what_an_agent_left_is_found_without_its_folder(world: World) -> None:
    started = await world.start(["sleep", "60"])
    await until(lambda: len(world.bearers(started.mark)) == 2)
    os.kill(started.pid, signal.SIGKILL)
    await until(lambda: len(world.bearers(started.mark)) == 1)
    shutil.rmtree(world.root)
    found = await until_found(world, started.mark)
    lost = replace(started, ref=found.allocation_ref)
    seen = await world.inspect(lost)
    assert isinstance(seen, Running)
    assert seen.worker == "dead"
    assert isinstance(await world.terminate(lost), Gone)


async def test_an_agent_whose_folder_was_replaced_runs_nothing(world: World) -> None:
    mark = world.new_mark()
    with controller(world, mark, "request-written", signal.SIGSTOP) as process:
        await until_stopped(process)
        (world.root / mark).rename(world.root / "moved")
        absent: Discovery = await world.recovery.discover(mark=mark, begun_at=BEGUN_AT)
        assert isinstance(absent, ProvenAbsent)
        process.send_signal(signal.SIGCONT)
        process.wait()
    await until(lambda: not world.bearers(mark))
    assert not (world.root / mark / "output.log").exists()
    assert not (world.root / "moved" / "output.log").exists()


async def test_a_torn_identity_is_no_conclusion(world: World) -> None:
    mark = world.new_mark()
    make_private_folder(world.root)
    make_private_folder(world.root / mark)
    (world.root / mark / "agent.json").write_text('{"machineId": ')
    assert isinstance(await world.recovery.discover(mark=mark, begun_at=BEGUN_AT), Undetermined)


@pytest.mark.parametrize("torn", [b"", b"{", b"\0" * 100, b'{"version":2}', b"[" * 100])
async def test_a_spool_that_cannot_be_trusted_is_no_outcome(world: World, torn: bytes) -> None:
    started = await world.start(["true"])
    await world.until_gone(started)
    (world.root / started.mark / "outcome.json").write_bytes(torn)
    assert await world.recovery.spooled_outcome(mark=started.mark) is None


async def test_a_spool_of_another_attempt_is_no_outcome(world: World) -> None:
    started = await world.start(["true"])
    await world.until_gone(started)
    (commit,) = world.ledger.glob("commit-*.json")
    spool = world.root / started.mark / "outcome.json"
    spool.write_bytes(commit.read_bytes())
    assert await world.recovery.spooled_outcome(mark=started.mark) is not None
    spool.write_bytes(commit.read_bytes().replace(b'"attempt"', b'"another"'))
    assert await world.recovery.spooled_outcome(mark=started.mark) is None


async def test_nothing_is_kept_of_an_unknown_mark(world: World) -> None:
    mark = world.new_mark()
    assert await world.recovery.spooled_outcome(mark=mark) is None
    await world.recovery.acknowledge_outcome(mark=mark)
    assert await world.provider.read_output(mark=mark, offset=0, limit=10) is None


@pytest.mark.parametrize("age", [timedelta(0), timedelta(days=10000), timedelta(seconds=-100)])
async def test_the_begin_bounds_the_search_and_hides_no_agent(world: World, age: timedelta) -> None:
    started = await world.start(["sleep", "60"])
    await until(lambda: len(world.bearers(started.mark)) == 2)
    shutil.rmtree(world.root)
    recovery = world.recovery
    begun_at = (await ledger_now()) - age if age else BEGUN_AT
    found = await recovery.discover(mark=started.mark, begun_at=begun_at)
    assert isinstance(found, Found) == (age >= timedelta(0))
    assert isinstance(await world.terminate(started), Gone)
