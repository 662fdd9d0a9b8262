"""``tenure supersede``: another attempt in place of the active one."""

from typing import Final

import anyio

from tenure.authority.dispatch import provider_of
from tenure.cli.debt import describe_holder, judge
from tenure.cli.host import Host, open_host
from tenure.cli.opening import hint
from tenure.cli.options import Common, Flag
from tenure.cli.patience import patiently
from tenure.cli.running import Running, is_process_bound, refuse_detaching
from tenure.cli.signals import catching_signals
from tenure.cli.terminal import Terminal
from tenure.cli.writing import put
from tenure.errors import InvalidInputError
from tenure.model.execution import ExecutionRecord, ExecutionSubmission
from tenure.remediation.holding import find_open_work

WORK_OFF_SECONDS: Final = 60.0
"""How long the superseded attempt is worked off here; a later `tenure recover` goes on with it."""
LOOK_SECONDS: Final = 0.25


async def supersede(
    execution_id: str,
    /,
    *,
    detach: Flag = False,
    common: Common = Common(),  # noqa: B008 - it is frozen
) -> int:
    """Begin another attempt in place of the active one, which is ended.

    What the superseded attempt made is worked off, and an answer that it still gives counts no
    more. Then it waits as `tenure wait` does, and exits as the command did.

    Args:
        execution_id: Which execution.
        detach: Return as soon as the new attempt has been started and the old one is gone.
        common: Options of every command.
    """
    async with (
        open_host(common) as host,
        Terminal() as terminal,
        catching_signals() as signals,
    ):
        execution, submission = await _check(host, execution_id)
        provider_id = provider_of(submission, execution.attempt_count + 1)
        is_bound = is_process_bound(host, provider_id)
        if is_bound and detach:
            refuse_detaching(provider_id)
        running = Running(host, terminal, signals, execution_id, is_bound=is_bound)

        async def start() -> None:
            await running.supersede()
            await _tell_active(host, terminal, execution, json=common.json)

        async def work_off() -> None:
            if execution.active_attempt_id is not None:
                await _work_off(host, terminal, execution_id, execution.active_attempt_id)

        return await running.run(
            start, beside=work_off, detach=detach, output=False, json=common.json
        )


async def _check(host: Host, execution_id: str) -> tuple[ExecutionRecord, ExecutionSubmission]:
    """Read an execution whose active attempt may be superseded.

    Raises:
        InvalidInputError: it is unknown, has ended, or is to be cancelled.
    """
    execution = await host.ledger.get_execution(execution_id=execution_id)
    seen = None
    if execution is None or execution.submission is None:
        seen = f"which is not in ledger {host.ledger.url}"
    elif execution.conclusion is not None:
        seen = f"which has ended ({execution.conclusion})"
    elif execution.cancellation is not None:
        seen = "whose cancellation was requested"
    if seen is not None or execution is None or execution.submission is None:
        raise InvalidInputError(
            field="execution_id",
            given=f"{execution_id!r}, {seen}",
            allowed="the id of an execution that has not ended and is not to be cancelled",
        )
    return execution, execution.submission


async def _tell_active(
    host: Host, terminal: Terminal, before: ExecutionRecord, *, json: bool
) -> None:
    """Print which attempt is active now.

    Raises:
        InvalidInputError: it is still the one from before.
    """
    execution, _ = await _check(host, before.execution_id)
    active, count = execution.active_attempt_id, execution.attempt_count
    if active == before.active_attempt_id or active is None:
        raise InvalidInputError(
            field="execution_id",
            given=f"{before.execution_id!r}, whose active attempt could not be superseded",
            allowed="an execution that is looked at again: `tenure show` tells its state",
        )
    replaced = before.active_attempt_id or "none"
    await terminal.say(
        f"attempt {count} of {before.execution_id}, {active}, is active in place of {replaced}"
    )
    if not json:
        put(active)


async def _work_off(host: Host, terminal: Terminal, execution_id: str, attempt_id: str) -> None:
    """See that nothing is left of a superseded attempt, or that its holder sees to it."""
    controller, told = host.authority.controller, False

    async def look() -> bool:
        nonlocal told
        work = await find_open_work(host.ledger, execution_id, attempt_id)
        if work is None:
            return True
        reports = await controller.run_pass(execution_id=execution_id, due_only=False)
        held = [r for r in reports if r.execution_attempt_id == attempt_id and r.ending == "held"]
        if held and not told:
            told = True
            now = await host.ledger.now()
            holder = judge(work, host.witness, now, host.ledger.url).holder
            seen = describe_holder(work, holder, now)
            await terminal.say(f"the superseded attempt is held by {seen}; waiting")
        return False

    with anyio.move_on_after(WORK_OFF_SECONDS):
        while not await patiently(look, terminal.say):  # noqa: ASYNC110 - others' doing
            await anyio.sleep(LOOK_SECONDS)
        return
    recover = hint("recover", None, url=host.ledger.url)
    await terminal.say(f"the superseded attempt is not gone yet; `{recover}` goes on with it")
