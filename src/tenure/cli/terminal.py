"""The two streams of a command that waits: another's output, and what Tenure says meanwhile.

All is written by one thread, in order. A terminal that was stopped (Ctrl-S) or a reader that is
slow holds up that thread and nothing else, so that leases go on being renewed. The status line is
shown only where standard error is a terminal, and it never touches a line that the command has
begun.
"""

import asyncio
import errno
import os
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Final, Self, TypeVar

import anyio

from tenure.cli.writing import STDERR, STDOUT, said, write_all

QUIET_SECONDS: Final = 0.4
"""How long the command has to be silent before the status line is shown below its output."""
PATIENCE_SECONDS: Final = 1.0
"""How long a message, and the end, wait for a reader that is slow or a terminal that stands."""
_ERASE: Final = b"\r\x1b[2K"
_GONE: Final = frozenset({errno.EPIPE, errno.EIO, errno.ECONNRESET})
"""Nobody reads any more: a closed pipe, a terminal that hung up."""
T = TypeVar("T")


class Terminal:
    """Standard output and standard error. An async context manager."""

    def __init__(self) -> None:
        """Look at the streams; nothing is written yet."""
        self.has_status = os.isatty(STDERR) and os.environ.get("TERM") != "dumb"
        self._is_shared = os.isatty(STDOUT)
        self._is_status_shown = False
        self._is_at_line_start = True
        self._written_at = -QUIET_SECONDS
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._thread = Thread(target=self._work, name="tenure-terminal", daemon=True)

    async def __aenter__(self) -> Self:
        self._thread.start()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with anyio.CancelScope(shield=True), anyio.move_on_after(PATIENCE_SECONDS):
            await self._run(self._erase)

    async def write_output(self, data: bytes) -> bool:
        """Write a piece of the command's output; False when it cannot be written any more."""
        failure = await self._run(lambda: self._write_output(data))
        if failure is not None and failure.errno not in _GONE:
            await self.say(f"output can no longer be written: {failure.strerror}; waiting goes on")
        return failure is None

    async def say(self, text: str) -> None:
        """Write a line of Tenure's own; past the thread when that is held up for too long."""
        is_said = False
        with anyio.move_on_after(PATIENCE_SECONDS):
            await self._run(lambda: self._say(text))
            is_said = True
        if not is_said:
            beside = Thread(target=write_all, args=(STDERR, said(text)), daemon=True)
            beside.start()
            await asyncio.to_thread(beside.join, PATIENCE_SECONDS)

    def show_status(self, line: str) -> None:
        """Show a line until something else is written; left out while the thread is busy."""
        if self.has_status and self._jobs.empty():
            self._jobs.put(lambda: self._show(line))

    async def _run(self, work: Callable[[], T]) -> T:
        future: Future[T] = Future()

        def job() -> None:
            if future.set_running_or_notify_cancel():
                future.set_result(work())

        self._jobs.put(job)
        return await asyncio.wrap_future(future)

    def _work(self) -> None:
        while True:
            self._jobs.get()()

    def _write_output(self, data: bytes) -> OSError | None:
        if self._is_shared:
            self._erase()
        failure = write_all(STDOUT, data)
        self._is_at_line_start = data.endswith(b"\n")
        self._written_at = time.monotonic()
        return failure

    def _say(self, text: str) -> None:
        self._erase()
        if self._is_shared and not self._is_at_line_start:
            write_all(STDERR, b"\n")
            self._is_at_line_start = True
        write_all(STDERR, said(text))

    def _show(self, line: str) -> None:
        is_quiet = time.monotonic() - self._written_at >= QUIET_SECONDS
        if self._is_shared and not (self._is_at_line_start and is_quiet):
            return
        write_all(STDERR, _ERASE + line.encode(errors="backslashreplace"))
        self._is_status_shown = True

    def _erase(self) -> None:
        if self._is_status_shown:
            write_all(STDERR, _ERASE)
            self._is_status_shown = False
