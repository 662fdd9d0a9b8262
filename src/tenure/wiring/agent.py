"""The agent's process: ``python -m tenure.wiring.agent``, its folder named by the environment.

The ledger is imported and opened only when there is something to deliver.
"""

import os
import sys
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from tenure.worker.agent import run_agent

if TYPE_CHECKING:
    from tenure.worker.delivery import WorkerLedger


def main() -> int:
    """Work on one attempt; see ``run_agent`` for the exit codes."""
    return run_agent(environment=os.environ, open_ledger=_open)


def _open(url: str) -> "AbstractAsyncContextManager[WorkerLedger]":
    from tenure.wiring.ledgers import open_ledger  # noqa: PLC0415  (a driver and an event loop)

    return open_ledger(url, create=False, actor="worker")


if __name__ == "__main__":
    sys.exit(main())
