"""``tenure wait``: wait for an execution, whoever runs it."""

import anyio

from tenure.cli.exit_code import NOT_ENDED, SIGNAL_BASE
from tenure.cli.host import Host, open_host
from tenure.cli.options import Common, Duration, Flag
from tenure.cli.reporting import report_end, report_running
from tenure.cli.signals import catching_signals
from tenure.cli.terminal import Terminal
from tenure.cli.view import document_of, sight
from tenure.cli.waiting import Waiting
from tenure.cli.writing import put_json
from tenure.errors import InvalidInputError


async def wait(
    execution_id: str,
    /,
    *,
    within: Duration | None = None,
    output: Flag = False,
    common: Common = Common(),  # noqa: B008 - it is frozen
) -> int:
    """Wait for an execution's end, and exit as its command did.

    A waiter answers for what nobody answers for: when a lease has run out it takes over and finds
    out what became of the command.

    Args:
        execution_id: Which execution.
        within: Wait no longer than this: seconds, or as 500ms, 90s, 5m, 2h.
        output: Pass the command's output on, from its beginning. Not with --json.
        common: Options of every command.
    """
    if output and common.json:
        raise InvalidInputError(
            field="--output",
            given="together with --json, which prints nothing but one document",
            allowed="one of the two",
        )
    async with (
        open_host(common) as host,
        Terminal() as terminal,
        catching_signals() as signals,
    ):
        waiting = Waiting(host, terminal, execution_id)
        with anyio.move_on_after(within):
            await signals.run_until_signal(lambda: waiting.run(output=output))
        if signals.caught is not None:
            await report_running(terminal, host.ledger, execution_id, "goes on")
            return SIGNAL_BASE + signals.caught
        if waiting.end is None:
            await report_running(terminal, host.ledger, execution_id, "has not ended")
            if common.json:
                await _put_unended(host, execution_id)
            return NOT_ENDED
        return await report_end(
            terminal,
            host.ledger,
            waiting.end,
            json=common.json,
            has_leftovers=waiting.has_leftovers,
        )


async def _put_unended(host: Host, execution_id: str) -> None:
    execution = await host.ledger.get_execution(execution_id=execution_id)
    assert execution is not None  # it was waited for
    put_json(document_of(host.ledger, await sight(host.ledger, execution)))
