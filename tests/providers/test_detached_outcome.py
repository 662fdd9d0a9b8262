"""How the work of a detached agent ends, and what of it reaches the ledger."""

import os
import signal
import sys

import anyio
import anyio.to_thread
import pytest
from tests.providers.conftest import Started, World, until

from tenure.machine import make_private_folder
from tenure.model.result import CancelledResult, CompletedResult, FailedResult, WorkflowRunResult
from tenure.ports.provider import Allocated, Gone, Running
from tenure.worker.failure import parse_failure

IGNORE_TERM = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"


def only_result(world: World) -> WorkflowRunResult:
    (commit,) = world.commits()
    assert (commit.execution_id, commit.execution_attempt_id) == ("execution", "attempt")
    assert (commit.result.execution_id, commit.result.workflow_id) == ("execution", "workflow")
    return commit.result


def only_error(world: World) -> str:
    result = only_result(world)
    assert isinstance(result, FailedResult)
    return result.error


async def test_a_command_that_succeeds_completes_the_execution_once(world: World) -> None:
    started = await world.start(["sh", "-c", "echo one; echo two >&2"])
    await world.until_gone(started)
    result = only_result(world)
    assert isinstance(result, CompletedResult)
    assert result.artifact is not None
    assert result.artifact["exitCode"] == 0
    assert result.artifact["outputTail"] == ["one", "two"]
    assert isinstance(result.artifact["durationSeconds"], float)
    assert await world.recovery.spooled_outcome(mark=started.mark) is None
    page = await world.provider.read_output(mark=started.mark, offset=4, limit=100)
    assert page is not None
    assert (page.data, page.next_offset) == (b"two\n", 8)


async def test_a_command_knows_its_ids_and_not_its_folder(world: World) -> None:
    started = await world.start(["env"])
    await world.until_gone(started)
    lines = world.read(started.mark, "output.log").decode().splitlines()
    assert sorted(line for line in lines if line.startswith("TENURE_")) == [
        "TENURE_EXECUTION_ATTEMPT_ID=attempt",
        "TENURE_EXECUTION_ID=execution",
        f"TENURE_MARK={started.mark}",
    ]


async def test_ids_are_in_no_command_line_of_the_agent(world: World) -> None:
    started = await world.start(["sleep", "60"])
    with open(f"/proc/{started.pid}/cmdline", "rb") as file:  # noqa: ASYNC230, PTH123
        words = file.read()
    assert b"attempt\0" not in words
    assert started.mark.encode() not in words
    assert isinstance(await world.terminate(started), Gone)


