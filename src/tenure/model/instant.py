"""Instants: UTC with millisecond precision, and the one grammar of their text form.

Everything that is ordered is an ``InstantMs`` inside and an aware UTC ``datetime`` outside. A naive
``datetime`` is refused everywhere: guessing its zone is how leases die early.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final, NewType, TypeAlias

from tenure.errors import InvalidInputError
from tenure.model.text import describe

InstantMs = NewType("InstantMs", int)
"""Milliseconds since 1970-01-01T00:00:00Z; negative before."""
Instant: TypeAlias = datetime | str
"""What a caller may pass: an aware ``datetime``, or text of the grammar below."""

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_SECONDS: Final = 24 * 3600
_LENGTH_WITHOUT_ZONE: Final = len("YYYY-MM-DDTHH:mm:ss.sss")
_ALLOWED: Final = (
    "an aware datetime or YYYY-MM-DDTHH:mm[:ss[.fraction]] followed by Z or ±HH:MM, "
    "within the years 0001 to 9999 in UTC"
)
_GRAMMAR: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-5][0-9]"  # date, hour, minute
    r"(?::[0-5][0-9](?:\.[0-9]+)?)?"  # second, fraction
    r"(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"  # offset
)


def parse_instant(value: object, *, field: str) -> InstantMs:
    """Normalize an aware ``datetime`` or a text to milliseconds; finer digits are cut off.

    Raises:
        InvalidInputError: naive, another type, not of the grammar, or outside years 0001-9999.
    """
    if isinstance(value, datetime):
        return _from_datetime(value, field)
    if type(value) is str:
        return _from_text(value, field)
    raise InvalidInputError(field=field, given=describe(value), allowed=_ALLOWED)


def to_datetime(instant: InstantMs) -> datetime:
    """Make the aware UTC ``datetime`` of an instant."""
    return EPOCH + timedelta(milliseconds=instant)


def to_optional_datetime(instant: InstantMs | None) -> datetime | None:
    """Make the aware UTC ``datetime`` of an instant that may be absent."""
    return None if instant is None else to_datetime(instant)


def format_instant(value: datetime) -> str:
    """Format an aware ``datetime`` canonically: ``YYYY-MM-DDTHH:mm:ss.sssZ``.

    Raises:
        InvalidInputError: naive, or outside the years 0001-9999 in UTC.
    """
    utc = value if value.tzinfo is UTC else to_datetime(parse_instant(value, field="instant"))
    return f"{utc.isoformat(timespec='milliseconds')[:_LENGTH_WITHOUT_ZONE]}Z"


def _from_datetime(value: datetime, field: str) -> InstantMs:
    if value.utcoffset() is None:
        raise InvalidInputError(field=field, given="a naive datetime", allowed=_ALLOWED)
    try:
        since = value.astimezone(UTC) - EPOCH
    except OverflowError:
        given = "a datetime outside the years 0001 to 9999 in UTC"
        raise InvalidInputError(field=field, given=given, allowed=_ALLOWED) from None
    return _whole_milliseconds(since)


def _from_text(value: str, field: str) -> InstantMs:
    if _GRAMMAR.fullmatch(value) is None:
        raise InvalidInputError(field=field, given=describe(value), allowed=_ALLOWED)
    try:
        since = datetime.fromisoformat(value).astimezone(UTC) - EPOCH
    except (ValueError, OverflowError):
        raise InvalidInputError(field=field, given=describe(value), allowed=_ALLOWED) from None
    return _whole_milliseconds(since)


def _whole_milliseconds(since: timedelta) -> InstantMs:
    seconds = since.days * _DAY_SECONDS + since.seconds
    return InstantMs(seconds * 1000 + since.microseconds // 1000)
