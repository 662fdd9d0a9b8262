"""Provisioners that are processes of their own, and what is left when they are gone."""

import json
import os
import shlex
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from tests.providers.conftest import BEGUN_AT, WAIT_SECONDS_MAX, Started, World, until

from tenure.model.allocation import ProviderAllocationRef
from tenure.ports.provider import Found, Gone, Inspection, ProvenAbsent, Running, Undetermined

PROVISIONER = Path(__file__).with_name("provisioner.py")
HOSTILE = Path(__file__).with_name("hostile.py")
ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Provisioner:
    process: subprocess.Popen[str]
    marks: list[str]
    started: list[Started] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    fork: int = 0
    """A fork that does as its parent does."""

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@dataclass(frozen=True)
class Token:
    """Names the descendants of one hostile command, whatever they shed."""

    text: str = field(default_factory=lambda: f"token-{uuid.uuid4().hex}")
    interpreter: str = sys.executable

    def command(self, count: int = 3) -> list[str]:
        return [self.interpreter, str(HOSTILE), self.text, str(count)]

    def shell(self) -> str:
        return shlex.join(self.command())

    def bearers(self) -> list[int]:
        return [pid for pid in living_pids() if self.text in command_line(pid)]


def living_pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def command_line(pid: int) -> str:
    try:
        return (Path("/proc") / str(pid) / "cmdline").read_text(errors="replace")
    except OSError:
        return ""


@contextmanager
def provisioner(
    world: World,
    command: Sequence[str],
    *,
    count: int = 1,
    act: str = "wait",
    prefix: Sequence[str] = (sys.executable,),
    environment: Mapping[str, str] | None = None,
) -> Iterator[Provisioner]:
    """Run a provisioner, and end it with the test."""
    marks = [world.new_mark() for _ in range(count)]
    order = {
        "folder": str(world.folder),
        "isolation": world.isolation,
        "agentCommand": list(world.agent_command),
        "marks": marks,
        "command": list(command),
        "act": act,
    }
    with subprocess.Popen(
        [*prefix, "-P", str(PROVISIONER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()
            yield understood(process, process.stdout.readline(), marks)
        finally:
            process.kill()


def understood(process: subprocess.Popen[str], line: str, marks: list[str]) -> Provisioner:
    found = Provisioner(process, marks)
    for answer in json.loads(line.strip() or "[]"):
        match answer:
            case {"fork": pid}:
                found.fork = pid
            case {"absent": reason}:
                found.absent.append(reason)
            case {"mark": mark, "data": data}:
                ref = ProviderAllocationRef(provider_id="process", provider_data=data)
                found.started.append(Started(mark, ref))
            case _:
                message = f"no answer of a provisioner: {answer!r}"
                raise AssertionError(message)
    return found


async def conclude(world: World, mark: str) -> Gone | ProvenAbsent:
    """Look as a controller does after the provisioner's death, until there is a conclusion."""
    with anyio.fail_after(WAIT_SECONDS_MAX):
        while True:
            found = await world.recovery.discover(mark=mark, begun_at=BEGUN_AT)
            if isinstance(found, ProvenAbsent):
                return found
            if isinstance(found, Found):
                ref = found.allocation_ref
                seen: Inspection = await world.recovery.inspect(mark=mark, allocation_ref=ref)
                if isinstance(seen, Gone):
                    return seen
                assert isinstance(seen, Running), seen
            else:
                assert isinstance(found, Undetermined), found
            await anyio.sleep(0.005)


async def assert_all_gone(world: World, started: Started, token: Token) -> None:
    """Wait until the attempt is said to be gone, and hold that to be true at that instant."""
    assert isinstance(await conclude(world, started.mark), Gone)
    assert token.bearers() == []
    assert world.bearers(started.mark) == ()


async def until_hostile(world: World, started: Started, token: Token, count: int = 3) -> None:
    """Wait until the hostile command has all its descendants."""
    await world.until_output(started, "ready")
    await until(lambda: len(token.bearers()) > count)


def kill(started: Started, member: str) -> None:
    os.kill(started.pid_of(member), signal.SIGKILL)
