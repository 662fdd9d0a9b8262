"""Run the command of one attempt and say how it ended, in the terms of the ledger."""

import os
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Final

import msgspec

from tenure.machine.host import boottime_ms
from tenure.model.json_value import JsonValue
from tenure.model.result import CompletedResult, FailedResult
from tenure.wire import attempt_folder
from tenure.wire.attempt_folder import AttemptRequest, Deadline
from tenure.worker.command import Command
from tenure.worker.failure import (
    render_exit,
    render_not_found,
    render_not_started,
    render_signal,
    render_timeout,
)
from tenure.worker.log import log
from tenure.worker.orphan import Orphans
from tenure.worker.output import read_tail
from tenure.worker.stopping import StopRequest

LOOK_SECONDS: Final = 30.0


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What to run, and where."""

    folder: Path
    lock_descriptor: int
    """Inherited by the command, so that the lock is held as long as anything of it runs."""
    request: AttemptRequest
    environment: Mapping[str, str]
    """The agent's own."""
    stop_grace_seconds: float


class _Cause(Enum):
    ENDED = "the command ended"
    DEADLINE = "the deadline came"
    STOPPED = "a SIGTERM came"


def run_work(
    work: Work, stop: StopRequest, orphans: Orphans
) -> CompletedResult | FailedResult | None:
    """Run the command to its end, to its deadline, or until a stop is requested.

    A command that ended by itself has its result, also if a stop was requested in the same instant.

    Returns:
        None when it was stopped, or never started, because of the request.
    """
    deadline = work.request.deadline
    if stop:
        return None
    if deadline is not None and _remaining_seconds(deadline) <= 0:
        return _failed(work, render_timeout(deadline.timeout_ms))
    try:
        command = _start(work)
    except (OSError, ValueError) as exc:
        return _failed(work, _explain(exc, work))
    with orphans.reaped_but(command.pid):
        cause = _watch(command, stop, deadline)
        if cause is not _Cause.ENDED:
            log(f"stopping the command: {cause.value}")
            command.stop(grace_seconds=work.stop_grace_seconds)
        status, seconds = command.reap(), command.seconds
    return _judge(work, cause, status, seconds)


def _judge(
    work: Work, cause: _Cause, status: int, seconds: float
) -> CompletedResult | FailedResult | None:
    if cause is _Cause.STOPPED:
        return None
    if cause is _Cause.DEADLINE:
        assert work.request.deadline is not None
        return _failed(work, render_timeout(work.request.deadline.timeout_ms))
    if status == 0:
        return _completed(work, seconds)
    if status < 0:
        return _failed(work, render_signal(-status, seconds=seconds))
    return _failed(work, render_exit(status, seconds=seconds))


def _start(work: Work) -> Command:
    request = work.request
    own = {attempt_folder.FOLDER_VARIABLE, attempt_folder.LOCK_VARIABLE}
    environment = {name: value for name, value in work.environment.items() if name not in own}
    environment |= {
        attempt_folder.MARK_VARIABLE: request.mark,
        attempt_folder.EXECUTION_VARIABLE: request.execution_id,
        attempt_folder.ATTEMPT_VARIABLE: request.execution_attempt_id,
    }
    return Command.start(
        request.instruction.command,
        cwd=request.instruction.cwd,
        environment=environment,
        output=work.folder / attempt_folder.OUTPUT_FILE,
        kept_descriptors=(work.lock_descriptor,),
    )


def _watch(command: Command, stop: StopRequest, deadline: Deadline | None) -> _Cause:
    while True:
        remaining = None if deadline is None else _remaining_seconds(deadline)
        is_requested = bool(stop)  # before the look: what is requested after the end came too late
        if command.has_ended():
            return _Cause.ENDED
        if is_requested:
            return _Cause.STOPPED
        if remaining is not None and remaining <= 0:
            return _Cause.DEADLINE
        # Waiting does not count a suspended machine's time, the deadline does: look now and then.
        timeout = None if remaining is None else min(remaining, LOOK_SECONDS)
        stop.wait(command.fileno(), timeout_seconds=timeout)


def _remaining_seconds(deadline: Deadline) -> float:
    return (deadline.begun_boot_ms + deadline.remaining_ms - boottime_ms()) / 1000


def _explain(exc: OSError | ValueError, work: Work) -> str:
    instruction = work.request.instruction
    program = instruction.command[0]
    if not isinstance(exc, OSError):
        return render_not_started(f"cannot run {program!r}: {exc}")
    if exc.filename == instruction.cwd:
        return render_not_started(f"cannot enter folder {instruction.cwd!r}: {exc.strerror}")
    if str(exc.filename) == str(work.folder / attempt_folder.OUTPUT_FILE):
        return render_not_started(f"cannot write {exc.filename}: {exc.strerror}")
    if exc.filename == program and not _exists(program, exc, work.environment):
        return render_not_found(program)
    return render_not_started(f"cannot run {program!r}: {exc.strerror}")


def _exists(program: str, exc: OSError, environment: Mapping[str, str]) -> bool:
    # A folder of the path that may not be entered is told as a refusal, also of what is nowhere.
    if isinstance(exc, PermissionError) and "/" not in program:
        folders = environment.get("PATH", os.defpath).split(os.pathsep)
        return any(os.path.lexists(f"{folder}/{program}") for folder in folders)
    return not isinstance(exc, FileNotFoundError)


def _completed(work: Work, seconds: float) -> CompletedResult:
    artifact: dict[str, JsonValue] = {"exitCode": 0, "durationSeconds": round(seconds, 3)}
    if work.request.instruction.capture_tail:
        artifact["outputTail"] = read_tail(work.folder / attempt_folder.OUTPUT_FILE)
    return CompletedResult(
        execution_id=work.request.execution_id,
        workflow_id=work.request.workflow_id,
        artifact=artifact,
    )


def _failed(work: Work, told: str) -> FailedResult:
    tail: list[str] = []
    if work.request.instruction.capture_tail:
        tail = read_tail(work.folder / attempt_folder.OUTPUT_FILE)
    return FailedResult(
        execution_id=work.request.execution_id,
        workflow_id=work.request.workflow_id,
        error="\n".join([told, *tail]),
    )
