"""Start an agent that outlives its starter, and reap it if the starter lives longer."""

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tenure.machine import HeldLock, ProcessIdentity, identify
from tenure.wire import attempt_folder

AGENT_MODULE: Final = "tenure.wiring.agent"
AGENT_COMMAND: Final = (sys.executable, "-P", "-m", AGENT_MODULE)
"""Without the current folder on the path: whatever lies there is nobody's agent."""


class NotLaunchedError(Exception):
    """The agent did not start; what started instead, if anything, is for the lock to tell."""


class Children:
    """The agents that this process started and nobody has reaped. Safe for all threads."""

    def __init__(self) -> None:
        self._pids: set[int] = set()
        self._guard = threading.Lock()

    def add(self, pid: int) -> None:
        """Take over a child."""
        with self._guard:
            self._pids.add(pid)

    def reap(self) -> None:
        """Let go of those that have ended."""
        # Under one lock: a number that is waited for twice may be another child's by then.
        with self._guard:
            self._pids -= {pid for pid in self._pids if _has_ended(pid)}


def launch_agent(
    command: Sequence[str], *, folder: Path, mark: str, lock: HeldLock, children: Children
) -> ProcessIdentity:
    """Start the agent in a session of its own, with the lock and no other descriptor of ours.

    It is killed by nothing that ends us: no terminal, no process group, no pipe.

    Raises:
        NotLaunchedError: no process was made, or it could not become an agent.
        OSError: it was made, and cannot be named.
    """
    descriptor = lock.fileno()
    environment = dict(os.environ) | {
        attempt_folder.MARK_VARIABLE: mark,
        attempt_folder.FOLDER_VARIABLE: str(folder),
        attempt_folder.LOCK_VARIABLE: str(descriptor),
    }
    try:
        pid = _spawn(command, folder=folder, environment=environment, kept_descriptor=descriptor)
    except OSError as exc:
        raise NotLaunchedError(str(exc)) from exc
    try:
        agent = identify(pid)
    finally:
        children.add(pid)
    assert agent is not None  # a child that nobody can have reaped yet
    return agent


def _spawn(
    command: Sequence[str], *, folder: Path, environment: Mapping[str, str], kept_descriptor: int
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
            pass_fds=(kept_descriptor,),
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
