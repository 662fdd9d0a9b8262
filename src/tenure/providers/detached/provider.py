"""The provider: agents that are independent of who started them."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import ClassVar, Final

from tenure.machine import HeldLock, identify
from tenure.ports.provider import ProviderSite
from tenure.providers.local.folder import AttemptFolder
from tenure.providers.local.launch import AGENT_COMMAND, Children, start_agent
from tenure.providers.local.provider import GRACE_SECONDS, LocalProvider
from tenure.providers.local.reference import Allocation, Form

PROVIDER_ID: Final = "detached"


class DetachedLauncher:
    """Starts agents that are killed by nothing that ends us: no terminal, no group, no pipe."""

    def __init__(self, command: Sequence[str], children: Children) -> None:
        """Take the agent's program, and where to leave what has to be reaped."""
        self._command = tuple(command)
        self._children = children

    def launch(
        self,
        folder: AttemptFolder,
        lock: HeldLock,
        *,
        seconds: float,  # noqa: ARG002  (a start takes no time)
    ) -> Allocation:
        """Start the agent in a session of its own, with the lock and no other descriptor of ours.

        Raises:
            NotLaunchedError: no process was made, or it could not become an agent.
            OSError: it was made, and cannot be named.
        """
        pid = start_agent(self._command, folder=folder.path, lock=lock, environment={})
        try:
            agent = identify(pid)
        finally:
            self._children.add(pid)
        assert agent is not None  # a child that nobody can have reaped yet
        return Allocation(agent=agent, lock=lock.inode)


class DetachedProvider(LocalProvider):
    """Agents on this machine that survive their starter, each with a folder and a lock.

    Linux only, on a local file system. All methods may be called concurrently.
    """

    provider_id: ClassVar[str] = PROVIDER_ID

    def __init__(
        self,
        *,
        root: Path,
        now: Callable[[], Awaitable[datetime]],
        agent_command: Sequence[str] = AGENT_COMMAND,
        grace_seconds: float = GRACE_SECONDS,
    ) -> None:
        """Take where the attempt folders are, and the ledger's clock.

        Args:
            root: absolute; made private (0700) at the first call.
            now: the ledger's time, as `ledger.now`.
            agent_command: what to run as the agent.
            grace_seconds: how long a termination waits for the agent before it kills.

        Raises:
            ProviderError: this machine cannot say who it is.
        """
        children = Children()
        super().__init__(
            form=Form(provider_id=PROVIDER_ID, is_kept=False),
            lifetime="provider-managed",
            launcher=DetachedLauncher(agent_command, children),
            children=children,
            root=root,
            now=now,
            grace_seconds=grace_seconds,
        )


def open_provider(site: ProviderSite) -> DetachedProvider:
    """Open the provider as it is offered to everybody.

    Raises:
        ProviderError: this machine cannot say who it is.
    """
    return DetachedProvider(root=site.root, now=site.now)
