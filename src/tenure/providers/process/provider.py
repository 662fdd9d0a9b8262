"""The provider: agents that end with the process that called it."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import ClassVar, Final

from tenure.ports.provider import ProviderSite
from tenure.providers.local.launch import AGENT_COMMAND, Children
from tenure.providers.local.provider import GRACE_SECONDS, LocalProvider
from tenure.providers.local.reference import Form
from tenure.providers.process.launch import IsolationChoice, ProcessLauncher

PROVIDER_ID: Final = "process"


class ProcessProvider(LocalProvider):
    """Agents on this machine that end with the process that started them, descendants included.

    Linux only, on a local file system. All methods may be called concurrently. What holds for an
    agent is in its reference, under `isolation`:

    * `namespace`: no descendant outlives the agent, and the agent does not outlive its
      provisioner, whatever any of them does or whoever is killed.
    * `subreaper`: the same, unless the agent and its keeper are killed at the same instant.
    """

    provider_id: ClassVar[str] = PROVIDER_ID

    def __init__(
        self,
        *,
        root: Path,
        now: Callable[[], Awaitable[datetime]],
        agent_command: Sequence[str] = AGENT_COMMAND,
        grace_seconds: float = GRACE_SECONDS,
        isolation: IsolationChoice = "auto",
    ) -> None:
        """Take where the attempt folders are, and the ledger's clock.

        Args:
            root: made private (0700) at the first call.
            now: the ledger's time, as `ledger.now`.
            agent_command: what to run as the agent.
            grace_seconds: how long a termination waits for the agent before it kills.
            isolation: `auto` takes a namespace where there is one to be had.

        Raises:
            ProviderError: this machine cannot say who it is.
        """
        children = Children()
        super().__init__(
            form=Form(provider_id=PROVIDER_ID, is_kept=True),
            lifetime="provisioner-process-bound",
            launcher=ProcessLauncher(agent_command, children, isolation=isolation),
            children=children,
            root=root,
            now=now,
            grace_seconds=grace_seconds,
        )


def open_provider(site: ProviderSite) -> ProcessProvider:
    """Open the provider as it is offered to everybody.

    Raises:
        ProviderError: this machine cannot say who it is.
    """
    return ProcessProvider(root=site.root, now=site.now)
