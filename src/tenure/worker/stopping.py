"""Requests to stop, taken without a race and without losing one."""

import contextlib
import os
import select
import signal
from collections.abc import Iterator
from typing import Final

_IGNORED: Final = (signal.SIGINT, signal.SIGHUP)


class StopRequest:
    """Whether a SIGTERM came. Once requested it stays so."""

    def __init__(self, read_end: int) -> None:
        """Take the end of the pipe that each signal writes to."""
        self._read_end = read_end
        self._count = 0

    @property
    def count(self) -> int:
        """How many SIGTERMs came; a burst may count once."""
        return self._count

    def __bool__(self) -> bool:
        """Whether one came."""
        return self._count > 0

    def note(self, _signum: int, _frame: object) -> None:
        """Count one; the handler."""
        self._count += 1

    def wait(self, *readable: int, timeout_seconds: float | None) -> None:
        """Return when a signal came, one of the descriptors is readable, or the time is over."""
        poll = select.poll()
        for descriptor in (self._read_end, *readable):
            poll.register(descriptor, select.POLLIN)
        poll.poll(None if timeout_seconds is None else max(0.0, timeout_seconds * 1000))
        with contextlib.suppress(BlockingIOError):
            os.read(self._read_end, 4096)


@contextlib.contextmanager
def taking_stop_requests() -> Iterator[StopRequest]:
    """Take SIGTERM as a request, and let SIGINT and SIGHUP pass: nobody's terminal is ours.

    Handlers rather than `SIG_IGN`, and nothing blocked: the command is to start with defaults.
    """
    read_end, write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    stop = StopRequest(read_end)
    handlers = dict.fromkeys(_IGNORED, _pass) | {signal.SIGTERM: stop.note}
    wakeup = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    replaced = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        yield stop
    finally:
        for number, handler in replaced.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup)
        os.close(read_end)
        os.close(write_end)


def _pass(_signum: int, _frame: object) -> None:
    """Do nothing."""
