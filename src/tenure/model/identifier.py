"""Identifiers: distinct types for what must not be mixed up, one rule for all of them."""

from typing import Final, NewType

from tenure.errors import InvalidInputError
from tenure.model.text import describe, is_unicode, utf16_length

ExecutionId = NewType("ExecutionId", str)
"""One piece of work."""
ExecutionAttemptId = NewType("ExecutionAttemptId", str)
"""One attempt; unique for all time."""
ProviderId = NewType("ProviderId", str)
"""One provider of infrastructure."""
OwnerId = NewType("OwnerId", str)
"""One controller process incarnation."""
IncarnationId = NewType("IncarnationId", str)
"""One start of one process."""

IDENTIFIER_UNITS_MAX: Final = 255
"""Longest identifier, in UTF-16 code units."""


def check_identifier(value: object, *, field: str) -> str:
    """Return ``value`` when it is an identifier: 1-255 UTF-16 units of Unicode without U+0000.

    Raises:
        InvalidInputError: anything else.
    """
    if (
        type(value) is str
        and value.isascii()
        and 1 <= len(value) <= IDENTIFIER_UNITS_MAX
        and "\0" not in value
    ):
        return value  # the usual case, without a call
    allowed = f"1 to {IDENTIFIER_UNITS_MAX} UTF-16 units of valid Unicode without U+0000"
    if type(value) is not str or not is_unicode(value):
        raise InvalidInputError(field=field, given=describe(value), allowed=allowed)
    units = utf16_length(value)
    if not 1 <= units <= IDENTIFIER_UNITS_MAX or "\0" in value:
        given = f"{describe(value)} ({units} units)"
        raise InvalidInputError(field=field, given=given, allowed=allowed)
    return value
