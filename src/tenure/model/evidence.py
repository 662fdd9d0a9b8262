"""Evidence: small, structured, non-secret, and kept exactly as its producer gave it."""

from datetime import datetime
from typing import Final

import msgspec

from tenure.errors import CorruptRecordError, InvalidInputError
from tenure.model.instant import Instant, format_instant, parse_instant
from tenure.model.json_value import JsonText, check_member_names, decode_written, encode_checked
from tenure.model.text import describe, is_unicode, shorten, utf16_length

SOURCE_UNITS_MAX: Final = 128
SUMMARY_UNITS_MAX: Final = 512
OBSERVED_AT_UNITS_MAX: Final = 64
CODE_UNITS_MAX: Final = 64
_REQUIRED: Final = frozenset({"source", "summary", "observedAt"})
_OPTIONAL: Final = frozenset({"code"})

EXHAUSTIVE_SEARCH_UNAVAILABLE: Final = "exhaustive-search-unavailable"
NO_ALLOCATION_OBSERVED: Final = "no-allocation-observed"
AMBIGUOUS_ALLOCATION_MATCH: Final = "ambiguous-allocation-match"
PRE_REQUEST_REJECTION: Final = "pre-request-rejection"


class BoundedRecoveryEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """What a component observed, in its own words. Lengths count UTF-16 code units.

    Constructing one checks nothing; every operation that takes one checks it before anything else.
    """

    source: str
    """Who observed, 1-128 units."""
    summary: str
    """What was observed, 1-512 units. Never trimmed or rewritten."""
    observed_at: str
    """When, in the producer's own zone, at most 64 units of the instant grammar; kept verbatim."""
    code: str | None = None
    """A stable kebab-case word for programs, 1-64 units, or absent."""


def make_evidence(
    *, source: str, summary: str, observed_at: Instant, code: str | None = None
) -> BoundedRecoveryEvidence:
    """Build evidence from a component's own facts.

    An over-long summary is shortened to 512 units (the last an ellipsis, no surrogate pair split);
    an over-long source or code is refused, because it is an identifier, not prose.

    Raises:
        InvalidInputError: anything that the contract refuses.
    """
    at = format_instant(observed_at) if isinstance(observed_at, datetime) else observed_at
    if type(summary) is str and is_unicode(summary):
        summary = shorten(summary, SUMMARY_UNITS_MAX)
    evidence = BoundedRecoveryEvidence(source=source, summary=summary, observed_at=at, code=code)
    check_evidence(evidence, field="evidence")
    return evidence


def check_evidence(value: object, *, field: str) -> BoundedRecoveryEvidence:
    """Return ``value`` when it is valid evidence.

    Raises:
        InvalidInputError: another type, or a member outside its bounds or grammar.
    """
    if type(value) is not BoundedRecoveryEvidence:
        allowed = "BoundedRecoveryEvidence"
        raise InvalidInputError(field=field, given=describe(value), allowed=allowed)
    _check_text(value.source, f"{field}.source", SOURCE_UNITS_MAX)
    _check_text(value.summary, f"{field}.summary", SUMMARY_UNITS_MAX)
    _check_observed_at(value.observed_at, f"{field}.observed_at")
    if value.code is not None:
        _check_text(value.code, f"{field}.code", CODE_UNITS_MAX)
    return value


def encode_evidence(evidence: BoundedRecoveryEvidence) -> JsonText:
    """Encode checked evidence in its JSON form; ``code`` is absent when there is none."""
    members = {
        "source": evidence.source,
        "summary": evidence.summary,
        "observedAt": evidence.observed_at,
    }
    if evidence.code is not None:
        members["code"] = evidence.code
    return encode_checked(members)


def evidence_from_json(value: object, *, field: str) -> BoundedRecoveryEvidence:
    """Build evidence from its JSON form.

    Raises:
        InvalidInputError: a missing, further, null or malformed member.
    """
    members = check_member_names(value, required=_REQUIRED, optional=_OPTIONAL, field=field)
    code = None
    if "code" in members:
        code = _check_text(members["code"], f"{field}.code", CODE_UNITS_MAX)
    return BoundedRecoveryEvidence(
        source=_check_text(members["source"], f"{field}.source", SOURCE_UNITS_MAX),
        summary=_check_text(members["summary"], f"{field}.summary", SUMMARY_UNITS_MAX),
        observed_at=_check_observed_at(members["observedAt"], f"{field}.observedAt"),
        code=code,
    )


def decode_evidence(text: str, *, record: str) -> BoundedRecoveryEvidence:
    """Decode stored evidence.

    Raises:
        CorruptRecordError: the stored text does not satisfy the contract.
    """
    try:
        return evidence_from_json(decode_written(text), field="evidence")
    except (ValueError, RecursionError) as exc:
        raise CorruptRecordError(record=record, seen=f"its evidence is unreadable: {exc}") from exc


def _check_observed_at(value: object, field: str) -> str:
    text = _check_text(value, field, OBSERVED_AT_UNITS_MAX)
    parse_instant(text, field=field)
    return text


def _check_text(value: object, field: str, units_max: int) -> str:
    if type(value) is str and is_unicode(value) and 1 <= utf16_length(value) <= units_max:
        return value
    units = f" ({utf16_length(value)} units)" if type(value) is str else ""
    allowed = f"1 to {units_max} UTF-16 units of valid Unicode"
    raise InvalidInputError(field=field, given=f"{describe(value)}{units}", allowed=allowed)
