"""A service that runs commands as durable executions: submit, carry out, take the end over.

Run it twice, or kill it in between: the second run goes on where the first one was.
"""

import sys

import anyio

import tenure


async def converge(end: tenure.ExecutionEnd) -> None:
    """Take an end over into the host's own state; may be called again after a crash."""
    print(end.execution.execution_id, "ended:", end.settlement and end.settlement.result)


async def main(url: str, execution_id: str, *command: str) -> None:
    async with tenure.open_ledger(url) as ledger:
        authority = tenure.open_authority(ledger, converge=converge)
        submission = tenure.ExecutionSubmission(
            workflow_id="service",
            instruction={"command": list(command), "cwd": "/"},
            provider_ids=("detached",),
            attempts_max=3,
        )
        await authority.submit(execution_id=execution_id, submission=submission)
        dispatch = await authority.dispatch(execution_id=execution_id)
        if dispatch is not None:
            await authority.attend(dispatch)
        await authority.wait(execution_id=execution_id)


if __name__ == "__main__":
    anyio.run(main, *(sys.argv[1:] or ("sqlite:////tmp/tenure-service.sqlite", "s-1", "true")))
