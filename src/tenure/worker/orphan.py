"""Reap the orphans that come to an agent which adopts them, and never its own command."""

import contextlib
import os
import signal
from collections.abc import Iterator


class Orphans:
    """Children that this process did not start. Reaped once there can be any."""

    def __init__(self) -> None:
        """Reap nobody yet: a child that is just being started would be taken for one."""
        self._is_armed = False
        self._own: int | None = None

    @contextlib.contextmanager
    def reaped_but(self, pid: int) -> Iterator[None]:
        """Reap from now on, but for one child, which the body reaps itself."""
        self._is_armed, self._own = True, pid
        self.reap()
        try:
            yield
        finally:
            self._own = None
            self.reap()

    def reap(self) -> None:
        """Reap those that have ended.

        While the child that is ours has ended and waits, the orphans behind it wait with it.
        """
        with contextlib.suppress(ChildProcessError):
            while self._is_armed:
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if found is None or found.si_pid == self._own:
                    return
                os.waitpid(found.si_pid, os.WNOHANG)

    def note(self, _signum: int, _frame: object) -> None:
        """Reap; the handler."""
        self.reap()


@contextlib.contextmanager
def reaping_orphans() -> Iterator[Orphans]:
    """Reap on each SIGCHLD; a process that adopts nobody has nobody to reap."""
    orphans = Orphans()
    replaced = signal.signal(signal.SIGCHLD, orphans.note)
    try:
        yield orphans
    finally:
        signal.signal(signal.SIGCHLD, replaced)
