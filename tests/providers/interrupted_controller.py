"""A controller that provisions one attempt and is stopped at a chosen point, as a program.

Its input is one JSON object: `root`, `mark`, `ledger`, `agentCommand`, `command`, and `point` with
`signal`: after which step it signals itself. It prints what the provider answered.
"""

import asyncio
import functools
import json
import signal
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tenure.ports.provider import ProvisionRequest
from tenure.providers.detached import DetachedProvider
from tenure.providers.detached.provider import DetachedLauncher
from tenure.providers.local import launch
from tenure.providers.local.folder import AttemptFolder

POINTS = {
    "called": (DetachedProvider, "_provision", False),
    "folder-made": (AttemptFolder, "make", True),
    "lock-taken": (AttemptFolder, "lock", True),
    "request-written": (AttemptFolder, "write_request", True),
    "spawned": (launch, "_spawn", True),
    "returned": (DetachedLauncher, "launch", True),
}


def interrupt(point: str, number: int) -> None:
    holder, name, is_after = POINTS[point]
    original = getattr(holder, name)

    @functools.wraps(original)
    def wrapped(*args: object, **kwargs: object) -> object:
        answer = original(*args, **kwargs) if is_after else None
        # To this thread, or it might go on for a moment while another one takes the signal.
        signal.pthread_kill(threading.get_ident(), number)
        return answer if is_after else original(*args, **kwargs)

    setattr(holder, name, wrapped)


async def now() -> datetime:
    seconds = time.clock_gettime(time.CLOCK_BOOTTIME)
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)


async def main(order: dict[str, str]) -> None:
    begun_at = await now()
    request = ProvisionRequest(
        execution_id="execution",
        execution_attempt_id="attempt",
        workflow_id="workflow",
        instruction={"command": order["command"], "cwd": "/"},
        mark=order["mark"],
        ledger_url=order["ledger"],
        begun_at=begun_at,
        call_deadline_at=begun_at + timedelta(seconds=60),
        deadline_at=None,
    )
    detached = DetachedProvider(
        root=Path(order["root"]), now=now, agent_command=order["agentCommand"]
    )
    answer = await detached.provision(request)
    sys.stdout.write(f"{type(answer).__name__} {getattr(answer, 'evidence', None)}")


if __name__ == "__main__":
    settings = json.load(sys.stdin)
    interrupt(settings["point"], settings["signal"])
    asyncio.run(main(settings))
