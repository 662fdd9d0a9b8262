"""Agents that end with their test, on a ledger that is a folder."""

import os
import signal
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from tests.providers.scripted_agent import LEDGER_ID

from tenure.machine import processes_with_environment, signal_process
from tenure.model.allocation import ProviderAllocationRef
from tenure.model.mark import make_mark
from tenure.ports.provider import Allocated, Gone, Inspection, ProviderRecovery, ProvisionRequest
from tenure.providers.detached import DetachedProvider
from tenure.providers.local.provider import LocalProvider
from tenure.providers.process import ProcessProvider
from tenure.providers.process.launch import IsolationChoice
from tenure.wire.spool import SpoolContent, decode_spool

AGENT_SCRIPT = Path(__file__).with_name("scripted_agent.py")
AGENT_COMMAND = (sys.executable, "-P", str(AGENT_SCRIPT), "tenure.wiring.agent")
BEGUN_AT = datetime(2026, 1, 1, tzinfo=UTC)
WAIT_SECONDS_MAX = 60.0


async def ledger_now() -> datetime:
    """The ledger's time: the seconds of this machine, not its date."""
    return BEGUN_AT + timedelta(seconds=time.clock_gettime(time.CLOCK_BOOTTIME))


async def until(condition: Callable[[], object]) -> None:
    with anyio.fail_after(WAIT_SECONDS_MAX):
        while not condition():  # noqa: ASYNC110  (another process's doing)
            await anyio.sleep(0.01)


@dataclass(frozen=True)
class Started:
    mark: str
    ref: ProviderAllocationRef

    @property
    def pid(self) -> int:
        return self.pid_of("agent")

    def pid_of(self, member: str) -> int:
        process = self.ref.provider_data[member]
        assert isinstance(process, dict)
        pid = process["pid"]
        assert isinstance(pid, int)
        return pid


@dataclass
class World:
    """One machine's provider, and the folder that stands for a ledger."""

    folder: Path
    grace_seconds: float = 4.0
    agent_command: Sequence[str] = AGENT_COMMAND
    isolation: IsolationChoice | None = None
    """Of agents that end with their provisioner; without it they survive it."""
    marks: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ledger.mkdir(exist_ok=True)
        self.provider = self._make_provider()

    def _make_provider(self) -> LocalProvider:
        if self.isolation is None:
            return DetachedProvider(
                root=self.root,
                now=ledger_now,
                agent_command=self.agent_command,
                grace_seconds=self.grace_seconds,
            )
        return ProcessProvider(
            root=self.root,
            now=ledger_now,
            agent_command=self.agent_command,
            grace_seconds=self.grace_seconds,
            isolation=self.isolation,
        )

    @property
    def root(self) -> Path:
        return self.folder / "attempts"

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger"

    @property
    def recovery(self) -> ProviderRecovery:
        assert self.provider.recovery is not None
        return self.provider.recovery

    def new_mark(self) -> str:
        mark = make_mark(LEDGER_ID, uuid.uuid4().hex)
        self.marks.append(mark)
        return mark

    async def request(
        self,
        command: Sequence[str] = ("true",),
        *,
        mark: str | None = None,
        cwd: str = "/",
        capture_tail: bool = True,
        deadline_seconds: float | None = None,
        call_seconds: float = 30,
    ) -> ProvisionRequest:
        now = await ledger_now()
        deadline_at = now + timedelta(seconds=deadline_seconds) if deadline_seconds else None
        return ProvisionRequest(
            execution_id="execution",
            execution_attempt_id="attempt",
            workflow_id="workflow",
            instruction={"command": list(command), "cwd": cwd, "captureTail": capture_tail},
            mark=mark or self.new_mark(),
            ledger_url=str(self.ledger),
            begun_at=now,
            call_deadline_at=now + timedelta(seconds=call_seconds),
            deadline_at=deadline_at,
        )

    async def start(self, command: Sequence[str], **options: object) -> Started:
        request = await self.request(command, **options)  # type: ignore[arg-type]  # as there
        answer = await self.provider.provision(request)
        assert isinstance(answer, Allocated), answer
        return Started(request.mark, answer.allocation_ref)

    async def inspect(self, started: Started) -> Inspection:
        return await self.recovery.inspect(mark=started.mark, allocation_ref=started.ref)

    async def terminate(self, started: Started) -> Inspection:
        return await self.recovery.terminate(mark=started.mark, allocation_ref=started.ref)

    async def until_gone(self, started: Started) -> None:
        with anyio.fail_after(WAIT_SECONDS_MAX):
            while not isinstance(await self.inspect(started), Gone):  # noqa: ASYNC110  (likewise)
                await anyio.sleep(0.02)

    async def until_output(self, started: Started, text: str) -> None:
        """Wait until the command has printed something."""
        await until(lambda: text.encode() in self.read(started.mark, "output.log"))

    def read(self, mark: str, name: str) -> bytes:
        try:
            return (self.root / mark / name).read_bytes()
        except FileNotFoundError:
            return b""

    def commits(self) -> list[SpoolContent]:
        contents = [decode_spool(p.read_bytes()) for p in sorted(self.ledger.glob("commit-*.json"))]
        assert all(isinstance(content, SpoolContent) for content in contents)
        return [content for content in contents if isinstance(content, SpoolContent)]

    def bearers(self, mark: str) -> tuple[int, ...]:
        scan = processes_with_environment("TENURE_MARK", mark)
        return tuple(identity.pid for identity in scan.found)

    def end_everything(self) -> None:
        for mark in self.marks:
            for identity in processes_with_environment("TENURE_MARK", mark).found:
                signal_process(identity, signal.SIGKILL)


@pytest.fixture
def agent_command() -> Sequence[str]:
    return AGENT_COMMAND


@pytest.fixture
def isolation() -> IsolationChoice | None:
    """Of the agents of `world`; overridden where they are bound to their provisioner."""
    return None


@pytest.fixture
async def world(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    agent_command: Sequence[str],
    isolation: IsolationChoice | None,
) -> AsyncIterator[World]:
    monkeypatch.setenv("TEST_STOP_GRACE_SECONDS", "1")
    for name in [name for name in os.environ if name.startswith("TENURE_")]:
        monkeypatch.delenv(name)
    world = World(tmp_path, agent_command=agent_command, isolation=isolation)
    try:
        yield world
    finally:
        world.end_everything()
        await until(lambda: not any(world.bearers(mark) for mark in world.marks))
        world.provider._children.reap()
