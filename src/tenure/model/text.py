"""Text: lengths in UTF-16 code units, and short descriptions of values for error messages."""

from typing import Final

_SHOWN_MAX: Final = 60
_SHOWN_BITS_MAX: Final = 200


def utf16_length(text: str) -> int:
    """Count UTF-16 code units, as the contract's limits do (an astral character counts two)."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def is_unicode(text: str) -> bool:
    """Tell whether ``text`` is valid Unicode, that is, free of lone surrogates."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def shorten(text: str, units_max: int) -> str:
    """Cut ``text`` at a character border to ``units_max`` UTF-16 units, the last an ellipsis."""
    if utf16_length(text) <= units_max:
        return text
    kept: list[str] = []
    room = units_max - 1
    for char in text:
        room -= utf16_length(char)
        if room < 0:
            break
        kept.append(char)
    return "".join(kept) + "…"


def describe(value: object) -> str:
    """Describe any value for an error message: bounded, one line, never raising.

    Only scalars are shown; of anything else only the type, since contents may be secret or huge.
    """
    if type(value) is str:
        shown = value if len(value) <= _SHOWN_MAX else value[:_SHOWN_MAX] + "…"
        return f"{shown!r}"
    if type(value) is int and value.bit_length() > _SHOWN_BITS_MAX:
        return f"an integer of {value.bit_length()} bits"
    if value is None or type(value) in (int, float, bool):
        return repr(value)
    return f"a value of type {type(value).__name__[:_SHOWN_MAX]}"
