"""``tenure run``: run a command, wait for it, and exit as it did."""

import secrets
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from tenure.authority.dispatch import Dispatch
from tenure.cli.exit_code import OK, SIGNAL_BASE, TENURE
from tenure.cli.host import Host, open_host
from tenure.cli.opening import hint
from tenure.cli.options import Common, Duration, Flag
from tenure.cli.reporting import report_end, report_running
from tenure.cli.signals import Signals, catching_signals
from tenure.cli.terminal import Terminal
from tenure.cli.view import document_of, exit_code_of, sight
from tenure.cli.waiting import Waiting
from tenure.cli.writing import put, put_json
from tenure.errors import InvalidInputError
from tenure.ledger.intake import Limits
from tenure.model.execution import ExecutionSubmission, encode_submission
from tenure.model.identifier import check_identifier
from tenure.model.text import describe, is_unicode

WORKFLOW_ID: Final = "run"
_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_ID_LENGTH: Final = 10
"""Fifty bits: of a million executions in one ledger, two have the same by a chance of 1 : 2000."""


async def run(
    *command: str,
    provider: str = "detached",
    timeout_seconds: Annotated[Duration | None, Parameter(name="--timeout")] = None,
    detach: Flag = False,
    execution_id: Annotated[str | None, Parameter(name="--id")] = None,
    no_tail: Flag = False,
    common: Common = Common(),  # noqa: B008 - it is frozen
) -> int:
    """Run a command, pass its output on, and exit as it did.

    The command survives this process: whatever ends it, `tenure wait` goes on where it stopped.
    The ledger is made if it does not exist.

    Args:
        command: The program and its arguments, after `--`. No shell is involved, its input is
            empty, and it runs in the current folder with the current environment.
        provider: Where to run it.
        timeout_seconds: Stop the command when it has taken so long: seconds, or as
            500ms, 90s, 5m, 2h.
        detach: Print the execution's id and return as soon as the command has been started.
        execution_id: The execution's id, instead of a generated one. With an id that exists, the
            same command is not run again but waited for.
        no_tail: Do not pass the command's output on.
        common: Options of every command.
    """
    execution_id = check_identifier(
        _draw_id() if execution_id is None else execution_id, field="--id"
    )
    submission = _submission(command, provider=provider, timeout_seconds=timeout_seconds)
    async with (
        open_host(common, create=True) as host,
        Terminal() as terminal,
        catching_signals() as signals,
    ):
        running = _Run(host, terminal, signals, execution_id)
        await signals.run_until_second_signal(lambda: running.start(submission))
        if signals.caught is not None:
            return await running.stop()
        if detach:
            return await running.leave(json=common.json)
        return await running.wait(output=not no_tail, json=common.json)


class _Run:
    """One execution of this process."""

    def __init__(self, host: Host, terminal: Terminal, signals: Signals, execution_id: str) -> None:
        self._host = host
        self._terminal = terminal
        self._signals = signals
        self._execution_id = execution_id
        self._dispatch: Dispatch | None = None

    async def start(self, submission: ExecutionSubmission) -> None:
        """Submit and dispatch: from here on the command runs, whatever becomes of us."""
        authority = self._host.authority
        await authority.submit(execution_id=self._execution_id, submission=submission)
        self._dispatch = await authority.dispatch(execution_id=self._execution_id)
        await self._terminal.say(f"{self._execution_id} started in {self._host.ledger.url}")

    async def stop(self) -> int:
        """Leave after a signal that came while it was being started."""
        assert self._signals.caught is not None
        await self._hand_off(f"stopped by {self._signals.caught.name}")
        execution = await self._host.ledger.get_execution(execution_id=self._execution_id)
        if execution is None:
            await self._terminal.say("nothing was started")
        else:
            await self._say_it_goes_on("may be running")
        return SIGNAL_BASE + self._signals.caught

    async def leave(self, *, json: bool) -> int:
        """Let the claim go and say what was started."""
        end = await self._host.authority.find_end(execution_id=self._execution_id)
        if end is not None and exit_code_of(end) == TENURE:
            return await report_end(
                self._terminal, self._host.ledger, end, json=json, has_leftovers=False
            )
        await self._hand_off("left to run detached")
        await self._put_started(json=json)
        return OK

    async def wait(self, *, output: bool, json: bool) -> int:
        """Wait for the end, or for a signal."""
        waiting = Waiting(self._host, self._terminal, self._execution_id)
        try:
            await self._signals.run_until_signal(
                lambda: waiting.run(dispatch=self._dispatch, output=output and not json)
            )
        except Exception:
            await self._say_it_goes_on("may still be running")
            raise
        code = OK
        if waiting.end is None:
            await self._say_it_goes_on("goes on")
        else:
            code = await report_end(
                self._terminal,
                self._host.ledger,
                waiting.end,
                json=json,
                has_leftovers=waiting.has_leftovers,
            )
        return code if self._signals.caught is None else SIGNAL_BASE + self._signals.caught

    async def _hand_off(self, reason: str) -> None:
        if self._dispatch is not None:
            await self._host.authority.hand_off(self._dispatch, reason=reason)

    async def _put_started(self, *, json: bool) -> None:
        ledger = self._host.ledger
        execution = await ledger.get_execution(execution_id=self._execution_id)
        assert execution is not None
        sighting = await sight(ledger, execution)
        if sighting.state == "starting":
            doubt = hint("recover", None, url=ledger.url)
            await self._terminal.say(f"it is not known yet whether it started; see `{doubt}`")
        if json:
            put_json(document_of(ledger, sighting))
        else:
            put(self._execution_id)

    async def _say_it_goes_on(self, how: str) -> None:
        await report_running(self._terminal, self._host.ledger, self._execution_id, how)


def _submission(
    command: tuple[str, ...], *, provider: str, timeout_seconds: float | None
) -> ExecutionSubmission:
    if not command:
        allowed = "a program and its arguments, after `--`"
        raise InvalidInputError(field="command", given="nothing", allowed=allowed)
    for word in command:
        if not is_unicode(word):
            raise InvalidInputError(field="command", given=describe(word), allowed="text in UTF-8")
    submission = ExecutionSubmission(
        workflow_id=WORKFLOW_ID,
        instruction={"command": list(command), "cwd": _current_folder()},
        provider_ids=(provider,),
        attempt_timeout_ms=_milliseconds(timeout_seconds),
    )
    encode_submission(submission, field="run", bytes_max=Limits().submission_bytes_max)
    return submission


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else max(1, round(seconds * 1000))


def _current_folder() -> str:
    try:
        return str(Path.cwd())
    except OSError as exc:
        given = f"none ({exc.strerror})"
        allowed = "a folder to run the command in"
        raise InvalidInputError(field="current folder", given=given, allowed=allowed) from exc


def _draw_id() -> str:
    return "run-" + "".join(secrets.choice(_ALPHABET) for _ in range(_ID_LENGTH))
