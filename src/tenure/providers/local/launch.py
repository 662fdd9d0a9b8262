"""Start agents, and reap those that end before their starter."""

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from tenure.machine import HeldLock
from tenure.providers.local.folder import AttemptFolder
from tenure.providers.local.reference import Allocation
from tenure.wire import attempt_folder

AGENT_MODULE: Final = "tenure.wiring.agent"
AGENT_COMMAND: Final = (sys.executable, "-P", "-m", AGENT_MODULE)
"""Without the current folder on the path: whatever lies there is nobody's agent."""


class NotLaunchedError(Exception):
    """The agent did not start; what started instead, if anything, is for the lock to tell."""


class Closable(Protocol):
    """What can be let go of."""

    def close(self) -> None:
        """Let go of it."""
        ...


class Children:
    """The agents that this process started and nobody has reaped. Safe for all threads."""

    def __init__(self) -> None:
        self._pids: set[int] = set()
        self._ties: dict[int, Closable] = {}
        self._guard = threading.Lock()

    def add(self, pid: int, *, tie: Closable | None = None) -> None:
        """Take over a child, and what is to be held open for as long as it lives."""
        with self._guard:
            self._pids.add(pid)
            if tie is not None:
                self._ties[pid] = tie

    def reap(self) -> None:
        """Let go of those that have ended."""
        # Under one lock: a number that is waited for twice may be another child's by then.
        with self._guard:
            for pid in {pid for pid in self._pids if _has_ended(pid)}:
                self._pids.remove(pid)
                if tie := self._ties.pop(pid, None):
                    tie.close()


class Launcher(Protocol):
    """How one provider starts an agent."""

    def launch(self, folder: AttemptFolder, lock: HeldLock, *, seconds: float) -> Allocation:
        """Start the agent of a folder, whose request is written, under its lock.

        Args:
            folder: of the attempt.
            lock: of the attempt, to be inherited.
            seconds: what is left of the call.

        Raises:
            NotLaunchedError: nothing was started that could become an agent any more.
            OSError: something was started, and it is not known what.
        """
        ...


def start_agent(
    command: Sequence[str],
    *,
    folder: Path,
    lock: HeldLock,
    environment: Mapping[str, str],
    kept_descriptors: Sequence[int] = (),
) -> int:
    """Start an agent in a session of its own, with the lock and no other descriptor of ours.

    Args:
        command: the agent's program.
        folder: of the attempt; its name is the mark.
        lock: of the attempt.
        environment: what it gets in addition to ours and to what every agent gets.
        kept_descriptors: what it inherits besides the lock.

    Returns:
        The number of a child that the caller has to reap.

    Raises:
        NotLaunchedError: no process was made, or it could not become an agent.
    """
    descriptor = lock.fileno()
    whole = dict(os.environ) | {
        attempt_folder.MARK_VARIABLE: folder.name,
        attempt_folder.FOLDER_VARIABLE: str(folder),
        attempt_folder.LOCK_VARIABLE: str(descriptor),
        **environment,
    }
    try:
        return _spawn(
            command,
            folder=folder,
            environment=whole,
            kept_descriptors=(descriptor, *kept_descriptors),
        )
    except OSError as exc:
        raise NotLaunchedError(str(exc)) from exc


def _spawn(
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    kept_descriptors: Sequence[int],
) -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    log = os.open(folder / attempt_folder.AGENT_LOG_FILE, flags, 0o600)
    try:
        process = subprocess.Popen(
            command,
            cwd="/",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=kept_descriptors,
        )
    finally:
        os.close(log)
    process.returncode = 0  # ours to reap from here on; the object would complain about its child
    return process.pid


def _has_ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True  # somebody else reaped it
