"""Waiting for an execution's end, while its output passes and its claim is kept."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import anyio

from tenure.authority.authority import ExecutionEnd
from tenure.authority.dispatch import Dispatch
from tenure.cli.host import Host
from tenure.cli.leftovers import Leftovers
from tenure.cli.output import OutputFollower
from tenure.cli.patience import patiently
from tenure.cli.status import keep_status
from tenure.cli.terminal import Terminal

LEFTOVER_SECONDS: Final = 30.0
"""How long a wait goes on after the end for what the command left behind."""
DRAIN_SECONDS: Final = 1.0
"""How long the output of what is left behind is still passed on."""
END_POLL_SECONDS: Final = 0.5
SETTLE_SECONDS: Final = 0.25
"""Between two looks at what is left after the end; an agent is gone within a fraction of it."""
T = TypeVar("T")


class Waiting:
    """One wait of one command. Cancelling it hands off what it holds; the work goes on."""

    def __init__(self, host: Host, terminal: Terminal, execution_id: str) -> None:
        """Wait for ``execution_id``."""
        self._host = host
        self._terminal = terminal
        self._execution_id = execution_id
        self._waited = anyio.Event()
        self._attended = anyio.Event()
        self._passed = anyio.Event()
        self._leftovers = Leftovers(host, execution_id)
        self.end: ExecutionEnd | None = None
        """How it ended; known before the last output has passed."""
        self.has_leftovers = False
        """Whether something of it may still be running after its end."""

    async def run(self, *, dispatch: Dispatch | None = None, output: bool = False) -> None:
        """Wait for the end; attend what was dispatched here, and pass the output on if wanted."""
        host = self._host
        follower = OutputFollower(self._terminal, host.ledger, host.providers)
        async with anyio.create_task_group() as group:
            group.start_soon(keep_status, self._terminal, host.ledger, self._execution_id)
            group.start_soon(self._wait)
            if dispatch is None:
                self._attended.set()
            else:
                group.start_soon(self._attend, dispatch)
            if output:
                group.start_soon(self._pass_on, follower)
            await self._until_end()
            self.has_leftovers = True
            group.start_soon(self._leftovers.watch)
            with anyio.move_on_after(LEFTOVER_SECONDS):
                await self._waited.wait()
                await self._attended.wait()
                await self._patiently(self._settle)
                self.has_leftovers = False
            follower.end()
            if output:
                with anyio.move_on_after(DRAIN_SECONDS if self.has_leftovers else None):
                    await self._passed.wait()
            group.cancel_scope.cancel()
        if await self._patiently(self._leftovers.were_ended):
            await self._terminal.say(
                f"{self._execution_id} left processes behind, which were ended: an attempt owns"
                " everything that it starts"
            )

    async def _until_end(self) -> None:
        """Return when the end is known, though what was left behind may still be looked after."""
        find = self._host.authority.find_end
        while self.end is None:
            with anyio.move_on_after(END_POLL_SECONDS):
                await self._waited.wait()
            if self.end is None:
                self.end = await self._patiently(lambda: find(execution_id=self._execution_id))

    async def _wait(self) -> None:
        wait = self._host.authority.wait
        self.end = await self._patiently(lambda: wait(execution_id=self._execution_id))
        self._waited.set()

    async def _settle(self) -> None:
        """See that nothing is left of what nobody holds; a holder sees to it itself."""
        controller = self._host.authority.controller
        while await self._host.ledger.list_open(execution_id=self._execution_id, limit=1):
            await self._leftovers.look()
            reports = await controller.run_pass(execution_id=self._execution_id, due_only=False)
            if not any(report.ending in ("kept", "doubtful") for report in reports):
                return
            await anyio.sleep(SETTLE_SECONDS)

    async def _attend(self, dispatch: Dispatch) -> None:
        await self._patiently(lambda: self._host.authority.attend(dispatch))
        self._attended.set()

    async def _pass_on(self, follower: OutputFollower) -> None:
        await self._patiently(lambda: follower.follow(self._execution_id))
        self._passed.set()

    async def _patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        return await patiently(call, self._terminal.say)
