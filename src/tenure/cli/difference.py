"""Saying in which members a submission differs from the one that its id names already."""

from typing import Final

from tenure.model.execution import ExecutionSubmission, submission_to_json
from tenure.model.json_value import JsonValue
from tenure.wire.json_text import dump_json

_SHOWN_LENGTH: Final = 80
_NAMES: Final = {
    "command": "the command",
    "cwd": "the folder",
    "workflowId": "the workflow",
    "providerIds": "--provider",
    "attemptsMax": "--attempts",
    "attemptTimeoutMs": "--timeout (ms)",
    "retryFailed": "--retry-failed",
    "retryDelayMs": "--retry-delay (ms)",
    "retryDelayMsMax": "the longest retry delay (ms)",
    "labels": "the labels",
}


def describe_difference(existing: ExecutionSubmission, given: ExecutionSubmission) -> str:
    """Name each member that differs, with what it is there and here."""
    there, here = _members(existing), _members(given)
    return ", ".join(
        f"{_NAMES.get(name, name)} ({_show(there.get(name))} there, {_show(here.get(name))} here)"
        for name in sorted({*there, *here})
        if there.get(name) != here.get(name)
    )


def _members(submission: ExecutionSubmission) -> dict[str, JsonValue]:
    members = submission_to_json(submission)
    instruction = members.pop("instruction")
    return {**members, **instruction} if isinstance(instruction, dict) else members


def _show(value: JsonValue) -> str:
    text = "none" if value is None else dump_json(value)
    return text if len(text) <= _SHOWN_LENGTH else text[:_SHOWN_LENGTH] + "…"
