"""Passing a command's output on: raw bytes, as they come, to the very last one."""

from collections.abc import Mapping
from typing import Final

import anyio

from tenure.cli.terminal import Terminal
from tenure.ledger.ledger import Ledger
from tenure.model.attempt import ExecutionAttemptRecord
from tenure.ports.provider import OutputPage, Provider

PAGE_BYTES: Final = 64 * 1024
POLL_SECONDS_FIRST: Final = 0.03
POLL_SECONDS_MAX: Final = 0.3
"""A command that has been silent for a while is looked at less often."""


class OutputFollower:
    """Follows the output of an execution's active attempt from its first byte on."""

    def __init__(
        self, terminal: Terminal, ledger: Ledger, providers: Mapping[str, Provider]
    ) -> None:
        """Follow what the attempt's provider keeps."""
        self._terminal = terminal
        self._ledger = ledger
        self._providers = providers
        self._ended = anyio.Event()

    def end(self) -> None:
        """Say that nothing more will be printed: the follower returns when it has passed all on."""
        self._ended.set()

    async def follow(self, execution_id: str) -> None:
        """Pass the output on until its end, or until nobody reads any more."""
        attempt = await self._find_attempt(execution_id)
        if attempt is None or attempt.provider_id is None:
            return
        provider = self._providers.get(attempt.provider_id)
        if provider is None:
            await self._terminal.say(f"no output: no provider {attempt.provider_id!r} here")
            return
        mark = self._ledger.mark_of(attempt.execution_attempt_id)
        offset, pause = 0, POLL_SECONDS_FIRST
        while True:
            has_ended = self._ended.is_set()  # before the look: what comes later is seen again
            page = await self._read(provider, mark, offset)
            if page is not None and page.data:
                offset, pause = page.next_offset, POLL_SECONDS_FIRST
                if not await self._terminal.write_output(page.data):
                    return
            elif has_ended:
                return
            else:
                pause = await self._pause(pause)

    async def _find_attempt(self, execution_id: str) -> ExecutionAttemptRecord | None:
        """Wait for an attempt that is bound to its provider; None when the end came without."""
        pause = POLL_SECONDS_FIRST
        while True:
            has_ended = self._ended.is_set()
            execution = await self._ledger.get_execution(execution_id=execution_id)
            if execution is not None and execution.active_attempt_id is not None:
                attempt = await self._ledger.recovery.get_attempt_with_allocation(
                    execution_attempt_id=execution.active_attempt_id
                )
                if attempt is not None and attempt.provider_id is not None:
                    return attempt
            if has_ended:
                return None
            pause = await self._pause(pause)

    async def _pause(self, seconds: float) -> float:
        with anyio.move_on_after(seconds):
            await self._ended.wait()
        return min(2 * seconds, POLL_SECONDS_MAX)

    async def _read(self, provider: Provider, mark: str, offset: int) -> OutputPage | None:
        try:
            return await provider.read_output(mark=mark, offset=offset, limit=PAGE_BYTES)
        except OSError as exc:
            await self._terminal.say(f"output cannot be read: {exc.strerror}; waiting goes on")
            self._ended.set()
            return None
