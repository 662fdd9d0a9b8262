"""Workflow results: the one canonical answer that an attempt may commit."""

from typing import Any, ClassVar, Final, Literal, TypeAlias, cast

import msgspec

from tenure.errors import CorruptRecordError, InvalidInputError
from tenure.model.identifier import check_identifier
from tenure.model.json_value import (
    JsonObject,
    JsonText,
    JsonValue,
    check_member_names,
    decode_written,
    encode_json,
    same_json,
)
from tenure.model.text import describe, is_unicode

RESULT_BYTES_MAX: Final = 1024 * 1024
"""Default limit of a result, in bytes of JSON text."""


class CompletedResult(msgspec.Struct, frozen=True, kw_only=True):
    """The work was done."""

    status: ClassVar[Literal["completed"]] = "completed"
    execution_id: str
    workflow_id: str
    artifact: JsonObject | None = None
    """What the work produced: an opaque JSON object, kept as given, or absent."""


class FailedResult(msgspec.Struct, frozen=True, kw_only=True):
    """The work was tried and its own answer is that it failed."""

    status: ClassVar[Literal["failed"]] = "failed"
    execution_id: str
    workflow_id: str
    error: str
    """What failed; not empty."""


class CancelledResult(msgspec.Struct, frozen=True, kw_only=True):
    """The work was stopped because somebody durably asked for it."""

    status: ClassVar[Literal["cancelled"]] = "cancelled"
    execution_id: str
    workflow_id: str
    reason: str | None = None
    """Why; not empty, or absent."""


class PausedResult(msgspec.Struct, frozen=True, kw_only=True):
    """The work waits at a gate. An outcome like any other: resuming needs a new attempt."""

    status: ClassVar[Literal["paused"]] = "paused"
    execution_id: str
    workflow_id: str
    paused_at_gate_id: str
    paused_at_frame_id: str


WorkflowRunResult: TypeAlias = CompletedResult | FailedResult | CancelledResult | PausedResult

_VARIANTS: Final[dict[str, type[WorkflowRunResult]]] = {
    variant.status: variant
    for variant in (CompletedResult, FailedResult, CancelledResult, PausedResult)
}
_TYPES: Final = frozenset(_VARIANTS.values())
_JSON_NAMES: Final = {
    "execution_id": "executionId",
    "workflow_id": "workflowId",
    "artifact": "artifact",
    "error": "error",
    "reason": "reason",
    "paused_at_gate_id": "pausedAtGateId",
    "paused_at_frame_id": "pausedAtFrameId",
}
_OPTIONAL: Final = frozenset({"artifact", "reason"})
_NAMES: Final[dict[str, dict[str, str]]] = {
    status: {_JSON_NAMES[name]: name for name in variant.__struct_fields__}
    for status, variant in _VARIANTS.items()
}
"""Python names by JSON names, by status."""
_MAY_HAVE: Final = {status: _OPTIONAL & names.keys() for status, names in _NAMES.items()}
_MUST_HAVE: Final = {
    status: frozenset({"status", *names}) - _OPTIONAL for status, names in _NAMES.items()
}


def same_workflow_result(committed: WorkflowRunResult, candidate: WorkflowRunResult) -> bool:
    """Tell whether two results denote the same answer: equal as JSON values."""
    return same_json(result_to_json(committed), result_to_json(candidate))


def result_to_json(result: WorkflowRunResult) -> dict[str, JsonValue]:
    """Make the JSON form; an optional member without a value is absent."""
    members: dict[str, JsonValue] = {"status": result.status}
    for json_name, name in _NAMES[result.status].items():
        value = getattr(result, name)
        if value is not None or name not in _OPTIONAL:
            members[json_name] = value
    return members


def encode_result(value: object, *, field: str, bytes_max: int) -> JsonText:
    """Check a result and encode it in its JSON form; ``bytes_max`` bounds the whole text.

    Raises:
        InvalidInputError: another type, an empty or malformed member, or too large.
    """
    if type(value) not in _TYPES:
        allowed = ", ".join(variant.__name__ for variant in _VARIANTS.values())
        raise InvalidInputError(field=field, given=describe(value), allowed=allowed)
    result = cast("WorkflowRunResult", value)
    members = result_to_json(result)
    for json_name, name in _NAMES[result.status].items():
        if json_name in members:
            _check_member(name, members[json_name], field, name)
    return encode_json(members, field=field, bytes_max=bytes_max)


def result_from_json(value: object, *, field: str) -> WorkflowRunResult:
    """Build a result from its JSON form.

    Raises:
        InvalidInputError: an unknown status, a missing or foreign member, or null for an optional.
    """
    status = value.get("status") if isinstance(value, dict) else None
    if type(status) is not str or status not in _VARIANTS:
        allowed = "an object whose status is " + ", ".join(_VARIANTS)
        given = describe(status if isinstance(value, dict) else value)
        raise InvalidInputError(field=f"{field}.status", given=given, allowed=allowed)
    required, optional = _MUST_HAVE[status], _MAY_HAVE[status]
    members = check_member_names(value, required=required, optional=optional, field=field)
    arguments: dict[str, Any] = {}
    for json_name, name in _NAMES[status].items():
        if json_name in members:
            arguments[name] = members[json_name]
            _check_member(name, members[json_name], field, json_name)
    return _VARIANTS[status](**arguments)


def decode_result(text: str, *, record: str) -> WorkflowRunResult:
    """Decode a stored result; the caller gets a value of its own.

    Raises:
        CorruptRecordError: the stored text does not satisfy the contract.
    """
    try:
        return result_from_json(decode_written(text), field="result")
    except (ValueError, RecursionError) as exc:
        raise CorruptRecordError(record=record, seen=f"its result is unreadable: {exc}") from exc


def _check_member(name: str, value: object, field: str, shown: str) -> None:
    if name == "execution_id":
        check_identifier(value, field=f"{field}.{shown}")
        return
    allowed = "a non-empty string of valid Unicode"
    is_fine = type(value) is str and bool(value) and is_unicode(value)
    if name == "artifact":
        allowed = "a JSON object (dict), or absent"
        is_fine = type(value) is dict
    if not is_fine:
        raise InvalidInputError(field=f"{field}.{shown}", given=describe(value), allowed=allowed)
