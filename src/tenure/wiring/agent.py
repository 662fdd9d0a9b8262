"""The agent's process: ``python -m tenure.wiring.agent``, its folder named by the environment.

The ledger is imported and opened only when there is something to deliver. An agent that is bound to
its provisioner is forked by its keeper, before what only the agent needs is imported.
"""

import os
import sys
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from tenure.wire.tether import TETHER_VARIABLE

if TYPE_CHECKING:
    from tenure.machine.process import ProcessIdentity
    from tenure.worker.delivery import WorkerLedger


def main() -> int:
    """Work on one attempt; see ``run_agent`` and ``keep`` for the exit codes."""
    if TETHER_VARIABLE not in os.environ:
        return _work(os.environ)
    from tenure.worker.keeping import keep  # noqa: PLC0415  (only for those who are kept)

    return keep(os.environ, _work)


def _work(environment: Mapping[str, str], identity: "ProcessIdentity | None" = None) -> int:
    from tenure.worker.agent import run_agent  # noqa: PLC0415  (a keeper does without)

    return run_agent(environment=environment, identity=identity, open_ledger=_open)


def _open(url: str) -> "AbstractAsyncContextManager[WorkerLedger]":
    from tenure.wiring.ledgers import open_ledger  # noqa: PLC0415  (a driver and an event loop)

    return open_ledger(url, create=False, actor="worker")


if __name__ == "__main__":
    sys.exit(main())