@pytest.mark.parametrize(
    ("command", "begins", "code"),
    [
        (["sh", "-c", "exit 3"], "exit status 3 after 0.", 3),
        (["sh", "-c", "kill -9 $$"], "signal 9 after 0.", 137),
        (["sh", "-c", "kill -HUP $$"], "signal 1 after 0.", 129),
        (["sh", "-c", "kill -INT $$"], "signal 2 after 0.", 130),
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


async def test_a_missing_folder_is_not_started(world: World) -> None:
    await world.until_gone(await world.start(["true"], cwd="/no/such/folder"))
    error = only_error(world)
    assert error.startswith("not started: cannot enter folder '/no/such/folder': No such file")
    assert parse_failure(error) == 126


async def test_a_failure_ends_with_the_last_lines_of_output(world: World) -> None:
    await world.until_gone(await world.start(["sh", "-c", "seq 30; exit 5"]))
    first, *tail = only_error(world).split("\n")
    assert parse_failure(first) == 5
    assert tail == [str(number) for number in range(11, 31)]


@pytest.mark.parametrize("script", ["echo secret", "echo secret; exit 1"])
async def test_the_tail_can_be_switched_off(world: World, script: str) -> None:
    started = await world.start(["sh", "-c", script], capture_tail=False)
    await world.until_gone(started)
    result = only_result(world)
    if isinstance(result, CompletedResult):
        assert result.artifact is not None
        assert result.artifact.keys() == {"exitCode", "durationSeconds"}
    else:
        assert isinstance(result, FailedResult)
        assert "secret" not in result.error
    assert world.read(started.mark, "output.log") == b"secret\n"


@pytest.mark.parametrize("planted", ["link", "pipe"])
async def test_an_output_that_cannot_be_written_is_not_the_commands_fault(
    world: World, planted: str
) -> None:
    request = await world.request(["echo", "x"])
    folder = world.root / request.mark
    make_private_folder(world.root)
    make_private_folder(folder)
    output, secret = folder / "output.log", world.folder / "secret"
    secret.write_text("secret\n")
    if planted == "link":
        output.symlink_to(secret)
    else:
        os.mkfifo(output)
    answer = await world.provider.provision(request)
    assert isinstance(answer, Allocated)
    await world.until_gone(Started(request.mark, answer.allocation_ref))
    error = only_error(world)
    assert error.startswith(f"not started: cannot write {output}: ")
    assert "secret" not in error.removeprefix(f"not started: cannot write {output}")
    assert parse_failure(error) == 126
    assert secret.read_text() == "secret\n"


async def test_any_bytes_may_be_printed(world: World) -> None:
    await world.until_gone(await world.start(["printf", r"a\000b\377c\n\303\n"]))
    result = only_result(world)
    assert isinstance(result, CompletedResult)
    assert result.artifact is not None
    assert result.artifact["outputTail"] == ["a\0b\ufffdc", "\ufffd"]


async def test_huge_output_leaves_a_small_tail(world: World) -> None:
    script = "print('x' * 50_000_000); [print('ä' * 200) for _ in range(100)]"
    started = await world.start([sys.executable, "-c", script])
    await world.until_gone(started)
    result = only_result(world)
    assert isinstance(result, CompletedResult)
    assert result.artifact is not None
    tail = result.artifact["outputTail"]
    assert isinstance(tail, list)
    assert 1 <= len(tail) <= 20
    assert len("\n".join(map(str, tail)).encode()) <= 4096
    assert tail[-1] == "ä" * 200


async def test_the_deadline_stops_the_command(world: World) -> None:
    started = await world.start(["sleep", "60"], deadline_seconds=1.5)
    await world.until_gone(started)
    error = only_error(world)
    assert error.startswith("timeout after 1.5 s")
    assert parse_failure(error) == 124


async def test_the_deadline_kills_what_ignores_it(world: World) -> None:
    script = f"{IGNORE_TERM}; print('ready', flush=True); time.sleep(60)"
    started = await world.start([sys.executable, "-c", script], deadline_seconds=1)
    await world.until_gone(started)
    assert only_error(world).startswith("timeout after 1 s")


async def test_a_deadline_that_is_over_starts_nothing(world: World) -> None:
    started = await world.start(["sh", "-c", "echo ran"], deadline_seconds=0.001)
    await world.until_gone(started)
    assert only_error(world) == "timeout after 0.001 s"
    assert world.read(started.mark, "output.log") == b""


async def test_a_bare_sigterm_delivers_nothing(world: World) -> None:
    started = await world.start(["sh", "-c", "echo ready; exec sleep 60"])
    await world.until_output(started, "ready")
    os.kill(started.pid, signal.SIGTERM)
    await world.until_gone(started)
    assert world.commits() == []
    assert await world.recovery.spooled_outcome(mark=started.mark) is None


async def test_a_sigterm_with_a_durable_request_cancels(world: World) -> None:
    (world.ledger / "cancelled").write_text("no longer needed")
    started = await world.start(["sh", "-c", "echo ready; exec sleep 60"])
    await world.until_output(started, "ready")
    os.kill(started.pid, signal.SIGTERM)
    await world.until_gone(started)
    assert only_result(world) == CancelledResult(
        execution_id="execution", workflow_id="workflow", reason="no longer needed"
    )


async def test_a_command_that_makes_use_of_its_grace_is_still_cancelled(world: World) -> None:
    (world.ledger / "cancelled").write_text("why")
    script = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    started = await world.start(["sh", "-c", script])
    await world.until_output(started, "ready")
    assert isinstance(await world.terminate(started), Gone)
    assert isinstance(only_result(world), CancelledResult)
    assert b"bye" in world.read(started.mark, "output.log")


async def test_a_sigterm_after_the_end_does_not_lose_the_outcome(world: World) -> None:
    (world.ledger / "down").touch()
    started = await world.start(["sh", "-c", "exit 7"])
    await until(lambda: world.read(started.mark, "outcome.json"))
    assert isinstance(await world.inspect(started), Running)
    os.kill(started.pid, signal.SIGTERM)
    await world.until_gone(started)
    assert world.commits() == []
    spooled = await world.recovery.spooled_outcome(mark=started.mark)
    assert spooled is not None
    assert isinstance(spooled.result, FailedResult)
    assert parse_failure(spooled.result.error) == 7
    assert (spooled.execution_id, spooled.execution_attempt_id) == ("execution", "attempt")
    for _ in range(2):
        await world.recovery.acknowledge_outcome(mark=started.mark)
    assert await world.recovery.spooled_outcome(mark=started.mark) is None


async def test_a_ledger_that_hangs_at_a_sigterm_does_not_hold_the_agent(world: World) -> None:
    (world.ledger / "hang").touch()
    started = await world.start(["true"])
    await until(lambda: world.read(started.mark, "outcome.json"))
    os.kill(started.pid, signal.SIGTERM)
    await world.until_gone(started)
    assert await world.recovery.spooled_outcome(mark=started.mark) is not None


async def test_an_outcome_waits_for_its_ledger(world: World) -> None:
    (world.ledger / "down").touch()
    started = await world.start(["true"])
    await until(lambda: b"not delivered yet" in world.read(started.mark, "agent.log"))
    (world.ledger / "down").unlink()
    await world.until_gone(started)
    assert isinstance(only_result(world), CompletedResult)
    assert world.read(started.mark, "outcome.json") == b""


@pytest.mark.parametrize("answer", ["duplicate", "conflict", "fenced"])
async def test_every_answer_ends_the_delivery(world: World, answer: str) -> None:
    (world.ledger / "answer").write_text(answer)
    started = await world.start(["true"])
    await world.until_gone(started)
    assert len(world.commits()) == 1
    assert world.read(started.mark, "outcome.json") == b""
    assert f"answered {answer}".encode() in world.read(started.mark, "agent.log")


@pytest.mark.parametrize(
    ("name", "text"), [("id", "another"), ("ignorant", "")], ids=["another", "older copy"]
)
async def test_an_outcome_waits_for_the_ledger_of_its_attempt(
    world: World, name: str, text: str
) -> None:
    (world.ledger / name).write_text(text)
    started = await world.start(["true"])
    await until(lambda: b"AnotherLedgerError" in world.read(started.mark, "agent.log"))
    assert world.commits() == []
    assert await world.recovery.spooled_outcome(mark=started.mark) is not None
    (world.ledger / name).unlink()
    await world.until_gone(started)
    assert isinstance(only_result(world), CompletedResult)
    assert world.read(started.mark, "outcome.json") == b""


@pytest.mark.parametrize("name", ["id", "ignorant"])
async def test_another_ledger_cancels_nothing(world: World, name: str) -> None:
    (world.ledger / "cancelled").write_text("for somebody else")
    (world.ledger / name).write_text("another")
    started = await world.start(["sh", "-c", "echo ready; exec sleep 60"])
    await world.until_output(started, "ready")
    os.kill(started.pid, signal.SIGTERM)
    await until(lambda: b"AnotherLedgerError" in world.read(started.mark, "agent.log"))
    (world.ledger / "cancelled").write_text("for us")
    (world.ledger / name).unlink()
    await world.until_gone(started)
    result = only_result(world)
    assert isinstance(result, CancelledResult)
    assert result.reason == "for us"


async def test_somebody_else_may_deliver_first(world: World) -> None:
    (world.ledger / "down").touch()
    started = await world.start(["true"])
    await until(lambda: world.read(started.mark, "outcome.json"))
    assert await world.recovery.spooled_outcome(mark=started.mark) is not None
    await world.recovery.acknowledge_outcome(mark=started.mark)
    (world.ledger / "answer").write_text("duplicate")
    (world.ledger / "down").unlink()
    await world.until_gone(started)
    assert b"answered duplicate" in world.read(started.mark, "agent.log")


async def test_the_agent_survives_hangup_and_interrupt(world: World) -> None:
    gate = world.folder / "gate"
    os.mkfifo(gate)
    started = await world.start(["sh", "-c", f"read line < {gate}; exit 4"])
    await until(lambda: world.read(started.mark, "agent.json"))
    for number in (signal.SIGHUP, signal.SIGINT):
        os.kill(started.pid, number)
    with anyio.fail_after(10):
        await anyio.to_thread.run_sync(gate.write_text, "go\n")
    await world.until_gone(started)
    assert only_error(world).startswith("exit status 4 after")


async def test_twenty_agents_at_once(world: World) -> None:
    async def run(number: int) -> None:
        started = await world.start(["sh", "-c", f"echo {number}"])
        await world.until_gone(started)
        assert world.read(started.mark, "output.log") == f"{number}\n".encode()

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(run, number)
    assert len(world.commits()) == 20
    assert world.provider._children._pids == set()
