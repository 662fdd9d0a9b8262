"""JSON text at the edge: out for any host, in from anybody."""

from typing import Final

from tenure.errors import InvalidInputError
from tenure.model.json_value import (
    ENVELOPE_DEPTH_MAX,
    JSON_DEPTH_MAX,
    JsonText,
    JsonValue,
    decode_json,
    encode_json,
)
from tenure.wire.codec import json_form

PARSED_BYTES_MAX: Final = 4 * 1024 * 1024
"""Default limit of a text from outside, in bytes; the largest payload is 1 MiB."""
DUMPED_BYTES_MAX: Final = 256 * 1024 * 1024
"""Default limit of a text that we write, in bytes: a page of records with large payloads."""


def dump_json(value: object, *, bytes_max: int = DUMPED_BYTES_MAX) -> JsonText:
    """Write a value of the model, a sequence of them, or a JSON value, as JSON text.

    Raises:
        InvalidInputError: something in it is not JSON-safe, or it is larger than ``bytes_max``.
    """
    depth_max = JSON_DEPTH_MAX + ENVELOPE_DEPTH_MAX
    return encode_json(json_form(value), field="value", bytes_max=bytes_max, depth_max=depth_max)


def parse_json_text(
    text: str | bytes, *, field: str, bytes_max: int = PARSED_BYTES_MAX
) -> JsonValue:
    """Parse JSON text from outside: UTF-8, strictly, in bounded time and memory.

    Raises:
        InvalidInputError: larger than ``bytes_max``, not UTF-8, malformed, a member that comes
            twice, NaN or an infinity, a lone surrogate, too many digits, or too deeply nested.
    """
    size = len(text)
    if size <= bytes_max and isinstance(text, str):
        size = len(text.encode(errors="surrogatepass"))
    if size > bytes_max:
        given = f"{size} bytes of JSON or more"
        raise InvalidInputError(field=field, given=given, allowed=f"at most {bytes_max} bytes")
    try:
        return decode_json(text if isinstance(text, str) else text.decode())
    except UnicodeDecodeError as exc:
        given = f"bytes that are no UTF-8 (at {exc.start})"
        raise InvalidInputError(field=field, given=given, allowed="JSON text in UTF-8") from exc
    except (ValueError, RecursionError) as exc:
        allowed = "well-formed JSON text with unique members and finite numbers"
        raise InvalidInputError(field=field, given=f"text that is {exc}", allowed=allowed) from exc
