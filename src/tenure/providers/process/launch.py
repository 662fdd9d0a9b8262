"""Start an agent under a keeper, tied to this process by its parent thread and by a socket."""

import os
import socket
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

from tenure.machine import HeldLock, ProcessIdentity
from tenure.providers.local.folder import AttemptFolder
from tenure.providers.local.launch import Children, NotLaunchedError, start_agent
from tenure.providers.local.reference import Allocation
from tenure.providers.process.thread import KeptThread
from tenure.wire.tether import (
    REPORT_BYTES_MAX,
    TETHER_VARIABLE,
    Isolation,
    Tether,
    Unavailable,
    decode_report,
    render_tether,
)

IsolationChoice: TypeAlias = Literal["namespace", "subreaper", "auto"]

_TRIED: Final[Mapping[IsolationChoice, Sequence[Isolation]]] = {
    "namespace": ("namespace",),
    "subreaper": ("subreaper",),
    "auto": ("namespace", "subreaper"),
}


class ProcessLauncher:
    """Starts keepers, each of which forks its agent."""

    def __init__(
        self, command: Sequence[str], children: Children, *, isolation: IsolationChoice
    ) -> None:
        """Take the agent's program, where to leave what has to be reaped, and what to try."""
        self._command = tuple(command)
        self._children = children
        self._tried = _TRIED[isolation]
        self._thread = KeptThread()

    def launch(self, folder: AttemptFolder, lock: HeldLock, *, seconds: float) -> Allocation:
        """Start a keeper, and wait until it says that its agent is held.

        The strongest isolation is tried at each start anew, since what is refused (a user's limit
        of namespaces, say) may be had later.

        Raises:
            NotLaunchedError: there is no agent, and none can come of this any more.
            OSError: it is not known what there is; whatever it is ends with this process.
        """
        reasons = []
        for isolation in self._tried:
            answer = self._try(folder, lock, isolation, seconds)
            if isinstance(answer, Allocation):
                return answer
            reasons.append(f"{isolation}: {answer.reason}")
        raise NotLaunchedError("; ".join(reasons))

    def _try(
        self, folder: AttemptFolder, lock: HeldLock, isolation: Isolation, seconds: float
    ) -> Allocation | Unavailable:
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                pid = self._start(folder, lock, isolation, theirs)
        except BaseException:
            ours.close()
            raise
        self._children.add(pid, tie=ours)
        line = _read_line(ours, seconds)
        if not line:
            _await_end(pid)
            message = "the keeper ended before it had an agent; its log is in the attempt's folder"
            raise NotLaunchedError(message)
        report = decode_report(line)
        if isinstance(report, Unavailable):
            _await_end(pid)
            return report
        agent = ProcessIdentity.from_json(report.agent)
        return Allocation(agent=agent, lock=lock.inode, keeper=folder.read_keeper())

    def _start(
        self, folder: AttemptFolder, lock: HeldLock, isolation: Isolation, tied: socket.socket
    ) -> int:
        tether = Tether(isolation=isolation, descriptor=tied.fileno(), provisioner_pid=os.getpid())
        return self._thread.run(
            lambda: start_agent(
                self._command,
                folder=folder.path,
                lock=lock,
                environment={TETHER_VARIABLE: render_tether(tether)},
                kept_descriptors=(tied.fileno(),),
            )
        )


def _read_line(tie: socket.socket, seconds: float) -> bytes:
    tie.settimeout(max(seconds, 0.001))
    line = b""
    while not line.endswith(b"\n"):
        piece = tie.recv(REPORT_BYTES_MAX - len(line))
        if not piece:
            return b""
        line += piece
    return line


def _await_end(pid: int) -> None:
    # It holds the lock until it has ended, which it is about to do.
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    except ChildProcessError:
        return  # reaped meanwhile
