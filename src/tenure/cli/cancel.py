"""``tenure cancel``: ask durably that an execution end, and see it end."""

import anyio

from tenure.cli.debt import describe_holder, judge, list_all_open
from tenure.cli.duration import render_instant
from tenure.cli.exit_code import NOT_ENDED, OK, SIGNAL_BASE
from tenure.cli.host import Host, open_host
from tenure.cli.names import name_requester
from tenure.cli.options import Common, Duration
from tenure.cli.reporting import report_end, report_running
from tenure.cli.signals import catching_signals
from tenure.cli.terminal import Terminal
from tenure.cli.view import document_of, sight
from tenure.cli.waiting import Waiting
from tenure.cli.writing import put_json
from tenure.errors import InvalidInputError
from tenure.model.decision import (
    CancellationAlreadyRequested,
    CancellationDecision,
    Concluded,
    NotFound,
)


async def cancel(
    execution_id: str,
    /,
    *,
    reason: str | None = None,
    within: Duration | None = None,
    common: Common = Common(),  # noqa: B008 - it is frozen
) -> int:
    """Ask that an execution end, and wait until it has ended.

    The request is durable: whoever runs the execution carries it out, and if nobody does, this
    command. The first request counts; asking again, or for what has ended, changes nothing.

    Args:
        execution_id: Which execution.
        reason: Why; becomes part of the result.
        within: Wait no longer than this: seconds, or as 500ms, 90s, 5m, 2h.
        common: Options of every command.
    """
    async with (
        open_host(common) as host,
        Terminal() as terminal,
        catching_signals() as signals,
    ):
        decision = await host.ledger.request_cancellation(
            execution_id=execution_id, requested_by=name_requester(), reason=reason
        )
        await terminal.say(_describe(decision, execution_id, host))
        await _say_whose_lease_runs(host, terminal, execution_id)
        waiting = Waiting(host, terminal, execution_id)
        with anyio.move_on_after(within):
            await signals.run_until_signal(waiting.run)
        if waiting.end is not None:
            await report_end(
                terminal,
                host.ledger,
                waiting.end,
                json=common.json,
                has_leftovers=waiting.has_leftovers,
            )
            return OK
        await report_running(
            terminal, host.ledger, execution_id, "has not ended; the request stays"
        )
        if common.json:
            execution = await host.ledger.get_execution(execution_id=execution_id)
            assert execution is not None  # it answered the request
            put_json(document_of(host.ledger, await sight(host.ledger, execution)))
        return NOT_ENDED if signals.caught is None else SIGNAL_BASE + signals.caught


async def _say_whose_lease_runs(host: Host, terminal: Terminal, execution_id: str) -> None:
    """Say why it may take a while: only a living holder acts at once."""
    now = await host.ledger.now()
    for work in await list_all_open(host.ledger, execution_id=execution_id):
        debt = judge(work, host.witness, now, host.ledger.url)
        if debt.holder in ("dead", "unknown"):
            held = describe_holder(work, debt.holder, now)
            await terminal.say(f"{execution_id} is held by {held}; waiting")


def _describe(decision: CancellationDecision, execution_id: str, host: Host) -> str:
    match decision:
        case NotFound():
            raise InvalidInputError(
                field="execution_id",
                given=f"{execution_id!r}, which is not in ledger {host.ledger.url}",
                allowed="the id of a submitted execution",
            )
        case Concluded():
            return f"{execution_id} had ended before"
        case CancellationAlreadyRequested():
            first = decision.execution.cancellation
            assert first is not None
            why = "" if first.reason is None else f": {first.reason}"
            at = render_instant(first.requested_at)
            return f"{execution_id}: {first.requested_by} asked first, at {at}{why}"
        case _:
            return f"{execution_id}: cancellation requested"
