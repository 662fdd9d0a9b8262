"""Executions: the durable promise to do one piece of work, and how it ended."""

from datetime import datetime
from typing import Final, Literal, TypeAlias

import msgspec

from tenure.errors import CorruptRecordError, InvalidInputError
from tenure.model.attempt import SettlementKind
from tenure.model.identifier import check_identifier
from tenure.model.instant import InstantMs, format_instant, parse_instant, to_datetime
from tenure.model.json_value import (
    JsonObject,
    JsonText,
    JsonValue,
    decode_json,
    encode_json,
)
from tenure.model.result import WorkflowRunResult
from tenure.model.text import describe, is_unicode, utf16_length

Conclusion: TypeAlias = Literal["outcome", "exhausted", "cancelled"]
"""``outcome``: an answer was committed. ``exhausted``: no attempt is left. ``cancelled``: it was
asked for, and no answer came first."""

SUBMISSION_BYTES_MAX: Final = 1024 * 1024
"""Default limit of a submission, in bytes of JSON text."""
ATTEMPTS_MAX: Final = 1000
"""Most attempts that one execution may be given."""
ATTEMPT_TIMEOUT_MS_MAX: Final = 10 * 365 * 24 * 3600 * 1000
"""Longest deadline of an attempt: ten years."""
RETRY_DELAY_MS_MAX: Final = 30 * 24 * 3600 * 1000
"""Longest delay before a retry: thirty days."""
PROVIDER_CANDIDATES_MAX: Final = 64
"""Most candidate providers of one execution."""
REASON_UNITS_MAX: Final = 512
"""Longest reason of a cancellation, in UTF-16 code units."""


