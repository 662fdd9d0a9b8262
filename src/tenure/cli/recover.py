"""``tenure recover``: settle what is owed."""

from collections.abc import Sequence

from tenure.cli.exit_code import OK, SIGNAL_BASE, STILL_OWED
from tenure.cli.host import open_host
from tenure.cli.options import Common, Flag
from tenure.cli.recovery import Case, Recovery
from tenure.cli.signals import catching_signals
from tenure.cli.table import render_table
from tenure.cli.terminal import Terminal
from tenure.cli.timeline import describe_event
from tenure.cli.writing import formed, put, put_json
from tenure.model.json_value import JsonValue

_HOUSEKEEPING = frozenset(
    {"claim-taken-over", "claim-handed-off", "reclamation-taken-over", "reclamation-handed-off"}
)


async def recover(
    *,
    no_wait: Flag = False,
    common: Common = Common(),  # noqa: B008 - it is frozen
) -> int:
    """Find out what became of all that is owed, and settle it.

    Whatever nobody answers for is taken over, looked at, ended if it has to end, and recorded.
    What runs as it should is left alone, and a living holder is not disturbed. It waits for leases
    of holders that are gone, and looks at doubtful things a few times. It can be interrupted and
    repeated at any time, also by several at once.

    Args:
        no_wait: Look at everything once, and wait for nothing.
        common: Options of every command.
    """
    async with (
        open_host(common) as host,
        Terminal() as terminal,
        catching_signals() as signals,
    ):
        recovery = Recovery(host, say=terminal.say)
        await signals.run_until_signal(lambda: recovery.run(wait=not no_wait))
        cases = recovery.cases
        remaining = sum(case.is_owed for case in cases)
        if common.json:
            put_json(
                {
                    "ledgerUrl": host.ledger.url,
                    "owedCount": remaining,
                    "attempts": [_document(case) for case in cases],
                }
            )
        else:
            put(_render(cases, remaining, host.ledger.url))
        if signals.caught is not None:
            await terminal.say("interrupted; repeat it to go on")
            return SIGNAL_BASE + signals.caught
    return STILL_OWED if remaining else OK


def _document(case: Case) -> dict[str, JsonValue]:
    return formed(
        {
            "executionId": case.execution_id,
            "executionAttemptId": case.execution_attempt_id,
            "ending": case.ending,
            "detail": case.detail,
            "until": case.until,
            "journal": list(case.did),
        }
    )


def _render(cases: Sequence[Case], remaining: int, url: str) -> str:
    rows = [(case.execution_id, case.ending, _done(case)) for case in cases]
    table = render_table(("EXECUTION", "NOW", "WHAT WAS DONE AND SEEN"), rows) if rows else ""
    owing = f"{remaining} still owed in {url}" if remaining else f"nothing is owed in {url}"
    running = sum(case.ending in ("running", "retried") for case in cases)
    if running:
        owing += f"; {running} running"
    return f"{table}\n{owing}" if table else owing


def _done(case: Case) -> str:
    steps = []
    for entry in case.did:
        if entry.event not in _HOUSEKEEPING:
            seen = "" if entry.evidence is None else f" ({entry.evidence.summary})"
            steps.append(f"{describe_event(entry)}{seen}")
    if case.ending != "settled" or not steps:
        steps.append(case.detail)
    return ", ".join(steps)
