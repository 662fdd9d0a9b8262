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
RENEWAL_SECONDS: Final = 0.5
"""How often the ledger is asked whether another attempt has become the active one."""


class OutputFollower:
    """Follows the output of an execution's newest attempt from its first byte on.

    Following again after an error goes on where it stopped.
    """

    def __init__(
        self, terminal: Terminal, ledger: Ledger, providers: Mapping[str, Provider]
    ) -> None:
        """Follow what the attempts' providers keep."""
        self._terminal = terminal
        self._ledger = ledger
        self._providers = providers
        self._ended = anyio.Event()
        self._attempt: ExecutionAttemptRecord | None = None
        self._passed: set[str] = set()
        self._offset = 0
        self._is_kept = False

    def end(self) -> None:
        """Say that nothing more will be printed: the follower returns when it has passed all on."""
        self._ended.set()

    async def follow(self, execution_id: str) -> None:
        """Pass the output on until its end, or until nobody reads any more."""
        while True:
            if self._attempt is None:
                self._attempt = await self._find_attempt(execution_id)
                self._offset, self._is_kept = 0, False
            attempt = self._attempt
            if attempt is None or not await self._follow_attempt(attempt):
                return
            self._passed.add(attempt.execution_attempt_id)
            self._attempt = None

    async def _follow_attempt(self, attempt: ExecutionAttemptRecord) -> bool:
        """Pass one attempt's output on; True when another attempt goes on from here."""
        assert attempt.provider_id is not None
        if attempt.provider_id not in self._providers:
            await self._terminal.say(f"no output: no provider {attempt.provider_id!r} here")
            return False
        provider = self._providers[attempt.provider_id]
        mark = self._ledger.mark_of(attempt.execution_attempt_id)
        pause, asked_at = POLL_SECONDS_FIRST, anyio.current_time()
        is_replaced = False
        while True:
            has_ended = self._ended.is_set()  # before the look: what comes later is seen again
            page = await self._read(provider, mark)
            self._is_kept = self._is_kept or page is not None
            if page is not None and page.data:
                pause = POLL_SECONDS_FIRST
                if not await self._terminal.write_output(page.data):
                    return False
                self._offset = page.next_offset
            elif is_replaced or has_ended:
                is_replaced = is_replaced or await self._is_replaced(attempt)
                await self._say_what_is_missing(attempt)
                return is_replaced
            else:
                pause = await self._pause(pause)
                if anyio.current_time() - asked_at >= RENEWAL_SECONDS:
                    asked_at = anyio.current_time()
                    is_replaced = await self._is_replaced(attempt)

    async def _say_what_is_missing(self, attempt: ExecutionAttemptRecord) -> None:
        if not self._is_kept:
            await self._terminal.say(
                f"no output of {attempt.execution_id} is kept here: it ran with another state"
                " folder or on another machine, or its output was removed"
            )

    async def _is_replaced(self, attempt: ExecutionAttemptRecord) -> bool:
        execution = await self._ledger.get_execution(execution_id=attempt.execution_id)
        return execution is not None and execution.active_attempt_id not in (
            None,
            attempt.execution_attempt_id,
        )

    async def _find_attempt(self, execution_id: str) -> ExecutionAttemptRecord | None:
        """Wait for an attempt that is bound to its provider; None when the end came without."""
        pause = POLL_SECONDS_FIRST
        while True:
            has_ended = self._ended.is_set()
            execution = await self._ledger.get_execution(execution_id=execution_id)
            if execution is not None and execution.active_attempt_id not in (None, *self._passed):
                assert execution.active_attempt_id is not None
                attempt = await self._ledger.recovery.get_attempt_with_allocation(
                    execution_attempt_id=execution.active_attempt_id
                )
                if attempt is not None and attempt.provider_id is not None:
                    if execution.attempt_count > 1:
                        count = execution.attempt_count
                        await self._terminal.say(f"output of attempt {count} of {execution_id}:")
                    return attempt
            if has_ended:
                return None
            pause = await self._pause(pause)

    async def _pause(self, seconds: float) -> float:
        with anyio.move_on_after(seconds):
            await self._ended.wait()
        return min(2 * seconds, POLL_SECONDS_MAX)

    async def _read(self, provider: Provider, mark: str) -> OutputPage | None:
        try:
            return await provider.read_output(mark=mark, offset=self._offset, limit=PAGE_BYTES)
        except OSError as exc:
            await self._terminal.say(f"output cannot be read: {exc.strerror}; waiting goes on")
            self._is_kept = True  # that was told
            self._ended.set()
            return None
