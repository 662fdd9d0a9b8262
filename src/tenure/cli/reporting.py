"""Saying how a wait ended: a line for people, a document for programs, a code for the shell."""

from tenure.authority.authority import ExecutionEnd
from tenure.cli.opening import hint
from tenure.cli.terminal import Terminal
from tenure.cli.view import describe_end, document_of, exit_code_of, find_last_evidence, sight
from tenure.cli.writing import put_json
from tenure.ledger.ledger import Ledger


async def report_end(
    terminal: Terminal, ledger: Ledger, end: ExecutionEnd, *, json: bool, has_leftovers: bool
) -> int:
    """Report an end, and return the exit code that tells it."""
    execution_id = end.execution.execution_id
    evidence = await find_last_evidence(ledger, end)
    more = hint("show", execution_id, url=ledger.url)
    await terminal.say(f"{execution_id} {describe_end(end, evidence)} ({more})")
    if has_leftovers:
        look = hint("owed", None, url=ledger.url)
        await terminal.say(f"something that it left behind may still be running ({look})")
    if json:
        execution = await ledger.get_execution(execution_id=execution_id)
        put_json(document_of(ledger, await sight(ledger, execution or end.execution), evidence))
    return exit_code_of(end)


async def report_running(terminal: Terminal, ledger: Ledger, execution_id: str, why: str) -> None:
    """Report that an execution goes on without us, and what one may do about it."""
    waiting = hint("wait", execution_id, url=ledger.url)
    cancelling = hint("cancel", execution_id, url=ledger.url)
    await terminal.say(f"{execution_id} {why}; `{waiting}` waits for it, `{cancelling}` ends it")
