"""A fleet of one machine: many short commands through one authority at once.

    python campaigns/fleet.py [--executions 500] [--open-max 100]

Each is submitted, dispatched, attended and waited for by a task of its own; the cap on open
attempts holds. Counted at the end: one run each, one outcome each, nothing owed. Exits with 1 when
a count is wrong. Figures: seconds in all, and the processor time for each execution.
"""

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import anyio

import tenure


async def fleet(folder: Path, executions: int, open_max: int) -> list[str]:
    """Run the fleet; one line for each count that is wrong."""
    wrong: list[str] = []
    (folder / "runs").mkdir()
    most = 0
    async with tenure.open_ledger(f"sqlite:///{folder}/ledger.sqlite") as ledger:
        settings = tenure.ControllerSettings(open_max=open_max)
        authority = tenure.open_authority(ledger, settings=settings)

        async def carry_out(number: int) -> None:
            execution_id = f"e-{number}"
            script = f"echo run >> {folder}/runs/{number}"
            await authority.submit(
                execution_id=execution_id,
                submission=tenure.ExecutionSubmission(
                    workflow_id="fleet",
                    instruction={"command": ["sh", "-c", script], "cwd": "/"},
                    provider_ids=("detached",),
                ),
            )
            dispatch = await authority.dispatch(execution_id=execution_id)
            if dispatch is None:
                wrong.append(f"{execution_id} was not dispatched")
                return
            await authority.attend(dispatch)
            end = await authority.wait(execution_id=execution_id)
            if end.execution.conclusion != "outcome":
                wrong.append(f"{execution_id} ended as {end.execution.conclusion}")

        async def count() -> None:
            nonlocal most
            while True:
                most = max(most, len(await ledger.list_open(limit=1000)))
                await anyio.sleep(0.2)

        async with anyio.create_task_group() as watching:
            watching.start_soon(count)
            async with anyio.create_task_group() as group:
                for number in range(executions):
                    group.start_soon(carry_out, number)
            watching.cancel_scope.cancel()
        wrong += [f"still owed: {work}" for work in await ledger.list_open()]
    runs = {path.name: path.read_text().count("run") for path in (folder / "runs").iterdir()}
    wrong += [f"{name} ran {count} times" for name, count in runs.items() if count != 1]
    if len(runs) != executions:
        wrong.append(f"{len(runs)} of {executions} ran")
    print(f"at most {most} open at once, {len(runs)} ran")
    return wrong


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--executions", type=int, default=500)
    parser.add_argument("--open-max", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tenure-fleet-") as name:
        os.environ["TENURE_STATE_DIR"] = f"{name}/state"
        started = time.monotonic()
        wrong = anyio.run(fleet, Path(name), options.executions, options.open_max)
        seconds = time.monotonic() - started
    own, agents = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    for whose, usage in (("controller", own), ("agents and commands", agents)):
        each = (usage.ru_utime + usage.ru_stime) / options.executions * 1000
        print(f"{whose}: {each:.0f} ms of processor time for each execution")
    print(f"{options.executions} executions in {seconds:.1f} s")
    for line in wrong:
        print(f"WRONG: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