class ExecutionSubmission(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for; frozen with the execution."""

    workflow_id: str
    """Names the kind of work; goes into every result. Not empty."""
    instruction: JsonObject
    """What the provider's worker has to do; opaque here. Holds no secret."""
    provider_ids: tuple[str, ...]
    """Candidates, in the order in which attempts use them; at least one."""
    attempts_max: int = 1
    """How many attempts may be made in all."""
    attempt_timeout_ms: int | None = None
    """How long one attempt may take from its begin, in milliseconds; null: no deadline."""
    retry_failed: bool = False
    """Whether a ``failed`` answer is retried, too; lost infrastructure and absence always are."""
    retry_delay_ms: int = 1_000
    """How long after the first attempt's end the second may begin; doubled for each further one."""
    retry_delay_ms_max: int = 60_000
    """Longest such delay."""
    labels: JsonObject = msgspec.field(default_factory=dict)
    """The host's own labels, string to string."""


class CancellationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The first request to cancel; later ones change nothing."""

    requested_at: datetime
    requested_by: str
    reason: str | None


class ExecutionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One execution as the ledger holds it."""

    execution_id: str
    active_attempt_id: str | None
    """The attempt whose answer counts; a settled one stays active until it is replaced."""
    attempt_count: int
    submission: ExecutionSubmission | None
    """Null when its attempts were created without one."""
    submitted_at: datetime | None
    submitted_by: str | None
    """The process incarnation that submitted it."""
    cancellation: CancellationRecord | None
    conclusion: Conclusion | None
    concluded_at: datetime | None
    converged_at: datetime | None
    """When its host took the conclusion over."""
    next_attempt_at: datetime | None
    """Not before this instant may the next attempt begin; null when none is due."""


class SettlementRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How one attempt settled."""

    execution_attempt_id: str
    execution_id: str
    settlement_kind: SettlementKind
    settled_at: datetime
    result: WorkflowRunResult | None
    """The committed result when the kind is ``outcome``."""


def encode_submission(value: object, *, field: str, bytes_max: int) -> JsonText:
    """Check a submission and encode it in its JSON form; ``bytes_max`` bounds the whole text.

    Raises:
        InvalidInputError: another type, or a member outside its bounds.
    """
    if type(value) is not ExecutionSubmission:
        raise InvalidInputError(field=field, given=describe(value), allowed="ExecutionSubmission")
    _check_submission(value, field)
    return encode_json(submission_to_json(value), field=field, bytes_max=bytes_max)


def submission_to_json(submission: ExecutionSubmission) -> dict[str, JsonValue]:
    """Make the JSON form of a submission."""
    return {
        "workflowId": submission.workflow_id,
        "instruction": submission.instruction,
        "providerIds": list(submission.provider_ids),
        "attemptsMax": submission.attempts_max,
        "attemptTimeoutMs": submission.attempt_timeout_ms,
        "retryFailed": submission.retry_failed,
        "retryDelayMs": submission.retry_delay_ms,
        "retryDelayMsMax": submission.retry_delay_ms_max,
        "labels": submission.labels,
    }


def submission_from_json(value: object, *, field: str) -> ExecutionSubmission:
    """Build a submission from its JSON form.

    Raises:
        InvalidInputError: a missing or further member, or one outside its bounds.
    """
    names = {
        "workflowId",
        "instruction",
        "providerIds",
        "attemptsMax",
        "attemptTimeoutMs",
        "retryFailed",
        "retryDelayMs",
        "retryDelayMsMax",
        "labels",
    }
    if not isinstance(value, dict) or set(value) != names:
        allowed = f"an object with {', '.join(sorted(names))}"
        raise InvalidInputError(field=field, given=describe(value), allowed=allowed)
    providers = value["providerIds"]
    submission = ExecutionSubmission(
        workflow_id=value["workflowId"],
        instruction=value["instruction"],
        provider_ids=tuple(providers) if isinstance(providers, list) else providers,
        attempts_max=value["attemptsMax"],
        attempt_timeout_ms=value["attemptTimeoutMs"],
        retry_failed=value["retryFailed"],
        retry_delay_ms=value["retryDelayMs"],
        retry_delay_ms_max=value["retryDelayMsMax"],
        labels=value["labels"],
    )
    _check_submission(submission, field)
    return submission


def decode_submission(text: str, *, record: str) -> ExecutionSubmission:
    """Decode a stored submission; the caller gets a value of its own.

    Raises:
        CorruptRecordError: the stored text does not satisfy the contract.
    """
    try:
        return submission_from_json(decode_json(text), field="submission")
    except (ValueError, RecursionError) as exc:
        seen = f"its submission is unreadable: {exc}"
        raise CorruptRecordError(record=record, seen=seen) from exc


def retry_delay_ms(submission: ExecutionSubmission, attempt_count: int) -> int:
    """How long to wait after the n-th attempt's end: doubled each time, capped, never random."""
    doublings = min(attempt_count - 1, 40)
    return min(submission.retry_delay_ms << doublings, submission.retry_delay_ms_max)


def encode_cancellation(cancellation: CancellationRecord) -> JsonText:
    """Encode a checked cancellation in its JSON form; ``reason`` is absent when there is none."""
    members: dict[str, JsonValue] = {
        "requestedAt": format_instant(cancellation.requested_at),
        "requestedBy": cancellation.requested_by,
    }
    if cancellation.reason is not None:
        members["reason"] = cancellation.reason
    return encode_json(members, field="cancellation", bytes_max=16 * 1024)


def decode_cancellation(text: str, *, record: str) -> CancellationRecord:
    """Decode a stored cancellation.

    Raises:
        CorruptRecordError: the stored text does not satisfy the contract.
    """
    try:
        members = decode_json(text)
        if not isinstance(members, dict):
            raise InvalidInputError(
                field="cancellation", given=describe(members), allowed="an object"
            )
        at = parse_instant(members.get("requestedAt"), field="requestedAt")
        by = check_identifier(members.get("requestedBy"), field="requestedBy")
        reason = check_reason(members.get("reason"), field="reason")
    except (ValueError, RecursionError) as exc:
        seen = f"its cancellation is unreadable: {exc}"
        raise CorruptRecordError(record=record, seen=seen) from exc
    return CancellationRecord(
        requested_at=to_datetime(InstantMs(at)), requested_by=by, reason=reason
    )


def check_reason(value: object, *, field: str) -> str | None:
    """Return ``value`` when it is a reason, or None: 1-512 UTF-16 units of valid Unicode.

    Raises:
        InvalidInputError: anything else.
    """
    if value is None:
        return None
    if type(value) is str and is_unicode(value) and 1 <= utf16_length(value) <= REASON_UNITS_MAX:
        return value
    allowed = f"1 to {REASON_UNITS_MAX} UTF-16 units of valid Unicode, or nothing"
    raise InvalidInputError(field=field, given=describe(value), allowed=allowed)


def _check_submission(value: ExecutionSubmission, field: str) -> None:
    check_identifier(value.workflow_id, field=f"{field}.workflow_id")
    if type(value.instruction) is not dict:
        given = describe(value.instruction)
        raise InvalidInputError(
            field=f"{field}.instruction", given=given, allowed="a JSON object (dict)"
        )
    _check_providers(value.provider_ids, f"{field}.provider_ids")
    _check_count(value.attempts_max, f"{field}.attempts_max", ATTEMPTS_MAX)
    if value.attempt_timeout_ms is not None:
        timeout = value.attempt_timeout_ms
        _check_count(timeout, f"{field}.attempt_timeout_ms", ATTEMPT_TIMEOUT_MS_MAX)
    _check_flag(value.retry_failed, f"{field}.retry_failed")
    _check_count(value.retry_delay_ms, f"{field}.retry_delay_ms", RETRY_DELAY_MS_MAX)
    _check_count(value.retry_delay_ms_max, f"{field}.retry_delay_ms_max", RETRY_DELAY_MS_MAX)
    _check_labels(value.labels, f"{field}.labels")


def _check_providers(value: object, field: str) -> None:
    if type(value) is not tuple or not 1 <= len(value) <= PROVIDER_CANDIDATES_MAX:
        allowed = f"a tuple of 1 to {PROVIDER_CANDIDATES_MAX} provider ids"
        raise InvalidInputError(field=field, given=describe(value), allowed=allowed)
    for provider_id in value:
        check_identifier(provider_id, field=field)


def _check_flag(value: object, field: str) -> None:
    if type(value) is not bool:
        raise InvalidInputError(field=field, given=describe(value), allowed="true or false")


def _check_count(value: object, field: str, most: int) -> None:
    if type(value) is not int or not 1 <= value <= most:
        allowed = f"an integer from 1 to {most}"
        raise InvalidInputError(field=field, given=describe(value), allowed=allowed)


def _check_labels(value: object, field: str) -> None:
    allowed = "a dict from strings to strings"
    if type(value) is not dict:
        raise InvalidInputError(field=field, given=describe(value), allowed=allowed)
    for name, label in value.items():
        if type(name) is not str or type(label) is not str:
            raise InvalidInputError(field=field, given=describe(label), allowed=allowed)
