"""One command in a session of its own, watched without a race and ended without a stray signal.

The command is not reaped before all signalling is over: as a zombie it keeps its number, which is
also that of its session, so that no signal can reach a stranger.
"""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tenure.machine.procfs import PROC, read_stat
from tenure.worker.output import open_output

SESSION_POLL_SECONDS: Final = 0.02


class Command:
    """A running command. Made by `start`, ended by `reap`."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        """Take over a child that nobody has reaped."""
        self._process = process
        self._pidfd = os.pidfd_open(process.pid)
        self._started_at = time.monotonic()

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        *,
        cwd: str,
        environment: Mapping[str, str],
        output: Path,
        kept_descriptors: Sequence[int],
    ) -> "Command":
        """Run a command without input, its output appended to a file.

        Raises:
            OSError: it did not start; `filename` says whether the program, the folder or the
                output's file is at fault.
        """
        os.close(os.pidfd_open(os.getpid()))  # who cannot watch a process must not start one
        descriptor = open_output(output)
        try:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
                start_new_session=True,
                pass_fds=kept_descriptors,
            )
        finally:
            os.close(descriptor)
        try:
            return cls(process)
        except OSError:
            process.kill()
            process.wait()
            raise

    @property
    def pid(self) -> int:
        """The command's number, its own until it is reaped."""
        return self._process.pid

    def fileno(self) -> int:
        """Give a descriptor that becomes readable when the command has ended."""
        return self._pidfd

    def has_ended(self) -> bool:
        """Whether the command itself has ended; its children may go on."""
        return bool(select.select([self._pidfd], [], [], 0)[0])

    def stop(self, *, grace_seconds: float) -> None:
        """End the whole session: ask, wait until it is empty, at most so long, then kill.

        What the command started in sessions of its own is not reached.
        """
        give_up_at = time.monotonic() + grace_seconds
        self._signal_session(signal.SIGTERM)
        while self._session() and time.monotonic() < give_up_at:
            time.sleep(SESSION_POLL_SECONDS)
        self._signal_session(signal.SIGKILL)

    def reap(self) -> int:
        """Wait for the end, and give the exit status, or the negative number of the signal."""
        status = self._process.wait()
        os.close(self._pidfd)
        return status

    @property
    def seconds(self) -> float:
        """How long ago it was started."""
        return time.monotonic() - self._started_at

    def _session(self) -> list[int]:
        numbers = [int(entry.name) for entry in PROC.iterdir() if entry.name.isdecimal()]
        return [pid for pid in numbers if self._is_member(pid)]

    def _is_member(self, pid: int) -> bool:
        try:
            if os.getsid(pid) != self._process.pid:
                return False
            stat = read_stat(pid)
        except OSError:
            return False
        return stat is not None and not stat.is_finished

    def _signal_session(self, signum: int) -> None:
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signum)  # all at once, so that no fork slips through
        for pid in self._session():
            self._signal_member(pid, signum)

    def _signal_member(self, pid: int, signum: int) -> None:
        # Held first, asked second: whoever answers is the one who is held, or that one is gone.
        with contextlib.suppress(OSError):
            pidfd = os.pidfd_open(pid)
            try:
                if os.getsid(pid) == self._process.pid and os.getpgid(pid) != self._process.pid:
                    signal.pidfd_send_signal(pidfd, signum)
            finally:
                os.close(pidfd)
