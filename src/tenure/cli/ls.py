"""``tenure ls``: list executions."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final

from cyclopts import Parameter

from tenure.cli.duration import render_relative
from tenure.cli.exit_code import OK
from tenure.cli.opening import open_existing
from tenure.cli.options import Common, Flag
from tenure.cli.table import render_table
from tenure.cli.view import (
    Sighting,
    describe_attempts,
    describe_command,
    describe_end,
    document_of,
    sight,
)
from tenure.cli.writing import put, put_json
from tenure.errors import InvalidInputError
from tenure.ledger.ledger import Ledger
from tenure.model.execution import ExecutionRecord

LIMIT: Final = 20
_PAGE: Final = 500


async def ls(
    *,
    all_: Annotated[Flag, Parameter(name="--all")] = False,
    running: Flag = False,
    concluded: Flag = False,
    limit: int = LIMIT,
    common: Common = Common(),  # noqa: B008 - it is frozen
) -> int:
    """List executions, newest first.

    Args:
        all_: All of them, instead of the newest.
        running: Only those that have not ended.
        concluded: Only those that have ended.
        limit: How many, at most.
        common: Options of every command.
    """
    if running and concluded:
        raise InvalidInputError(
            field="--running", given="together with --concluded", allowed="one of the two"
        )
    if limit < 1:
        raise InvalidInputError(field="--limit", given=str(limit), allowed="1 or more")
    wanted = concluded if running or concluded else None
    async with open_existing(common) as ledger:
        found = await _list(ledger, concluded=wanted, limit=None if all_ else limit + 1)
        has_more = not all_ and len(found) > limit
        sightings = [
            await sight(ledger, execution) for execution in found[: None if all_ else limit]
        ]
        now = await ledger.now()
        if common.json:
            put_json(
                {
                    "ledgerUrl": ledger.url,
                    "now": now,
                    "executions": [document_of(ledger, sighting) for sighting in sightings],
                    "hasMore": has_more,
                }
            )
            return OK
        put(_render(sightings, now))
        more = ", there are more (--all)" if has_more else ""
        noun = "execution" if len(sightings) == 1 else "executions"
        put(f"{len(sightings)} {noun} in {ledger.url}{more}")
    return OK


async def _list(
    ledger: Ledger, *, concluded: bool | None, limit: int | None
) -> Sequence[ExecutionRecord]:
    found: list[ExecutionRecord] = []
    while limit is None or len(found) < limit:
        size = _PAGE if limit is None else min(_PAGE, limit - len(found))
        after = found[-1] if found else None
        page = await ledger.list_executions(concluded=concluded, after=after, limit=size)
        found.extend(page)
        if len(page) < size:
            break
    return found


def _render(sightings: Sequence[Sighting], now: datetime) -> str:
    rows = [
        (
            sighting.execution.execution_id,
            sighting.state,
            _age(sighting, now),
            _about(sighting, now),
            describe_command(sighting.execution),
        )
        for sighting in sightings
    ]
    return render_table(("EXECUTION", "STATE", "SUBMITTED", "END", "COMMAND"), rows)


def _age(sighting: Sighting, now: datetime) -> str:
    at = sighting.execution.submitted_at
    return "" if at is None else render_relative(at, now=now)


def _about(sighting: Sighting, now: datetime) -> str:
    execution, end = sighting.execution, sighting.end
    attempts = describe_attempts(execution)
    if end is not None:
        told = describe_end(end, None)
        return f"{told} (attempts: {attempts})" if execution.attempt_count > 1 else told
    if execution.next_attempt_at is None:
        return f"attempt {attempts}" if attempts and execution.attempt_count else ""
    return f"attempts: {attempts}, next {render_relative(execution.next_attempt_at, now=now)}"
