"""The attempt folder: what a local provider and the agent that it starts leave for each other.

The folder is private (0700, files 0600). Its lock is taken by the provider, inherited by the agent
and by everything that the command starts: held means that something of the attempt exists.
"""

from typing import Final

import msgspec

from tenure.errors import InvalidInputError
from tenure.model.identifier import check_identifier
from tenure.model.json_value import (
    ENVELOPE_DEPTH_MAX,
    JSON_DEPTH_MAX,
    decode_json,
    encode_json,
)
from tenure.model.text import describe, is_unicode

LOCK_FILE: Final = "lock"
"""Held by everybody who belongs to the attempt. Never deleted while the folder exists."""
REQUEST_FILE: Final = "request.json"
"""Written by the provider before it starts the agent."""
TOMBSTONE_FILE: Final = "tombstone.json"
"""Written under the lock by who proved that there is no agent; no agent may start after it."""
AGENT_FILE: Final = "agent.json"
"""The agent's process identity, written before it starts the command."""
AGENT_LOG_FILE: Final = "agent.log"
OUTPUT_FILE: Final = "output.log"
"""The command's standard output and standard error, as they came."""
OUTCOME_FILE: Final = "outcome.json"
"""The spool."""

FOLDER_VARIABLE: Final = "TENURE_ATTEMPT_FOLDER"
"""Only the agent has it: its absolute path."""
LOCK_VARIABLE: Final = "TENURE_ATTEMPT_LOCK"
"""Only the agent has it: the number of the descriptor that holds the lock."""
MARK_VARIABLE: Final = "TENURE_MARK"
EXECUTION_VARIABLE: Final = "TENURE_EXECUTION_ID"
ATTEMPT_VARIABLE: Final = "TENURE_EXECUTION_ATTEMPT_ID"

REQUEST_BYTES_MAX: Final = 2 * 1024 * 1024
COMMAND_BYTES_MAX: Final = 1024 * 1024
"""Most bytes of a command with its arguments; the kernel's own limit is about twice that."""

_REQUEST_VERSION: Final = 1
_MILLISECONDS_MAX: Final = 2**53 - 1
_REQUEST_MEMBERS: Final = frozenset(
    {
        "version",
        "executionId",
        "executionAttemptId",
        "workflowId",
        "mark",
        "ledgerUrl",
        "instruction",
        "deadline",
        "lock",
    }
)
_LOCK_MEMBERS: Final = frozenset({"device", "inode"})
_DEADLINE_MEMBERS: Final = frozenset({"begunBootMs", "remainingMs", "timeoutMs"})


class Instruction(msgspec.Struct, frozen=True, kw_only=True):
    """What a local worker has to run."""

    command: tuple[str, ...]
    """Program and arguments; never a shell's text."""
    cwd: str
    """Absolute path of the folder to run in."""
    capture_tail: bool = True
    """Whether the last lines of output go into the result."""


class Deadline(msgspec.Struct, frozen=True, kw_only=True):
    """When the work must stop, told without any wall clock."""

    begun_boot_ms: int
    """The host's boot-time clock when `remaining_ms` was computed."""
    remaining_ms: int
    """What was left then, on the ledger's clock; 0 when it was over."""
    timeout_ms: int
    """The whole span from begin to deadline, for messages."""


class LockIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """Which lock file was taken for the attempt; another one under the same name proves nothing."""

    device: int
    inode: int


class AttemptRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that an agent is told."""

    execution_id: str
    execution_attempt_id: str
    workflow_id: str
    mark: str
    ledger_url: str
    instruction: Instruction
    deadline: Deadline | None
    lock: LockIdentity


def instruction_from_json(value: object, *, field: str) -> Instruction:
    """Check an instruction: exactly `command`, `cwd` and optionally `captureTail`.

    Raises:
        InvalidInputError: a missing, foreign or malformed member.
    """
    required, optional = {"command", "cwd"}, {"captureTail"}
    if not isinstance(value, dict) or not required <= value.keys() <= required | optional:
        given = describe(", ".join(map(str, value))) if isinstance(value, dict) else describe(value)
        allowed = "an object of command, cwd and optionally captureTail"
        raise InvalidInputError(field=field, given=given, allowed=allowed)
    capture_tail = value.get("captureTail", True)
    if type(capture_tail) is not bool:
        given = describe(capture_tail)
        raise InvalidInputError(field=f"{field}.captureTail", given=given, allowed="true or false")
    return Instruction(
        command=_checked_command(value["command"], field=f"{field}.command"),
        cwd=_checked_cwd(value["cwd"], field=f"{field}.cwd"),
        capture_tail=capture_tail,
    )


def instruction_to_json(instruction: Instruction) -> dict[str, object]:
    """Make the JSON form."""
    return {
        "command": list(instruction.command),
        "cwd": instruction.cwd,
        "captureTail": instruction.capture_tail,
    }


def encode_request(request: AttemptRequest) -> bytes:
    """Encode a request whose parts were checked."""
    deadline = request.deadline
    members = {
        "version": _REQUEST_VERSION,
        "executionId": request.execution_id,
        "executionAttemptId": request.execution_attempt_id,
        "workflowId": request.workflow_id,
        "mark": request.mark,
        "ledgerUrl": request.ledger_url,
        "instruction": instruction_to_json(request.instruction),
        "deadline": None
        if deadline is None
        else {
            "begunBootMs": deadline.begun_boot_ms,
            "remainingMs": deadline.remaining_ms,
            "timeoutMs": deadline.timeout_ms,
        },
        "lock": {"device": request.lock.device, "inode": request.lock.inode},
    }
    depth_max = JSON_DEPTH_MAX + ENVELOPE_DEPTH_MAX
    text = encode_json(members, field="request", bytes_max=REQUEST_BYTES_MAX, depth_max=depth_max)
    return text.encode()


def decode_request(data: bytes) -> AttemptRequest:
    """Read what `encode_request` wrote.

    Raises:
        ValueError: anything else.
    """
    if len(data) > REQUEST_BYTES_MAX:
        raise InvalidInputError(
            field="request", given=f"{len(data)} bytes", allowed=f"at most {REQUEST_BYTES_MAX}"
        )
    value = _object(decode_json(data.decode()), _REQUEST_MEMBERS, field="request")
    if type(value["version"]) is not int or value["version"] != _REQUEST_VERSION:
        given = describe(value["version"])
        allowed = str(_REQUEST_VERSION)
        raise InvalidInputError(field="request.version", given=given, allowed=allowed)
    return AttemptRequest(
        execution_id=check_identifier(value["executionId"], field="executionId"),
        execution_attempt_id=check_identifier(
            value["executionAttemptId"], field="executionAttemptId"
        ),
        workflow_id=_text(value["workflowId"], field="workflowId"),
        mark=_text(value["mark"], field="mark"),
        ledger_url=_text(value["ledgerUrl"], field="ledgerUrl"),
        instruction=instruction_from_json(value["instruction"], field="instruction"),
        deadline=_deadline(value["deadline"]),
        lock=_lock(value["lock"]),
    )


def _deadline(value: object) -> Deadline | None:
    if value is None:
        return None
    members = _object(value, _DEADLINE_MEMBERS, field="deadline")
    return Deadline(
        begun_boot_ms=_milliseconds(members["begunBootMs"], field="deadline.begunBootMs"),
        remaining_ms=_milliseconds(members["remainingMs"], field="deadline.remainingMs"),
        timeout_ms=_milliseconds(members["timeoutMs"], field="deadline.timeoutMs"),
    )


def _lock(value: object) -> LockIdentity:
    members = _object(value, _LOCK_MEMBERS, field="lock")
    device, inode = members["device"], members["inode"]
    if type(device) is not int or type(inode) is not int:
        raise InvalidInputError(field="lock", given=describe(value), allowed="two integers")
    return LockIdentity(device=device, inode=inode)


def _object(value: object, members: frozenset[str], *, field: str) -> dict[str, object]:
    if not isinstance(value, dict) or value.keys() != members:
        allowed = "an object of exactly " + ", ".join(sorted(members))
        raise InvalidInputError(field=field, given=describe(value), allowed=allowed)
    return value


def _milliseconds(value: object, *, field: str) -> int:
    if type(value) is int and 0 <= value <= _MILLISECONDS_MAX:
        return value
    allowed = f"0 to {_MILLISECONDS_MAX}"
    raise InvalidInputError(field=field, given=describe(value), allowed=allowed)


def _text(value: object, *, field: str) -> str:
    if type(value) is str and value and is_unicode(value):
        return value
    raise InvalidInputError(field=field, given=describe(value), allowed="a non-empty string")


def _checked_command(value: object, *, field: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value:
        given = "an empty list" if value in ([], ()) else describe(value)
        raise InvalidInputError(field=field, given=given, allowed="a non-empty list of strings")
    for index, part in enumerate(value):
        if type(part) is not str or "\0" in part or not is_unicode(part):
            allowed = "a string of valid Unicode without U+0000"
            raise InvalidInputError(
                field=f"{field}[{index}]", given=describe(part), allowed=allowed
            )
    if not value[0]:
        allowed = "a program's name or path"
        raise InvalidInputError(field=f"{field}[0]", given="''", allowed=allowed)
    size = sum(len(part.encode()) + 1 for part in value)
    if size > COMMAND_BYTES_MAX:
        allowed = f"at most {COMMAND_BYTES_MAX} bytes"
        raise InvalidInputError(field=field, given=f"{size} bytes", allowed=allowed)
    return tuple(value)


def _checked_cwd(value: object, *, field: str) -> str:
    if type(value) is str and value.startswith("/") and "\0" not in value and is_unicode(value):
        return value
    allowed = "an absolute path of valid Unicode without U+0000"
    raise InvalidInputError(field=field, given=describe(value), allowed=allowed)
