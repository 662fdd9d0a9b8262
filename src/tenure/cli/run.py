"""``tenure run``: run a command, wait for it, and exit as it did."""

import secrets
import shlex
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from tenure.cli.exit_code import NOT_FOUND
from tenure.cli.host import open_host
from tenure.cli.options import Common, Duration, Flag
from tenure.cli.running import Running, is_process_bound, refuse_detaching
from tenure.cli.signals import catching_signals
from tenure.cli.terminal import Terminal
from tenure.errors import InvalidInputError
from tenure.ledger.intake import Limits
from tenure.model.execution import ATTEMPTS_MAX, ExecutionSubmission, encode_submission
from tenure.model.identifier import check_identifier
from tenure.model.text import describe, is_unicode

WORKFLOW_ID: Final = "run"
DELAY_MS: Final = 1_000
DELAY_MS_MAX: Final = 60_000
"""Longest delay between two attempts, unless the first one is to be longer."""
_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_ID_LENGTH: Final = 10
"""Fifty bits: of a million executions in one ledger, two have the same by a chance of 1 : 2000."""


async def run(
    *command: str,
    provider: str = "detached",
    timeout_seconds: Annotated[Duration | None, Parameter(name="--timeout")] = None,
    attempts: Annotated[int, Parameter(metavar="N")] = 1,
    retry_failed: Flag = False,
    retry_delay: Duration | None = None,
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
        provider: Where to run it. detached: on this machine, surviving this process. process: on
            this machine, ending with this process. Other packages may offer more.
        timeout_seconds: Stop the command when it has taken so long, with SIGTERM, and 5 seconds
            later with SIGKILL: seconds, or as 500ms, 90s, 5m, 2h.
        attempts: How many attempts may be made in all, where infrastructure fails.
        retry_failed: Make a further attempt also when the command itself has failed.
        retry_delay: How long after the first attempt the second may begin; doubled each time.
        detach: Print the execution's id and return as soon as the command has been started.
        execution_id: The execution's id, instead of a generated one. With an id that exists, the
            same command is not run again but waited for.
        no_tail: Do not pass the command's output on.
        common: Options of every command.
    """
    execution_id = check_identifier(
        _draw_id() if execution_id is None else execution_id, field="--id"
    )
    submission = _submission(
        command,
        provider=provider,
        timeout_seconds=timeout_seconds,
        attempts=attempts,
        retry_failed=retry_failed,
        retry_delay=retry_delay,
    )
    async with (
        open_host(common, create=True) as host,
        Terminal() as terminal,
        catching_signals() as signals,
    ):
        is_bound = is_process_bound(host, provider)
        if is_bound and detach:
            refuse_detaching(provider)
        running = Running(host, terminal, signals, execution_id, is_bound=is_bound)
        code = await running.run(
            lambda: running.submit(submission),
            detach=detach,
            output=not no_tail,
            json=common.json,
        )
        if code == NOT_FOUND and any(map(str.isspace, command[0])):
            words = shlex.join(["tenure", "run", "--", *command[0].split()])
            await terminal.say(f"no shell is involved; each word stands by itself: `{words}`")
    return code


def _submission(
    command: tuple[str, ...],
    *,
    provider: str,
    timeout_seconds: float | None,
    attempts: int,
    retry_failed: bool,
    retry_delay: float | None,
) -> ExecutionSubmission:
    _check_command(command)
    if not 1 <= attempts <= ATTEMPTS_MAX:
        allowed = f"a number from 1 to {ATTEMPTS_MAX}"
        raise InvalidInputError(field="--attempts", given=str(attempts), allowed=allowed)
    delay_ms = _milliseconds(retry_delay) or DELAY_MS
    submission = ExecutionSubmission(
        workflow_id=WORKFLOW_ID,
        instruction={"command": list(command), "cwd": _current_folder()},
        provider_ids=(provider,),
        attempts_max=attempts,
        attempt_timeout_ms=_milliseconds(timeout_seconds),
        retry_failed=retry_failed,
        retry_delay_ms=delay_ms,
        retry_delay_ms_max=max(delay_ms, DELAY_MS_MAX),
    )
    encode_submission(submission, field="run", bytes_max=Limits().submission_bytes_max)
    return submission


def _check_command(command: tuple[str, ...]) -> None:
    if not command:
        allowed = "a program and its arguments, after `--`"
        raise InvalidInputError(field="command", given="nothing", allowed=allowed)
    if command[0] == "--":
        allowed = "a program and its arguments after one `--`"
        raise InvalidInputError(field="command", given="a second `--`", allowed=allowed)
    for word in command:
        if not is_unicode(word):
            raise InvalidInputError(field="command", given=describe(word), allowed="text in UTF-8")


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
